from __future__ import annotations

import re

import pytest

from tailpipe.config.values import FormatConfig
from tailpipe.errors import ConfigError
from tailpipe.formats import nginx


def make(layout: str) -> nginx.NginxAccessLog:
    return nginx.make(FormatConfig("nginx_access_log", "x", {"layout": layout}))


def parse(layout: str, line: str) -> dict[str, str] | None:
    format = make(layout)
    for line_pass in format.passes:
        found = re.search(line_pass.expression, line)
        if found:
            parts = ["".join(found[group] or "" for group in slot) for slot in line_pass.slots]
            return {
                name: part
                for name, part in zip(format.slot_names, parts, strict=True)
                if part not in ("", "-")
            }
    return None


def combined(request: str, agent: str = "curl/8") -> dict[str, str] | None:
    return parse(
        nginx.COMBINED, f'10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "{request}" 200 5 "-" "{agent}" extra'
    )


def test_a_line_of_the_combined_layout() -> None:
    assert combined("GET /a?b=c HTTP/1.1") == {
        "remote_addr": "10.0.0.1",
        "time_local": "10/Oct/2000:13:55:36 -0700",
        "request_method": "GET",
        "request_uri": "/a?b=c",
        "server_protocol": "HTTP/1.1",
        "status": "200",
        "body_bytes_sent": "5",
        "http_user_agent": "curl/8",
    }


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("-", (None, None, None)),
        ("", (None, None, None)),
        ("GET /", ("GET", "/", None)),
        ("GET", ("GET", None, None)),
        ("M-SEARCH * HTTP/1.1", ("M-SEARCH", "*", "HTTP/1.1")),
        ("GET /a b c HTTP/1.1", ("GET", "/a b c", "HTTP/1.1")),
        (r"\x16\x03\x01", (None, r"\x16\x03\x01", None)),
        (r"\x16 \x03 more words here", (None, r"\x16 \x03 more words here", None)),
    ],
)
def test_requests_that_are_none_keep_their_line(request_line: str, expected: tuple[str | None, ...]) -> None:
    found = combined(request_line)
    assert found is not None
    assert tuple(found.get(name) for name in ("request_method", "request_uri", "server_protocol")) == expected
    assert found["status"] == "200"


def test_a_quote_inside_a_value_is_found_by_the_second_pass() -> None:
    found = combined("GET / HTTP/1.1", 'a "quoted" agent')
    assert found is not None
    assert found["http_user_agent"] == "a "
    assert parse('"$http_referer" "$host"', '"a"b" "c"') == {"http_referer": 'a"b', "host": "c"}


def test_a_line_that_is_none_is_rejected() -> None:
    assert parse(nginx.COMBINED, "garbage") is None


def test_layouts_in_other_shapes() -> None:
    assert parse("$msec ${request_time}s $http_user_agent", "1.5 0.2s a b c") == {
        "msec": "1.5",
        "request_time": "0.2",
        "http_user_agent": "a b c",
    }
    assert parse("$remote_addr:$server_port", "[::1]:443") == {"remote_addr": "[::1]", "server_port": "443"}
    assert parse("$request $status", "GET /a HTTP/1.1 200") == {
        "request_method": "GET",
        "request_uri": "/a",
        "server_protocol": "HTTP/1.1",
        "status": "200",
    }


def test_lines_that_matched_are_left_alone_by_the_second_pass() -> None:
    for layout in (nginx.COMBINED, "$http_user_agent", "$request", "$host"):
        assert re.search(make(layout).passes[1].expression, "\x01a\x01b") is None


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("$remote_addr $foo $bar", "nginx tokens that are not known: $bar, $foo"),
        ("$remote_addr$status", "$remote_addr and $status touch: nothing tells where one ends"),
        ("plain", "the layout holds no $token"),
    ],
)
def test_layouts_that_cannot_work(layout: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(layout)
    assert message in str(caught.value)
