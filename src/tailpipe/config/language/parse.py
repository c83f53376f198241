"""From text to syntax tree, with every problem on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tree_sitter import Node

from tailpipe.config.language.expressions import ExpressionReader, meaningful
from tailpipe.config.language.mask import mask
from tailpipe.config.language.patience import comes_to_an_end
from tailpipe.config.language.recover import SyntaxTree, parse_tolerantly
from tailpipe.config.language.source_text import SourceText, source_text
from tailpipe.config.language.syntax import Attribute, Block, Body, Broken, Expression, Label
from tailpipe.errors import Position, Problem

# Of these, even the worst are read within seconds.
_SMALL_BYTES = 4096
_MAX_CPU_SECONDS = 3


def parse(source: SourceText, damage: tuple[Problem, ...] = ()) -> tuple[Body, tuple[Problem, ...]]:
    """`damage` is what is known to be wrong with the text already."""
    masked = mask(source)
    is_small = len(masked.data) <= _SMALL_BYTES
    if not is_small and not comes_to_an_end(lambda: parse_tolerantly(source, masked), _MAX_CPU_SECONDS):
        problem = Problem("the file has errors that take too long to find", Position(source.name, 1, 1))
        return Body((), (), is_whole=False, lost_text=source.data), (*damage, *masked.problems, problem)
    tree = parse_tolerantly(source, masked)
    reader = _BodyReader(source, tree, ExpressionReader(source, masked))
    attributes, blocks = reader.read(next(iter(_named(tree.root, "body")), None))
    problems = (*damage, *masked.problems, *tree.problems, *reader.problems, *reader.expressions.problems)
    blamed = {problem.position.line for problem in problems if problem.position}
    judged = [
        replace(block, is_whole=blamed.isdisjoint(_lines([block]))) for block in (*blocks, *reader.swallowed)
    ]
    is_lost = not tree.is_whole or not blamed <= _lines(judged)
    lost = _text_outside(source, [block for block in judged if block.is_whole]) if is_lost else b""
    return Body(attributes, tuple(judged), tree.is_whole, lost), problems


def _lines(blocks: Iterable[Block]) -> set[int]:
    return {line for block in blocks for line in range(block.position.line, block.last_line + 1)}


def _text_outside(source: SourceText, blocks: Iterable[Block]) -> bytes:
    known = _lines(blocks)
    rest = [line for line in range(1, len(source.line_starts) + 1) if line not in known]
    return b"\n".join(source.data[slice(*source.line_span(line))] for line in rest)


def parse_expression(name: str, text: str) -> Expression | None:
    """The text as one expression, None if it is not one."""
    body, problems = parse(source_text(name, b"_=" + text.encode()))
    if problems or body.blocks or len(body.attributes) != 1:
        return None
    return body.attributes[0].value


def _is_missing(node: Node) -> bool:
    return node.is_missing or (node.child_count == 1 and node.children[0].is_missing)


def _named(node: Node, type: str) -> list[Node]:
    return [child for child in node.children if child.type == type]


class _BodyReader:
    def __init__(self, source: SourceText, tree: SyntaxTree, expressions: ExpressionReader) -> None:
        self.source = source
        self.tree = tree
        self.expressions = expressions
        self.problems: list[Problem] = []
        self.swallowed: list[Block] = []

    def read(self, node: Node | None) -> tuple[tuple[Attribute, ...], tuple[Block, ...]]:
        attributes: dict[str, Attribute] = {}
        blocks: list[Block] = []
        last_line = 0
        for child in meaningful(node) if node else ():
            line = self.source.line(child.start_byte)
            if line in self.tree.hidden_lines or child.is_error:
                continue
            if line == last_line:
                self._report(child, "two things on one line", "start a new line here")
            last_line = 0 if child.has_error else self.source.line(child.end_byte)
            if child.type == "attribute":
                self._add(self._attribute(child), attributes)
            elif child.type == "block":
                blocks.append(self._block(child))
        return tuple(attributes.values()), tuple(blocks)

    def _add(self, attribute: Attribute, attributes: dict[str, Attribute]) -> None:
        first = attributes.setdefault(attribute.name, attribute)
        if first is not attribute:
            message = f'argument "{attribute.name}" is given twice; first at line {first.position.line}'
            self.problems.append(Problem(message, attribute.position, "keep one of them"))

    def _attribute(self, node: Node) -> Attribute:
        name = self.source.text(node.children[0].start_byte, node.children[0].end_byte)
        return Attribute(name, self._value(node.children[-1]), self._position(node))

    def _value(self, node: Node) -> Expression:
        try:
            return self.expressions.read(node)
        except RecursionError:
            self._report(node, "this value is nested too deeply to be read", "name its parts in `locals`")
            return Broken(self._position(node))

    def _block(self, node: Node) -> Block:
        children = meaningful(node)
        labels = tuple(
            Label(self.expressions.plain_text(child), self._position(child))
            for child in children[1:]
            if child.type in ("string_lit", "identifier")
        )
        attributes, blocks = self.read(next(iter(_named(node, "body")), None))
        if any(_is_missing(child) for child in children):
            # Never closed, it took in the blocks that follow: those at the beginning of a line are none of it.
            self.swallowed += [block for block in blocks if block.position.column == 1]
            blocks = tuple(block for block in blocks if block.position.column > 1)
        type_node = children[0]
        block_type = self.source.text(type_node.start_byte, type_node.end_byte)
        last_line = self.source.line(max(node.start_byte, node.end_byte - 1))
        return Block(block_type, labels, attributes, blocks, self._position(node), last_line)

    def _position(self, node: Node) -> Position:
        return self.source.position(node.start_byte)

    def _report(self, node: Node, message: str, hint: str) -> None:
        self.problems.append(Problem(message, self._position(node), hint))
