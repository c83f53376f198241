"""What SQL may do. It reads the lake and writes nothing, unless it is allowed to reach what lies outside.

DuckDB itself refuses files outside the lake. It cannot tell reading a folder from writing into it, so statements are
looked at too, before any of them runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb

from tailpipe.errors import QueryError
from tailpipe.query.connection import quote_text
from tailpipe.query.sql_tokens import Token, tokens_of

FLAG = "--allow-external"

# They act on tables of the session, which lives in memory.
_ALLOWED = frozenset(
    (
        "SELECT",
        "CREATE",
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE_INTO",
        "DROP",
        "ALTER",
        "EXECUTE",
        "TRANSACTION",
        "VACUUM",
    )
)

# Settings that change answers or the work done for them. Others name files, print, or undo what this module does.
_SETTINGS = frozenset(
    (
        "timezone",
        "calendar",
        "default_collation",
        "default_order",
        "default_null_order",
        "null_order",
        "order_by_non_integer_literal",
        "integer_division",
        "ieee_floating_point_ops",
        "old_implicit_casting",
        "scalar_subquery_error_on_multiple_rows",
        "lambda_syntax",
        "pivot_limit",
        "pivot_filter_threshold",
        "max_expression_depth",
        "explain_output",
        "preserve_insertion_order",
        "threads",
        "worker_threads",
        "memory_limit",
        "max_memory",
        "disabled_optimizers",
        "schema",
        "search_path",
    )
)

# Functions that write files, or read memory by address.
_NEVER = frozenset(
    (
        "enable_logging",
        "delta_set_transaction_version",
        "json_execute_serialized_sql",
        "arrow_scan",
        "arrow_scan_dumb",
        "pandas_scan",
        "python_map_function",
    )
)

# Functions that make SQL of text, and readers of Delta tables that do not ask DuckDB which files may be read.
_EXTERNAL = frozenset(
    (
        "query",
        "delta_scan",
        "delta_list_files",
        "delta_domain_metadata",
        "delta_get_transaction_version",
    )
)


@dataclass(frozen=True)
class Access:
    """`lake` is never written, whatever is allowed."""

    lake: Path
    is_external: bool = False

    def restrict(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Closes all files to SQL but those of the lake; its tables may be links to folders elsewhere."""
        if self.is_external:
            return
        folders = {str(self.lake), os.path.realpath(self.lake), *map(os.path.realpath, _links(self.lake))}
        connection.execute("SET python_enable_replacements = false")
        # Written out: DuckDB loads pandas to look at the types of parameters, which takes longer than a query.
        listed = ", ".join(map(quote_text, sorted(folders)))
        connection.execute(f"SET allowed_directories = [{listed}]")
        connection.execute("SET enable_external_access = false")

    def check(self, connection: duckdb.DuckDBPyConnection, script: str) -> None:
        """Raises QueryError if a statement of the script may not run."""
        self._check_functions(tokens_of(script))
        for statement in connection.extract_statements(script):
            self._check_statement(connection, str(statement.type).rpartition(".")[2], statement.query)

    def _check_functions(self, tokens: Sequence[Token]) -> None:
        denied = _NEVER if self.is_external else _NEVER | _EXTERNAL
        for token, following in pairwise(tokens):
            if token.name in denied and following.is_mark("("):
                raise self._refusal(f"function {token.name} is", can_be_asked=token.name in _EXTERNAL)

    def _check_statement(self, connection: duckdb.DuckDBPyConnection, kind: str, text: str) -> None:
        tokens = tokens_of(text)
        if kind in ("EXPLAIN", "PREPARE"):
            # Explaining with ANALYZE runs the statement inside.
            self.check(connection, _inner(kind, tokens, text))
        elif self.is_external:
            self._check_targets(kind, tokens)
        elif kind == "SET":
            self._check_setting(tokens)
        elif kind not in _ALLOWED:
            raise self._refusal(f"{_verb(tokens)} is")

    def _check_setting(self, tokens: Sequence[Token]) -> None:
        names = [token.name for token in tokens[:3] if token.name not in ("session", "global", "local")]
        if names[0] == "use" or names[1] == "variable":
            return
        if names[1] not in _SETTINGS:
            raise self._refusal(f"setting {names[1]} is")

    def _check_targets(self, kind: str, tokens: Sequence[Token]) -> None:
        if kind == "SELECT":
            return
        if kind == "COPY" and not _has_plain_target(tokens):
            raise QueryError(
                "COPY names its target by an expression.", "write the path as text: copy … to 'path'"
            )
        for token in tokens:
            if token.is_text and self._is_in_lake(token.value):
                raise QueryError(
                    f"{_verb(tokens)} names {token.value}, which is in the lake. Only collection writes there.",
                    "choose another folder; to read, name the table",
                )

    def _is_in_lake(self, path: str) -> bool:
        lake = os.path.realpath(self.lake)
        plain = os.path.expanduser(path.removeprefix("file:").replace("///", "/"))
        return "\0" not in plain and os.path.commonpath([lake, os.path.realpath(plain)]) == lake

    def _refusal(self, subject: str, *, can_be_asked: bool = True) -> QueryError:
        hint = f"{FLAG} lets SQL read and write what lies outside the lake" if can_be_asked else None
        return QueryError(f"{subject} not allowed: a query reads the lake and writes nothing.", hint)


def _links(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _verb(tokens: Sequence[Token]) -> str:
    return tokens[0].name.upper() if tokens else "this statement"


def _inner(kind: str, tokens: Sequence[Token], text: str) -> str:
    """The statement behind EXPLAIN [ANALYZE | (…)], or behind PREPARE name AS."""
    if kind == "PREPARE":
        before = [k for k, token in enumerate(tokens) if token.kind == "keyword" and token.name == "as"][:1]
    elif tokens[1].is_mark("("):
        before = [k for k, token in enumerate(tokens) if token.is_mark(")")][:1]
    else:
        before = [1 if tokens[1].name in ("analyze", "analyse", "verbose") else 0]
    start = before[0] + 1
    return text.encode()[tokens[start].start_bytes :].decode()


def _has_plain_target(tokens: Sequence[Token]) -> bool:
    """COPY … TO 'path', or COPY … FROM."""
    depth = 0
    for token, following in pairwise(tokens):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 and token.name == "to":
            return following.is_text
    return True
