"""Column types as people write them: the text of a DuckDB type read into a small tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tailpipe.errors import ConfigError, Position, Problem
from tailpipe.suggest import did_you_mean

# What Spark, and with it stored files, has for each: text or a wider number where there is no such type.
SPARK_SCALARS = {
    **{name: name.lower() for name in ("BIGINT", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT")},
    **{name: name.lower() for name in ("SMALLINT", "TINYINT")},
    **dict.fromkeys(("INET", "INTERVAL", "JSON", "TIME", "UUID", "VARCHAR"), "string"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ"), "timestamp"),
    **dict.fromkeys(("HUGEINT", "UHUGEINT"), "decimal(38,0)"),
    "BLOB": "binary",
    "INTEGER": "int",
    "UBIGINT": "decimal(20,0)",
    "UINTEGER": "bigint",
    "USMALLINT": "int",
    "UTINYINT": "smallint",
}
# Other spellings. `cidr` is text that `scalar_from_text` checks as an address.
_SPELLINGS = {
    "BIGINT": "int64 int8 long",
    "BLOB": "binary bytea varbinary",
    "BOOLEAN": "bool logical",
    "DECIMAL": "dec numeric",
    "DOUBLE": "float8",
    "FLOAT": "float4 real",
    "HUGEINT": "int128",
    "INTEGER": "int int32 int4 integral signed",
    "SMALLINT": "int16 int2 short",
    "TIMESTAMP": "datetime timestamp_ms timestamp_ns timestamp_s timestamp_us",
    "TINYINT": "int1",
    "UBIGINT": "uint64",
    "UHUGEINT": "uint128",
    "UINTEGER": "uint32",
    "USMALLINT": "uint16",
    "UTINYINT": "uint8",
    "VARCHAR": "bpchar char cidr string text",
}
ALIASES = {
    **{word: name for name, words in _SPELLINGS.items() for word in words.split()},
    "timestamp with time zone": "TIMESTAMPTZ",
    "timestamp without time zone": "TIMESTAMP",
}

# The least and the most that each can hold.
WHOLE_NUMBERS = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (1 - 10**38, 10**38 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 10**38 - 1),
}
DEFAULT_PRECISION, DEFAULT_SCALE = 18, 3
MAX_PRECISION = 38


@dataclass(frozen=True)
class Scalar:
    """`name` is one of SPARK_SCALARS. `word` keeps a seed word that means more than its name: `cidr`."""

    name: str
    precision: int = 0
    scale: int = 0
    word: str = ""


@dataclass(frozen=True)
class ListOf:
    element: DataType


@dataclass(frozen=True)
class Member:
    name: str
    type: DataType


@dataclass(frozen=True)
class Struct:
    members: tuple[Member, ...]


@dataclass(frozen=True)
class MapOf:
    key: DataType
    value: DataType


DataType = Scalar | ListOf | Struct | MapOf


def parse_type(text: str, position: Position | None = None) -> DataType:
    """The tree of a DuckDB type, in any case. A ConfigError names the type and the nearest known name."""
    return _parsed(text) if position is None else _Parser(text, position).whole()


@lru_cache(maxsize=4096)
def _parsed(text: str) -> DataType:
    """Large structs take milliseconds, and every command asks for them several times."""
    return _Parser(text, None).whole()


_TOKEN = re.compile(
    r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>\d+)|(?P<sign>.))',
    re.DOTALL,
)


class _Parser:
    def __init__(self, text: str, position: Position | None) -> None:
        self.text = text
        self.position = position
        # The kind of each and its text.
        self.tokens = [
            (kind, token.replace('""', '"'))
            for match in _TOKEN.finditer(text.strip())
            for kind, token in match.groupdict().items()
            if token is not None
        ]
        self.index = 0

    def whole(self) -> DataType:
        type_ = self._type()
        if self.index < len(self.tokens):
            raise self._error(f'"{self.tokens[self.index][1]}" is not expected there')
        return type_

    def _type(self) -> DataType:
        word = self._take("word", "a type name")
        type_: DataType
        match word.lower():
            case "struct" | "row":
                type_ = self._struct()
            case "map":
                type_ = self._map()
            case _:
                type_ = self._scalar(word)
        while self._accept("["):
            self._expect("]", "a list is written varchar[]")
            type_ = ListOf(type_)
        return type_

    def _struct(self) -> Struct:
        self._expect("(", "members follow: struct(name varchar, size bigint)")
        members = [self._member()]
        while self._accept(","):
            members.append(self._member())
        self._expect(")", "a struct ends with )")
        names = [member.name.lower() for member in members]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated:
            raise self._error(f'member "{repeated}" is there twice')
        return Struct(tuple(members))

    def _member(self) -> Member:
        is_quoted = self.index < len(self.tokens) and self.tokens[self.index][0] == "quoted"
        name = self._take("quoted" if is_quoted else "word", "a member name")
        return Member(name, self._type())

    def _map(self) -> MapOf:
        self._expect("(", "a map is written map(varchar, bigint)")
        key = self._type()
        self._expect(",", "a map has a key type and a value type")
        if not isinstance(key, Scalar) or key.name != "VARCHAR":
            raise self._error("the keys of a map are text", "write map(varchar, …)")
        value = self._type()
        self._expect(")", "a map ends with )")
        return MapOf(key, value)

    def _scalar(self, word: str) -> Scalar:
        name = self._name(self._time_zone(word))
        arguments = self._numbers()
        if name == "DECIMAL":
            return self._decimal(arguments)
        if arguments and name != "VARCHAR":
            raise self._error(f"{word} takes no numbers in parentheses")
        return Scalar(name, word="cidr" if word.lower() == "cidr" else "")

    def _time_zone(self, word: str) -> str:
        """`timestamp with time zone` is one name of four words."""
        ahead = [text.lower() for _, text in self.tokens[self.index : self.index + 3]]
        if word.lower() == "timestamp" and ahead in (["with", "time", "zone"], ["without", "time", "zone"]):
            self.index += 3
            return " ".join([word, *ahead])
        return word

    def _name(self, word: str) -> str:
        if word.upper() in SPARK_SCALARS:
            return word.upper()
        if word.lower() in ALIASES:
            return ALIASES[word.lower()]
        known = [*(name.lower() for name in SPARK_SCALARS), *ALIASES, "struct", "map"]
        hint = did_you_mean(word, known) or "use DuckDB's names: varchar, bigint, timestamp, json …"
        raise self._error(f'"{word}" is not a known type', hint)

    def _numbers(self) -> list[int]:
        numbers: list[int] = []
        if self._accept("("):
            numbers.append(int(self._take("number", "a number")))
            while self._accept(","):
                numbers.append(int(self._take("number", "a number")))
            self._expect(")", "the numbers end with )")
        return numbers

    def _decimal(self, arguments: list[int]) -> Scalar:
        if len(arguments) > 2:
            raise self._error("a decimal takes a precision and a scale: decimal(18,3)")
        precision = arguments[0] if arguments else DEFAULT_PRECISION
        scale = arguments[1] if len(arguments) > 1 else (0 if arguments else DEFAULT_SCALE)
        if not 1 <= precision <= MAX_PRECISION or scale > precision:
            raise self._error(
                f"a decimal's precision is 1 to {MAX_PRECISION} and its scale at most the precision"
            )
        return Scalar("DECIMAL", precision, scale)

    def _take(self, kind: str, expected: str) -> str:
        if self.index >= len(self.tokens):
            raise self._error(f"{expected} is missing at the end")
        found, text = self.tokens[self.index]
        if found != kind:
            raise self._error(f'{expected} is expected where "{text}" stands')
        self.index += 1
        return text

    def _accept(self, sign: str) -> bool:
        there = self.index < len(self.tokens) and self.tokens[self.index] == ("sign", sign)
        self.index += there
        return there

    def _expect(self, sign: str, hint: str) -> None:
        if not self._accept(sign):
            found = (
                f'where "{self.tokens[self.index][1]}" stands'
                if self.index < len(self.tokens)
                else "at the end"
            )
            raise self._error(f'"{sign}" is expected {found}', hint)

    def _error(self, what: str, hint: str | None = None) -> ConfigError:
        return ConfigError([Problem(f'type "{self.text}": {what}.', self.position, hint)])
