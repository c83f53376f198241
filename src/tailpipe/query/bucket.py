"""DuckDB reads a lake in a bucket with a secret of the session, which counts for that lake alone."""

from __future__ import annotations

import duckdb

from tailpipe.lake.address import Lake
from tailpipe.lake.storage import is_plain_http
from tailpipe.query.connection import load_extension, quote_text

_NAME = "tailpipe_lake"


def open_bucket(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Before what lies outside is closed: nothing can be loaded then. Nothing for a lake in a folder."""
    if lake.storage is None:
        return
    access = lake.storage.access()
    load_extension(connection, "httpfs")
    said = {
        "KEY_ID": access.access_key,
        "SECRET": access.secret_key,
        "SESSION_TOKEN": access.session_token,
        "REGION": access.region,
        "ENDPOINT": access.endpoint_url and access.endpoint_url.partition("://")[2],
        "URL_STYLE": "path" if access.is_path_style else "vhost",
        "SCOPE": f"{lake.uri}/",
    }
    options = [f"{name} {quote_text(value)}" for name, value in said.items() if value]
    options.append(f"USE_SSL {str(not is_plain_http(access)).lower()}")
    connection.execute(f"CREATE SECRET {_NAME} (TYPE s3, {', '.join(options)})")
