"""What lies in quarantine: found, counted by reason, shown. No Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import PREFIX_LENGTH, Numbers, id_prefix
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.rejects import read_rejects, records_in
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window

# Reasons that differ in these alone are of one kind.
_VALUES = r'"[^"]*"|\b[0-9][0-9,.]*\b'
_LEFT_OUT = "…"


@dataclass(frozen=True)
class ReasonCount:
    """Rejects of one source for one kind of reason. `reason` has values only where all have the same."""

    source: str
    kind: str
    reason: str
    rejects: int
    example: str


def read_file(address: TableAddress, path: str, columns: list[str] | None = None) -> pa.Table:
    with _told(address, path):
        return read_rejects(address, path, columns)


def quarantined(address: TableAddress, files: Sequence[str]) -> int:
    """Records that are in quarantine now; of its files, only how many each row stands for is read."""
    return sum(records_in(read_file(address, path, ["records"])) for path in files)


def is_within(rows: Any, window: Window | None) -> Any:
    """Which records were rejected within the window; all where there is none."""
    if window is None:
        return pa.repeat(True, rows.num_rows)
    start, end = (moment.replace(tzinfo=None) for moment in (window.start, window.end))
    moments = rows.column("rejected_at")
    return pc.and_(pc.greater_equal(moments, start), pc.less(moments, end))


def prefixes_of(ids: Any) -> Any:
    """What says of which artifact each reject is."""
    return pc.utf8_slice_codeunits(ids, 0, PREFIX_LENGTH)


def record_prefixes(
    name: str, state: PartitionState, among: Numbers | bool = True
) -> dict[str, KnownArtifact]:
    """Artifacts of a partition, `table.partition`, by what the ids of their rows and rejects begin with.

    Only those in the mask of which something is kept, and something was rejected.
    """
    rejected = state.artifacts.known(state.artifacts.is_kept & state.artifacts.is_rejected & among)
    return {id_prefix(name, *known.key).decode(): known for known in rejected}


def count_reasons(
    address: TableAddress, files: Sequence[str], window: Window | None = None
) -> list[ReasonCount]:
    """Largest first. Holds one file, and one count for each kind of reason."""
    counts: dict[tuple[str, str], ReasonCount] = {}
    for path in files:
        rows = read_file(address, path, ["id", "source", "reason", "rejected_at", "records"])
        for count in _counts(rows.filter(is_within(rows, window))):
            key = count.source, count.kind
            counts[key] = _joined(counts[key], count) if key in counts else count
    return sorted(counts.values(), key=lambda count: (-count.rejects, count.source, count.kind))


def find_rejects(
    address: TableAddress, files: Sequence[str], window: Window | None, ids: Sequence[str], limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Rejects as dictionaries, newest files first and at most `limit`, and how many there are in all.

    Those with the ids where any are given.
    """
    found: list[dict[str, Any]] = []
    total = 0
    for path in reversed(files):
        rows = read_file(address, path, ["id", "rejected_at", "records"])
        is_found = is_within(rows, window)
        if ids:
            is_found = pc.and_(is_found, pc.is_in(rows.column("id"), value_set=pa.array(ids, pa.string())))
        count = records_in(rows.filter(is_found))
        if count and len(found) < limit:
            rejects = read_file(address, path).filter(is_found)
            found += rejects.slice(0, limit - len(found)).to_pylist()
        total += count
    return found, total


def _counts(rows: pa.Table) -> Iterator[ReasonCount]:
    kinds = pc.replace_substring_regex(rows.column("reason"), _VALUES, _LEFT_OUT)
    grouped = (
        rows.append_column("kind", kinds)
        .group_by(["source", "kind"], use_threads=False)
        .aggregate([("id", "first"), ("reason", "first"), ("reason", "count_distinct"), ("records", "sum")])
    )
    for group in grouped.to_pylist():
        is_one = group["reason_count_distinct"] == 1
        yield ReasonCount(
            group["source"],
            group["kind"],
            group["reason_first"] if is_one else group["kind"],
            group["records_sum"],
            group["id_first"],
        )


def _joined(a: ReasonCount, b: ReasonCount) -> ReasonCount:
    reason = a.reason if a.reason == b.reason else a.kind
    return replace(a, reason=reason, rejects=a.rejects + b.rejects)


@contextmanager
def _told(address: TableAddress, path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise LakeError(
            f"{address}: {path} cannot be read: {error}",
            hint="check that the file is whole and readable; other programs must not write into the lake",
        ) from error
