"""Finds every syntax error of a file: report the first, hide its line, parse again.

The parser recovers from an error by skipping tokens, which may swallow the blocks that follow. Hiding one
line at a time keeps the damage as small as the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tree_sitter import Language, Node, Parser
from tree_sitter_hcl import language

from tailpipe.config.language.mask import Masked
from tailpipe.config.language.source_text import SourceText
from tailpipe.errors import Problem

MAX_ERRORS_PER_FILE = 25

_CLOSING = {"]": "[", "}": "{", ")": "("}
_LINE_HINTS = (
    (
        re.compile(r"\s*[\w-]+\s*:"),
        "arguments are written with an equals sign",
        "write `name = value`",
    ),
    (re.compile(r"\s*[\w-]+\s*=\s*(#.*|//.*)?$"), "this argument has no value", "write `name = value`"),
    (re.compile(r"\s*[\w-]+\s*=\s*=(?!=)"), "one equals sign too many", "write `name = value`"),
    (re.compile(r"\s*[}\])]"), "this closes nothing", "remove it, or add what it should close"),
    (re.compile(r"\s*[\w-]+(\s+[\w-]+|\s+\"[^\"]*\")*\s*$"), "this is neither an argument nor a block", None),
)
_EXPECTED = 'an argument is `name = value`, a block is `type "label" { … }`'


@dataclass(frozen=True)
class SyntaxTree:
    """`hidden_lines` were reported and replaced; whatever starts there is to be ignored."""

    root: Node
    hidden_lines: frozenset[int]
    problems: tuple[Problem, ...]
    is_whole: bool


@cache
def _parser() -> Parser:
    return Parser(Language(language()))


def parse_tolerantly(source: SourceText, masked: Masked) -> SyntaxTree:
    """Errors on lines that the mask has reported are echoes, and not told again."""
    data, blamed = masked.data, masked.blamed_lines
    problems: list[Problem] = []
    hidden: set[int] = set()
    is_whole = not masked.is_cut
    root = _parser().parse(data).root_node
    while len(hidden) < MAX_ERRORS_PER_FILE:
        fault = _first_fault(source, root)
        line = source.line(fault.start_byte) if fault else 0
        if fault is None or line in hidden:
            break
        if line not in blamed:
            problems.append(_describe(source, fault, line))
        start, end = source.line_span(line)
        replacement = _hidden_line(data[start:end])
        is_whole = is_whole and b"{" not in replacement
        data = data[:start] + replacement + data[end:]
        hidden.add(line)
        root = _parser().parse(data).root_node
    if not masked.is_cut:
        problems.extend(_unclosed_problems(source, root, blamed | hidden))
    if root.has_error and not problems and not masked.problems:
        problems.append(_describe(source, root, source.line(root.start_byte)))
    return SyntaxTree(root, frozenset(hidden), tuple(problems), is_whole and not root.has_error)


def _first_fault(source: SourceText, root: Node) -> Node | None:
    fault = next((node for node in _faults(root) if not _is_unclosed(node)), None)
    header = next(_scattered_headers(source, root), None)
    found = [node for node in (fault, header) if node is not None]
    return min(found, key=lambda node: node.start_byte, default=None)


def _scattered_headers(source: SourceText, node: Node) -> Iterator[Node]:
    """Blocks with a label on another line than the type: the first word is none of them, but stands alone."""
    for body in node.children:
        for block in body.children if body.type == "body" else ():
            if block.type != "block":
                continue
            if source.line(_last_label(block).start_byte) > source.line(block.start_byte):
                yield block
            yield from _scattered_headers(source, block)


def _last_label(block: Node) -> Node:
    return [child for child in block.children if child.type in ("identifier", "string_lit")][-1]


def _faults(root: Node) -> Iterator[Node]:
    """In the order of the text, however deep they are."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            waiting += reversed(node.children)


def _is_unclosed(node: Node) -> bool:
    return node.is_missing and node.type in _CLOSING


def _unclosed_problems(source: SourceText, root: Node, known: frozenset[int]) -> Iterator[Problem]:
    for missing, opening in _unclosed(root):
        if source.line(opening.start_byte) not in known:
            message = f"this `{_CLOSING[missing.type]}` is never closed"
            yield Problem(message, source.position(opening.start_byte), f"close it with `{missing.type}`")


def _unclosed(root: Node) -> Iterator[tuple[Node, Node]]:
    """Every missing bracket with the one it should close.

    Goes down from the root: the parser's own links to siblings and parents go astray at empty nodes.
    """
    waiting: list[tuple[Node, Mapping[str, Node]]] = [(root, {})]
    while waiting:
        node, openings = waiting.pop()
        inner: list[tuple[Node, Mapping[str, Node]]] = []
        for child in node.children:
            token = child.children[0] if child.child_count == 1 else child
            if child.is_missing and child.type in _CLOSING:
                yield child, openings.get(_CLOSING[child.type], child)
            elif token.type in _CLOSING.values():
                openings = {**openings, token.type: token}
            elif child.has_error:
                inner.append((child, openings))
        waiting += reversed(inner)


def _describe(source: SourceText, fault: Node, line: int) -> Problem:
    start, end = source.line_span(line)
    written = source.text(start, end)
    for pattern, message, hint in _LINE_HINTS:
        if pattern.match(written):
            first = start + len(source.data[start:end]) - len(source.data[start:end].lstrip())
            return Problem(message, source.position(first), hint or _EXPECTED)
    return Problem("this cannot be read as configuration", source.position(fault.start_byte), _EXPECTED)


def _hidden_line(line: bytes) -> bytes:
    """Blanks of the same length that keep the line's open brackets, so that the rest stays balanced."""
    opened = [pair[:1] for pair in (b"{}", b"[]", b"()") if line.count(pair[:1]) > line.count(pair[1:])]
    if opened and opened[0] == b"{" and b"=" not in line and len(line) >= 3:
        return b"_" + b" " * (len(line) - 2) + b"{"
    if opened and len(line) >= 4:
        return b"_=" + b" " * (len(line) - 3) + opened[0]
    closing = line.strip()[:1]
    if closing == b"}" and line.count(b"}") > line.count(b"{") and line.strip() != b"}":
        return b"}" + b" " * (len(line) - 1)
    return b" " * len(line)
