"""The lake as SQL sees it: one view per table, and in the schema `tailpipe` what it knows of collection itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import duckdb

from tailpipe.errors import LakeError
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.store_errors import plain_cause, store_hint
from tailpipe.query.connection import load_extension, quote_name, quote_text
from tailpipe.query.problems import gone_file, missing_file
from tailpipe.query.restriction import Restriction
from tailpipe.tables.type_change import merged_type
from tailpipe.tables.types import Struct, parse_type, stored_type

Found = TypeVar("Found")

REJECT_COLUMNS = (
    ("id", "VARCHAR"),
    ("table_name", "VARCHAR"),
    ("partition", "VARCHAR"),
    ("source", "VARCHAR"),
    ("artifact", "VARCHAR"),
    ("entry", "VARCHAR"),
    ("position", "BIGINT"),
    ("raw", "VARCHAR"),
    ("reason", "VARCHAR"),
    ("rejected_at", "TIMESTAMP"),
    ("records", "BIGINT"),
    ("code", "VARCHAR"),
)

# Words with which SQL reaches tables without naming them: all tables are opened then.
_REACHES_ALL = re.compile(
    r"\b(information_schema|pg_\w+|duckdb_\w+|pragma\w*|sqlite_\w+|query\w*|show\s+all|describe\s*(;|$))",
    re.I,
)

_BEING_COPIED = "tailpipe_being_copied"
_ATTACHED = "tailpipe lake "

_STORED_AS_TEXT = re.compile(r"\b(json|inet|interval|uuid|(?<!with )time)\b", re.I)


@dataclass(frozen=True)
class TableView:
    """A table to show. `uri` is its Delta table, None while nothing is collected; `version` that of it, None for the
    newest.

    `columns` are names with DuckDB types as declared: stored values are cast to them, and declared columns
    that are not stored are null. Stored columns that are not declared show as they are.
    """

    name: str
    uri: str | None
    columns: tuple[tuple[str, str], ...] = ()
    version: int | None = None


@dataclass(frozen=True)
class Book:
    """A table of the schema `tailpipe`. `read` gives its rows, in Arrow, of partitions that may be seen."""

    columns: tuple[tuple[str, str], ...]
    read: Callable[[Callable[[str, str], bool]], Any]


@dataclass(frozen=True)
class Queryable:
    """Everything that can be queried. All but names is looked up only when the SQL can reach it."""

    table_names: tuple[str, ...]
    find_table: Callable[[str], TableView]
    find_reject_files: Callable[[], Sequence[str]] = tuple
    open_lake: Callable[[duckdb.DuckDBPyConnection], None] = lambda connection: None
    books: Mapping[str, Book] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def create_views(
    connection: duckdb.DuckDBPyConnection,
    queryable: Queryable,
    sql: str,
    restriction: Restriction | None = None,
) -> None:
    """Makes every table visible, and opens those that the SQL can reach.

    Opening a table reads its log, so a lake of fifty tables must not pay for it when one is asked.
    """
    allowed = restriction or Restriction()
    words = _words(sql)
    reaches_all = _REACHES_ALL.search(sql) is not None
    named = named_tables(queryable.table_names, sql)
    selects = {name: _closed(name) for name in queryable.table_names}
    opened: list[TableView] = []
    for name in queryable.table_names if reaches_all else named:
        found = _or_failing(partial(queryable.find_table, name), name in named)
        if isinstance(found, str):
            selects[name] = found
        else:
            opened.append(found)
    for extension in _extensions(opened, sql):
        load_extension(connection, extension)
    if reaches_all or "rejects" in words or any(view.uri is not None for view in opened):
        queryable.open_lake(connection)
    for view in opened:
        selects[view.name] = _or_failing(partial(_opened, connection, view, allowed), view.name in named)
    for name, select in selects.items():
        connection.execute(f"CREATE VIEW {quote_name(name)} AS {select}")
    connection.execute("CREATE SCHEMA tailpipe")
    find_files = queryable.find_reject_files if reaches_all or "rejects" in words else tuple
    rejects = _or_failing(partial(_readable_rejects, connection, find_files, allowed), "rejects" in words)
    connection.execute(f"CREATE VIEW tailpipe.rejects AS {rejects}")
    for name, book in queryable.books.items():
        is_named = {"tailpipe", name} <= words
        select = f"{_in_given_order(book.columns, {})} WHERE false"
        if reaches_all or is_named:
            select = _or_failing(partial(_registered, connection, book, allowed), is_named)
        # Copied: a view would need what it reads to be registered under a name that lists of tables show.
        kind = "TABLE" if select == f"FROM {_BEING_COPIED}" else "VIEW"
        connection.execute(f"CREATE {kind} tailpipe.{name} AS {select}")
        connection.unregister(_BEING_COPIED)


def _or_failing(find: Callable[[], Found], is_named: bool) -> Found | str:
    """What is damaged fails at once where the SQL names it, else when it is read."""
    try:
        return find()
    except LakeError as error:
        if is_named:
            raise
        return _failing(error.message)


def named_tables(names: Iterable[str], sql: str) -> list[str]:
    """Those of the tables that the SQL may name."""
    words = _words(sql)
    return [name for name in names if _words(name) <= words]


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", text)}


def _extensions(opened: Sequence[TableView], sql: str) -> Iterator[str]:
    text = sql.lower()
    if any(view.uri is not None for view in opened):
        yield "delta"
    if "inet" in text or any("inet" in type_.lower() for view in opened for _, type_ in view.columns):
        yield "inet"
    if "://" in text:
        yield "httpfs"


def _opened(connection: duckdb.DuckDBPyConnection, view: TableView, restriction: Restriction) -> str:
    if view.uri is None:
        return _empty(view.columns)
    scan = f"{quote_name(_ATTACHED + view.name)}.main.{quote_name(_ATTACHED + view.name)}"
    types = _stored_types(connection, view, scan)
    stored = {name.lower(): name for name in types}
    declared = {name.lower(): type_ for name, type_ in view.columns}
    unlike = {
        key for key, name in stored.items() if key in declared and not _fits(types[name], declared[key])
    }
    columns = {name: _column(name, type_, stored) for name, type_ in view.columns}
    columns |= {name: quote_name(name) for key, name in stored.items() if key not in declared}
    columns |= {
        name: f"{quote_name(stored[name.lower()])} AS {quote_name(name)}"
        for name, _ in view.columns
        if name.lower() in unlike
    }
    selected = ", ".join(columns[name] for name in _in_order(columns))
    condition = restriction.condition(view.name)
    return f"SELECT {selected} FROM {scan}" + (f" WHERE {condition}" if condition else "")


def _fits(stored: str, declared: str) -> bool:
    """Whether every stored value can be cast; where not, they show as they are stored until they are rewritten."""
    if stored == declared:
        return True
    old, new = parse_type(stored), stored_type(parse_type(declared))
    if isinstance(old, Struct) and isinstance(new, Struct):
        names = {member.name.lower() for member in old.members}
        if names.isdisjoint(member.name.lower() for member in new.members):
            return False
    return merged_type(old, new) is not None


def _stored_types(connection: duckdb.DuckDBPyConnection, view: TableView, scan: str) -> dict[str, str]:
    try:
        _attach(connection, view)
        rows = connection.sql(f"FROM {scan}")
        return dict(zip(rows.columns, map(str, rows.types), strict=True))
    except duckdb.Error as error:
        raise LakeError(
            f'table "{view.name}" cannot be read at {view.uri}: {delta_message(error)}',
            store_hint(error) or "check that the folder is whole and readable",
        ) from plain_cause(error)


def _attach(connection: duckdb.DuckDBPyConnection, view: TableView) -> None:
    """Its log is read once. By name, each of the four times that DuckDB looks at a view would read it again."""
    assert view.uri is not None
    path = _ending_in_ascii(view.uri)
    version = f", VERSION {view.version}" if view.version is not None else ""
    name = quote_name(_ATTACHED + view.name)
    connection.execute(
        f"ATTACH {quote_text(path)} AS {name} (TYPE delta, READ_ONLY, PIN_SNAPSHOT, HIDDEN{version})"
    )


def _ending_in_ascii(uri: str) -> str:
    """The extension drops other letters from the end of a path. In a bucket a dot would be part of names of objects."""
    if uri[-1].isascii():
        return uri
    return f"{uri[:-1]}{quote(uri[-1])}" if uri.startswith("s3://") else f"{uri}/."


def _column(name: str, type_: str, stored: dict[str, str]) -> str:
    """DuckDB drops a cast to the type a column already has, so filters still reach the files.

    One text that is no value of its type must not make the others unreadable: JSON shows it as a string, other
    types as null.
    """
    value = quote_name(stored[name.lower()]) if name.lower() in stored else "NULL"
    if type_.upper() == "JSON":
        return f"coalesce(TRY_CAST({value} AS JSON), to_json({value}::VARCHAR)) AS {quote_name(name)}"
    cast = "TRY_CAST" if _STORED_AS_TEXT.search(type_) else "CAST"
    return f"{cast}({value} AS {type_}) AS {quote_name(name)}"


def _closed(name: str) -> str:
    """Fails when read: an answer of no rows would be a wrong answer."""
    return _failing(f'table "{name}" was not opened, because its name does not occur in the SQL')


def _failing(message: str) -> str:
    return f"SELECT NULL WHERE error({quote_text(message)})"


def _empty(columns: Sequence[tuple[str, str]]) -> str:
    types = dict(columns)
    return f"SELECT {', '.join(_column(name, types[name], {}) for name in _in_order(types))} WHERE false"


def _readable_rejects(
    connection: duckdb.DuckDBPyConnection, find_files: Callable[[], Sequence[str]], restriction: Restriction
) -> str:
    select = _rejects(find_files(), restriction)
    try:
        connection.sql(select)
    except duckdb.IOException as error:
        path = missing_file(str(error))
        told = gone_file(path) if path else delta_message(error)
        raise LakeError(f"rejects cannot be read: {told}", "--as-of a later time has others") from error
    return select


def _rejects(files: Sequence[str], restriction: Restriction) -> str:
    stored = {name: name for name, _ in REJECT_COLUMNS} if files else {}
    select = _in_given_order(REJECT_COLUMNS, stored)
    if not files:
        return f"{select} WHERE false"
    paths = ", ".join(map(quote_text, files))
    condition = restriction.partition_condition()
    # Files of before have a row for every record, and no codes.
    every = (
        f"FROM read_parquet([{paths}], union_by_name = true) "
        "UNION ALL BY NAME SELECT NULL::BIGINT AS records, NULL::VARCHAR AS code WHERE false"
    )
    scan = f"{select} FROM (SELECT * REPLACE (coalesce(records, 1) AS records) FROM ({every}))"
    return f"{scan} WHERE {condition}" if condition else scan


def _in_given_order(columns: Sequence[tuple[str, str]], stored: dict[str, str]) -> str:
    return f"SELECT {', '.join(_column(name, type_, stored) for name, type_ in columns)}"


def _registered(connection: duckdb.DuckDBPyConnection, book: Book, restriction: Restriction) -> str:
    connection.register(_BEING_COPIED, book.read(restriction.chooses))
    return f"FROM {_BEING_COPIED}"


def _in_order(names: Iterable[str]) -> list[str]:
    """The table's own columns by name, then the tp_ columns by name."""
    return sorted(names, key=lambda name: (name.lower().startswith("tp_"), name.lower()))
