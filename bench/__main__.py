"""python -m bench: prints one table per case and exits with 1 when a contender fails or loses rows."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench import buckets, compaction, days, histories, report
from bench.cases import Case, all_cases
from bench.contenders import DUCKDB, Result, run
from bench.data import prepared
from bench.known import Known
from bench.measure import CommandFailed

KNOWN = "known-artifacts"
MILLION = "million-artifacts"
USUAL = (*all_cases(1, 1), KNOWN, days.NAME, histories.NAME, buckets.NAME, compaction.NAME)
NAMES = (*USUAL, MILLION)


def main() -> int:
    options = _options()
    unknown = [name for name in options.cases if name not in NAMES]
    if unknown:
        print(f"no such case: {', '.join(unknown)}. There are: {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    memory = psutil.virtual_memory().total / 1e9
    machine = f"{os.cpu_count()} cores, {memory:.0f} GB of memory"
    print(f"{machine}; whole process from cold; middle of {options.repeat} by time")
    print("! beside a time: the machine stood still meanwhile, in each of several attempts")
    failures = [failure for name in options.cases for failure in _measure(name, options)]
    for failure in failures:
        print(f"\nfailed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _measure(name: str, options: argparse.Namespace) -> list[str]:
    """What failed."""
    if name == KNOWN:
        return _print(Known(KNOWN, options.files, 365).report(options.data))
    if name == MILLION:
        return _print(Known(MILLION, options.many_files, 30).report(options.data))
    if name == days.NAME:
        return _print(days.report(options.data, options.engines, options.days))
    if name == histories.NAME:
        return _print(histories.report(options.commits))
    if name == compaction.NAME:
        return _print(compaction.report(options.live_files))
    if name == buckets.NAME:
        case = all_cases(options.size_mb, options.lines)["nginx"]
        return _print(buckets.report(options.data, case, options.engines[-1], options.files))
    return _compare(all_cases(options.size_mb, options.lines)[name], options)


def _print(lines: Iterator[str]) -> list[str]:
    try:
        for line in lines:
            print(line, flush=True)
    except CommandFailed as error:
        return [str(error)]
    return []


def _compare(case: Case, options: argparse.Namespace) -> list[str]:
    data = prepared(case, options.data)
    print(report.heading(case, data), flush=True)
    failures: list[str] = []
    peer: Result | None = None
    for contender in [DUCKDB, *options.engines]:
        try:
            results = [run(contender, case, data, options.memory_max_mb) for _ in range(options.repeat)]
        except CommandFailed as error:
            failures.append(str(error))
            continue
        peer = report.middle(results) if contender == DUCKDB else peer
        print(report.row(results, peer), flush=True)
    return failures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--size-mb", type=float, default=500, help="uncompressed CloudTrail (default 500)")
    parser.add_argument("--lines", type=int, default=1_000_000, help="nginx lines (default 1,000,000)")
    parser.add_argument("--engines", type=_names, default=["spark", "sail"], help="spark,sail")
    parser.add_argument(
        "--cases",
        type=_names,
        default=list(USUAL),
        help=f"separated by commas; {MILLION} only where it is named: its files take minutes to make, and 4 GB",
    )
    parser.add_argument("--files", type=int, default=100_000, help="known artifacts (default 100,000)")
    parser.add_argument(
        "--many-files", type=int, default=1_000_000, help=f"files of {MILLION} (default 1,000,000)"
    )
    parser.add_argument("--days", type=int, default=365, help="days of small files (default 365)")
    parser.add_argument("--commits", type=int, default=10_000, help="commits of a history (default 10,000)")
    parser.add_argument("--live-files", type=int, default=20_000, help="files to compact (default 20,000)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each (default 1)")
    parser.add_argument("--memory-max-mb", type=int, help="memory_max_mb of the workspace")
    default = Path(tempfile.gettempdir()) / "tailpipe-bench"
    parser.add_argument("--data", type=Path, default=default, help="where generated logs are kept")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


if __name__ == "__main__":
    sys.exit(main())
