"""A partition's expressions made ready for executors: transforms, columns from the path, filter, tp_index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from tailpipe.config.values import PartitionConfig
from tailpipe.errors import ConfigError, Problem
from tailpipe.suggest import nearest
from tailpipe.tables.computing import INDEX, KEPT, Computing
from tailpipe.tables.expressions.calculation import Output, calculations, quoted
from tailpipe.tables.expressions.scope import Input, Scope, needs_inet
from tailpipe.tables.expressions.syntax import ExpressionError
from tailpipe.tables.fields import source_path
from tailpipe.tables.standard import TP_NAMES, TP_SCALARS, TP_TIMESTAMP, WRITER_COLUMNS, engine_name
from tailpipe.tables.stored_schema import column_types
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import Scalar, duckdb_type, parse_type

_ALMOST = 0.85


@dataclass
class Expressions:
    """What is computed of each row. `fields` are those of records; with `is_open`, there may be others.

    `captures` are names that the source's layout captures. Users' tables may read them as fields.
    """

    config: PartitionConfig
    table: Table
    fields: tuple[str, ...]
    is_open: bool = False
    captures: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)

    def computing(self) -> Computing:
        """Raises ConfigError with every problem of every expression."""
        columns = [*self._filled(), *self._transforms()]
        columns += [
            replace(output, name=TP_TIMESTAMP, type="TIMESTAMP")
            for output in columns
            if output.name == self._time_column
        ]
        rows = [*self._condition(), *self._index()]
        self.problems += self._early_standards()
        if self.problems:
            raise ConfigError(tuple(dict.fromkeys(self.problems)))
        outputs = (*columns, *rows)
        required = {column.name for column in self.table.columns if column.required} | {TP_TIMESTAMP}
        return Computing(
            columns=calculations(columns),
            required=tuple(output.name for output in columns if output.name in required),
            rows=calculations(rows),
            fields=tuple(sorted({entry.name for each in outputs for entry in each.inputs if entry.is_field})),
            needs_inet=any(needs_inet(each.inputs, each.type, each.text) for each in outputs),
        )

    @cached_property
    def computed(self) -> frozenset[str]:
        names = {column.name for column in self.table.columns if column.transform or self._capture(column)}
        return frozenset(names | ({TP_TIMESTAMP} if self._time_column in names else set()))

    @cached_property
    def _time_column(self) -> str | None:
        """The column that tp_timestamp is a copy of, as in a user's table that has only one time."""
        copied = self.table.standard.get(TP_TIMESTAMP, "").strip("`")
        return next(
            (column.name for column in self.table.columns if engine_name(column.name) == copied), None
        )

    @cached_property
    def _row(self) -> Scope:
        """What the filter sees."""
        columns = {name: type_ for name, type_ in column_types(self.table).items() if name != INDEX}
        # A plugin knows which fields matter: there, a name that is no column is a slip of the pen.
        is_custom = self.table.is_custom
        fields = self.fields if is_custom or not self.is_open else ()
        return Scope(columns, fields, self.captures, self.is_open and is_custom)

    @cached_property
    def _record(self) -> Scope:
        """What transforms see: columns, too, save those that are computed themselves."""
        filled = {column.name for column in self.table.columns} | {*self.table.standard, *WRITER_COLUMNS}
        hidden = self.computed | ({"tp_date"} if TP_TIMESTAMP in self.computed else set())
        columns = {
            name: type_ for name, type_ in self._row.columns.items() if name in filled and name not in hidden
        }
        return replace(self._row, columns=columns, is_open=self.is_open)

    def _early_standards(self) -> Iterator[Problem]:
        """The engine fills common columns before expressions are evaluated."""
        for name, sql in self.table.standard.items():
            late = [column for column in self.computed if re.search(rf"\b{re.escape(column)}\b", sql)]
            if late and name not in self.computed:
                message = (
                    f'table "{self.table.name}": {name} is made of column "{late[0]}", which has a transform'
                )
                yield Problem(
                    message, self.config.position, hint="a plugin's column takes an `expression` instead"
                )

    def _capture(self, column: Column) -> str | None:
        """The capture that a column reads as if it were a field: where records cannot have, or lack, that field."""
        path = source_path(column)
        is_readable = (
            self.table.is_custom and not column.transform and isinstance(parse_type(column.type), Scalar)
        )
        if not is_readable or len(path) > 1 or (path[0] in self.fields and not self.is_open):
            return None
        return path[0] if path[0] in self.captures else None

    def _filled(self) -> Iterator[Output]:
        for column in self.table.columns:
            capture = self._capture(column)
            if capture is None:
                continue
            type_ = duckdb_type(column.type)
            label = f"{capture} of the path"
            alias = label if self.is_open else capture
            captured = Input(alias, capture=capture)
            if not self.is_open:
                yield Output(column.name, quoted(alias), type_, (captured,), label=label)
                continue
            own = Input(column.name, type_, is_column=True)
            text = f"coalesce({quoted(own.name)}, TRY_CAST({quoted(alias)} AS {type_}))"
            yield Output(column.name, text, type_, (own, captured), label=label)

    def _transforms(self) -> Iterator[Output]:
        for column in self.table.columns:
            if column.transform:
                try:
                    yield self._transform(column, column.transform)
                except ConfigError as error:
                    self.problems += error.problems

    def _transform(self, column: Column, text: str) -> Output:
        from tailpipe.tables.expressions.check import check_cast, check_expression

        what = f'transform of column "{column.name}"'
        value = check_expression(text, self._record, position=column.position, what=what)
        type_ = duckdb_type(column.type)
        if not check_cast(value, type_):
            message = f"{what}: its value is {value.type}, which cannot become {type_}."
            raise ConfigError(
                [Problem(message, column.position, hint=f'write type = "{value.type.lower()}"')]
            )
        is_text_for_json = type_ == "JSON" and value.type == "VARCHAR"
        return Output(column.name, text, type_, value.inputs, is_text_for_json)

    def _condition(self) -> Iterator[Output]:
        if self.config.filter is None:
            return
        from tailpipe.tables.expressions.check import check_expression

        position = self.config.argument_positions.get("filter") or self.config.position
        what = f"filter of partition {self.config.full_name}"
        try:
            condition = check_expression(self.config.filter, self._row, position=position, what=what)
        except ConfigError as error:
            self.problems += error.problems
            return
        if condition.type not in ("BOOLEAN", "NULL"):
            message = f"{what}: this is a value of type {condition.type}, not a condition."
            hint = "compare it with something: level = 'error'"
            self.problems.append(Problem(message, position, hint=hint))
        self.problems += [
            Problem(f"{what}: {slip.message}.", position, slip.hint) for slip in self._slips(condition.inputs)
        ]
        yield Output(KEPT, condition.text, "BOOLEAN", condition.inputs)

    def _slips(self, inputs: Iterable[Input]) -> Iterator[ExpressionError]:
        """Names that are almost those of columns: as a field that no record has, they would filter every row."""
        for entry in inputs:
            if entry.is_field and entry.name not in self.fields and entry.capture is None:
                near = nearest(entry.name, self._row.columns, _ALMOST)
                if near:
                    yield ExpressionError(
                        f'there is no column "{entry.name}"',
                        f'did you mean "{near}"? If it is a field, write a block for it: column "{entry.name}" {{}}',
                    )

    def _index(self) -> Iterator[Output]:
        index = self.config.tp_index
        if index is None:
            return
        columns = {name: type_ for name, type_ in self._row.columns.items() if name not in WRITER_COLUMNS}
        scope = replace(self._row, columns=columns)
        entry = scope.find(index)
        if entry is None:
            position = self.config.argument_positions.get("tp_index") or self.config.position
            message = f'tp_index "{index}" is neither a column nor a field of {self.config.table}'
            self.problems.append(Problem(message, position, hint=scope.unknown(index).hint))
            return
        # Others are filled in by the engine, which writes their values as text as it always did.
        if not entry.is_column or entry.name in self.computed or entry.name in TP_SCALARS & TP_NAMES:
            yield Output(INDEX, quoted(entry.name), "VARCHAR", (entry,))
