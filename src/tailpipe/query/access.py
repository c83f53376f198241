"""What SQL may do. It reads the lake and writes nothing, unless it is allowed to reach what lies outside.

DuckDB itself refuses files outside the lake. It cannot tell reading a folder from writing into it, so statements are
looked at too, before any of them runs. Where what lies outside is allowed, that look guards the lake against mistakes.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import duckdb

from tailpipe.errors import QueryError
from tailpipe.lake.address import Lake
from tailpipe.query.connection import quote_text
from tailpipe.query.permissions import EXTERNAL, FILE_SETTINGS, NEVER, SETTINGS, STATEMENTS
from tailpipe.query.sql_tokens import Token, tokens_of

FLAG = "--allow-external"

# What may stand before a path: file:///…, file://localhost/…, duckdb:/…
_OBJECT = re.compile(r"s3[an]?:/+", re.I)
_SCHEME = re.compile(r"(?:\w+:)*(?://localhost(?=/))?")


@dataclass(frozen=True)
class Access:
    """`lake` is only read. With `is_external` that holds for SQL that names its targets by text."""

    lake: Lake
    is_external: bool = False

    def restrict(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Closes all files to SQL but those of the lake; its tables may be links to folders elsewhere."""
        if self.is_external:
            return
        folders = {f"{self.lake}/"} if self.lake.storage else {self.lake.uri, *self._real_folders()}
        connection.execute("SET python_enable_replacements = false")
        # Written out: DuckDB loads pandas to look at the types of parameters, which takes longer than a query.
        listed = ", ".join(map(quote_text, sorted(folders)))
        connection.execute(f"SET allowed_directories = [{listed}]")
        if self.lake.storage:
            _take_keys_as_they_are(connection)
        connection.execute("SET enable_external_access = false")

    def check(self, connection: duckdb.DuckDBPyConnection, script: str) -> None:
        """Raises QueryError if a statement of the script may not run."""
        self._check_functions(tokens_of(script))
        for statement in connection.extract_statements(script):
            self._check_statement(connection, str(statement.type).rpartition(".")[2], statement.query, script)

    def _check_functions(self, tokens: Sequence[Token]) -> None:
        for token, following in pairwise(tokens):
            if token.name in self._denied and following.is_mark("("):
                raise self._function_refusal(token.name)

    def _check_statement(
        self, connection: duckdb.DuckDBPyConnection, kind: str, text: str, script: str
    ) -> None:
        if not text:
            self._check_words(script)
        tokens = tokens_of(text)
        # Again: DuckDB makes spaces of other characters before it cuts SQL, and PRAGMA becomes other statements.
        self._check_functions(tokens)
        if kind in ("EXPLAIN", "PREPARE"):
            # Explaining with ANALYZE runs the statement inside.
            self.check(connection, _inner(kind, tokens, text))
        elif kind == "SET":
            self._check_setting(tokens)
        elif _is_about_secrets(kind, tokens):
            if not self.is_external:
                raise self._refusal(f"{_verb(tokens)} SECRET is")
        elif kind in STATEMENTS:
            return
        elif not self.is_external:
            raise self._refusal(f"{_verb(tokens)} is")
        elif kind == "COPY":
            self._check_copy(tokens)
        else:
            self._check_paths(tokens, must_be_plain=kind in ("ATTACH", "EXPORT"))

    def _check_words(self, script: str) -> None:
        """For PIVOT, whose text DuckDB does not tell: beyond ASCII it is not known where its words begin."""
        found = self._denied.intersection(re.findall(r"\w+", script.lower()))
        if found and not script.isascii():
            raise self._function_refusal(min(found))

    def _check_setting(self, tokens: Sequence[Token]) -> None:
        names = [token.name for token in tokens[:3] if token.name not in ("session", "global", "local")]
        if names[0] == "use" or names[1] == "variable" or names[1] in SETTINGS:
            return
        if names[1] in FILE_SETTINGS or not self.is_external:
            raise self._refusal(f"setting {names[1]} is", can_be_asked=names[1] not in FILE_SETTINGS)
        self._check_paths(tokens, must_be_plain=True)

    def _check_copy(self, tokens: Sequence[Token]) -> None:
        """What stands before the target is read, and what COPY … FROM names too."""
        target = _target(tokens)
        if target is None:
            return
        if not tokens[target].is_plain_text:
            raise _unclear("COPY")
        self._check_paths(tokens[target:])
        for token, following in pairwise(tokens[target:]):
            if token.name == "filename_pattern" and ("/" in following.value or not following.is_plain_text):
                raise QueryError(
                    "COPY has a filename_pattern that leaves its folder.", "write a name without / as text"
                )

    def _check_paths(self, tokens: Sequence[Token], *, must_be_plain: bool = False) -> None:
        for token in tokens:
            if must_be_plain and token.is_text and not token.is_plain_text:
                raise _unclear(_verb(tokens))
            if (token.is_text or '"' in token.text) and self._is_in_lake(token.value):
                raise QueryError(
                    f"{token.value} is in the lake. Only collection writes there.",
                    "choose another folder; to read, name the table",
                )

    def _is_in_lake(self, path: str) -> bool:
        if self.lake.storage:
            return _object_path(path).startswith(f"{_object_path(self.lake.uri)}/")
        plain = os.path.expanduser(_SCHEME.sub("", path, count=1).replace("///", "/"))
        if "\0" in plain:
            return False
        real = os.path.realpath(plain)
        return any(os.path.commonpath([folder, real]) == folder for folder in self._real_folders())

    def _real_folders(self) -> list[str]:
        return list(map(os.path.realpath, self.lake.folders()))

    @property
    def _denied(self) -> frozenset[str]:
        return NEVER if self.is_external else NEVER | EXTERNAL

    def _function_refusal(self, name: str) -> QueryError:
        return self._refusal(f"function {name} is", can_be_asked=name in EXTERNAL)

    def _refusal(self, subject: str, *, can_be_asked: bool = True) -> QueryError:
        hint = f"{FLAG} lets SQL read and write what lies outside the lake" if can_be_asked else None
        return QueryError(f"{subject} not allowed: a query reads the lake and writes nothing.", hint)


def _take_keys_as_they_are(connection: duckdb.DuckDBPyConnection) -> None:
    """What follows a ? in an address would name another host, which would get the request, signed, with rows in it."""
    # Without the extension there is no such setting, and nothing reaches a bucket: it cannot be loaded any more.
    with suppress(duckdb.CatalogException):
        connection.execute("SET s3_url_compatibility_mode = true")


def _object_path(path: str) -> str:
    """One spelling of the address of an object; empty for what is none."""
    found = _OBJECT.match(path)
    return posixpath.normpath(f"{path[found.end() :]}/.") if found else ""


def _verb(tokens: Sequence[Token]) -> str:
    return tokens[0].name.upper() if tokens else "this statement"


def _is_about_secrets(kind: str, tokens: Sequence[Token]) -> bool:
    """CREATE [OR REPLACE] [PERSISTENT] SECRET, DROP [PERSISTENT] SECRET."""
    names = [token.name for token in tokens[:6]]
    while names[1:] and names[1] in ("or", "replace", "persistent", "temporary", "temp"):
        del names[1]
    return kind in ("CREATE", "DROP") and names[1:2] == ["secret"]


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


def _target(tokens: Sequence[Token]) -> int | None:
    """Where COPY … TO names its target; None for COPY … FROM."""
    depth = 0
    for k, token in enumerate(tokens[:-1]):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 and token.kind == "keyword" and token.name == "to":
            return k + 1
    return None


def _unclear(verb: str) -> QueryError:
    return QueryError(f"{verb} does not name its target by plain text.", "write the path as 'path'")
