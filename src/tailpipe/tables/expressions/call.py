"""What a function's rule gets to see: its arguments, checked as they are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tailpipe.tables.expressions.operand import (
    Operand,
    as_bigint,
    as_double,
    as_timestamp,
)
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.types import DataType


@dataclass(frozen=True)
class Call:
    """One call of a DuckDB function with the type DuckDB gives its result."""

    name: str
    arguments: Sequence[Operand]
    type: DataType | None

    def __len__(self) -> int:
        return len(self.arguments)

    def text(self, index: int) -> str:
        operand = self.arguments[index]
        if operand.type is None:
            return "CAST(NULL AS string)"
        if not operand.is_text:
            raise operand.refuse("text", f"cast it: {self.name}(CAST(… AS VARCHAR))")
        return operand.sql

    def integer(self, index: int) -> str:
        """As a bigint."""
        operand = self.arguments[index]
        if operand.type is None:
            return "CAST(NULL AS bigint)"
        if not operand.is_integer:
            raise operand.refuse("an integer")
        return as_bigint(operand)

    def number(self, index: int) -> str:
        """As a double."""
        operand = self.arguments[index]
        if not operand.is_number:
            raise operand.refuse("a number")
        return as_double(operand)

    def timestamp(self, index: int) -> str:
        operand = self.arguments[index]
        if not operand.is_time:
            raise operand.refuse("a timestamp or date", "read text with strptime or CAST(… AS TIMESTAMP)")
        return as_timestamp(operand)

    def list_(self, index: int) -> str:
        operand = self.arguments[index]
        if not operand.is_list:
            raise operand.refuse("a list")
        return operand.sql

    def constant_text(self, index: int, what: str) -> str:
        operand = self.arguments[index]
        if not operand.is_constant or operand.value is None or not operand.is_text:
            raise operand.refuse(f"a constant {what}", f"{self.name} needs its {what} written out in quotes")
        return operand.value

    def constant_integer(self, index: int, what: str) -> int:
        operand = self.arguments[index]
        if not operand.is_constant or operand.value is None or not operand.is_integer:
            raise operand.refuse(f"a constant {what}")
        return int(operand.value)

    def needs(self, *counts: int) -> None:
        if len(self.arguments) not in counts:
            expected = " or ".join(str(count) for count in counts)
            raise ExpressionError(f"{self.name} takes {expected} arguments here, not {len(self.arguments)}")


Rule = Callable[[Call], str]
