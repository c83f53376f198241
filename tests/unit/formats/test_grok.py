from __future__ import annotations

import re

import pytest

from tailpipe.config.values import FormatConfig
from tailpipe.errors import ConfigError, Position
from tailpipe.formats import grok
from tailpipe.formats.grok_patterns import DEFAULT_PATTERNS

MATCHES = {
    "BASE10NUM": ["1", "-1.5", "+.5"],
    "BASE16FLOAT": ["0xF.A", "-ff"],
    "BASE16NUM": ["0xDEADbeef", "12"],
    "BOOL": ["true", "FALSE"],
    "CISCOMAC": ["00ab.cd12.3456"],
    "COMMONMAC": ["00:ab:cd:12:34:56"],
    "DATA": ["", "a/b c"],
    "DATE": ["01/31/2024", "31.01.2024"],
    "DATESTAMP": ["01/31/2024 10:00:01"],
    "DATESTAMP_EVENTLOG": ["20240131100001"],
    "DATESTAMP_OTHER": ["Mon Jan 02 15:04:05 UTC 2006"],
    "DATESTAMP_RFC2822": ["Mon, 02 Jan 2006 15:04:05 -0700"],
    "DATESTAMP_RFC822": ["Mon Jan 02 2006 15:04:05 MST"],
    "DATE_EU": ["31.12.2024", "1-2-24"],
    "DATE_US": ["12/31/2024", "1-2-24"],
    "DAY": ["Mon", "Sunday"],
    "EMAILADDRESS": ["a.b+c@example.co.uk"],
    "EMAILLOCALPART": ["a.b+c"],
    "GREEDYDATA": ["", "a/b c"],
    "HOSTNAME": ["example.com", "a-b", "x.y.z."],
    "HOSTPORT": ["example.com:443", "10.0.0.1:80"],
    "HOUR": ["0", "09", "23"],
    "HTTPDATE": ["10/Oct/2000:13:55:36 -0700"],
    "INT": ["1", "-20"],
    "IP": ["10.0.0.1", "fe80::1", "::"],
    "IPORHOST": ["10.0.0.1", "host.example", "2001:db8::1"],
    "IPV4": ["0.0.0.0", "255.255.255.255"],
    "IPV6": ["::1", "1:2:3:4:5:6:7:8", "fe80::1%eth0", "::ffff:10.0.0.1", "1::8", "64:ff9b::10.1.2.3", "1::"],
    "ISO8601_SECOND": ["00", "59.123"],
    "ISO8601_TIMEZONE": ["Z", "+02:00", "-0700"],
    "LOGLEVEL": ["INFO", "warning", "Err", "critical"],
    "MAC": ["00-ab-cd-12-34-56"],
    "MINUTE": ["00", "59"],
    "MONTH": ["Jan", "September", "Sept"],
    "MONTHDAY": ["1", "01", "31"],
    "MONTHNUM": ["01", "12"],
    "NONNEGINT": ["0", "12"],
    "NOTSPACE": ["a/b"],
    "NUMBER": ["12", "-1.5"],
    "PATH": ["/var/log/x.log", r"C:\Windows\x.log"],
    "POSINT": ["1", "20"],
    "PROG": ["sshd", "my/prog-1.0"],
    "QS": ['"a \\" b"'],
    "QUOTEDSTRING": ['"a"', "'b'", "`c`", '""'],
    "SECOND": ["00", "60", "59,123"],
    "SPACE": ["", "  \t"],
    "SYSLOGBASE": ["Jan  2 15:04:05 host sshd[12]:"],
    "SYSLOGFACILITY": ["<13.5>"],
    "SYSLOGHOST": ["host-1"],
    "SYSLOGPROG": ["cron", "sshd[1234]"],
    "SYSLOGTIMESTAMP": ["Jan  2 15:04:05"],
    "TIME": ["15:04:05", "15:04"],
    "TIMESTAMP_ISO8601": ["2024-01-31T10:00:01.123Z", "2024-01-31 10:00", "2024-01-31T10:00:01+02:00"],
    "TTY": ["/dev/pts/0", "/dev/tty1"],
    "TZ": ["UTC", "CEST"],
    "UNIXPATH": ["/", "/a/b_c.d"],
    "URI": ["https://u:p@example.com:8080/a/b?c=d&e=f", "s3://bucket/key"],
    "URIHOST": ["example.com:80"],
    "URIPARAM": ["?a=b"],
    "URIPATH": ["/a/b"],
    "URIPATHPARAM": ["/a?b=c"],
    "URIPROTO": ["https", "git+ssh"],
    "URIQUERY": ["a=b&c"],
    "URN": ["urn:isbn:0451450523"],
    "USER": ["a.b-c_d"],
    "USERNAME": ["root"],
    "UUID": ["123e4567-e89b-12d3-a456-426614174000"],
    "WINDOWSMAC": ["00-ab-cd-12-34-56"],
    "WINPATH": [r"C:\a b\c", r"\\host\share"],
    "WORD": ["abc_1"],
    "YEAR": ["24", "2024"],
}
REFUSES = {
    "IPV4": ["256.1.1.1", "1.2.3"],
    "IPV6": ["1:2:3", "::1::2", "1:2:3:4:5:6:7:8:9"],
    "MONTHNUM": ["1", "13", "00"],
    "MONTHDAY": ["0", "32", "00"],
    "HOUR": ["24"],
    "MINUTE": ["60", "5"],
    "SECOND": ["61", "5"],
    "YEAR": ["123", "1"],
    "INT": ["1.5", ""],
    "UUID": ["123e4567-e89b-12d3-a456"],
    "WORD": ["a-b", ""],
    "NOTSPACE": ["a b", ""],
    "TIMESTAMP_ISO8601": ["2024-13-31T10:00:01Z"],
}


def whole(name: str) -> re.Pattern[str]:
    return grok.expand(f"^(?:%{{{name}}})$", {}).pattern.for_python()


def test_every_built_in_pattern_has_an_example() -> None:
    assert set(MATCHES) == {name for name in DEFAULT_PATTERNS if not name.startswith("_")}


@pytest.mark.parametrize("name", MATCHES)
def test_built_in_patterns_match(name: str) -> None:
    assert [text for text in MATCHES[name] if not whole(name).search(text)] == []


@pytest.mark.parametrize("name", REFUSES)
def test_built_in_patterns_refuse(name: str) -> None:
    assert [text for text in REFUSES[name] if whole(name).search(text)] == []


@pytest.mark.parametrize("name", DEFAULT_PATTERNS)
def test_no_built_in_pattern_needs_look_around(name: str) -> None:
    assert not grok.expand(f"%{{{name}}}", {}).pattern.needs_look_around


def test_captures_come_in_order_with_those_of_custom_patterns() -> None:
    patterns = {"PAIR": "%{WORD:key}=%{NUMBER:value:float}", "WORD": "[a-z]+"}
    found = grok.expand(r"%{PAIR} (at )?%{WORD:log.place}", patterns)
    assert found.pattern.names == ("key", "value", "log.place")
    assert found.own_names == {"log.place"}
    match = found.pattern.for_python().search("see a=1.5 at home")
    assert match is not None
    assert match.groups() == ("a", "1.5", "home")


def test_a_pattern_that_uses_itself_is_an_error() -> None:
    with pytest.raises(grok.GrokError, match="pattern A uses itself: A → B → A"):
        grok.expand("%{A}", {"A": "x%{B}", "B": "%{A}"})


def test_a_pattern_that_explodes_is_an_error() -> None:
    patterns = {f"P{level}": f"%{{P{level - 1}}}" * 10 for level in range(1, 12)} | {"P0": "x"}
    with pytest.raises(grok.GrokError, match="grows beyond 200,000 characters"):
        grok.expand("%{P11}", patterns)


def test_an_unknown_name_points_at_the_nearest() -> None:
    where = Position("a.tpc", 7, 12)
    config = FormatConfig("grok", "app", {"layout": "%{YEARS:y}"}, argument_positions={"layout": where})
    with pytest.raises(ConfigError) as caught:
        grok.make(config)
    assert str(caught.value) == (
        'a.tpc:7:12: format "grok" "app": grok pattern YEARS is not known\nhint: did you mean YEAR?'
    )


def test_a_layout_without_fields_is_an_error() -> None:
    with pytest.raises(ConfigError, match="the layout names no field"):
        grok.make(FormatConfig("grok", "app", {"layout": "%{YEAR}"}))
