"""A DuckDB connection that lives in memory and reaches for nothing it was not given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import duckdb

from tailpipe.errors import QueryError
from tailpipe.scratch import scratch_folder

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


@contextmanager
def open_connection(
    *, memory_max_mb: int | None = None, cores: int | None = None, is_external: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Spills into a folder of its own in the system's temporary one, never into the working directory.

    `is_external` says that SQL may load extensions from anywhere.
    """
    settings = dict(_SETTINGS)
    # Checking a signature reads the whole 80 MB extension: 0.2 to 0.4 s of every query. Our extensions come from
    # wheels, like DuckDB itself, and were checked against the lock when they were installed.
    settings["allow_unsigned_extensions"] = str(not is_external).lower()
    if memory_max_mb is not None:
        settings["memory_limit"] = f"{memory_max_mb}MB"
    if cores is not None:
        settings["threads"] = str(cores)
    with scratch_folder("query") as folder:
        settings["temp_directory"] = str(folder)
        connection = duckdb.connect(":memory:", config=settings)
        try:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
        finally:
            # Closing waits for a running query, and after Ctrl-C it is still running.
            connection.interrupt()
            connection.close()


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Loads from the wheel `duckdb-extension-<name>`; nothing is downloaded."""
    connection.execute(f"LOAD {quote_text(_extension_path(name))}")


def _extension_path(name: str) -> str:
    spec = find_spec(f"duckdb_extension_{name}")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, "extensions", f"v{duckdb.__version__}", f"{name}.duckdb_extension")
        if os.path.isfile(path):
            return path
    raise QueryError(
        f"DuckDB {duckdb.__version__} needs its {name} extension, and the package duckdb-extension-{name} "
        "does not hold one for it.",
        f'pip install "duckdb-extension-{name}=={duckdb.__version__}"',
    )


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
