"""The built-in grok patterns, written without look-around so that every engine can run them."""

from __future__ import annotations

from collections.abc import Mapping

_NUMBERS = {
    "INT": r"[+-]?[0-9]+",
    "POSINT": r"[1-9][0-9]*",
    "NONNEGINT": r"[0-9]+",
    "BASE10NUM": r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)",
    "NUMBER": r"%{BASE10NUM}",
    "BASE16NUM": r"[+-]?(?:0x)?[0-9A-Fa-f]+",
    "BASE16FLOAT": r"[+-]?(?:0x)?(?:[0-9A-Fa-f]+(?:\.[0-9A-Fa-f]*)?|\.[0-9A-Fa-f]+)",
    "BOOL": r"(?:true|false|TRUE|FALSE|True|False)",
}

_WORDS = {
    "WORD": r"[A-Za-z0-9_]+",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": r".*?",
    "GREEDYDATA": r".*",
    "QUOTEDSTRING": r"""(?:"(?:\\.|[^\\"])*"|'(?:\\.|[^\\'])*'|`(?:\\.|[^\\`])*`)""",
    "QS": r"%{QUOTEDSTRING}",
    "UUID": r"[A-Fa-f0-9]{8}-(?:[A-Fa-f0-9]{4}-){3}[A-Fa-f0-9]{12}",
    "URN": r"urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:(?:%[0-9A-Fa-f]{2}|[0-9A-Za-z()+,.:=@;$_!*'/?#-])+",
    "USERNAME": r"[A-Za-z0-9._-]+",
    "USER": r"%{USERNAME}",
    "EMAILLOCALPART": r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*",
    "EMAILADDRESS": r"%{EMAILLOCALPART}@%{HOSTNAME}",
    "LOGLEVEL": (
        r"(?i:alert|trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?"
        r"|fatal|severe|emerg(?:ency)?)"
    ),
}

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HEX = r"[0-9A-Fa-f]{1,4}"
_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"


def _ipv6() -> str:
    """Every place `::` may stand in, longest first: the engines take the first alternative that fits."""
    forms = [rf"(?:{_HEX}:){{6}}{_IPV4}", rf"(?:{_HEX}:){{7}}{_HEX}"]
    for before in range(6, 0, -1):
        after = 7 - before
        forms.append(rf"(?:{_HEX}:){{1,{before}}}(?::{_HEX}){{1,{after}}}")
    forms = [
        rf"(?:{_HEX}:){{1,5}}:(?:{_HEX}:){{0,4}}{_IPV4}",
        rf"::(?:{_HEX}:){{0,5}}{_IPV4}",
        *forms,
        rf"(?:{_HEX}:){{1,7}}:",
        rf":(?::{_HEX}){{1,7}}",
        r"::",
    ]
    return rf"(?:{'|'.join(forms)})(?:%[0-9A-Za-z]+)?"


_NETWORK = {
    "MAC": r"(?:%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC})",
    "CISCOMAC": r"(?:[A-Fa-f0-9]{4}\.){2}[A-Fa-f0-9]{4}",
    "WINDOWSMAC": r"(?:[A-Fa-f0-9]{2}-){5}[A-Fa-f0-9]{2}",
    "COMMONMAC": r"(?:[A-Fa-f0-9]{2}:){5}[A-Fa-f0-9]{2}",
    "IPV4": _IPV4,
    "IPV6": _ipv6(),
    "IP": r"(?:%{IPV6}|%{IPV4})",
    "HOSTNAME": r"[0-9A-Za-z][0-9A-Za-z-]{0,62}(?:\.[0-9A-Za-z][0-9A-Za-z-]{0,62})*\.?",
    "IPORHOST": r"(?:%{IP}|%{HOSTNAME})",
    "HOSTPORT": r"%{IPORHOST}:%{POSINT}",
}

_PATHS = {
    "PATH": r"(?:%{UNIXPATH}|%{WINPATH})",
    "UNIXPATH": r"(?:/[A-Za-z0-9_%!$@:.,+~=#()&\[\]-]*)+",
    "TTY": r"/dev/(?:pts|tty(?:[pq])?)(?:[A-Za-z0-9_]+)?/?[0-9]*",
    "WINPATH": r"(?:[A-Za-z]+:|\\)(?:\\[^\\?*]*)+",
    "URIPROTO": r"[A-Za-z][A-Za-z0-9+.-]*",
    "URIHOST": r"%{IPORHOST}(?::%{POSINT})?",
    "URIPATH": r"(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%&_-]*)+",
    "URIQUERY": r"[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\[\]<>-]*",
    "URIPARAM": r"\?%{URIQUERY}",
    "URIPATHPARAM": r"%{URIPATH}(?:%{URIPARAM})?",
    "URI": r"%{URIPROTO}://(?:%{USER}(?::[^@]*)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?",
}

_DATES = {
    "MONTH": (
        r"(?:[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|[Mm]ar(?:ch)?|[Aa]pr(?:il)?|[Mm]ay|[Jj]une?|[Jj]uly?|[Aa]ug(?:ust)?"
        r"|[Ss]ep(?:t(?:ember)?)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?)"
    ),
    "MONTHNUM": r"(?:0[1-9]|1[0-2])",
    "MONTHDAY": r"(?:0[1-9]|[12][0-9]|3[01]|[1-9])",
    "DAY": (
        r"(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)"
    ),
    "YEAR": r"[0-9]{2}(?:[0-9]{2})?",
    "HOUR": r"(?:2[0-3]|[01]?[0-9])",
    "MINUTE": r"[0-5][0-9]",
    "SECOND": r"(?:[0-5][0-9]|60)(?:[:.,][0-9]+)?",
    "TIME": r"%{HOUR}:%{MINUTE}(?::%{SECOND})?",
    "DATE_US": r"%{_MONTH_1OR2}[/-]%{MONTHDAY}[/-]%{YEAR}",
    "DATE_EU": r"%{MONTHDAY}[./-]%{_MONTH_1OR2}[./-]%{YEAR}",
    "_MONTH_1OR2": r"(?:0[1-9]|1[0-2]|[1-9])",
    "ISO8601_TIMEZONE": r"(?:Z|[+-]%{HOUR}(?::?%{MINUTE})?)",
    "ISO8601_SECOND": r"%{SECOND}",
    "TIMESTAMP_ISO8601": (
        r"%{YEAR}-%{_MONTH_1OR2}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?%{ISO8601_TIMEZONE}?"
    ),
    "DATE": r"(?:%{DATE_US}|%{DATE_EU})",
    "DATESTAMP": r"%{DATE}[- ]%{TIME}",
    "TZ": r"(?:[A-Z]{3,4})",
    "DATESTAMP_RFC822": r"%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}",
    "DATESTAMP_RFC2822": r"%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
    "DATESTAMP_OTHER": r"%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
    "DATESTAMP_EVENTLOG": r"[0-9]{4}%{MONTHNUM}(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])%{MINUTE}{2}",
    "HTTPDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}",
}

_SYSLOG = {
    "SYSLOGTIMESTAMP": r"%{MONTH} +%{MONTHDAY} %{TIME}",
    "PROG": r"[!-Z\\^-~]+",
    "SYSLOGPROG": r"%{PROG:process.name}(?:\[%{POSINT:process.pid}\])?",
    "SYSLOGHOST": r"%{IPORHOST}",
    "SYSLOGFACILITY": r"<%{NONNEGINT:log.syslog.facility.code}\.%{NONNEGINT:log.syslog.priority}>",
    "SYSLOGBASE": (
        r"%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:host.hostname} %{SYSLOGPROG}:"
    ),
}

DEFAULT_PATTERNS: Mapping[str, str] = _NUMBERS | _WORDS | _NETWORK | _PATHS | _DATES | _SYSLOG
