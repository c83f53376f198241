"""Rows of merged files in their order, a part that fits into memory at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tailpipe.lake.columns import Numbers
from tailpipe.lake.merge_inputs import Inputs

# Rows in memory, as Arrow has them. Beside them are small files as they are on disk, and 16 bytes for each row.
ROUND_BYTES = 256 * 1024 * 1024
# A round that has too many rows keeps so many of them.
_KEPT_OF_ROUND = 0.8


def next_rows(inputs: Inputs, schema: pa.Schema, start: int) -> pa.Table:
    """Rows from a place on, in their order: at least one, and no more than a round may have."""
    end = inputs.rows
    held: list[tuple[pa.Table, Numbers]] = []
    size_bytes = 0
    for group in inputs.groups:
        if group.last < start or group.first >= end:
            continue
        rows, places = inputs.read(group)
        held.append(_within(_conformed(rows, schema), places, start, end))
        size_bytes += held[-1][0].nbytes
        while size_bytes > ROUND_BYTES and end - start > 1:
            newest = max(int(places.max(initial=start)) for _, places in held)
            end = start + max(1, int((min(end, newest + 1) - start) * _KEPT_OF_ROUND))
            held = [_within(*part, start, end) for part in held]
            size_bytes = sum(rows.nbytes for rows, _ in held)
    return _sorted(held)


def _within(rows: pa.Table, places: Numbers, start: int, end: int) -> tuple[pa.Table, Numbers]:
    """A copy, unless all rows are: a slice would keep the others in memory."""
    is_within = (places >= start) & (places < end)
    return (rows, places) if is_within.all() else (rows.filter(pa.array(is_within)), places[is_within])


def _sorted(held: list[tuple[pa.Table, Numbers]]) -> pa.Table:
    """Column by column, so that there are never two copies of all rows."""
    rows = pa.concat_tables(part for part, _ in held)
    places = np.concatenate([places for _, places in held])
    held.clear()
    order = None if (places[1:] > places[:-1]).all() else pa.array(np.argsort(places))
    schema, columns = rows.schema, []
    for name in schema.names:
        whole = rows.column(name).combine_chunks()
        rows = rows.drop_columns([name])
        columns.append(whole if order is None else whole.take(order))
    return pa.Table.from_arrays(columns, schema=schema)


def _conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """With the columns of the schema: older files lack later ones."""
    columns = [
        _chunked(rows.column(each.name), each.type)
        if each.name in rows.column_names
        else pa.nulls(rows.num_rows, each.type)
        for each in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _chunked(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if column.type == type_:
        return column
    return pa.chunked_array([_with_type(chunk, type_) for chunk in column.chunks], type_)


def _with_type(array: Any, type_: pa.DataType) -> Any:
    """Values stay as they are; members that later files have are null."""
    if array.type == type_:
        return array
    if pa.types.is_struct(type_):
        parts = dict(zip((part.name for part in array.type), array.flatten(), strict=True))
        members = [
            _with_type(parts[each.name], each.type) if each.name in parts else pa.nulls(len(array), each.type)
            for each in type_
        ]
        return pa.StructArray.from_arrays(members, fields=list(type_), mask=array.is_null())
    if pa.types.is_list(type_):
        values = _with_type(array.values, type_.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=type_, mask=array.is_null())
    if pa.types.is_map(type_):
        keys, items = _with_type(array.keys, type_.key_type), _with_type(array.items, type_.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=type_, mask=array.is_null())
    return array.cast(type_)
