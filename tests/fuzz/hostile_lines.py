"""Lines of logs that a generator writes and then damages, for each format: from plain to nonsense."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

NUMBERS = (
    "0", "1", "-1", "7", "-0", "1.0", "1.50", "0.1", "1e3", "1E3", "1e-3", "1.5e300", "1e308", "1e309",
    "1e400", "-1e400", "1e-400", "9007199254740993", "9223372036854775807", "9223372036854775808",
    "-9223372036854775809", "123456789012345678901234567890", "0.12345678901234567890", "3.0000000000000001",
    "1234567890.1234567890123456789", "18446744073709551616", "1e5", "100000000000000000000000", "0.000001",
    "0.0000001", "1.7976931348623157e308", "5e-324",
)  # fmt: skip
BROKEN_NUMBERS = ("01", "+1", ".5", "1.", "0x1f", "NaN", "Infinity", "-Infinity", "1_000", "--1", "1e", "-")
TEXTS = (
    "", " ", "info", "null", "true", "ünïcode", "日本", "🎉", "it's", 'a"b', "back\\slash", "a\tb", "a\nb",
    "a\rb", "a\u0000b", "a\u0001b", "\u2028", "\ufeff", "\u200b", "x" * 5000, "\x7f", "\x1b[31mred", "%s",
    "${x}", "a,b", "a;b|c", "-", "1", "2024-06-01", "A" * 70_000,
)  # fmt: skip
ESCAPES = (
    r"\ud800",
    r"\udc00\ud800",
    r"\ud83c\udf89",
    r"\u0000",
    r"\/",
    r"\b\f",
    r"\x41",
    r"\u12",
    r"\u00e9",
    "\\",
)
KEYS = (
    "a", "b", "Level", "LEVEL", "Size", "at ", " at", "AT", "a.b", "a b", "*", "a*", "", "`", "``", '"', "'",
    "\x00", "a\x00b", "\n", "\\", "ü", "Ü", "日本", "select", "tp_x", "tp_timestamp", "tp_extra", "raw", "f",
    "position", "$", "a/b", "../x", "k" * 300, "0", "-", ",", ";", "=",
)  # fmt: skip
TIMES = (
    "2024-06-01T00:00:00Z", "2024-06-02 10:11:12", "2024-06-03T10:11:12.123456Z",
    "2024-06-04T10:11:12+02:00", "2024-06-05", "1717372800", "1717372800123",
)  # fmt: skip
ODD_TIMES = (
    "", "never", "2024-02-30", "2024-13-01", "0000-01-01", "9999-12-31T23:59:59Z", "10000-01-01", "-1",
    "1e400", "24:00", "2024-06-01T24:00:00Z", "2024-06-01T10:00:60Z", "2024-06-01T10:00:00+99:00",
    " 2024-06-01 ", "2024-6-1", "١٩٩٩-01-01", "infinity", "99999999999999999999",
)  # fmt: skip


class LineWriter:
    """Writes lines of one format. What it writes depends on the random numbers alone."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def time(self) -> str:
        return self.random.choice(ODD_TIMES if self.chance(0.1) else TIMES)

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def word(self) -> str:
        return self.random.choice(("info", "warn", "a", "b-c", "10.0.0.1", "::1", "-", "x=1"))

    def jsonl(self) -> bytes:
        members = [("at", self.json_text(self.time()))]
        if self.chance(0.9):
            members.append(("level", self.value(1)))
        if self.chance(0.8):
            members.append(("size", self.random.choice(NUMBERS) if self.chance(0.7) else self.value(1)))
        if self.chance(0.8):
            members.append(("data", self.value(4)))
        members += [(self.key(), self.value(2)) for _ in range(self.random.choice((0, 0, 1, 2, 5)))]
        if self.chance(0.01):
            members += [(f"key{number}", "1") for number in range(self.random.choice((200, 2_000)))]
        if self.chance(0.3):
            self.random.shuffle(members)
        text = self.json_object(members)
        return self.damaged(text.encode("utf-8", "surrogatepass"))

    def key(self) -> str:
        return self.random.choice(KEYS)

    def json_object(self, members: list[tuple[str, str]]) -> str:
        comma, colon = self.random.choice(((",", ":"), (", ", ": "), (" ,\t", " : ")))
        return "{" + comma.join(f"{self.json_text(name)}{colon}{value}" for name, value in members) + "}"

    def json_text(self, text: str) -> str:
        escaped = json.dumps(text, ensure_ascii=self.chance(0.5))
        if self.chance(0.03):
            escaped = escaped[:-1] + self.random.choice(ESCAPES) + '"'
        return escaped

    def value(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.35:
            return self.random.choice(NUMBERS)
        if kind < 0.65 or depth == 0:
            return self.json_text(self.text())
        if kind < 0.75:
            return self.random.choice(("true", "false", "null"))
        if kind < 0.77:
            return self.random.choice(BROKEN_NUMBERS)
        if kind < 0.78:
            levels = self.random.choice((50, 150, 600, 3_000))
            return "[" * levels + "1" + "]" * levels
        items = [self.value(depth - 1) for _ in range(self.random.randint(0, 3))]
        if kind < 0.89:
            return "[" + ", ".join(items) + "]"
        return self.json_object([(self.key(), item) for item in items])

    def damaged(self, line: bytes) -> bytes:
        """Mostly as it is. Never more than one line."""
        kind = self.random.random()
        at = self.random.randrange(len(line) + 1)
        if kind < 0.02:
            line = line[:at]
        elif kind < 0.04:
            line = line[:at] + bytes([self.random.randrange(256)]) + line[at + 1 :]
        elif kind < 0.05:
            line = (
                line[:at]
                + self.random.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x01"))
                + line[at:]
            )
        elif kind < 0.07:
            line = self.random.choice((b" ", b"\t", b"\xef\xbb\xbf", b"\xc2\xa0", b"\x0c")) + line
        elif kind < 0.09:
            line = line + self.random.choice((b" ", b"\r", b",", b"}", b" {}", line, b"//", b"\x00"))
        elif kind < 0.10:
            line = self.random.choice(
                (b"", b" ", b"[]", b"1", b"null", b'"x"', b"{", b"}", b"{}", b"\x1f\x8b")
            )
        return line.replace(b"\n", b" ")

    def plain(self, text: str) -> bytes:
        return self.damaged(text.encode("utf-8", "surrogatepass")).replace(b"\r", b" ")

    def csv(self) -> bytes:
        values = [
            self.time(),
            self.word(),
            self.random.choice(NUMBERS),
            self.text().replace("\n", " ").replace("\r", " "),
        ]
        if self.chance(0.05):
            values = values[: self.random.randint(0, 3)]
        elif self.chance(0.05):
            values.append("more")
        return self.plain(",".join(self.quoted(value) for value in values))

    def quoted(self, value: str) -> str:
        needs = any(char in value for char in ',"')
        if self.chance(0.03):
            return self.random.choice((f'"{value}', f'{value}"', f'"{value}"x', f'x"{value}"'))
        return '"' + value.replace('"', '""') + '"' if needs or self.chance(0.2) else value

    def regex(self) -> bytes:
        return self.plain(f"{self.time()} [{self.word()}] {self.random.choice(NUMBERS)} {self.text()}")

    def nginx(self) -> bytes:
        time = self.random.choice(
            (
                "01/Jun/2024:10:00:00 +0000",
                "31/Feb/2024:10:00:00 +0000",
                "02/Jun/2024:10:00:00 -0330",
                "x",
                "",
            )
        )
        request = self.random.choice(
            (
                "GET / HTTP/1.1",
                "-",
                "",
                "\\x16\\x03",
                "GET /a b c HTTP/1.0",
                'GET /\\"x HTTP/1.1',
                self.text(),
            )
        )
        status, size = (
            self.random.choice(("200", "404", "-", "x", "99999999999")),
            self.random.choice(NUMBERS),
        )
        agent = self.text().replace('"', "\\x22")
        return self.plain(f'{self.word()} - {self.word()} [{time}] "{request}" {status} {size} "-" "{agent}"')


def lines(format: str, seed: int, count: int) -> list[bytes]:
    writer = LineWriter(Random(f"{format} {seed}"))
    write: Callable[[], bytes] = getattr(writer, format)
    return [write() for _ in range(count)]
