"""What a run will do: which files, in which units and order, and why others are left alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tailpipe.collect.jobs import batches, make_packs
from tailpipe.collect.plan import (
    END_OF_TIME,
    AskedWindow,
    PartitionPlan,
    PlannedArtifact,
    Unit,
    plan_partition,
)
from tailpipe.collect.target import Target, make_targets
from tailpipe.config import load
from tailpipe.lake.log import PartitionState
from tailpipe.lake.manifest import ArtifactRecord
from tailpipe.plugins.registry import load_registry
from tailpipe.sources.artifact import Artifact
from tailpipe.times import Window, day_window

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
NEW = PartitionState(0, {})
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log"


def make_target(folder: Path, layout: str | None = LAYOUT) -> Target:
    chosen = f"file_layout = `{layout}`" if layout else ""
    (folder / "main.tpc").write_text(
        f'partition "nginx_access_log" "web" {{\n source "file" {{\n paths = ["{folder}/logs"]\n {chosen}\n }}\n}}'
    )
    registry = load_registry()
    (target,) = make_targets(load([folder], registry, environment={}, now=NOW), registry).values()
    return target


def write(folder: Path, *names: str) -> None:
    (folder / "logs").mkdir(exist_ok=True)
    for name in names:
        (folder / "logs" / name).write_text("x\n")


def plan(target: Target, state: PartitionState = NEW, start: str | None = None) -> PartitionPlan:
    asked = AskedWindow(datetime.fromisoformat(start).replace(tzinfo=UTC) if start else None)
    return plan_partition(target, state, asked, None, NOW)


def collected(plan: PartitionPlan, version: int = 1) -> PartitionState:
    """The state after a run that did all that was planned."""
    records = {}
    for unit in plan.units:
        for item in unit.artifacts:
            found = item.artifact
            records["file", found.location] = ArtifactRecord(
                "file", found.location, found.version, found.size_bytes, found.span, item.keep, 1, 1, 0, 0, 0
            )
    return PartitionState(version, records)


def keys(plan: PartitionPlan) -> list[str]:
    return [unit.key for unit in plan.units]


def test_first_time_newest_day_first_and_only_the_last_thirty_days(tmp_path: Path) -> None:
    write(tmp_path, "2024-06-01.log", "2024-06-14.log", "2024-05-17.log", "2024-05-15.log", "notes.txt")
    first = plan(make_target(tmp_path))
    assert keys(first) == ["2024-06-14", "2024-06-01", "2024-05-17"]
    assert first.window == Window(datetime(2024, 5, 16, 12, tzinfo=UTC), END_OF_TIME)
    (listing,) = first.listings
    assert (listing.listed, listing.planned, listing.known) == (5, 3, 0)
    assert listing.skipped == {"layout": 1, "outside window": 1}
    assert listing.mismatch_example == str(tmp_path / "logs" / "notes.txt")
    assert listing.newest == str(tmp_path / "logs" / "2024-06-14.log")


def test_later_runs_go_oldest_first_and_leave_out_what_is_known(tmp_path: Path) -> None:
    write(tmp_path, "2024-06-10.log")
    target = make_target(tmp_path)
    state = collected(plan(target))
    assert plan(target, state).units == ()
    write(tmp_path, "2024-06-12.log", "2024-06-11.log")
    later = plan(target, state)
    assert keys(later) == ["2024-06-11", "2024-06-12"]
    assert later.state_version == 1
    assert later.listings[0].known == 1


def test_a_long_pause_leaves_no_gap(tmp_path: Path) -> None:
    """Collected up to February: the next run starts there, though that is more than thirty days ago."""
    write(tmp_path, "2024-02-01.log")
    target = make_target(tmp_path)
    state = collected(plan(target, start="2024-02-01"))
    write(tmp_path, "2024-02-02.log", "2024-01-31.log")
    assert keys(plan(target, state)) == ["2024-02-02"]


def test_a_changed_file_is_told_and_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "2024-06-10.log")
    target = make_target(tmp_path)
    state = collected(plan(target))
    path = tmp_path / "logs" / "2024-06-10.log"
    path.write_text("x\ny\n")
    again = plan(target, state)
    assert again.units == ()
    assert again.listings[0].changed == (str(path),)


def test_undated_files_share_a_unit_and_are_read_again_for_what_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "b.log")
    target = make_target(tmp_path, None)
    first = plan(target, start="2024-06-10")
    assert keys(first) == ["undated-1"]
    assert [item.keep for item in first.units[0].artifacts] == [(first.window,)] * 2
    state = collected(first)
    assert plan(target, state, start="2024-06-11").units == ()
    wider = plan(target, state, start="2024-06-01")
    missing = Window(datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 6, 10, tzinfo=UTC))
    assert [(item.keep, item.is_reread) for item in wider.units[0].artifacts] == [((missing,), True)] * 2


def artifact(number: int, size_bytes: int, suffix: str = ".log") -> Artifact:
    return Artifact(f"{number:03d}{suffix}", size_bytes, "1", day_window(NOW.date()))


def test_packs_hold_neighbours_of_about_the_same_size() -> None:
    artifacts = [artifact(k, 10_000_000) for k in range(100)]
    packs = make_packs(artifacts, 4)
    assert [len(pack) for pack in packs] == [25, 25, 25, 25]
    assert [number for pack in packs for number, _ in pack] == list(range(100))
    assert all(artifacts[number] == item for pack in packs for number, item in pack)


def test_little_work_is_one_pack_and_one_large_file_does_not_starve_the_rest() -> None:
    assert len(make_packs([artifact(k, 100) for k in range(50)], 4)) == 1
    uneven = make_packs([artifact(0, 10**9), *(artifact(k, 1000) for k in range(1, 50))], 4)
    assert [number for pack in uneven for number, _ in pack] == list(range(50))
    assert 2 <= len(uneven) <= 4


def test_batches_keep_the_order_and_count_compressed_bytes_as_what_they_become() -> None:
    units = [
        Unit(None, k, (PlannedArtifact(0, artifact(k, 100, suffix)),))
        for k, suffix in enumerate([".log"] * 4)
    ]
    assert [len(batch) for batch in batches(units, 200)] == [2, 2]
    packed = [Unit(None, k, (PlannedArtifact(0, artifact(k, 100, ".log.gz")),)) for k in range(3)]
    assert [len(batch) for batch in batches(packed, 200)] == [1, 1, 1]
    assert [unit.number for batch in batches(units, 200) for unit in batch] == [0, 1, 2, 3]
    assert list(batches([])) == []
