"""DuckDB's errors in our words: what is wrong, where in the SQL, and the nearest right name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import duckdb

from tailpipe.errors import QueryError
from tailpipe.lake.store_errors import store_problem
from tailpipe.suggest import nearest

_MISSING_TABLE = re.compile(r'Table with name "?([^"\s]+(?: [^"]+)?)"? does not exist')
_MISSING_COLUMN = re.compile(r'Referenced column "([^"]+)" (?:was )?not found')
_MISSING_MEMBER = re.compile(r'Could not find key "([^"]+)" in struct')
_MISSING_QUALIFIED = re.compile(r'(?:Table|Values list) "([^"]+)" does not have a column named "([^"]+)"')
_CANDIDATES = re.compile(r"Candidate (?:bindings|Entries): ?:?(.+)")
_SUGGESTION = re.compile(r'Did you mean "([^"]+)"\??')
_CLOSED = re.compile(r'Cannot access (?:file|directory) "(.+?)" - file system operations are disabled')
_GONE = re.compile(r"""["']([^"']+)["'](?=: No such file|.*\b404\b)|match the pattern "([^"]+)\"""")
_RENAMED = {"collections": "tailpipe.runs"}
_PLACE = re.compile(r"\n\s*(LINE \d+:.*\n.*\^)\s*$", re.S)


def query_error(
    error: duckdb.Error, table_names: Sequence[str], *, is_place_known: bool = True
) -> QueryError:
    """`is_place_known` is false where DuckDB points into SQL that we made around the user's."""
    problem = store_problem(error) if isinstance(error, duckdb.HTTPException | duckdb.IOException) else None
    if problem is not None:
        return QueryError(problem.message, problem.hint)
    text = str(error).strip()
    place = _PLACE.search(text)
    error_text = text[: place.start()].strip() if place else text
    message, hint = _explain(error_text, table_names)
    return QueryError(f"{message}\n{place[1]}" if place and is_place_known else message, hint)


def _explain(error_text: str, table_names: Sequence[str]) -> tuple[str, str | None]:
    candidates = re.findall(r'"([^"]+)"', _first(_CANDIDATES, error_text) or "")
    if missing := _MISSING_TABLE.search(error_text):
        name = missing[1]
        return f'There is no table "{name}".', _table_hint(name, table_names)
    if missing := _MISSING_QUALIFIED.search(error_text):
        hint = _name_hint(missing[2], candidates) or f"describe {missing[1]} lists its columns"
        return f'Table "{missing[1]}" has no column "{missing[2]}".', hint
    if missing := _MISSING_COLUMN.search(error_text):
        return f'There is no column "{missing[1]}".', _name_hint(missing[1], candidates)
    if missing := _MISSING_MEMBER.search(error_text):
        return f'The struct has no member "{missing[1]}".', _name_hint(missing[1], candidates)
    if path := _first(_CLOSED, error_text):
        hint = "--allow-external lets SQL read and write what lies outside the lake"
        return f'"{path}" is not in the lake: a query reads the lake and writes nothing.', hint
    if path := missing_file(error_text):
        return gone_file(path), "--as-of a later time, or a window without its rows"
    suggestion = _first(_SUGGESTION, error_text)
    message = _SUGGESTION.sub("", error_text).strip()
    return message, f'did you mean "{suggestion}"?' if suggestion else None


def missing_file(error_text: str) -> str | None:
    """The file that DuckDB did not find."""
    found = _GONE.search(error_text)
    return found and (found[1] or found[2])


def gone_file(path: str) -> str:
    return f'"{path}" is not there any more: it was vacuumed or purged, or deleted by other programs.'


def _table_hint(name: str, table_names: Sequence[str]) -> str:
    bare = name.rpartition(".")[2]
    if bare.lower() in _RENAMED:
        return f"it is called {_RENAMED[bare.lower()]} now"
    if not table_names:
        return "there are no tables yet: configure a partition, then run tailpipe collect"
    return _name_hint(bare, table_names) or "tailpipe query 'show tables' lists the tables"


def _name_hint(name: str, candidates: Iterable[str]) -> str | None:
    by_key = {candidate.rpartition(".")[2].lower(): candidate for candidate in candidates}
    near = nearest(name, by_key, cutoff=0.5)
    if near:
        return f'did you mean "{by_key[near].rpartition(".")[2]}"?'
    return f"there are: {', '.join(by_key.values())}" if 0 < len(by_key) <= 8 else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None
