"""Whatever a line holds, it becomes a row or a reject, the same on both engines, and its file is collected."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from both_engines import Collected, collect_on_both
from hostile_lines import lines

# Lines of each format; 10,000 in all.
COUNTS = {"jsonl": 5_000, "csv": 1_500, "regex": 1_500, "nginx": 2_000}
LINES_A_FILE = 100
CONFIG = r"""
format "regex" "fuzz" { layout = `^(?P<at>\S*) \[(?P<level>[^\]]*)\] (?P<size>\S*) (?P<message>.*)$` }
format "csv" "fuzz" { fields = ["at", "level", "size", "message"] }
table "fuzz_jsonl" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "level" {}
  column "size" { type = "decimal(38, 18)" }
  column "data" { type = "json" }
}
table "fuzz_csv" {
  format = format.csv.fuzz
  column "tp_timestamp" { source = "at" }
  column "size" { type = "double" }
}
table "fuzz_regex" {
  format = format.regex.fuzz
  column "tp_timestamp" { source = "at" }
  column "size" { type = "bigint" }
}
partition "fuzz_jsonl" "one" { source "file" { paths = ["LOGS/jsonl"] } }
partition "fuzz_csv" "one" { source "file" { paths = ["LOGS/csv"] } }
partition "fuzz_regex" "one" { source "file" { paths = ["LOGS/regex"] } }
partition "nginx_access_log" "one" { source "file" { paths = ["LOGS/nginx"] } }
"""
TABLES = {"jsonl": "fuzz_jsonl", "csv": "fuzz_csv", "regex": "fuzz_regex", "nginx": "nginx_access_log"}


def written(folder: Path, share: int) -> dict[str, dict[str, list[bytes]]]:
    """Files of lines by format and name; one line in `share`."""
    files: dict[str, dict[str, list[bytes]]] = {}
    for format, count in COUNTS.items():
        written = lines(format, 1, count // share)
        files[format] = {}
        for start in range(0, len(written), LINES_A_FILE):
            part = written[start : start + LINES_A_FILE]
            path = folder / "logs" / format / f"{format}-{start:05d}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(line + b"\n" for line in part))
            files[format][path.name] = part
    return files


def complaints(engines: list[Collected], files: dict[str, dict[str, list[bytes]]]) -> Iterator[str]:
    for collected in engines:
        for failure in collected.outcome.failed:
            yield f"{collected.engine}: {failure.label}: {failure.message}"
        if collected.again.rows.read or collected.again.failed:
            yield f"{collected.engine}: the second run read {collected.again.rows}"
        counted = sum(len(collected.rows[table]) + len(collected.rejects[table]) for table in TABLES.values())
        if counted != collected.outcome.rows.read:
            yield f"{collected.engine}: {collected.outcome.rows.read} records read, {counted} are there"
    first, second = engines
    for format, table in TABLES.items():
        ours, theirs = first.fates(table), second.fates(table)
        for name in files[format]:
            if ours[name] != theirs[name]:
                yield from _differences(f"{format} {name}", ours[name], theirs[name])


def _differences(name: str, ours: list[Any], theirs: list[Any]) -> Iterator[str]:
    for mine in ours:
        if mine not in theirs:
            same = [other for other in theirs if _place(other) == _place(mine)]
            yield (
                f"{name}: {_told(mine, same[0])}" if same else f"{name}: only the first has {_short(mine)}"
            )
    for other in theirs:
        if not any(_place(other) == _place(mine) for mine in ours):
            yield f"{name}: only the second has {_short(other)}"


def _place(fate: dict[str, Any]) -> Any:
    return fate["tp_id"] if "tp_id" in fate else fate["position"]


def _short(fate: dict[str, Any]) -> str:
    return str({key: str(value)[:80] for key, value in fate.items() if value is not None})[:600]


def _told(mine: dict[str, Any], other: dict[str, Any]) -> str:
    return str(
        {key: (mine.get(key), other.get(key)) for key in {*mine, *other} if mine.get(key) != other.get(key)}
    )[:600]


def wrong_values(collected: Collected, files: dict[str, list[bytes]]) -> Iterator[str]:
    """What JSON lines hold, as Python's own reader sees it, against the rows that came of them."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in files}
    for row in collected.rows["fuzz_jsonl"]:
        rows[Path(row["tp_source_location"]).name].append(row)
    for name, raw_lines in files.items():
        read = [record for line in raw_lines if (record := _record(line)) is not None]
        for row in rows[name]:
            level, data = row["level"], row["data"]
            if not any(
                _is_text_of(level, _member(r, "level")) and _is_json_of(data, r.get("data")) for r in read
            ):
                yield f"{name}: level {str(level)[:80]!r}, data {str(data)[:300]!r} stand in no line"


def _member(record: dict[str, Any], name: str) -> Any:
    """A member in any letter case; the first by name, but for the one that is spelled as asked."""
    spellings = sorted(key for key in record if key.lower() == name)
    return record.get(name if name in record or not spellings else spellings[0])


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(
            line.decode(errors="replace").strip("\ufeff"), parse_int=Number, parse_float=Number
        )
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class Number(str):
    """A number as it is spelled."""


def _is_text_of(stored: str | None, value: Any) -> bool:
    """What a text column makes of a value: strings and numbers as they are spelled, the rest as JSON."""
    return stored == value if isinstance(value, str) or stored is None else _is_json_of(stored, value)


def _is_json_of(stored: str | None, value: Any) -> bool:
    if stored is None or value is None:
        return stored is value
    try:
        read = json.loads(stored, parse_int=Number, parse_float=Number)
    except (ValueError, RecursionError):
        return False
    return bool(_spelled(read) == _spelled(value))


def _spelled(value: Any) -> Any:
    match value:
        case Number():
            return {"number": str(value)}
        case dict():
            return {name: _spelled(item) for name, item in value.items()}
        case list():
            return [_spelled(item) for item in value]
        case _:
            return value


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_lines(tmp_path: Path) -> None:
    _check(tmp_path, 1)


def _check(folder: Path, share: int) -> None:
    files = written(folder, share)
    engines = list(collect_on_both(folder, CONFIG, tuple(TABLES.values())))
    # Some lines are nested hundreds of levels deep. Not before: how deep readers go depends on it.
    sys.setrecursionlimit(50_000)
    told = [*complaints(engines, files)]
    told += [text for collected in engines for text in wrong_values(collected, files["jsonl"])]
    assert not told, f"{len(told)} complaints\n" + "\n".join(told[:40])
