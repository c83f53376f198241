"""Functions between values and their encoded text."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from typing import Any
from urllib.parse import quote_plus

from tailpipe.config.functions.function import Function, FunctionError
from tailpipe.config.language.kinds import kind, with_article
from tailpipe.config.language.limits import MAX_DECODED_BYTES


def _jsondecode(text: str) -> Any:
    _check_decoded(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise FunctionError(message, 0) from None
    except RecursionError:
        raise FunctionError("the JSON is nested too deeply", 0) from None
    except ValueError:
        raise FunctionError("the JSON holds a number that is too large", 0) from None


def _jsonencode(value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except TypeError:
        raise FunctionError(f"{with_article(kind(value))} cannot be written as JSON", 0) from None


def _base64decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        raise FunctionError("not base64 of UTF-8 text", 0) from None


def _check_decoded(text: str) -> None:
    """What becomes of it takes many times the memory of the text."""
    if len(text) > MAX_DECODED_BYTES:
        raise FunctionError(f"argument 1 is larger than {MAX_DECODED_BYTES >> 20} MiB, the limit here", 0)


def _csvdecode(text: str) -> list[dict[str, str]]:
    _check_decoded(text)
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows:
        raise FunctionError("there is no header line", 0)
    header, *records = rows
    for number, record in enumerate(records, start=1):
        if len(record) != len(header):
            raise FunctionError(
                f"record {number} has {len(record)} fields where the header has {len(header)}", 0
            )
    return [dict(zip(header, record, strict=True)) for record in records]


FUNCTIONS = (
    Function("base64decode", "string", _base64decode),
    Function("base64encode", "string", lambda text: base64.b64encode(text.encode()).decode()),
    Function("csvdecode", "string", _csvdecode),
    Function("jsondecode", "string", _jsondecode),
    Function("jsonencode", "any", _jsonencode),
    Function("md5", "string", lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()),
    Function("sha1", "string", lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()),
    Function("sha256", "string", lambda text: hashlib.sha256(text.encode()).hexdigest()),
    Function("urlencode", "string", quote_plus),
)
