"""A scenario that was set up once, and copies of its lake in which the command dies."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from forks import Ended, Forks
from scenarios import COLLECT, Scenario
from steps import AFTER, BEFORE, Point

from installed import Home

# All that a user can see, without the moments at which it was made.
EVERYTHING = """
select 'rows of ' || tp_date as part, to_json(r) as content
  from (select * exclude (tp_ingest_timestamp) from app_log) r
union all
select 'rejects of ' || artifact, to_json(r) from (select * exclude (rejected_at) from tailpipe.rejects) r
"""

Visible = Mapping[str, list[str]]


@dataclass(frozen=True)
class Stage:
    """`before` and `after` are what is visible before the command and after a run that nothing disturbed."""

    scenario: Scenario
    home: Home
    before: Visible
    after: Visible
    clean: Ended

    @property
    def command(self) -> tuple[str, ...]:
        return self.scenario.command


def make_stage(forks: Forks, folder: Path, scenario: Scenario) -> Stage:
    folder.mkdir(parents=True)
    home = Home(folder)
    home.logs.mkdir()
    scenario.prepare(home, lambda *arguments: forks.run(home, *arguments).done())
    copy = copy_home(home, folder / "clean")
    before = visible(forks, copy)
    clean = forks.run(copy, *scenario.command).done()
    return Stage(scenario, home, before, visible(forks, copy), clean)


def copy_home(home: Home, folder: Path) -> Home:
    """The lake and the configuration as they are; the logs stay where they lie, for their places are in the rows."""
    shutil.copytree(home.folder / "install", folder / "install")
    (folder / "logs").symlink_to(home.logs)
    return Home(folder)


def visible(forks: Forks, home: Home) -> Visible:
    rows = forks.run(home, "query", EVERYTHING, "--output", "json").json()["rows"]
    parts: dict[str, list[str]] = {}
    for row in rows:
        parts.setdefault(row["part"], []).append(str(row["content"]))
    return {part: sorted(contents) for part, contents in sorted(parts.items())}


def check_whole(stage: Stage, seen: Visible) -> None:
    """Every day and the quarantine of every artifact are as before the command or as after it."""
    for part in {*stage.before, *stage.after, *seen}:
        found, old, new = (state.get(part, []) for state in (seen, stage.before, stage.after))
        assert found in (old, new), f"{part}: {len(found)} of {len(old)} before or {len(new)} after"


def check_recovery(forks: Forks, stage: Stage, home: Home) -> None:
    """After a death: whole days are visible, the next run makes up what is missing, one more finds nothing to do."""
    check_whole(stage, visible(forks, home))
    forks.run(home, *stage.command).done()
    assert forks.run(home, *COLLECT).json()["rows"]["in"] == 0
    assert visible(forks, home) == stage.after


def all_points(steps: Mapping[str, int]) -> list[Point]:
    """Before and after every commit; of other steps, before and after one time of each name."""
    points = []
    for name, count in sorted(steps.items()):
        is_commit = name.startswith(("commit", "create table", "add columns", "checkpoint"))
        numbers = range(1, count + 1) if is_commit else [(count + 1) // 2]
        points += [Point(name, number, moment) for number in numbers for moment in (BEFORE, AFTER)]
    return points


def half_of(points: Sequence[Point]) -> list[Point]:
    """All commits; of other steps only before or only after, in turns."""
    turns = cycle((BEFORE, AFTER, AFTER, BEFORE))
    return [
        point
        for point, moment in zip(points, turns, strict=False)
        if point.moment == moment or point.name.startswith("commit")
    ]
