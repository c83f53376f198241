"""A scenario that was set up once, and copies of its lake in which the command dies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forks import Ended, Forks
from scenarios import Scenario
from steps import AFTER, BEFORE, Point

from installed import Home
from lakes import StoredLake

# All that a user can see, without the moments at which it was made.
EVERYTHING = """
select 'rows of ' || tp_date as part, to_json(r) as content
  from (select * exclude (tp_ingest_timestamp) from app_log) r
union all
select 'rejects of ' || artifact, to_json(r) from (select * exclude (rejected_at) from tailpipe.rejects) r
union all
select 'state of ' || identity, to_json(r) from (select * exclude (collected_at, run) from tailpipe.artifacts) r
"""

COMMITS = ("commit", "create table", "add columns", "checkpoint")

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


def make_stage(forks: Forks, folder: Path, scenario: Scenario, elsewhere: StoredLake | None = None) -> Stage:
    folder.mkdir(parents=True)
    home = Home(folder, elsewhere=elsewhere)
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
    copy = Home(folder, elsewhere=home.elsewhere and home.elsewhere.copy())
    if home.elsewhere and copy.elsewhere:
        configuration = folder / "install" / "config" / "main.tpc"
        told = configuration.read_text()
        configuration.write_text(told.replace(home.elsewhere.uri, copy.elsewhere.uri))
    return copy


def visible(forks: Forks, home: Home) -> Visible:
    rows = forks.run(home, "query", EVERYTHING, "--output", "json").json()["rows"]
    parts: dict[str, list[str]] = {}
    for row in rows:
        parts.setdefault(row["part"], []).append(_without_nulls(row["content"]))
    return {part: sorted(contents) for part, contents in sorted(parts.items())}


def _without_nulls(content: str | dict[str, object]) -> str:
    """A column that was added, but has no value yet, changes nothing."""
    values = json.loads(content) if isinstance(content, str) else content
    return json.dumps({name: value for name, value in values.items() if value is not None})


def check_whole(stage: Stage, seen: Visible) -> None:
    """Every day, and quarantine and state of every artifact, are as before the command or as after it."""
    for part in {*stage.before, *stage.after, *seen}:
        found, old, new = (state.get(part, []) for state in (seen, stage.before, stage.after))
        assert found in (old, new), f"{part}: {len(found)} of {len(old)} before or {len(new)} after"


def check_recovery(forks: Forks, stage: Stage, home: Home) -> None:
    """After a death: whole days are visible, the next run makes up what is missing, one more finds nothing to do."""
    check_whole(stage, visible(forks, home))
    forks.run(home, *stage.command).done()
    assert stage.scenario.idle(forks.run(home, *stage.scenario.next_command).json())
    assert visible(forks, home) == stage.after


def all_points(steps: Mapping[str, int]) -> list[Point]:
    """Before and after commits, the first and the last of many; of other steps, one time of each name."""
    points = []
    for name, count in sorted(steps.items()):
        numbers = [*range(1, count + 1)] if name.startswith(COMMITS) else [(count + 1) // 2]
        numbers = numbers if len(numbers) <= 6 else numbers[:3] + numbers[-3:]
        points += [Point(name, number, moment) for number in numbers for moment in (BEFORE, AFTER)]
    return points


def some_points(steps: Mapping[str, int], turn: int) -> list[Point]:
    """Commits as above; of other steps a third, another one at every turn, before or after."""
    points = all_points(steps)
    commits = [point for point in points if point.name.startswith(COMMITS)]
    others = [point for point in points if point not in commits]
    return commits + [
        others[2 * number + (number + turn) % 2] for number in range(turn % 3, len(others) // 2, 3)
    ]
