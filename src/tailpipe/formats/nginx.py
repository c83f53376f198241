"""Format `nginx_access_log`: lines by an nginx `log_format` string."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tailpipe.config.schema import Argument, BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, argument_error, field_map
from tailpipe.formats.format import LINES, Cut, Format
from tailpipe.formats.lines import cut_lines, reject_separators
from tailpipe.formats.pattern import escape, normalise
from tailpipe.formats.text_fields import LinePass, table_names, text_fields

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

NULL_TOKEN = "-"

# What nginx writes when no log_format is set.
COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent"'
)

SCHEMA = BlockSchema(
    (
        Argument("layout", required=True, description="The log_format string of the nginx configuration."),
        FIELD_MAP,
        DESCRIPTION,
    ),
    "Access logs of nginx.",
)

_TOKENS = frozenset(
    {
        "remote_addr", "host", "remote_user", "time_local", "request", "request_method", "request_uri",
        "server_protocol", "status", "body_bytes_sent", "http_referer", "http_user_agent", "scheme",
        "http_host", "http_cookie", "content_length", "content_type", "request_length", "server_name",
        "server_addr", "server_port", "connection", "connection_requests", "msec", "time_iso8601",
        "bytes_sent", "request_time", "pipe", "upstream_addr", "upstream_status", "upstream_response_time",
        "upstream_connect_time", "upstream_header_time", "ssl_protocol", "ssl_cipher", "ssl_session_id",
        "ssl_client_cert", "ssl_session_reused", "gzip_ratio",
    }
)  # fmt: skip
_ANY_RUN = frozenset({"request_uri", "http_referer", "http_user_agent"})
_REQUEST_FIELDS = ("request_method", "request_uri", "server_protocol")
_WORD, _RUN, _SENT = r"[\w-]+", r"[^\s\x01]*", r"[^\"\x01]*"
_TOKEN = re.compile(r"\$(\w+|\{\w+\})")


@dataclass(frozen=True)
class NginxAccessLog(Format):
    """Anchored at the start of the line only: what follows the layout is ignored.

    Lines as nginx writes them match the first pass, which regex engines run without ever going back. What
    else the layout may mean, and requests that are none, are left to the second.
    """

    slot_names: tuple[str, ...]
    passes: tuple[LinePass, ...]
    field_map: Mapping[str, str] = field(default_factory=dict)
    type: str = "nginx_access_log"
    mismatch_reason: str = "line does not match the layout"
    framing: str = LINES

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        return map(reject_separators, cut_lines(chunks))

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        return table_names(self.slot_names, self.field_map)

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        return text_fields(
            raw, self.passes, self.slot_names, names, self.field_map, NULL_TOKEN, nested=nested
        )

    def cut_again(self, raw: pa.Array, position: pa.Array) -> Cut:
        return reject_separators(super().cut_again(raw, position))


def make(config: FormatConfig) -> NginxAccessLog:
    layout: str = config.arguments["layout"]
    tokens = list(_TOKEN.finditer(layout))
    names = [token[1].strip("{}") for token in tokens]
    unknown = sorted({f"${name}" for name in names if name not in _TOKENS})
    if unknown:
        raise argument_error(config, "layout", f"nginx tokens that are not known: {', '.join(unknown)}")
    for token, following in pairwise(tokens):
        if token.end() == following.start():
            raise argument_error(
                config,
                "layout",
                f"{token[0]} and {following[0]} touch: nothing tells where one ends",
                "put a character between them",
            )
    if not tokens:
        raise argument_error(config, "layout", "the layout holds no $token")
    slot_names = tuple(slot for name in names for slot in (_REQUEST_FIELDS if name == "request" else (name,)))
    return NginxAccessLog(slot_names, _passes(layout), field_map(config))


def _passes(layout: str) -> tuple[LinePass, ...]:
    parts = _TOKEN.split(layout)
    strict, lenient = [escape(parts[0])], [escape(parts[0])]
    for token, literal in zip(parts[1::2], parts[2::2], strict=True):
        name = token.strip("{}")
        lenient.append(_lenient(name, literal) + escape(literal))
        strict.append(_strict(name, literal) + escape(literal))
    return (_line_pass(strict), _line_pass(lenient))


def _line_pass(expressions: list[str]) -> LinePass:
    """Slots in the order of the layout; groups of the same name within one token share a slot."""
    slots: list[list[int]] = []
    group = 0
    for expression in expressions:
        own: dict[str, list[int]] = {}
        for name in normalise(expression).names:
            group += 1
            own.setdefault(name, []).append(group)
        slots.extend(own.values())
    pattern = normalise("".join(expressions))
    return LinePass(rf"(?s)^{pattern.text}[^\x01]*$", tuple(map(tuple, slots)))


def _strict(name: str, following: str) -> str:
    if not following.startswith('"'):
        return _lenient(name, following)
    if name == "request":
        return rf"(?<request_method>{_WORD}) (?<request_uri>[^\s\"\x01]*) (?<server_protocol>[^\s\"\x01]+)"
    return rf"(?<{name}>{_SENT})" if name in _ANY_RUN else _lenient(name, following)


def _lenient(name: str, following: str) -> str:
    """The shortest run at the end of the layout would always be empty, so there it is the rest."""
    if name == "request":
        return _lenient_request(following)
    if name == "time_local":
        return rf"(?<{name}>[^\]\x01]*)"
    if name in ("request_method", "server_protocol"):
        return rf"(?<{name}>[^\s\x01]+)"
    if name in _ANY_RUN:
        return rf"(?<{name}>[^\x01]*{'?' if following else ''})"
    return rf"(?<{name}>{_RUN})"


def _lenient_request(following: str) -> str:
    """Scanners send what is no request: spaces in the path, or bytes of another protocol. Between quotes it
    is clear where that ends, so the line is kept, with all that was sent as request_uri.
    """
    method, uri, protocol = (f"(?<{name}>" for name in _REQUEST_FIELDS)
    request = rf"{method}{_WORD})(?: {uri}{_RUN}))?(?: {protocol}[^\s\"\x01]+))?"
    if not following.startswith('"'):
        return request
    with_spaces = rf"{method}{_WORD}) {uri}{_SENT}) {protocol}HTTP/[0-9.]+)"
    return rf"(?:{request}|{with_spaces}|{uri}{_SENT}))"
