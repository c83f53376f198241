"""Run a script; each statement that returns rows becomes a result that is read once, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
from duckdb.sqltypes import DuckDBPyType

from tailpipe.lake.store_errors import plain_cause
from tailpipe.query.access import Access
from tailpipe.query.cells import is_number, json_cell, text_cell
from tailpipe.query.problems import query_error

Row = tuple[str | None, ...]

BATCH_ROWS = 2048


@dataclass(frozen=True)
class ResultColumn:
    """`name` is unique within the result; `original_name` is what the SQL says."""

    name: str
    data_type: str
    original_name: str
    is_number: bool = False


@dataclass(frozen=True)
class Result:
    """Rows of one statement. Reading computes them, so it can fail, and it can be done once."""

    columns: tuple[ResultColumn, ...]
    read: Callable[[Callable[[str, DuckDBPyType], str]], Iterator[list[Row]]]

    def text_batches(self) -> Iterator[list[Row]]:
        return self.read(text_cell)

    def json_batches(self) -> Iterator[list[Row]]:
        return self.read(json_cell)


def run_script(
    connection: duckdb.DuckDBPyConnection,
    script: str,
    table_names: Sequence[str] = (),
    access: Access | None = None,
) -> Iterator[Result]:
    """Runs statements in order; a statement starts when the result before it has been taken.

    Where `access` refuses one of them, none runs.
    """
    if access is not None:
        with _explained(table_names):
            access.check(connection, script)
    for statement in _statements(connection, script, table_names):
        with _explained(table_names):
            try:
                relation = connection.sql(statement)
            except duckdb.Error as error:
                raise _with_place(connection, statement, error) from error
        if relation is not None:
            yield _result(relation, table_names)


def _statements(
    connection: duckdb.DuckDBPyConnection, script: str, table_names: Sequence[str]
) -> Iterator[duckdb.Statement | str]:
    """Statements as text where possible, behind as many newlines as precede them in the script.

    Only text makes DuckDB point at the place of an error, and the newlines make it count the script's lines.
    PIVOT becomes several statements whose text is not in the script.
    """
    with _explained(table_names):
        statements = connection.extract_statements(script)
    offset = 0
    for statement in statements:
        found = script.find(statement.query, offset) if statement.query.strip() else -1
        if found < 0:
            yield statement
            continue
        yield "\n" * script.count("\n", 0, found) + statement.query
        offset = found + len(statement.query)


def _with_place(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement | str, error: duckdb.Error
) -> duckdb.Error:
    """The same error with its place in the SQL, which DuckDB tells only when it executes text.

    A name that cannot be found fails before anything runs, so trying again changes nothing.
    """
    if isinstance(statement, str) and isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        try:
            connection.execute(statement)
        except duckdb.Error as placed:
            return placed
    return error


def _result(relation: duckdb.DuckDBPyRelation, table_names: Sequence[str]) -> Result:
    types = relation.types

    def read(cell: Callable[[str, DuckDBPyType], str]) -> Iterator[list[Row]]:
        cells = ", ".join(cell(f"#{place}", type_) for place, type_ in enumerate(types, start=1))
        with _explained(table_names, is_place_known=False):
            texts = relation.project(cells)
            while batch := texts.fetchmany(BATCH_ROWS):
                yield batch

    return Result(_columns(relation.columns, types), read)


def _columns(names: Sequence[str], types: Sequence[DuckDBPyType]) -> tuple[ResultColumn, ...]:
    return tuple(
        ResultColumn(unique, str(type_), name, is_number(type_))
        for unique, name, type_ in zip(_unique_names(names), names, types, strict=True)
    )


def _unique_names(names: Sequence[str]) -> list[str]:
    """`a, a, b` becomes `a, a_1, b`; a name that the SQL itself uses is never given to another column."""
    given = set(names)
    unique: dict[str, None] = {}
    for name in names:
        candidate, number = name, 0
        while candidate in unique or (number and candidate in given):
            number += 1
            candidate = f"{name}_{number}"
        unique[candidate] = None
    return list(unique)


@contextmanager
def _explained(table_names: Sequence[str], *, is_place_known: bool = True) -> Iterator[None]:
    """DuckDB tells Ctrl-C as a RuntimeError that was caused by it."""
    try:
        yield
    except duckdb.Error as error:
        raise query_error(error, table_names, is_place_known=is_place_known) from plain_cause(error)
    except RuntimeError as error:
        raise KeyboardInterrupt if isinstance(error.__cause__, KeyboardInterrupt) else error from error
