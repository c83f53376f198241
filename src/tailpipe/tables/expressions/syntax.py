"""What an expression is made of, as DuckDB's own parser sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

# Names that DuckDB takes for its clock where no column has them.
CLOCK_NAMES = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
_LIST_HINT = "for a list, write list_contains(list, value)"
_REFUSED = {
    "SUBQUERY": ("a query inside an expression is not supported", _LIST_HINT),
    "WINDOW": ("window functions are not supported: an expression sees one record", None),
    "STAR": ("* is not supported", "name the columns"),
    "PARAMETER": ("parameters are not supported", "write the value"),
    "POSITIONAL_REFERENCE": ("columns have no numbers here", "name the column"),
    "DEFAULT": ("DEFAULT is not an expression", None),
}
_TOO_DEEP = ("the expression is nested too deeply", "use a list, or several columns")
_NOWHERE = 2**64 - 1
_BEGIN = "SELECT ("
# Words that are right where they stand in an expression.
_GRAMMAR = re.compile(
    "all|and|any|as|between|both|case|cast|collate|distinct|else|end|escape|exists|extract|false|for|from|glob|ilike|in|"
    "interval|is|isnull|lambda|leading|like|not|notnull|null|or|similar|some|struct|symmetric|then|to|trailing|trim|true|"
    "try|try_cast|when",
    re.I,
)


class ExpressionError(Exception):
    """Why a text is no expression; `hint` says what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def used_names(
    text: str, connection: duckdb.DuckDBPyConnection, is_known: Callable[[str], bool]
) -> tuple[str, ...]:
    """The names that one scalar expression uses as columns, as it spells them; of dotted ones the first part.

    Raises ExpressionError for anything but such an expression.
    """
    if not text.strip():
        raise ExpressionError("the expression is empty")
    if not _is_plain(text):
        raise ExpressionError("the expression holds a NUL, or what is no character")
    try:
        tree = _tree(text, connection)
    except RecursionError:
        raise ExpressionError(*_TOO_DEEP) from None
    names: dict[str, None] = {}
    parameters: set[str] = set()
    for node in _nodes(tree):
        if node["class"] in _REFUSED:
            raise ExpressionError(*_REFUSED[node["class"]])
        if node["class"] == "COLUMN_REF":
            names[node["column_names"][0]] = None
        if node["class"] == "LAMBDA":
            parameters |= set(_lambda_parameters(node, is_known))
        # A method call: in text.upper() the column stands where a schema would.
        if node["class"] == "FUNCTION" and node["schema"] not in ("", "main"):
            names[node["catalog"] or node["schema"]] = None
    return tuple(name for name in names if name not in parameters)


def _tree(text: str, connection: duckdb.DuckDBPyConnection) -> Any:
    parsed = _serialized(f"{_BEGIN}{text}\n)", connection)
    if parsed["error"]:
        raise _syntax_error(parsed, text, connection)
    empty = _serialized(f"{_BEGIN}1)", connection)
    tree, tree_of_empty = parsed["statements"], empty["statements"]
    expressions = tree[0]["node"].pop("select_list", [])
    tree_of_empty[0]["node"].pop("select_list")
    # A text that closes our parenthesis could bring clauses of its own.
    if _without_places(tree) != _without_places(tree_of_empty) or len(expressions) != 1:
        raise ExpressionError(
            "this is more than one expression", "write one expression over the fields of a record"
        )
    return expressions[0]


def _serialized(statement: str, connection: duckdb.DuckDBPyConnection) -> Any:
    escaped = statement.replace("'", "''")
    row = connection.execute(f"SELECT json_serialize_sql('{escaped}')").fetchone()
    return json.loads(row[0]) if row else {"error": True}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """In the order of the text."""
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if "class" in here:
                yield here
            waiting += reversed(here.values())
        elif isinstance(here, list):
            waiting += reversed(here)


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _lambda_parameters(node: dict[str, Any], is_known: Callable[[str], bool]) -> Iterator[str]:
    """Of `lambda x: …`, and of the older `x -> …`, which the parser cannot tell from `json -> key`."""
    if node["expr"].get("class") == "CONSTANT":
        return
    for part in _nodes(node["lhs"]):
        if part["class"] == "COLUMN_REF":
            name = part["column_names"][0]
            if part["query_location"] == _NOWHERE or not is_known(name):
                yield name


def _without_places(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_places(value) for key, value in tree.items() if key != "query_location"}
    return [_without_places(value) for value in tree] if isinstance(tree, list) else tree


def _syntax_error(parsed: Any, text: str, connection: duckdb.DuckDBPyConnection) -> ExpressionError:
    message = str(parsed.get("error_message") or "this is not an SQL expression").split("\n")[0]
    if "Only SELECT statements" in message:
        return ExpressionError("this is a statement, not an expression")
    near = re.search(r'at or near "(.*)"', message, re.S)
    position = parsed.get("position")
    if "expression depth" in message:
        return ExpressionError(*_TOO_DEEP)
    if message.startswith("unterminated"):
        return ExpressionError("a quote or comment that begins here does not end")
    if near is None or position is None:
        return ExpressionError(f"SQL syntax error: {message}")
    place = int(position) - len(_BEGIN) + 1
    if place > len(text.rstrip()):
        return ExpressionError(
            "SQL syntax error: the expression ends too early", _word_hint(text, connection)
        )
    shown = f'SQL syntax error near "{near[1]}", character {place} of the expression'
    return ExpressionError(shown, _word_hint(text, connection))


def _word_hint(text: str, connection: duckdb.DuckDBPyConnection) -> str | None:
    """A field may have a name that is a word of SQL: then it is written in double quotes."""
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", " ", text)
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", bare)):
        if not _GRAMMAR.fullmatch(word) and _serialized(f"{_BEGIN}{word})", connection)["error"]:
            return f'"{word}" is a word of SQL; if a field has that name, write it in double quotes: \\"{word}\\"'
    return None
