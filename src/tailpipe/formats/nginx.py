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
from tailpipe.formats.format import Cut
from tailpipe.formats.lines import cut_text
from tailpipe.formats.pattern import Pattern, escape, normalise
from tailpipe.formats.text_fields import table_names, text_fields

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

NULL_TOKEN = "-"

PRESETS = {
    "combined": {
        "layout": '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
        '"$http_referer" "$http_user_agent"',
        "description": "What nginx writes when no log_format is set.",
    }
}

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
_EXPRESSIONS = {
    "time_local": r"(?P<time_local>[^\]]*)",
    "request_method": r"(?P<request_method>\S+)",
    "server_protocol": r"(?P<server_protocol>\S+)",
    "request_uri": r"(?P<request_uri>.*?)",
    "http_referer": r"(?P<http_referer>.*?)",
    "http_user_agent": r"(?P<http_user_agent>.*?)",
}
_REQUEST = r"(?P<request_method>[\w-]+)(?: (?P<request_uri>\S*))?(?: (?P<server_protocol>[^\s\"]+))?"
# Scanners send what is no request line: spaces in the path, or bytes of another protocol. Between quotes it
# is clear where such a request ends, so the line is kept, with all that was sent in request_uri.
_QUOTED_REQUEST = (
    rf"(?:{_REQUEST}|(?P<request_method>[\w-]+) (?P<request_uri>[^\"]*) (?P<server_protocol>HTTP/[0-9.]+)"
    r"|(?P<request_uri>[^\"]*))"
)
_TOKEN = re.compile(r"\$(\w+|\{\w+\})")


@dataclass(frozen=True)
class NginxAccessLog:
    """Anchored at the start of the line only: what follows the layout is ignored."""

    pattern: Pattern
    field_map: Mapping[str, str] = field(default_factory=dict)
    type: str = "nginx_access_log"
    refusal: str = "line does not match the layout"

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        return cut_text(chunks)

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        return table_names(self.pattern.names, self.field_map)

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        expression = f"(?s)^{self.pattern.text}.*$"
        return text_fields(raw, expression, self.pattern.names, names, self.field_map, NULL_TOKEN)


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
    return NginxAccessLog(_pattern(layout), field_map(config))


def _pattern(layout: str) -> Pattern:
    parts = _TOKEN.split(layout)
    expressions = [
        escape(part) if index % 2 == 0 else _expression(part.strip("{}"), parts[index + 1])
        for index, part in enumerate(parts)
    ]
    return normalise("".join(expressions))


def _expression(name: str, following: str) -> str:
    if name == "request":
        return _QUOTED_REQUEST if following.startswith('"') else _REQUEST
    return _EXPRESSIONS.get(name, rf"(?P<{name}>\S*)")
