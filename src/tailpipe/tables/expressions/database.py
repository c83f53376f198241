"""The DuckDB that evaluates expressions: in memory, one thread, without a way to files, network or settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec

import duckdb

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "1GB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# All ways to ask for the time: each gives that of the run, whichever task asks and whenever.
_CLOCKS: Mapping[str, str] = {
    "now": "TIMESTAMPTZ '{moment}+00'",
    "get_current_timestamp": "TIMESTAMPTZ '{moment}+00'",
    "transaction_timestamp": "TIMESTAMPTZ '{moment}+00'",
    "current_localtimestamp": "TIMESTAMP '{moment}'",
    "current_date": "DATE '{moment}'",
    "today": "DATE '{moment}'",
    "current_localtime": "TIME '{clock}'",
    "get_current_time": "TIMETZ '{clock}+00'",
}


def open_database(now: datetime | None = None, with_inet: bool = False) -> duckdb.DuckDBPyConnection:
    """`now` is the time of the run; a configuration is checked without one."""
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    # It takes what occurs twice out of TRY, where its errors are not caught.
    connection.execute("SET disabled_optimizers = 'common_subexpressions'")
    if with_inet:
        connection.execute(f"LOAD '{_inet_path()}'")
    moment = (now or _EPOCH).astimezone(UTC).replace(tzinfo=None)
    for name, value in _CLOCKS.items():
        text = value.format(moment=moment.isoformat(" "), clock=moment.time().isoformat())
        connection.execute(f"CREATE MACRO {name}() AS {text}")
    connection.execute(
        "CREATE MACRO age(later) AS system.main.age(current_date::TIMESTAMP, later::TIMESTAMP), "
        "(later, earlier) AS system.main.age(later, earlier)"
    )
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _inet_path() -> str:
    """In the wheel `duckdb-extension-inet`, made for exactly one version of DuckDB."""
    spec = find_spec("duckdb_extension_inet")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    for folder in folders:
        path = os.path.join(folder, "extensions", f"v{duckdb.__version__}", "inet.duckdb_extension")
        if os.path.isfile(path):
            return path.replace("'", "''")
    raise duckdb.Error(
        f"DuckDB {duckdb.__version__} needs the package duckdb-extension-inet of its own version"
    )
