"""Which files below a table's folder are Tailpipe's or Delta's, told by their names. All others are left alone."""

from __future__ import annotations

import re
from enum import StrEnum

from tailpipe.lake.paths import LOG, MANIFESTS, REJECTS

_HEX = "[0-9a-f]{32}"


class Kind(StrEnum):
    DATA = "data"
    REJECTS = "rejects"
    MANIFESTS = "manifests"
    LOG = "log"
    TEMPORARY = "temporary"


_NAMES = {
    # Other programs that write into Delta tables call their files `part-…`.
    Kind.DATA: r"tp_partition=[^/]*/tp_index=[^/]*/tp_date=[^/]*/"
    rf"({_HEX}|part-[0-9]{{5}}-[0-9a-f-]{{36}}[^/]*)\.parquet",
    Kind.REJECTS: rf"{REJECTS}/[^/]+/{_HEX}\.parquet",
    Kind.MANIFESTS: rf"{MANIFESTS}/[^/]+/([0-9]{{10}}-[0-9a-f]{{5}}(-snapshot)?|[0-9]{{8}}-{_HEX})\.parquet",
    # Delta's library writes under such a name, and gives the file its own when it is whole.
    Kind.TEMPORARY: rf"{LOG}/(_commit_[0-9a-f-]+\.json\.tmp|([0-9]{{20}}\.[^/]*|_last_checkpoint)#[0-9]+)"
    rf"|\.vacuum-{_HEX}",
}
_PATTERNS = {kind: re.compile(name) for kind, name in _NAMES.items()}


def is_of(kind: Kind, path: str) -> bool:
    return _PATTERNS[kind].fullmatch(path) is not None
