"""JSON: one object with `columns` and `rows`, or one object per line."""

from __future__ import annotations

from collections.abc import Callable
from json import dumps
from typing import TextIO

from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result, Row


def write(result: Result, out: TextIO, options: OutputOptions) -> None:
    columns = (
        {"name": column.name, "data_type": column.data_type, "original_name": column.original_name}
        for column in result.columns
    )
    listed = ",\n".join(f"  {dumps(column, ensure_ascii=False)}" for column in columns)
    out.write(f'{{"columns": [\n{listed}\n],\n"rows": [')
    as_object = _object_maker(result)
    is_begun = False
    for batch in result.json_batches():
        out.write(",\n  " if is_begun else "\n  ")
        out.write(",\n  ".join(map(as_object, batch)))
        is_begun = True
    out.write("\n]}\n" if is_begun else "]}\n")


def write_lines(result: Result, out: TextIO, options: OutputOptions) -> None:
    as_object = _object_maker(result)
    for batch in result.json_batches():
        out.writelines(f"{as_object(row)}\n" for row in batch)


def _object_maker(result: Result) -> Callable[[Row], str]:
    """Cells are JSON text already, so an object is made by joining them."""
    keys = tuple(f"{dumps(column.name, ensure_ascii=False)}: " for column in result.columns)

    def as_object(row: Row) -> str:
        pairs = (key + ("null" if cell is None else cell) for key, cell in zip(keys, row, strict=True))
        return f"{{{', '.join(pairs)}}}"

    return as_object
