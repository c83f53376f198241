"""Whatever lies in a folder of logs, every whole file is collected whole, and every other one is named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from both_engines import Collected, collect_on_both
from hostile_files import Written, write_files

COUNT = 10_000
CONFIG = """
table "fuzz" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "id" {}
}
partition "fuzz" "one" { source "file" { paths = ["LOGS"] } }
"""


def complaints(collected: Collected, files: list[Written]) -> Iterator[str]:
    stored: dict[str, list[str]] = defaultdict(list)
    rejected: dict[str, int] = defaultdict(int)
    for row in collected.rows["fuzz"]:
        stored[row["tp_source_location"].split("!")[0]].append(row["id"])
    for reject in collected.rejects["fuzz"]:
        rejected[reject["file"]] += 1
    failed = {failure.label for failure in collected.outcome.failed}
    for file in files:
        ids = stored.pop(str(file.path), [])
        if len(ids) != len(set(ids)) and not file.is_other_text:
            yield f"{collected.engine}: {file.path.name}: rows twice"
        if not file.is_damaged and set(ids) != file.ids:
            yield f"{collected.engine}: {file.path.name} is whole; {len(ids)} of {len(file.ids)} records are stored"
        is_named = str(file.path) in failed or rejected[file.path.name]
        if file.is_damaged and not is_named and not file.ids <= set(ids):
            lost = len(file.ids) - len(ids)
            yield f"{collected.engine}: {file.path.name} is damaged; {lost} records are lost without a word"
    for location in stored:
        yield f"{collected.engine}: rows of {location}, which nobody wrote"


def fates(collected: Collected) -> dict[str, object]:
    by_file: dict[str, object] = dict(collected.fates("fuzz"))
    return by_file | {failure.label: failure.message for failure in collected.outcome.failed}


def _check(folder: Path, count: int) -> None:
    files = write_files(folder / "logs", 1, count)
    first, second = collect_on_both(folder, CONFIG, ("fuzz",))
    told = [*complaints(first, files), *complaints(second, files)]
    told += [
        f"{engine.engine}: the second run read {engine.again.rows.read} records"
        for engine in (first, second)
        if engine.again.rows.read
    ]
    ours, theirs = fates(first), fates(second)
    told += [
        f"{name}: {str(ours.get(name))[:300]} and {str(theirs.get(name))[:300]}"
        for name in sorted({*ours, *theirs})
        if ours.get(name) != theirs.get(name)
    ]
    assert not told, f"{len(told)} complaints\n" + "\n".join(told[:40])


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_files(tmp_path: Path) -> None:
    _check(tmp_path, COUNT)
