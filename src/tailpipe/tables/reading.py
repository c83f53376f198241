"""Text into typed values, as Spark SQL that both engines read alike.

The result is null where the text is null or is not a value of the type: null from text that is not null is a
bad value, not a missing one. Patterns avoid classes such as `\\d`, ASCII on one engine and Unicode on the
other, and look-around, which one of them lacks.
"""

from __future__ import annotations

from tailpipe.tables.type_text import WHOLE_NUMBERS
from tailpipe.tables.types import Scalar, parse_type, spark_type

CLOCK = r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
ISO_ZONE = r"(Z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)"
# Years 1 to 9999; 0001-01-01 is what Go writes for no time.
ISO_DAY = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{1,2}-[0-9]{1,2}"
ISO_TIME = rf"^[ \t]*{ISO_DAY}([T ]{CLOCK} ?{ISO_ZONE}?)?[ \t]*$"
ISO_DATE = rf"^[ \t]*{ISO_DAY}[ \t]*$"
EPOCH = r"^[0-9]{10}([0-9]{3}|[0-9]{6}|[0-9]{9}|[.][0-9]{1,9})?$"
WHOLE_NUMBER = r"^[ \t]*[+-]?[0-9]+[ \t]*$"
DIGITS = r"([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
REAL_NUMBER = rf"^[ \t]*[+-]?(?i)({DIGITS}|inf|infinity|nan)[ \t]*$"
REAL_DIGITS = rf"^[ \t]*[+-]?{DIGITS}[ \t]*$"
EXPONENT = r"[0-9.][eE]"
SCIENTIFIC = r"([0-9]*)[.]?([0-9]*)[eE]([+-]?[0-9]+)"
NEGATIVE = r"^[ \t]*-"
# Smaller than any decimal can say, or zero.
TINY = r"^[ \t]*[+-]?([0-9.]+[eE]-|[0.]+[eE])"
_MOST_PLACES = 100
TRUE = r"^[ \t]*(?i)(true|t|yes|y|1)[ \t]*$"
FALSE = r"^[ \t]*(?i)(false|f|no|n|0)[ \t]*$"
UUID = r"^[ \t]*[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[ \t]*$"
_BYTE = r"(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_FOUR_BYTES = rf"({_BYTE}[.]){{3}}{_BYTE}"
_HEX = r"[0-9a-fA-F]{1,4}"
IPV4 = rf"{_FOUR_BYTES}(/(3[0-2]|[12]?[0-9]))?"
# Eight groups, or fewer with one gap; the last two may be written as an IPv4 address.
_GAPS = "|".join(rf"({_HEX}:){{1,{7 - after}}}(:{_HEX}){{1,{after}}}" for after in range(1, 7))
_MIXED_GAPS = "|".join(rf"({_HEX}:){{1,{5 - after}}}(:{_HEX}){{1,{after}}}:" for after in range(1, 5))
_MIXED = rf"(({_HEX}:){{6}}|::({_HEX}:){{0,5}}|({_HEX}:){{1,5}}:|{_MIXED_GAPS}){_FOUR_BYTES}"
_GROUPS = rf"({_HEX}:){{7}}{_HEX}|({_HEX}:){{1,7}}:|:(:{_HEX}){{1,7}}|::|{_GAPS}"
IPV6 = rf"({_GROUPS}|{_MIXED})(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
ADDRESS = rf"^[ \t]*({IPV4}|{IPV6})[ \t]*$"
TIME = rf"^[ \t]*{CLOCK}[ \t]*$"
SPAN_UNIT = (
    r"(microsecond|us|millisecond|ms|second|sec|s|minute|min|m|hour|hr|h|day|d|week|w|month|mon|year|yr|y)s?"
)
INTERVAL = rf"^[ \t]*(?i)((-?[0-9]+([.][0-9]+)?[ \t]*{SPAN_UNIT}[ \t]*)+({CLOCK})?|-?{CLOCK})[ \t]*$"


def scalar_from_text(column_sql: str, type_: Scalar | str) -> str:
    """Spark SQL that reads the text of `column_sql` as a scalar type; null where it is no such value."""
    scalar = parse_type(type_) if isinstance(type_, str) else type_
    if not isinstance(scalar, Scalar):
        raise TypeError(f"{type_} is not a scalar type")
    text = column_sql
    match scalar.name:
        case "VARCHAR" if scalar.word == "cidr":
            return _matching(text, ADDRESS, f"trim({text})")
        case "VARCHAR" | "JSON":
            return text
        case "BOOLEAN":
            return f"CASE WHEN {_like(text, TRUE)} THEN true WHEN {_like(text, FALSE)} THEN false END"
        case "DATE":
            return _date(text)
        case "TIMESTAMP" | "TIMESTAMPTZ":
            return _timestamp(text)
        case "FLOAT" | "DOUBLE":
            return _real(text, spark_type(scalar))
        case "DECIMAL":
            return _decimal(text, spark_type(scalar))
        case "BLOB":
            return f"CAST({text} AS binary)"
        case "UUID":
            return _matching(text, UUID, f"lower(trim({text}))")
        case "INET":
            return _matching(text, ADDRESS, f"trim({text})")
        case "TIME":
            return _matching(text, TIME, f"replace(trim({text}), ',', '.')")
        case "INTERVAL":
            return _matching(text, INTERVAL, f"trim({text})")
        case _:
            return _integer(text, scalar)


def _like(text: str, pattern: str) -> str:
    return f"{text} RLIKE r'{pattern}'"


def _matching(text: str, pattern: str, value: str) -> str:
    return f"CASE WHEN {_like(text, pattern)} THEN {value} END"


def _integer(text: str, scalar: Scalar) -> str:
    # Casting text to a decimal rounds, so "1.5" is kept out by its shape.
    value = f"try_cast({text} AS {spark_type(scalar)})"
    least, maximum = WHOLE_NUMBERS[scalar.name]
    if least < 0:
        return _matching(text, WHOLE_NUMBER, value)
    return f"CASE WHEN {_like(text, WHOLE_NUMBER)} AND {value} BETWEEN 0 AND {maximum} THEN {value} END"


def _real(text: str, spark_name: str) -> str:
    """Digits that are too many for the type are no infinity."""
    value = f"try_cast({text} AS {spark_name})"
    return (
        f"CASE WHEN {_like(text, REAL_DIGITS)} THEN "
        f"CASE WHEN abs({value}) < double('infinity') THEN {value} END "
        f"WHEN {_like(text, REAL_NUMBER)} THEN {value} END"
    )


def _decimal(text: str, spark_name: str) -> str:
    # One engine refuses an exponent in a decimal's text.
    return (
        f"CASE WHEN NOT {_like(text, REAL_NUMBER)} THEN NULL "
        f"WHEN {_like(text, EXPONENT)} THEN try_cast({_without_exponent(text)} AS {spark_name}) "
        f"ELSE try_cast({text} AS {spark_name}) END"
    )


def _without_exponent(text: str) -> str:
    """The same number with its point moved; every digit is kept. Null where it has too many places to be stored."""
    whole, part, power = (f"regexp_extract({text}, r'{SCIENTIFIC}', {group})" for group in (1, 2, 3))
    sign = f"CASE WHEN {_like(text, NEGATIVE)} THEN '-' ELSE '' END"
    moved = f"try_cast({power} AS int)"
    right = f"concat({whole}, rpad(left({part}, {moved}), {moved}, '0'), '.', substring({part}, {moved} + 1))"
    filled = f"lpad({whole}, greatest(length({whole}), 1 - {moved}), '0')"
    left = (
        f"concat(substring({filled}, 1, length({filled}) + {moved}), '.', right({filled}, -{moved}), {part})"
    )
    return (
        f"CASE WHEN {moved} BETWEEN 0 AND {_MOST_PLACES} THEN concat({sign}, {right}) "
        f"WHEN {moved} BETWEEN -{_MOST_PLACES} AND -1 THEN concat({sign}, {left}) "
        f"WHEN {_like(text, TINY)} THEN '0' END"
    )


def _timestamp(text: str) -> str:
    # Ten digits count seconds, three more milliseconds; cut or filled to sixteen they are microseconds.
    micros = f"rpad(substr(replace({text}, '.', ''), 1, 16), 16, '0')"
    return (
        f"CASE WHEN {_like(text, ISO_TIME)} THEN try_cast(replace(trim({text}), ',', '.') AS timestamp) "
        f"WHEN {_like(text, EPOCH)} THEN timestamp_micros(try_cast({micros} AS bigint)) END"
    )


def _date(text: str) -> str:
    return (
        f"CASE WHEN {_like(text, ISO_DATE)} THEN try_cast({text} AS date) "
        f"ELSE CAST({_timestamp(text)} AS date) END"
    )
