"""Words and numbers as people read them."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress

from tailpipe.errors import UsageError

# All but the ends of lines and tabs; what steers a terminal, or turns the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def say_json(content: object) -> None:
    say(json.dumps(content, indent=2, ensure_ascii=False, default=str))


def confirm(question: str, is_forced: bool) -> None:
    """Returns when the answer is yes; without a terminal nobody can be asked."""
    if is_forced:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask.", "--force goes ahead without asking")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed.")


def note(text: str) -> None:
    """For people, not for pipes. Names may come from anywhere: what steers a terminal is spelled out."""
    with suppress(OSError):  # nobody can be told that nobody can be told
        sys.stderr.write(f"{_CONTROL.sub(_spelled_out, text)}\n")
        sys.stderr.flush()


def _spelled_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:,.0f} {unit}" if unit == "B" else f"{size_bytes:,.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:,.1f} TB"


def seconds(value: float) -> str:
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60)} s"
