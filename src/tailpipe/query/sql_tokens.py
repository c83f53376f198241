"""SQL as DuckDB's own lexer cuts it: enough to see which functions and files a statement names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

_WORD = re.compile(r'"((?:[^"]|"")*)"|([\w$]+)')
_TEXT = re.compile(r"(?:[a-z]&?)?'((?:[^']|'')*)'|\$(\w*)\$(.*?)\$\2\$", re.I | re.S)


@dataclass(frozen=True)
class Token:
    """`text` reaches to the next token, so spaces and comments may follow what matters of it."""

    start_bytes: int
    kind: str
    text: str

    @property
    def name(self) -> str:
        """In lower case, without quotes; empty where the token is no word."""
        found = _WORD.match(self.text) if self.kind in ("identifier", "keyword") else None
        return (found[1].replace('""', '"') if found[1] is not None else found[2]).lower() if found else ""

    @property
    def is_text(self) -> bool:
        return self.kind == "string_const"

    @property
    def is_plain_text(self) -> bool:
        """Whether `value` is all that it says: no escapes, and no second literal that continues it."""
        found = _TEXT.match(self.text) if self.is_text and self.text[0] in "'$" else None
        return found is not None and "'" not in self.text[found.end() :]

    @property
    def value(self) -> str:
        """What a text literal says, or a quoted name."""
        if self.text.startswith('"'):
            return self.text[1:].partition('"')[0]
        found = _TEXT.match(self.text)
        return (found[3] if found[1] is None else found[1].replace("''", "'")) if found else self.text

    def is_mark(self, mark: str) -> bool:
        return self.kind == "operator" and self.text.startswith(mark)


def tokens_of(sql: str) -> list[Token]:
    """What cannot be cut any more is one last token; DuckDB refuses such SQL."""
    encoded = sql.encode()
    found = duckdb.tokenize(sql)
    starts = [*(start for start, _ in found), len(encoded)]
    return [
        Token(start, str(kind).rpartition(".")[2], encoded[start:end].decode())
        for (start, kind), end in zip(found, starts[1:], strict=True)
    ]
