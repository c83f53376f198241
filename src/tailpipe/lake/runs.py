"""Every run that changed a partition, told by the manifests that the log names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from tailpipe.arrow import pa, pc
from tailpipe.lake.address import Lake
from tailpipe.lake.history import SNAPSHOT, all_names, partition_versions, read_manifests
from tailpipe.lake.manifest import Header, RunReport, read_windows
from tailpipe.lake.manifest_columns import moments
from tailpipe.lake.manifest_file import Manifest
from tailpipe.times import Window

DONE = "done"
FAILED = "failed"
UNFINISHED = "unfinished"
COLLECTING = ("collect", "overwrite")
_READ = ("run", "collected_at", "size_bytes", "rows", "stored", "filtered", "outside", "rejected")
# Windows without a beginning or an end begin or end in these.
_FIRST_YEAR, _LAST_YEAR = 1, 9999


@dataclass(frozen=True)
class Run:
    """One run over one partition. Unfinished: it committed units and left no record of its end, because it was
    killed or interrupted, or because it still goes on.

    Of an unfinished run, rows are those of the artifacts it read, with what earlier runs had read of them. Runs that
    only take away have no such counts.
    """

    run: str
    partition: str
    kind: str
    status: str
    started_at: datetime
    finished_at: datetime | None = None
    engine: str | None = None
    window_from: datetime | None = None
    window_to: datetime | None = None
    sources: tuple[str, ...] = ()
    is_overwrite: bool = False
    units: int = 0
    failed: int = 0
    artifacts: int | None = None
    size_bytes: int | None = None
    rows: int | None = None
    stored: int | None = None
    filtered: int | None = None
    rejected: int | None = None


def partition_runs(lake: Lake, table: str, partition: str | None = None) -> list[Run]:
    """Of one partition or of all, in the order of their first commits."""
    address = lake.table(table)
    commits: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for name, version in partition_versions(address).items():
        if partition in (None, name):
            for manifest in read_manifests(address, name, all_names(address, name, version)):
                if manifest.header.kind != SNAPSHOT:
                    commits[name, manifest.header.run].append(manifest)
    groups = list(commits.values())
    if partition is None:
        groups.sort(key=lambda group: group[0].header.written_at)
    return list(map(_run, groups))


def _run(commits: Sequence[Manifest]) -> Run:
    headers = [manifest.header for manifest in commits]
    report = next((header.report for header in reversed(headers) if header.report), None)
    kind = _kind(headers, report)
    if report is not None:
        return _reported(headers[0], kind, report)
    if kind not in COLLECTING:
        return _instant(headers, kind)
    return _unfinished(headers, kind, pa.concat_tables(manifest.rows.select(_READ) for manifest in commits))


def _kind(headers: Sequence[Header], report: RunReport | None) -> str:
    own = next((header.kind for header in headers if header.kind != "run"), None)
    return own or ("overwrite" if report and report.is_overwrite else "collect")


def _reported(header: Header, kind: str, report: RunReport) -> Run:
    status = FAILED if report.failed else DONE
    return Run(header.run, header.partition, kind, status, **msgspec.structs.asdict(report))


def _instant(headers: Sequence[Header], kind: str) -> Run:
    """Done as soon as it is committed."""
    window_from, window_to = hull(window for header in headers for window in read_windows(header.deleted))
    return Run(
        run=headers[0].run,
        partition=headers[0].partition,
        kind=kind,
        status=DONE,
        started_at=headers[0].written_at,
        finished_at=headers[-1].written_at,
        window_from=window_from,
        window_to=window_to,
        units=len(headers),
    )


def _unfinished(headers: Sequence[Header], kind: str, artifacts: pa.Table) -> Run:
    asked = [text for header in headers for texts in header.asked.values() for text in texts]
    window_from, window_to = hull(read_windows(asked))
    # Artifacts carry the moment at which their run began.
    own = artifacts.filter(pc.equal(artifacts.column("run").cast(pa.string()), headers[0].run))
    starts = [start for start in moments(pc.unique(own.column("collected_at"))) if start]

    def total(name: str) -> int:
        return pc.sum(artifacts.column(name)).as_py() or 0

    return Run(
        run=headers[0].run,
        partition=headers[0].partition,
        kind=kind,
        status=UNFINISHED,
        started_at=min(starts, default=headers[0].written_at),
        window_from=window_from,
        window_to=window_to,
        sources=tuple(dict.fromkeys(source for header in headers for source in header.asked)),
        is_overwrite=kind == "overwrite",
        units=len(headers),
        artifacts=artifacts.num_rows,
        size_bytes=total("size_bytes"),
        rows=total("rows"),
        stored=total("stored"),
        filtered=total("filtered") + total("outside"),
        rejected=total("rejected"),
    )


def hull(windows: Iterable[Window]) -> tuple[datetime | None, datetime | None]:
    """The first start and the last end; None where time has none."""
    parts = tuple(windows)
    start = min((part.start for part in parts), default=None)
    end = max((part.end for part in parts), default=None)
    return (
        None if start is None or start.year == _FIRST_YEAR else start,
        None if end is None or end.year == _LAST_YEAR else end,
    )
