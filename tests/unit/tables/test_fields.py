"""Which members of a record are read when several columns look into the same one."""

from __future__ import annotations

from tailpipe.tables.fields import field_sql, record_shape
from tailpipe.tables.table import Column


def test_a_struct_column_and_a_path_into_it_share_the_member() -> None:
    columns = (Column("client", "struct(ip varchar, port integer)"), Column("address", source="client.ip"))
    for order in (columns, columns[::-1]):
        shape = record_shape(order)
        assert field_sql(shape, ["client", "ip"]) == "f.`client`.`ip`"
        assert set(shape.members["client"].members) == {"ip", "port"}


def test_a_path_may_read_a_member_that_the_struct_column_leaves_out() -> None:
    shape = record_shape((Column("client", "struct(port integer)"), Column("address", source="client.ip")))
    assert set(shape.members["client"].members) == {"port", "ip"}


def test_a_path_into_a_json_column_looks_into_its_text() -> None:
    shape = record_shape((Column("client", "json"), Column("address", source="client.at.ip")))
    assert field_sql(shape, ["client", "at", "ip"]) == "get_json_object(f.`client`, '$.at.ip')"
