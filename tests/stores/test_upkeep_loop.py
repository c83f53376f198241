"""Compact, vacuum and a reader, over and over beside two collectors: whole days are seen, and no file is missed."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from addresses import lake_of
from machines import COLLECT, ROWS, expected, machine, rows_by_day, told, write_logs

from installed import Home
from lakes import StoredLake
from tailpipe.lake.kinds import Kind
from tailpipe.lake.vacuum import vacuum_table

DAYS = ("2024-06-01", "2024-06-02")
OVERWRITE = (*COLLECT, "--overwrite")
LOOK_SECONDS = 0.01
# A vacuum takes less than a command does, and must not take all the time of the others.
PAUSE_SECONDS = 0.2


@dataclass(frozen=True)
class Since:
    """A retention that begins at a moment, where the command knows none shorter than a minute."""

    moment: datetime
    amount: int = 1

    def __rsub__(self, now: datetime) -> datetime:
        return self.moment


@dataclass
class Upkeep:
    """A machine that compacts and vacuums: days that it merged, and how many data files each vacuum freed."""

    home: Home
    lake: StoredLake
    merged: list[dict[str, Any]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def compact(self) -> None:
        self.merged += [day for part in told(self.home, "compact")["partitions"] for day in part["days"]]

    def vacuum(self, needed_since: datetime) -> None:
        retention = Since(needed_since - timedelta(seconds=1))
        done = vacuum_table(lake_of(self.lake).table("app_log"), retention)  # type: ignore[arg-type]
        assert done.left == []
        self.freed.append(done.files.get(Kind.DATA, 0))
        time.sleep(PAUSE_SECONDS)


@dataclass
class Reader:
    """Looks at the table as a user does, and as a query that takes long. `began_at` is when its look began."""

    home: Home
    upkeep: Upkeep
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    looks: list[dict[str, int]] = field(default_factory=list)

    def look(self, is_over: threading.Event) -> None:
        self.began_at = datetime.now(UTC)
        table = self.home.lake.delta("app_log")
        assert table
        self._wait_for_upkeep(is_over)
        rows = table.to_pyarrow_table(columns=["tp_partition", "tp_date"]).to_pylist()
        self.looks.append(dict(Counter(f"{row['tp_partition']} {row['tp_date']}" for row in rows)))
        self.looks.append(rows_by_day(self.home))

    def _wait_for_upkeep(self, is_over: threading.Event) -> None:
        """Until files of the snapshot were merged, and a vacuum that began after that is through."""
        merged = len(self.upkeep.merged)
        while len(self.upkeep.merged) == merged and not is_over.is_set():
            time.sleep(LOOK_SECONDS)
        freed = len(self.upkeep.freed)
        while len(self.upkeep.freed) < freed + 2 and not is_over.is_set():
            time.sleep(LOOK_SECONDS)

    def check(self) -> None:
        """Days come as a whole and grow by whole files; nothing that was seen goes again."""
        for before, after in zip(self.looks, self.looks[1:], strict=False):
            assert all(after.get(day, 0) >= rows for day, rows in before.items()), (before, after)
        assert {rows % ROWS for look in self.looks for rows in look.values()} == {0}


@contextmanager
def again_and_again(is_over: threading.Event, *works: Callable[[], Any]) -> Iterator[None]:
    """Each in a thread of its own, at least once and until the block ends. What one raises, the block raises."""
    raised: list[BaseException] = []

    def run(work: Callable[[], Any]) -> None:
        try:
            work()
            while not is_over.is_set():
                work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("rounds", [2, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.timeout(1200)
def test_a_reader_misses_nothing(tmp_path: Path, lake: StoredLake, rounds: int) -> None:
    first = machine(tmp_path / "first", lake, "one", "both")
    second = machine(tmp_path / "second", lake, "two", "both", logs=first.logs)
    upkeep = Upkeep(machine(tmp_path / "keeper", lake), lake)
    reader = Reader(machine(tmp_path / "reader", lake), upkeep)
    write_logs(first, "one", "two", "both", days=DAYS, part="0")
    for home in (first, second):
        home.collect()
    is_over = threading.Event()
    works = (upkeep.compact, lambda: upkeep.vacuum(reader.began_at), lambda: reader.look(is_over))
    with again_and_again(is_over, *works):
        for number in range(1, rounds + 1):
            write_logs(first, "one", "two", "both", days=DAYS, part=str(number))
            running = [first.start(*COLLECT), second.start(*(OVERWRITE if number % 2 else COLLECT))]
            for process in running:
                output, errors = process.communicate()
                assert process.returncode == 0, errors + output
    upkeep.compact()
    upkeep.vacuum(datetime.now(UTC))
    reader.look(is_over)
    reader.check()
    assert reader.looks[-1] == expected("one", "two", "both", days=DAYS, rows=(rounds + 1) * ROWS)
    assert upkeep.merged
    assert sum(upkeep.freed) > 0
    for home in (first, second):
        assert home.collect()["rows"]["in"] == 0
