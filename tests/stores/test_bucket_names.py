"""Names that libraries escape each in their own way, read by DuckDB from a bucket."""

from __future__ import annotations

import pytest
from addresses import storage_of

from lake_history import Table
from object_store import ObjectStore
from tailpipe.lake.address import Lake
from tailpipe.query.access import Access
from tailpipe.query.connection import open_connection
from tailpipe.query.tables import find_queryable
from tailpipe.query.views import create_views


@pytest.mark.parametrize("prefix", ["our lake", "a+b&c=d", "日本"])
@pytest.mark.parametrize("name", ["log ü", "日本", "my - log"])
def test_a_table_is_read(object_store: ObjectStore, prefix: str, name: str) -> None:
    lake = Lake(f"{object_store.new_uri()}/{prefix}", storage_of(object_store))
    table = Table(lake, name)
    table.collect("é p", rejects=1)
    sql = f'select message from "{name}" order by 1; select raw from tailpipe.rejects'
    with open_connection() as connection:
        create_views(connection, find_queryable(lake, {}, ()), sql)
        Access(lake).restrict(connection)
        rows, rejects = (connection.execute(each).fetchall() for each in sql.split(";"))
    assert rows == [("é p-1-0",), ("é p-1-1",)]
    assert rejects == [("é p-1-bad0",)]
