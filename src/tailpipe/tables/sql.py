"""Names and texts as Spark SQL writes them, on both engines."""

from __future__ import annotations

import re
from typing import Any

_TEXT_OR_VALUE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[$]""", re.DOTALL)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    # `${` would be replaced by Spark's variable substitution, and a backslash begins an escape.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\u0000") + "'"


def with_value(expression: str, value: str) -> str:
    """The expression with the value for each `$`; one in a text or a quoted name is a `$`."""
    return _TEXT_OR_VALUE.sub(lambda part: value if part[0] == "$" else part[0], expression)


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return text_literal(value)
