"""Which fields of a record a table reads, and in which shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailpipe.formats.members import JSON, LIST, MAP, STRUCT, TEXT, Wanted
from tailpipe.tables.sql import quoted
from tailpipe.tables.table import Column
from tailpipe.tables.types import DataType, ListOf, MapOf, Scalar, Struct, parse_type

if TYPE_CHECKING:
    from pyspark.sql import types as T

RECORD = "f"


@dataclass
class Shape:
    """A record's wanted members as a tree. A leaf is read as text, or as `type` where it has items."""

    members: dict[str, Shape] = field(default_factory=dict)
    type: DataType | None = None
    is_leaf: bool = False
    is_json: bool = True
    is_apart: bool = False

    def want(self, path: list[str], type_: DataType | None) -> None:
        if not path:
            is_json = isinstance(type_, Scalar) and type_.name == "JSON"
            self.is_json = self.is_json and is_json
            self.is_leaf = True
            self.type = None if isinstance(type_, Scalar) else type_
            return
        self.members.setdefault(path[0], Shape()).want(path[1:], type_)

    def wanted(self) -> Wanted:
        if self.is_leaf and self.type is not None:
            return _wanted_items(self.type)
        if self.is_leaf:
            return Wanted(JSON if self.is_json else TEXT, is_apart=self.is_apart)
        return Wanted(STRUCT, tuple((name, shape.wanted()) for name, shape in self.members.items()))

    def spark(self) -> T.DataType:
        from pyspark.sql import types as T

        if self.is_leaf and self.type is not None:
            return _with_text_scalars(self.type)
        if self.is_leaf or not self.members:
            return T.StringType()
        return T.StructType([T.StructField(name, shape.spark()) for name, shape in self.members.items()])


def record_shape(columns: Iterable[Column], extra: Iterable[str] = ()) -> Shape:
    """The members that columns read by path, and `extra` ones that expressions name."""
    shape = Shape()
    for column in columns:
        if column.transform is None:
            _want_column(shape, source_path(column), column)
    for name in extra:
        known = shape.members.get(name)
        if known is None or not known.is_leaf:
            shape.want([name], None)
            shape.members[name].is_apart = True
        shape.members[name].is_json = False
    return shape


def source_path(column: Column) -> list[str]:
    source = column.source or column.name
    return [source] if column.is_field_name else source.split(".")


def field_sql(shape: Shape, path: list[str]) -> str:
    """Spark SQL for the text at a path; a path below a leaf looks into the leaf's JSON text."""
    sql, here = RECORD, shape
    for depth, name in enumerate(path):
        here = here.members[name]
        sql = f"{sql}.{quoted(name)}"
        if here.is_leaf and depth + 1 < len(path):
            inner = ".".join(path[depth + 1 :]).replace("'", "''")
            return f"get_json_object({sql}, '$.{inner}')"
    return sql


def text_sql(shape: Shape, field: str) -> str:
    """Spark SQL for the text of a whole field, in which shape columns may read it."""
    sql = field_sql(shape, [field])
    return sql if shape.members[field].type is None else f"to_json({sql})"


def _want_column(shape: Shape, path: list[str], column: Column) -> None:
    if column.members:
        for member in column.members:
            _want_column(shape, [*path, *source_path(member)], member)
        return
    type_ = parse_type(column.read_type or ("varchar" if column.expression else column.type))
    _want(shape, path, type_)


def _want(shape: Shape, path: list[str], type_: DataType) -> None:
    """A struct is wanted member by member, so that other columns may read members of it too."""
    match type_:
        case Struct(members):
            for member in members:
                _want(shape, [*path, member.name], member.type)
        case _:
            shape.want(path, type_)


def _wanted_items(type_: DataType) -> Wanted:
    match type_:
        case ListOf(element):
            return Wanted(LIST, item=_wanted_items(element))
        case MapOf(_, value):
            return Wanted(MAP, item=_wanted_items(value))
        case Struct(members):
            return Wanted(STRUCT, tuple((member.name, _wanted_items(member.type)) for member in members))
        case Scalar(name):
            return Wanted(JSON if name == "JSON" else TEXT)


def _with_text_scalars(type_: DataType) -> T.DataType:
    from pyspark.sql import types as T

    match type_:
        case ListOf(element):
            return T.ArrayType(_with_text_scalars(element))
        case MapOf(_, value):
            return T.MapType(T.StringType(), _with_text_scalars(value))
        case Struct(members):
            return T.StructType([T.StructField(m.name, _with_text_scalars(m.type)) for m in members])
        case _:
            return T.StringType()
