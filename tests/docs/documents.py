"""Documents as tests see them: fenced blocks, headings and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(
    r"^(?P<not_run><!-- not run[^\n]*-->\n+)?```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.M | re.S
)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block: ```hcl file=config/a.tpc has the language `hcl` and the file `config/a.tpc`."""

    language: str
    file: str | None
    is_output: bool
    is_run: bool
    text: str
    line: int


def documents() -> list[Path]:
    return sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def blocks(path: Path) -> Iterator[Block]:
    content = path.read_text(encoding="utf-8")
    for found in _FENCE.finditer(content):
        language, _, rest = found["info"].strip().partition(" ")
        options = dict(option.partition("=")[::2] for option in rest.split())
        line = content.count("\n", 0, found.start("text"))
        yield Block(
            language, options.get("file"), "output" in options, not found["not_run"], found["text"], line
        )


def links(path: Path) -> list[str]:
    return _LINK.findall(_prose(path))


def anchors(path: Path) -> set[str]:
    return {_anchor(heading) for heading in _HEADING.findall(_prose(path))}


def _prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def _anchor(heading: str) -> str:
    """As code hosts make them: lower case, words joined by dashes, other characters gone."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
