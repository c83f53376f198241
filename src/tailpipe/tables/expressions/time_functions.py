"""Functions on dates and timestamps. Everything is UTC."""

from __future__ import annotations

from tailpipe.tables.expressions.call import Call, Rule
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.expressions.time_formats import reading, writing

UNIT_ALIASES = {
    "years": "year", "yr": "year", "y": "year", "months": "month", "mon": "month", "quarters": "quarter",
    "weeks": "week", "w": "week", "days": "day", "d": "day", "dayofmonth": "day", "hours": "hour",
    "hr": "hour", "h": "hour", "minutes": "minute", "min": "minute", "m": "minute", "seconds": "second",
    "sec": "second", "s": "second", "milliseconds": "millisecond", "ms": "millisecond",
    "microseconds": "microsecond",
    "us": "microsecond", "dayofweek": "dow", "weekday": "dow", "dayofyear": "doy", "weekofyear": "week",
}  # fmt: skip
TRUNCATIONS = (
    "microsecond",
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
)
STEPS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
}


def _unit(call: Call, known: tuple[str, ...]) -> str:
    written = call.constant_text(0, "part").lower()
    unit = UNIT_ALIASES.get(written, written)
    if unit not in known:
        raise ExpressionError(
            f'{call.name} of "{written}" is not supported', f"supported: {', '.join(known)}"
        )
    return unit


def _date_trunc(call: Call) -> str:
    call.needs(2)
    return f"date_trunc('{_unit(call, TRUNCATIONS)}', {call.timestamp(1)})"


PARTS = {
    "year": "CAST(year({0}) AS bigint)",
    "quarter": "CAST(quarter({0}) AS bigint)",
    "month": "CAST(month({0}) AS bigint)",
    "week": "CAST(weekofyear({0}) AS bigint)",
    "day": "CAST(day({0}) AS bigint)",
    "doy": "CAST(dayofyear({0}) AS bigint)",
    "dow": "CAST(dayofweek({0}) - 1 AS bigint)",
    "isodow": "CAST((dayofweek({0}) + 5) % 7 + 1 AS bigint)",
    "hour": "CAST(hour({0}) AS bigint)",
    "minute": "CAST(minute({0}) AS bigint)",
    "second": "CAST(second({0}) AS bigint)",
    "millisecond": "pmod(unix_micros({0}), 60000000) div 1000",
    "microsecond": "pmod(unix_micros({0}), 60000000)",
    "epoch": "CAST(unix_micros({0}) AS double) / 1000000D",
}


def _date_part(call: Call) -> str:
    call.needs(2)
    return PARTS[_unit(call, tuple(PARTS))].format(call.timestamp(1))


def _part(unit: str) -> Rule:
    def rule(call: Call) -> str:
        call.needs(1)
        return PARTS[unit].format(call.timestamp(0))

    return rule


def _date_diff(call: Call) -> str:
    """Boundaries crossed between two moments."""
    call.needs(3)
    unit = _unit(call, (*STEPS, "day", "month", "quarter", "year"))
    start, end = call.timestamp(1), call.timestamp(2)
    if unit in STEPS:
        return _steps(end, STEPS[unit]) + " - " + _steps(start, STEPS[unit])
    if unit == "day":
        return f"CAST(datediff(CAST({end} AS date), CAST({start} AS date)) AS bigint)"
    years = f"year({end}) - year({start})"
    if unit == "year":
        return f"CAST({years} AS bigint)"
    size, part = (12, "month") if unit == "month" else (4, "quarter")
    return f"CAST(({years}) * {size} + {part}({end}) - {part}({start}) AS bigint)"


def _steps(moment: str, micros: int) -> str:
    count = f"unix_micros({moment})"
    return f"(({count} - pmod({count}, {micros})) div {micros})"


def _epoch_in(micros: int) -> Rule:
    """epoch_ms and kin: of a moment the count, of a count the moment."""

    def rule(call: Call) -> str:
        call.needs(1)
        if call.arguments[0].is_time:
            count = f"unix_micros({call.timestamp(0)})"
            return count if micros == 1 else f"(({count} - pmod({count}, {micros})) div {micros})"
        if micros == 1:
            raise ExpressionError(
                f"{call.name} of a number is not supported", "use make_timestamp(microseconds)"
            )
        return _from_micros(f"try_multiply({call.integer(0)}, CAST({micros} AS bigint))")

    return rule


def _from_micros(micros: str) -> str:
    return f"timestamp_micros({micros})"


def _to_timestamp(call: Call) -> str:
    call.needs(1)
    if call.arguments[0].is_integer:
        return _from_micros(f"try_multiply({call.integer(0)}, CAST(1000000 AS bigint))")
    return _from_micros(f"try_cast(round({call.number(0)} * 1000000D) AS bigint)")


def _make_timestamp(call: Call) -> str:
    call.needs(1, 6)
    if len(call) == 1:
        return _from_micros(call.integer(0))
    fields = ", ".join(f"try_cast({call.integer(index)} AS int)" for index in range(5))
    return f"try_make_timestamp({fields}, try_cast({call.number(5)} AS decimal(16,6)))"


def _make_date(call: Call) -> str:
    call.needs(3)
    year, month, day = (f"CAST({call.integer(index)} AS string)" for index in range(3))
    return f"try_cast(concat(lpad({year}, 4, '0'), '-', {month}, '-', {day}) AS date)"


def _strptime(call: Call) -> str:
    call.needs(2)
    return reading(call.text(0), call.constant_text(1, "time format"))


def _strftime(call: Call) -> str:
    call.needs(2)
    if call.arguments[0].is_text:
        raise call.arguments[0].refuse("a timestamp or date")
    return writing(call.timestamp(0), call.constant_text(1, "time format"))


def _now(call: Call) -> str:
    call.needs(0)
    return "current_timestamp()"


def _today(call: Call) -> str:
    call.needs(0)
    return "current_date()"


def _last_day(call: Call) -> str:
    call.needs(1)
    return f"last_day(CAST({call.timestamp(0)} AS date))"


FUNCTIONS: dict[str, Rule] = {
    "date_diff": _date_diff,
    "date_part": _date_part,
    "date_trunc": _date_trunc,
    "datediff": _date_diff,
    "datepart": _date_part,
    "datetrunc": _date_trunc,
    "day": _part("day"),
    "dayofmonth": _part("day"),
    "dayofweek": _part("dow"),
    "dayofyear": _part("doy"),
    "epoch": _part("epoch"),
    "epoch_ms": _epoch_in(1_000),
    "epoch_us": _epoch_in(1),
    "hour": _part("hour"),
    "isodow": _part("isodow"),
    "last_day": _last_day,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
    "minute": _part("minute"),
    "month": _part("month"),
    "now": _now,
    "quarter": _part("quarter"),
    "second": _part("second"),
    "strftime": _strftime,
    "strptime": _strptime,
    "to_timestamp": _to_timestamp,
    "today": _today,
    "try_strptime": _strptime,
    "week": _part("week"),
    "weekofyear": _part("week"),
    "year": _part("year"),
}
