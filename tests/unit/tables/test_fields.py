"""Which members of a record are read when several columns look into the same one."""

from __future__ import annotations

import pytest

from tailpipe.tables.fields import field_sql, record_shape
from tailpipe.tables.table import Column
from tailpipe.tables.values import column_value


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


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("$ = 'opened'", "f.`a` = 'opened'"),
        ("regexp_replace($, 'x$', '')", "regexp_replace(f.`a`, 'x$', '')"),
        ('$ rlike "^a$" OR $ IS NULL', 'f.`a` rlike "^a$" OR f.`a` IS NULL'),
        (r"concat($, 'it\'s $', $)", r"concat(f.`a`, 'it\'s $', f.`a`)"),
        (r"concat('\\', $, '''$')", r"concat('\\', f.`a`, '''$')"),
        ("named_struct('a', $).`$`", "named_struct('a', f.`a`).`$`"),
    ],
)
def test_a_dollar_in_a_text_or_a_name_stays(expression: str, expected: str) -> None:
    column = Column("b", source="a", expression=expression)
    assert column_value(column, record_shape((column,))).sql == expected


def test_a_value_that_holds_a_dollar_is_not_looked_into() -> None:
    columns = (Column("client", "json"), Column("b", source="client.ip", expression="upper($)"))
    sql = column_value(columns[1], record_shape(columns)).sql
    assert sql == "upper(get_json_object(f.`client`, '$.ip'))"
