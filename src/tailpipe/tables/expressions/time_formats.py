"""strptime and strftime without either engine's own pattern letters, which they read differently."""

from __future__ import annotations

from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.expressions.regex import escape, raw_literal

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
SHORT_MONTHS = "".join(month[:3] for month in MONTHS)
SHORT_DAYS = "".join(day[:3] for day in DAYS)
COMPOSED = {
    "T": "%H:%M:%S",
    "F": "%Y-%m-%d",
    "D": "%m/%d/%y",
    "X": "%H:%M:%S",
    "x": "%Y-%m-%d",
    "c": "%Y-%m-%d %H:%M:%S",
}


def _any(names: tuple[str, ...], width: int | None = None) -> str:
    return "(?i:" + "|".join(name[:width] for name in names) + ")"


TWO_DIGITS = "([0-9]{1,2})"
READ = {
    "Y": "([0-9]{4})",
    "m": TWO_DIGITS,
    "d": TWO_DIGITS,
    "H": TWO_DIGITS,
    "I": TWO_DIGITS,
    "M": TWO_DIGITS,
    "S": TWO_DIGITS,
    "f": "([0-9]{1,6})",
    "z": "([+-][0-9]{2}(?::?[0-9]{2})?|Z)",
    "b": f"({_any(MONTHS, 3)})",
    "B": f"({_any(MONTHS)})",
    "p": "((?i:AM|PM))",
    "a": _any(DAYS, 3),
    "A": _any(DAYS),
}


def _directives(format_: str) -> list[tuple[bool, str]]:
    """(is a directive, letter or literal text), in order; `%-d` counts as `%d` but keeps its dash."""
    found: list[tuple[bool, str]] = []
    index = 0
    while index < len(format_):
        if format_[index] != "%":
            found.append((False, format_[index]))
            index += 1
            continue
        width = 3 if format_[index + 1 : index + 2] == "-" else 2
        letter = format_[index + 1 : index + width]
        index += width
        if letter == "%":
            found.append((False, "%"))
        elif letter in COMPOSED:
            found.extend(_directives(COMPOSED[letter]))
        else:
            found.append((True, letter))
    return found


def reading(text: str, format_: str) -> str:
    """Spark SQL of the timestamp that `text` holds in this format, null where it does not."""
    pattern, groups = _pattern(format_)
    if "I" in groups and "p" not in groups:
        raise ExpressionError(f'"%I" in "{format_}" needs "%p" beside it', "use %H for hours from 0 to 23")
    whole = raw_literal(rf"\A ?{pattern}\z")
    hour = groups.get("H", groups.get("I"))
    clock = f"{_ref(hour, '00')}:{_ref(groups.get('M'), '00')}:{_ref(groups.get('S'), '00')}"
    fraction = f".${groups['f']}" if "f" in groups else ""
    zone = f"${groups['z']}" if "z" in groups else ""
    tail = f"-{_ref(groups.get('d'), '01')} {clock}{fraction}{zone}"
    year = f"{_ref(groups.get('Y'), '1900')}-"
    moment = f"try_cast({_arranged(text, whole, groups, year, tail)} AS timestamp)"
    if "I" in groups:
        moment = _twelve_hours(text, whole, groups, moment)
    return f"CASE WHEN {text} RLIKE {whole} THEN {moment} END"


def _pattern(format_: str) -> tuple[str, dict[str, int]]:
    pieces: list[str] = []
    groups: dict[str, int] = {}
    for is_directive, part in _directives(format_):
        if not is_directive:
            pieces.append(escape(part))
            continue
        letter = part.lstrip("-")
        if letter not in READ or letter in groups:
            raise ExpressionError(
                f'"%{part}" in the time format "{format_}" is not supported',
                f"supported once each: {', '.join('%' + known for known in READ)}",
            )
        if not READ[letter].startswith("(?"):
            groups[letter] = len(groups) + 1
        pieces.append(READ[letter])
    return "".join(pieces), groups


def _ref(group: int | None, default: str) -> str:
    return default if group is None else f"${group}"


def _arranged(text: str, whole: str, groups: dict[str, int], year: str, tail: str) -> str:
    month = groups.get("b", groups.get("B"))
    if month is None:
        return f"regexp_replace({text}, {whole}, {raw_literal(year + _ref(groups.get('m'), '01') + tail)})"
    short = f"substr(lower(regexp_extract({text}, {whole}, {month})), 1, 3)"
    number = f"CAST((instr('{SHORT_MONTHS.lower()}', {short}) + 2) div 3 AS string)"
    before = f"regexp_replace({text}, {whole}, {raw_literal(year)})"
    after = f"regexp_replace({text}, {whole}, {raw_literal(tail)})"
    return f"concat({before}, {number}, {after})"


def _twelve_hours(text: str, whole: str, groups: dict[str, int], moment: str) -> str:
    hour = f"CAST(regexp_extract({text}, {whole}, {groups['I']}) AS int)"
    half = f"upper(regexp_extract({text}, {whole}, {groups['p']}))"
    later, earlier = f"{half} = 'PM' AND {hour} < 12", f"{half} = 'AM' AND {hour} = 12"
    shift = f"CASE WHEN {later} THEN 12 WHEN {earlier} THEN -12 ELSE 0 END"
    return f"CASE WHEN {hour} BETWEEN 1 AND 12 THEN {moment} + make_dt_interval(0, {shift}, 0, 0) END"


def writing(moment: str, format_: str) -> str:
    """Spark SQL of the timestamp as text in this format."""
    pieces = [
        _written(moment, part, format_) if is_directive else _quoted(part)
        for is_directive, part in _directives(format_)
    ]
    return f"concat({', '.join(pieces)})" if pieces else f"CASE WHEN {moment} IS NOT NULL THEN '' END"


def _quoted(text: str) -> str:
    return raw_literal(text)


def _written(moment: str, part: str, format_: str) -> str:
    letter = part.lstrip("-")
    number = {
        "Y": (f"year({moment})", 4),
        "m": (f"month({moment})", 2),
        "d": (f"day({moment})", 2),
        "H": (f"hour({moment})", 2),
        "I": (f"(hour({moment}) + 11) % 12 + 1", 2),
        "M": (f"minute({moment})", 2),
        "S": (f"second({moment})", 2),
        "y": (f"year({moment}) % 100", 2),
        "j": (f"dayofyear({moment})", 3),
        "f": (f"pmod(unix_micros({moment}), 1000000)", 6),
        "g": (f"pmod(unix_millis({moment}), 1000)", 3),
    }.get(letter)
    if number:
        digits = f"CAST({number[0]} AS string)"
        return digits if part.startswith("-") else f"lpad({digits}, {number[1]}, '0')"
    words = {
        "b": f"substr('{SHORT_MONTHS}', month({moment}) * 3 - 2, 3)",
        "B": _word(MONTHS, f"month({moment})"),
        "a": f"substr('{SHORT_DAYS}', dayofweek({moment}) * 3 - 2, 3)",
        "A": _word(DAYS, f"dayofweek({moment})"),
        "p": f"CASE WHEN hour({moment}) < 12 THEN 'AM' ELSE 'PM' END",
    }
    if letter not in words:
        raise ExpressionError(
            f'"%{part}" in the time format "{format_}" is not supported',
            "supported: %Y %m %d %H %I %M %S %f %g %y %j %b %B %a %A %p %T",
        )
    return words[letter]


def _word(names: tuple[str, ...], number: str) -> str:
    return f"element_at(array({', '.join(repr(name) for name in names)}), {number})"
