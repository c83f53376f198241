"""A reader beside a command that changes the lake: at no moment does it see a day by halves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forks import Forks
from scenarios import COLLECT, DATED, DELETE, DELETE_PART, Run, Scenario, day_lines, line
from stages import copy_home, make_stage

from installed import Home
from tailpipe.query.connection import load_extension, open_connection

DAYS = tuple(f"2024-06-{day:02d}" for day in range(1, 21))
OVERWRITE = (*COLLECT, "--overwrite")
PATIENCE_SECONDS = 60
# By day: how many rows, and a sum that tells old rows from new ones.
Days = dict[str, tuple[int, int]]


def twenty_days(home: Home, run: Run) -> None:
    home.configure(DATED)
    for day in DAYS:
        for origin in ("web", "db"):
            home.write(f"{origin}/{day}-1.jsonl", day_lines(day, origin, rows=50) + line(f"{day}T00:00:00Z"))


def twenty_days_collected(home: Home, run: Run) -> None:
    twenty_days(home, run)
    run(*COLLECT)
    home.configure(DATED.replace('"one" {', '"one" {\n  filter = "size % 4 <> 0"'))


class Reader:
    """Looks at the table again and again, as the views do, and keeps what it saw."""

    def __init__(self, home: Home) -> None:
        self._location = home.data / "app_log"
        self.seen: list[Days] = []

    @contextmanager
    def looking(self) -> Iterator[None]:
        is_over, has_looked = threading.Event(), threading.Event()
        thread = threading.Thread(target=self._look, args=(is_over, has_looked))
        thread.start()
        try:
            assert has_looked.wait(PATIENCE_SECONDS)
            yield
        finally:
            is_over.set()
            thread.join()

    def _look(self, is_over: threading.Event, has_looked: threading.Event) -> None:
        """The last look begins when all is over."""
        with open_connection() as connection:
            load_extension(connection, "delta")
            is_last = False
            while not is_last:
                is_last = is_over.is_set()
                self.seen.append(self._days(connection))
                has_looked.set()

    def _days(self, connection: object) -> Days:
        if not (self._location / "_delta_log" / f"{0:020d}.json").exists():
            return {}
        sql = f"select tp_date, count(*), sum(size) from delta_scan('{self._location}') group by all"
        rows = connection.execute(sql).fetchall()  # type: ignore[attr-defined]
        return {str(day): (int(count), int(total)) for day, count, total in rows}


@pytest.mark.parametrize(
    ("scenario", "is_one_commit"),
    [
        (Scenario("collect", twenty_days), False),
        (Scenario("overwrite", twenty_days_collected, OVERWRITE), False),
        (Scenario("delete a part", twenty_days_collected, DELETE_PART), True),
        (Scenario("delete all", twenty_days_collected, DELETE), True),
    ],
    ids=lambda value: value.name if isinstance(value, Scenario) else "",
)
def test_a_reader_sees_whole_days_old_or_new(
    forks: Forks, tmp_path: Path, scenario: Scenario, is_one_commit: bool
) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)
    home = copy_home(stage.home, tmp_path / "home")
    reader = Reader(home)
    with reader.looking():
        forks.run(home, *scenario.command).done()
    old, new = reader.seen[0], reader.seen[-1]
    assert old != new
    for seen in reader.seen:
        if is_one_commit:
            assert seen in (old, new)
        for day in DAYS:
            assert seen.get(day) in (old.get(day), new.get(day))
    changes = [(a, b) for a, b in zip(reader.seen, reader.seen[1:], strict=False) if a != b]
    assert len(changes) == 1 if is_one_commit else len(changes) > 1
