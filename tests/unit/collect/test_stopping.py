"""Jobs that are asked to end early, and what is read of them."""

from __future__ import annotations

import threading
from datetime import date
from pathlib import Path

import pytest

from tailpipe.collect import stopping
from tailpipe.collect.plan import PlannedArtifact, Unit
from tailpipe.collect.reading import ReadJob
from tailpipe.collect.spool import request_stop
from tailpipe.collect.stopping import Stopping, read_together, run_watched
from tailpipe.formats.jsonl import JsonLines
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.file import FileSource


class Interruption(BaseException):
    pass


def interrupt() -> None:
    raise Interruption


def test_an_interrupted_job_that_can_stop_gives_what_it_has() -> None:
    asked = threading.Event()
    heard: list[BaseException] = []

    def stop(interruption: BaseException) -> None:
        heard.append(interruption)
        asked.set()

    looks = iter([interrupt])
    found = run_watched(lambda: asked.wait(10), lambda: next(looks, lambda: None)(), stop)
    assert found
    assert [type(interruption) for interruption in heard] == [Interruption]


def test_an_interrupted_job_that_does_not_stop_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.1)
    ended = threading.Event()
    looks = iter([interrupt])
    try:
        with pytest.raises(Interruption):
            run_watched(
                lambda: ended.wait(60), lambda: next(looks, lambda: None)(), lambda interruption: None
            )
        with pytest.raises(Interruption):
            run_watched(lambda: ended.wait(60), interrupt)
    finally:
        ended.set()


def slots(*days: int | None) -> list[tuple[Unit, PlannedArtifact]]:
    items = [PlannedArtifact(0, Artifact(f"{number}.log", 1, "1")) for number in range(len(days))]
    units = {day: Unit(date(2024, 6, day) if day else None, 1, ()) for day in dict.fromkeys(days)}
    return [(units[day], item) for day, item in zip(days, items, strict=True)]


def test_days_are_read_together_and_files_without_a_date_each_alone() -> None:
    assert read_together(slots(1, 1, 2, None, None, 2)) == (0, 0, 2, 3, 4, 2)


def test_a_task_that_is_asked_to_stop_begins_no_other_day(tmp_path: Path) -> None:
    pack = tuple((number, Artifact(f"{number}.log", 1, "1")) for number in range(5))
    job = ReadJob(FileSource("file", ()), JsonLines(), (pack,), str(tmp_path), (0, 0, 2, 2, 4))
    taken = []
    for slot, _ in job._until_stopped(pack, tmp_path):
        taken.append(slot)
        if slot == 2:
            request_stop(tmp_path)
    assert taken == [0, 1, 2, 3]
    assert list(job._until_stopped(pack, tmp_path)) == []


def test_a_long_job_over_files_without_a_date_is_due_once(tmp_path: Path) -> None:
    stopping = Stopping(can_be_due=True)
    assert not stopping.is_due(1)
    assert stopping.is_due(1000)
    stopping.request(tmp_path)
    assert not stopping.is_due(1000)
    stopping.raise_interruption()
    assert not Stopping(can_be_due=False).is_due(1000)
