"""A table becomes what it was: rows, state and rejects, beside others who commit."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from deltalake import DeltaTable

from histories import TABLE, History, schema, truth
from tailpipe.errors import ConflictError, LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import partition_states
from tailpipe.lake.log import TableLog
from tailpipe.lake.log_entries import kept_of
from tailpipe.lake.restoring import plan_restore, restore
from tailpipe.lake.runs import partition_runs
from tailpipe.lake.timeline import commits
from tailpipe.lake.transaction import Change
from tailpipe.lake.vacuum import vacuum_table
from tailpipe.times import Lookback


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(Lake(str(tmp_path / "lake")))


def all_files(history: History) -> set[str]:
    return {str(path) for path in Path(history.address.uri).rglob("*.parquet")}


@pytest.mark.parametrize("seed", range(4))
def test_any_version_can_be_restored_and_that_undone(history: History, seed: int) -> None:
    choice = random.Random(seed)
    history.collect("one", rejected=1)
    while len(history.past) < 8:
        history.move(choice)
    for version in choice.sample(sorted(history.past), 4):
        before = history.version
        now = truth(history.address, with_columns=False)
        done = restore(history.address, version)
        then = history.past[version]
        found = truth(history.address, with_columns=False)
        names = ("message", "tp_partition", "tp_id")
        assert found.rows == sorted(({name: row[name] for name in names} for row in then.rows), key=repr)
        # Partitions that came later are known, and nothing is known of them.
        assert {name: state for name, state in found.states.items() if name in then.states} == then.states
        for name in found.states.keys() - then.states.keys():
            assert not len(partition_states(history.lake, TABLE)[name].artifacts)
        assert done.rows_then == len(then.rows)
        assert done.rows_now == len(now.rows)
        if done.after is not None:
            assert done.after == before + 1 == history.version
            restore(history.address, before)
            assert truth(history.address, with_columns=False) == now


def test_a_restore_is_one_commit_that_history_and_runs_tell(history: History) -> None:
    history.collect("one")
    history.collect("two")
    history.collect("one")
    done = restore(history.address, 1)
    assert [(part.partition, part.rows_now, part.rows_then) for part in done.partitions] == [
        ("one", 4, 2),
        ("two", 2, 0),
    ]
    newest = next(commits(history.address, kept_of(history.address)))
    assert (newest.version, newest.kind, newest.unit, newest.partition) == (4, "restore", "version 1", None)
    assert (newest.rows_added, newest.rows_removed) == (0, 4)
    runs = partition_runs(history.lake, TABLE, "one")
    assert [run.kind for run in runs] == ["collect", "collect", "restore"]


def test_what_is_as_it_was_is_left_alone(history: History) -> None:
    history.collect("one")
    assert restore(history.address, 1).after is None
    assert history.version == 1


def test_planning_changes_nothing(history: History) -> None:
    history.collect("one")
    history.collect("one", day=1)
    before, files = truth(history.address), all_files(history)
    planned = plan_restore(history.address, 1)
    assert (planned.rows_now, planned.rows_then, planned.after) == (4, 2, None)
    assert [(part.files_added, part.files_removed) for part in planned.partitions] == [(0, 1)]
    assert (truth(history.address), all_files(history), history.version) == (before, files, 2)


def test_values_take_on_the_types_of_now(history: History) -> None:
    history.collect("one", rows=3)
    history.change_schema("BIGINT", ("more",))
    history.collect("one", rows=1)
    restore(history.address, 1)
    delta = DeltaTable(history.address.uri)
    rows = delta.to_pyarrow_table()
    assert (rows.num_rows, str(rows.schema.field("size").type)) == (3, "int64")
    assert rows.column("size").to_pylist() == [0, 1, 2]
    assert rows.column("more").to_pylist() == [None] * 3


def test_values_that_would_be_lost_are_refused(history: History) -> None:
    history.schema = schema("VARCHAR")
    log = TableLog(history.address, history.schema)
    file = history.data_file("one", 0, 2, "1.log")
    log.commit(Change("one", "collect", "", "run", files=(file,)), 0)
    TableLog(history.address, schema("INTEGER")).rewrite(may_lose=True)
    before, files = truth(history.address), all_files(history)
    with pytest.raises(LakeError, match=r'column "size": .* cannot become INTEGER\. Nothing was changed'):
        restore(history.address, 1)
    assert (truth(history.address), all_files(history)) == (before, files)


@pytest.mark.parametrize("gone", ["tp_partition=one", "_rejects", "_manifests"])
def test_files_that_are_gone_are_told_before_anything_is_written(history: History, gone: str) -> None:
    history.collect("one", rejected=1)
    then = all_files(history)
    history.overwrite("one")
    history.change_schema("BIGINT", ())
    for path in then:
        if gone in path:
            Path(path).unlink()
    files = all_files(history)
    for attempt in (plan_restore, restore):
        with pytest.raises(LakeError, match=r"cannot be restored to version 1: .* no longer there"):
            attempt(history.address, 1)
    assert all_files(history) == files


def test_a_collector_that_comes_second_begins_again(history: History) -> None:
    history.collect("one")
    history.collect("one")
    log = history.log
    log.prepare()
    state = log.state("one")
    file = history.data_file("one", 0, 1, "late.log")
    restore(history.address, 1)
    with pytest.raises(ConflictError):
        log.commit(Change("one", "collect", "", "late", files=(file,)), state.version)
    history.collect("one")
    assert len(truth(history.address).rows) == 4


def test_a_restore_that_comes_second_begins_again(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    history.collect("one")
    history.collect("one")
    append, others = TableLog.append_restoration, [("one", 1), ("new", 2)]

    def after_another(log: TableLog, *arguments: object) -> int:
        if others:
            partition, rows = others.pop()
            history.collect(partition, rows=rows)
        return append(log, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TableLog, "append_restoration", after_another)
    files = all_files(history)
    done = restore(history.address, 1)
    assert done.after == 5
    assert len(truth(history.address).rows) == 2
    assert set(partition_states(history.lake, TABLE)) == {"one", "new"}
    # Two for each collection, and two for each partition of the attempt that won: others took theirs back.
    assert len(all_files(history) - files) == 2 * 2 + 2 * 2


@pytest.mark.slow
def test_beside_collectors_nothing_is_lost(history: History) -> None:
    history.collect("one")
    history.collect("two")
    then = history.version
    stop, failures = threading.Event(), []

    def collecting(partition: str) -> None:
        own = History(history.lake, count=1000 if partition == "one" else 2000)
        while not stop.is_set():
            try:
                own.collect(partition, rows=1)
                stop.wait(0.3)
            except ConflictError:
                continue
            except Exception as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=collecting, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    restored: list[int | None] = []
    try:
        for _ in range(3):
            before = history.version
            while history.version < before + 4:
                assert not failures
            restored.append(restore(history.address, then).after)
    finally:
        stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert restored == sorted({version for version in restored if version})
    # After each commit, known artifacts are those whose rows are there.
    rows = truth(history.address).rows
    states = partition_states(history.lake, TABLE).values()
    locations = {known.location for state in states for known in state.artifacts.known()}
    assert {row["message"].split()[0] for row in rows} == locations


def test_what_was_vacuumed_is_not_restored(history: History) -> None:
    history.collect("one")
    history.overwrite("one")
    history.collect("two")
    vacuum_table(history.address, Lookback(0, "d"))
    with pytest.raises(LakeError, match=r"cannot be restored to version 1: .* because of vacuum"):
        restore(history.address, 1)
    # No file of it has to be there.
    restore(history.address, 0)
    assert truth(history.address).rows == []


def test_a_vacuum_leaves_what_is_restored_meanwhile(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.collect("one", rejected=1)
    then = truth(history.address)
    history.overwrite("one")
    mark = TableLog.append_mark
    restored: list[int | None] = []

    def after_a_restore(log: TableLog, *arguments: object) -> None:
        if not restored:
            restored.append(restore(history.address, 1).after)
        mark(log, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TableLog, "append_mark", after_a_restore)
    freed = vacuum_table(history.address, Lookback(0, "d"))
    assert (restored, sum(freed.files.values())) == ([3], 1)
    assert truth(history.address) == then
