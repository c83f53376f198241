"""From text to syntax tree, with every problem on the way."""

from __future__ import annotations

from tree_sitter import Node

from tailpipe.config.language.expressions import ExpressionReader, meaningful
from tailpipe.config.language.mask import mask
from tailpipe.config.language.recover import SyntaxTree, parse_tolerantly
from tailpipe.config.language.source_text import SourceText, source_text
from tailpipe.config.language.syntax import Attribute, Block, Body, Expression, Label
from tailpipe.errors import Position, Problem


def parse(source: SourceText) -> tuple[Body, tuple[Problem, ...]]:
    masked = mask(source)
    tree = parse_tolerantly(source, masked)
    reader = _BodyReader(source, tree, ExpressionReader(source, masked))
    attributes, blocks = reader.read(next(iter(_named(tree.root, "body")), None))
    body = Body(attributes, blocks, is_whole=tree.is_whole)
    return body, (*masked.problems, *tree.problems, *reader.problems, *reader.expressions.problems)


def parse_expression(name: str, text: str) -> Expression | None:
    """The text as one expression, None if it is not one."""
    body, problems = parse(source_text(name, b"_=" + text.encode()))
    if problems or body.blocks or len(body.attributes) != 1:
        return None
    return body.attributes[0].value


def _named(node: Node, type: str) -> list[Node]:
    return [child for child in node.children if child.type == type]


class _BodyReader:
    def __init__(self, source: SourceText, tree: SyntaxTree, expressions: ExpressionReader) -> None:
        self.source = source
        self.tree = tree
        self.expressions = expressions
        self.problems: list[Problem] = []

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
        return Attribute(name, self.expressions.read(node.children[-1]), self._position(node))

    def _block(self, node: Node) -> Block:
        children = meaningful(node)
        labels = tuple(
            self._label(child) for child in children[1:] if child.type in ("string_lit", "identifier")
        )
        attributes, blocks = self.read(next(iter(_named(node, "body")), None))
        type_node = children[0]
        block_type = self.source.text(type_node.start_byte, type_node.end_byte)
        return Block(block_type, labels, attributes, blocks, self._position(node))

    def _label(self, node: Node) -> Label:
        return Label(self.expressions.plain_text(node), self._position(node))

    def _position(self, node: Node) -> Position:
        return self.source.position(node.start_byte)

    def _report(self, node: Node, message: str, hint: str) -> None:
        self.problems.append(Problem(message, self._position(node), hint))
