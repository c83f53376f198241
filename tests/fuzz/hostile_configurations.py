"""Configurations that a generator writes and then damages: from nearly right to nonsense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tailpipe.config.functions.registry import FUNCTION_NAMES

WORDS = (
    "level",
    "at",
    "size",
    "a",
    "default",
    "prod",
    "tp_timestamp",
    "tp_index",
    "tp_date",
    "Ünï",
    "x-y",
    "_",
    "",
)
TABLES = ("app_log", "nginx_access_log", "aws_cloudtrail_log", "App_Log", "aws", "select", "tailpipe")
FORMATS = ("jsonl", "json", "csv", "regex", "grok", "delimited", "nginx_access_log", "xml", "JSONL", "")
TYPES = (
    "int", "varchar", "timestamp", "json", "int[]", "struct(a int, b date)", "map(varchar, int)", "decimal(10, 2)",
    "decimal(99)", "inet", "struct(", "int[", "enum", "", "struct(a int, a int)",
)  # fmt: skip
SQL = (
    "level = 'x'", "size > 1", "upper(level)", "strptime(at, '%Y')", "now()", "a is null", "at like 'x%'",
    "size >", "1", "",
    "select 1", "a.b.c", "'", '"',
    "level like '%", "(select 1)", "count(*)", "read_text('x')", "size::int[] [1]", "case when", "x -> '$.a'",
    "level; drop table x", "?", "$1", "regexp_matches(level, '(')", "list_transform([1], x -> x + 1)", "𝒳 = 1",
)  # fmt: skip
LAYOUTS = (
    "%{GREEDYDATA:at}", "(?P<at>.*)", "%{DATA:at} %{WORD:level}", "(?P<at>\\S+) (?P<level>\\S+)", "%{YEAR:year}.log",
    "(?P<a>(a+)+)$", "(", "[", "%{NOPE:x}", "$remote_addr [$time_local]", "%{DATA:a", "*",
    "(?P<a>x)(?P<a>y)", "(?P<1>x)", "(?=x)", "\\", "(?P<at>\\d+) %{", "%{YEAR:year}/%{MONTHNUM:month}", "a{99999}",
)  # fmt: skip
PATHS = ("logs", "/nowhere/*", "~", "**", "", " ", "[", "a" * 300, "\x07", "s3://bucket/x", "..", "{a,b}")
PIECES = (
    '"', "`", "'", "{", "}", "[", "]", "(", ")", "=", ".", "${", "<<EOT\n", "\n", "é", "/*", "$", "\x00", "=>", "...",
)  # fmt: skip
_BIG = ("9" * 400, "1e999", "-0", "0x1f", "1.", ".5", "1e-400")
_FUNCTIONS = tuple(sorted(FUNCTION_NAMES))


class Writer:
    """Writes one configuration. What it writes depends on the random numbers alone.

    Half of them are written with care: they come from the first items of each list, which are the usual ones, so that
    what is wrong is one thing in the midst of right ones.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.is_careful = random.random() < 0.5

    def pick(self, options: Sequence[Any]) -> Any:
        if self.is_careful and not self.chance(0.05):
            options = options[: max(1, len(options) // 3)]
        return self.random.choice(options)

    def configuration(self) -> bytes:
        blocks: list[Callable[[], str]] = [
            self.partition, self.partition, self.table, self.table, self.format, self.source, self.locals_,
            self.workspace, self.variable, self.connection, self.plugin, self.unknown,
        ]  # fmt: skip
        if self.is_careful:
            text = self.application()
        else:
            text = "\n".join(self.random.choice(blocks)() for _ in range(self.random.randint(1, 5)))
        if self.chance(0.1 if self.is_careful else 0.4):
            text = self.edited(text)
        data = text.encode("utf-8", "surrogatepass")
        return self.flipped(data) if not self.is_careful and self.chance(0.1) else data

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def application(self) -> str:
        """A format, a table and a partition that fit each other, but for what is odd in one of them."""
        kind = self.random.choice(FORMATS[:6])
        layout = f"layout = `{self.pick(LAYOUTS)}`" if kind in ("regex", "grok") else ""
        columns = "\n".join(self.column() for _ in range(self.random.randint(0, 3)))
        filters = f"filter = {self.sql()}" if self.chance(0.5) else ""
        index = f"tp_index = {self.text(True)}" if self.chance(0.2) else ""
        return f"""
format "{kind}" "mine" {{
  {layout}
}}
table "app_log" {{
  format = format.{kind}.mine
  column "tp_timestamp" {{ source = "at" }}
{columns}
}}
partition "app_log" "one" {{
  {filters}
  {index}
  source "file" {{
    paths = {self.paths()}
  }}
}}
{self.workspace() if self.chance(0.2) else self.locals_() if self.chance(0.2) else ""}
"""

    def edited(self, text: str) -> str:
        for _ in range(self.random.randint(1, 5)):
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + self.random.choice((*PIECES, "")) + text[at + self.random.randint(0, 8) :]
        return text

    def flipped(self, data: bytes) -> bytes:
        changed = bytearray(data or b" ")
        for _ in range(self.random.randint(1, 6)):
            changed[self.random.randrange(len(changed))] = self.random.randrange(256)
        return bytes(changed)

    def text(self, is_inner: bool = False) -> str:
        kinds = (WORDS, TABLES, TYPES, SQL, LAYOUTS, PATHS, FORMATS)
        plain = self.pick(self.random.choice(kinds))
        if self.chance(0.15) and not is_inner:
            return f'"{plain.replace(chr(34), "")}${{{self.expression(1)}}}"'
        if self.chance(0.3):
            return f"`{plain}`"
        return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def expression(self, depth: int = 3) -> str:
        if depth == 0 or self.chance(0.4):
            return self.leaf()
        inner = [self.expression(depth - 1) for _ in range(3)]
        return self.random.choice(
            (
                f"[{', '.join(inner)}]",
                f'{{ {self.pick(WORDS)} = {inner[0]}, ("k") = {inner[1]} }}',
                f"{self.pick(_FUNCTIONS)}({', '.join(inner[: self.random.randint(0, 3)])})",
                f"{self.pick(_FUNCTIONS)}({inner[0]}...)",
                f"[for v in {inner[0]} : {inner[1]} if {inner[2]}]",
                f"{{for k, v in {inner[0]} : k => v...}}",
                f"({inner[0]} {self.pick(('+', '-', '*', '/', '%', '==', '<', '&&', '||'))} {inner[1]})",
                f"({inner[0]} ? {inner[1]} : {inner[2]})",
                f"{inner[0]}[{inner[1]}]",
                f"{inner[0]}[*].a",
                f"!{inner[0]}",
            )
        )

    def leaf(self) -> str:
        references = (
            f"local.{self.pick(WORDS)}", f"var.{self.pick(WORDS)}", f"format.{self.pick(FORMATS)}.{self.pick(WORDS)}",
            f"source.file.{self.pick(WORDS)}", f"table.{self.pick(TABLES)}", "connection.aws.default", "v", "k",
        )  # fmt: skip
        numbers = (str(self.random.randint(-9, 99)), *_BIG)
        return self.random.choice(
            (
                self.text(True),
                self.text(True),
                self.pick(references),
                self.pick(numbers),
                "true",
                "null",
                "[]",
                "{}",
            )
        )

    def argument(self, name: str, likely: Callable[[], str]) -> str:
        value = likely() if self.chance(0.99 if self.is_careful else 0.8) else self.expression()
        return f"  {name} = {value}"

    def block(self, head: str, *arguments: str) -> str:
        chosen = [argument for argument in arguments if self.chance(0.9 if self.is_careful else 0.7)]
        if self.chance(0.02 if self.is_careful else 0.1):
            chosen.append(self.argument(self.pick((*WORDS[:7], "nonsense")), self.expression))
        return head + " {\n" + "\n".join(chosen) + "\n}\n"

    def words(self) -> str:
        return "[" + ", ".join(self.text() for _ in range(self.random.randint(0, 4))) + "]"

    def paths(self) -> str:
        return "[" + ", ".join(f'"{self.pick(PATHS)}"' for _ in range(self.random.randint(0, 3))) + "]"

    def chosen_format(self) -> str:
        return f"format.{self.pick(FORMATS)}.{self.pick(('default', 'mine', 'combined'))}"

    def sql(self) -> str:
        return '"' + self.pick(SQL).replace("\\", "\\\\").replace('"', '\\"') + '"'

    def source(self) -> str:
        return self.block(f'source "file" "{self.pick(WORDS)}"', *self.source_arguments())

    def source_arguments(self) -> tuple[str, ...]:
        return (
            self.argument("paths", self.paths),
            self.argument("file_layout", lambda: f"`{self.pick(LAYOUTS)}`"),
            self.argument("format", self.chosen_format),
        )

    def partition(self) -> str:
        source = self.block('  source "file"', *self.source_arguments())
        return self.block(
            f'partition "{self.pick(TABLES)}" "{self.pick(WORDS)}"',
            source,
            self.argument("filter", self.sql),
            self.argument("tp_index", self.text),
            self.argument(
                "lookback", lambda: self.pick(('"30d"', '"-1d"', '"1e9Y"', '""', '"99999999999d"'))
            ),
            self.argument("max_rejects", lambda: self.pick(("1", '"5%"', "-1", '"x"', '"1e400%"'))),
        )

    def table(self) -> str:
        columns = [self.column() for _ in range(self.random.randint(0, 4))]
        return self.block(
            f'table "{self.pick(TABLES)}"',
            *columns,
            '  column "tp_timestamp" { source = "at" }',
            self.argument("format", self.chosen_format),
            self.argument("map_fields", self.words),
            self.argument("null_if", self.text),
        )

    def column(self) -> str:
        return self.block(
            f'  column "{self.pick(WORDS)}"',
            self.argument("type", lambda: f'"{self.pick(TYPES)}"'),
            self.argument("source", self.text) if self.chance(0.4) else "",
            self.argument("transform", self.sql) if self.chance(0.4) else "",
            self.argument("required", lambda: "true"),
        )

    def format(self) -> str:
        return self.block(
            f'format "{self.pick(FORMATS)}" "{self.pick(("mine", "other", *WORDS))}"',
            self.argument("layout", lambda: f"`{self.pick(LAYOUTS)}`"),
            self.argument("fields", self.words) if self.chance(0.3) else "",
            self.argument("delimiter", self.text) if self.chance(0.3) else "",
            self.argument("field_map", self.expression) if self.chance(0.3) else "",
        )

    def locals_(self) -> str:
        named = [f"  {name} = {self.expression(4)}" for name in WORDS[:6] if self.chance(0.5)]
        return self.block("locals", *named)

    def workspace(self) -> str:
        return self.block(
            f'workspace "{self.pick(("default", *WORDS))}"',
            self.argument("data_dir", self.text) if self.chance(0.3) else "",
            self.argument("engine", lambda: self.pick(('"spark"', '"sail"', '"duck"'))),
            self.argument("memory_max_mb", lambda: self.pick(("512", "1", "1e400", '"x"'))),
            self.argument("cores", lambda: self.pick(("2", "0", "-1", "1.5"))),
            self.argument("update_check", lambda: "true"),
        )

    def variable(self) -> str:
        return self.block(
            f'variable "{self.pick(WORDS)}"',
            self.argument("type", lambda: self.pick(("string", "number", "list(string)", "map(", "any"))),
            self.argument("default", self.expression),
        )

    def connection(self) -> str:
        return self.block(
            f'connection "{self.pick(("aws", "x"))}" "{self.pick(WORDS)}"',
            self.argument("profile", self.text),
        )

    def plugin(self) -> str:
        return self.block(f'plugin "{self.pick(("aws", "x"))}"', self.argument("source", self.text))

    def unknown(self) -> str:
        labels = " ".join(f'"{self.pick(WORDS)}"' for _ in range(self.random.randint(0, 3)))
        return self.block(
            f"{self.pick(('thing', 'partition', 'table', 'format'))} {labels}",
            self.argument("x", self.expression),
        )


def configuration(seed: int) -> bytes:
    return Writer(Random(seed)).configuration()
