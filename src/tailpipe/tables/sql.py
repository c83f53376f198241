"""Names and texts as Spark SQL writes them, on both engines."""

from __future__ import annotations

from typing import Any


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    # `${` would be replaced by Spark's variable substitution, and a backslash begins an escape.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\u0000") + "'"


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return text_literal(value)
