"""Reads expression nodes of the parser into our own tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from tree_sitter import Node

from tailpipe.config.language import syntax
from tailpipe.config.language.literals import common_indent, heredoc_text, number, quoted_text, unindent
from tailpipe.config.language.mask import Masked
from tailpipe.config.language.source_text import SourceText
from tailpipe.config.language.syntax import Broken, Expression, Literal
from tailpipe.errors import Position, Problem

_BINARY_OPERATORS = frozenset(("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"))


def meaningful(node: Node) -> list[Node]:
    return [child for child in node.children if child.type != "comment"]


class ExpressionReader:
    def __init__(self, source: SourceText, masked: Masked) -> None:
        self.source = source
        self.masked = masked
        self.problems: list[Problem] = []

    def read(self, node: Node) -> Expression:
        """A node that the parser could not read whole becomes Broken: its error is reported elsewhere."""
        if node.has_error or node.is_missing:
            return Broken(self._position(node))
        return self._sequence(meaningful(node), node)

    def _sequence(self, nodes: Sequence[Node], parent: Node) -> Expression:
        """A term with its `.name`, `[index]` and `[*]` behind it, as siblings."""
        if not nodes:
            return Broken(self._position(parent))
        if nodes[0].type == "(":
            return self._suffixes(self.read(nodes[1]), nodes[3:])
        return self._suffixes(self._term(nodes[0]), nodes[1:])

    def _suffixes(self, target: Expression, nodes: Sequence[Node]) -> Expression:
        for number_of_node, node in enumerate(nodes):
            if node.type == "get_attr":
                name = node.children[-1]
                target = syntax.Member(target.position, target, self._text(name), self._position(name))
            elif node.type == "index":
                key = self._index_key(node.children[0])
                if isinstance(key, Broken):
                    return key
                target = syntax.Index(target.position, target, key)
            elif node.type == "splat":
                kind = node.children[0]
                item = syntax.Name(target.position, syntax.SPLAT_ITEM)
                inner = meaningful(kind)[1:]
                if kind.type == "full_splat":
                    rest = [*inner, *nodes[number_of_node + 1 :]]
                    return syntax.Splat(target.position, target, self._suffixes(item, rest))
                names = list(takewhile(lambda suffix: suffix.type == "get_attr", inner))
                target = syntax.Splat(target.position, target, self._suffixes(item, names))
                target = self._suffixes(target, inner[len(names) :])
        return target

    def _index_key(self, node: Node) -> Expression:
        if node.type == "legacy_index":
            written = self._text(node).lstrip(".")
            return self._literal(node, int(written)) if written.isdigit() else Broken(self._position(node))
        return self.read(meaningful(node)[1])

    def _term(self, node: Node) -> Expression:
        match node.type:
            case "expression":
                return self.read(node)
            case "literal_value" | "collection_value" | "template_expr" | "for_expr" | "operation":
                return self._term(meaningful(node)[0])
            case "numeric_lit":
                return self._number(node)
            case "bool_lit":
                return self._literal(node, self._text(node) == "true")
            case "null_lit":
                return self._literal(node, None)
            case "string_lit" | "quoted_template":
                return self._quoted(node)
            case "heredoc_template":
                return self._heredoc(node)
            case "variable_expr":
                return syntax.Name(self._position(node), self._text(node))
            case "tuple":
                items = [child for child in node.children if child.type == "expression"]
                return syntax.ListOf(self._position(node), tuple(self.read(item) for item in items))
            case "object":
                elements = [child for child in node.children if child.type == "object_elem"]
                return syntax.ObjectOf(
                    self._position(node), tuple(self._element(element) for element in elements)
                )
            case _:
                return self._compound(node)

    def _compound(self, node: Node) -> Expression:
        children = meaningful(node)
        match node.type:
            case "function_call":
                return self._call(node)
            case "unary_operation":
                return syntax.Unary(
                    self._position(node), children[0].type, self._sequence(children[1:], node)
                )
            case "binary_operation":
                return self._binary(node, children)
            case "conditional":
                condition, if_true, if_false = (self.read(child) for child in children[::2])
                return syntax.Conditional(self._position(node), condition, if_true, if_false)
            case "for_tuple_expr" | "for_object_expr":
                return self._for(node, children)
            case _:
                return Broken(self._position(node))

    def _binary(self, node: Node, children: list[Node]) -> Expression:
        at = next(place for place, child in enumerate(children) if child.type in _BINARY_OPERATORS)
        left = self._sequence(children[:at], node)
        right = self._sequence(children[at + 1 :], node)
        return syntax.Binary(self._position(node), children[at].type, left, right)

    def _call(self, node: Node) -> Expression:
        arguments = next((child for child in node.children if child.type == "function_arguments"), None)
        inner = meaningful(arguments) if arguments else []
        expressions = tuple(self.read(child) for child in inner if child.type == "expression")
        spreads = any(child.type == "ellipsis" for child in inner)
        return syntax.Call(self._position(node), self._text(node.children[0]), expressions, spreads)

    def _for(self, node: Node, children: list[Node]) -> Expression:
        intro = next(child for child in children if child.type == "for_intro")
        names = tuple(self._text(child) for child in intro.children if child.type == "identifier")
        over = next(child for child in intro.children if child.type == "expression")
        results = [self.read(child) for child in children if child.type == "expression"]
        condition = next((child for child in children if child.type == "for_cond"), None)
        return syntax.For(
            self._position(node),
            names,
            self.read(over),
            results[0] if node.type == "for_object_expr" else None,
            results[-1],
            self.read(meaningful(condition)[-1]) if condition else None,
            any(child.type == "ellipsis" for child in children),
        )

    def _element(self, node: Node) -> tuple[Expression, Expression]:
        key, value = (child for child in node.children if child.type == "expression")
        inner = meaningful(key)
        if len(inner) == 1 and inner[0].type == "variable_expr":
            return self._literal(key, self._text(key)), self.read(value)
        return self.read(key), self.read(value)

    def plain_text(self, node: Node) -> str:
        """A label: text without interpolation, or a bare word."""
        if node.type == "identifier":
            return self._text(node)
        read = self._quoted(node)
        return str(read.value) if isinstance(read, Literal) else ""

    def _quoted(self, node: Node) -> Expression:
        position = self._position(node)
        if node.start_byte in self.masked.broken:
            return Broken(position)
        if node.start_byte in self.masked.raw_strings:
            return Literal(position, self.masked.raw_strings[node.start_byte])
        holes = self._holes(node)
        if not holes:
            return Literal(position, quoted_text(self.source.text(node.start_byte + 1, node.end_byte - 1)))
        pieces = self._pieces(node.start_byte + 1, node.end_byte - 1, holes)
        return self._template(position, [quoted_text(p) if isinstance(p, str) else p for p in pieces])

    def _heredoc(self, node: Node) -> Expression:
        position = self._position(node)
        words = [child for child in node.children if child.type == "heredoc_identifier"]
        start = self.source.data.index(b"\n", words[0].end_byte) + 1
        end = self.source.data.rindex(b"\n", 0, words[-1].start_byte) + 1
        pieces = self._pieces(start, max(start, end), self._holes(node))
        if self._text(node).startswith("<<-"):
            pieces = _dedented(pieces)
        return self._template(position, [heredoc_text(p) if isinstance(p, str) else p for p in pieces])

    def _template(self, position: Position, pieces: Sequence[str | Expression]) -> Expression:
        parts = tuple(Literal(position, p) if isinstance(p, str) else p for p in pieces if p != "")
        if not parts:
            return Literal(position, "")
        if len(parts) == 1 and isinstance(parts[0], Literal) and isinstance(parts[0].value, str):
            return parts[0]
        return syntax.Template(position, parts)

    def _holes(self, node: Node) -> list[Node]:
        return [
            child for child in node.children if child.type in ("template_interpolation", "template_directive")
        ]

    def _pieces(self, start: int, end: int, holes: list[Node]) -> list[str | Expression]:
        """Text and expressions by turns, starting and ending with text; `~` eats the space beside it."""
        pieces: list[str | Expression] = []
        strips_next = False
        for hole in holes:
            text = self.source.text(start, hole.start_byte)
            text = text.lstrip() if strips_next else text
            written = self._text(hole)
            pieces.append(text.rstrip() if written[2:3] == "~" else text)
            pieces.append(self._hole(hole))
            strips_next = written[-2:-1] == "~"
            start = hole.end_byte
        text = self.source.text(start, end)
        return [*pieces, text.lstrip() if strips_next else text]

    def _hole(self, node: Node) -> Expression:
        position = self._position(node)
        if node.type == "template_directive":
            message = "`%{ … }` directives are not supported in strings"
            hint = "use a conditional or `for` inside `${ … }`; `%%{` or a backtick string keeps the text"
            self.problems.append(Problem(message, position, hint))
            return Broken(position)
        inner = next((child for child in node.children if child.type == "expression"), None)
        if inner is None:
            self.problems.append(Problem("`${}` holds no expression", position, "write `$${}` for the text"))
            return Broken(position)
        return self.read(inner)

    def _number(self, node: Node) -> Expression:
        if node.start_byte in self.masked.broken:
            return Broken(self._position(node))
        try:
            return self._literal(node, number(self._text(node)))
        except ValueError:
            self.problems.append(Problem("this number is too large", self._position(node)))
            return Broken(self._position(node))

    def _literal(self, node: Node, value: Any) -> Literal:
        return Literal(self._position(node), value)

    def _text(self, node: Node) -> str:
        return self.source.text(node.start_byte, node.end_byte)

    def _position(self, node: Node) -> Position:
        return self.source.position(node.start_byte)


def _dedented(pieces: list[str | Expression]) -> list[str | Expression]:
    texts = [(piece, at == 0) for at, piece in enumerate(pieces) if isinstance(piece, str)]
    width = common_indent(texts)
    return [
        unindent(piece, width, at == 0) if isinstance(piece, str) else piece
        for at, piece in enumerate(pieces)
    ]
