"""Log files on disk, and the state that runs over them leave: as collections do it, without an engine."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_lake import MemoryLake

from tailpipe.collect.listing import Sighting
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.recognise import recognise
from tailpipe.collect.run import plan_partition
from tailpipe.collect.target import Feed, Target
from tailpipe.collect.windows import ALWAYS, AskedWindow, Horizons
from tailpipe.config import load
from tailpipe.lake.state import PartitionState
from tailpipe.plugins.registry import load_registry
from tailpipe.sources.artifact import Artifact
from tailpipe.times import Window, parse_lookback, parse_moment
from targets import make_targets

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HORIZONS = Horizons(parse_lookback("30d"), parse_lookback("2d"))
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}"


def window(start: str, end: str) -> Window:
    return Window(*(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end)))


def line(at: str, number: int = 0) -> str:
    return json.dumps({"at": at, "number": number}) + "\n"


def make_target(folder: Path, layout: str | None = None, format: str = "jsonl.default") -> Target:
    chosen = f"file_layout = `{layout}`" if layout else ""
    (folder / "main.tpc").write_text(
        f"""
        table "app_log" {{
          format = format.{format}
          column "tp_timestamp" {{ source = "at" }}
        }}
        partition "app_log" "p" {{
          source "file" {{
            paths = ["{folder}/logs"]
            {chosen}
          }}
        }}
        """
    )
    registry = load_registry()
    (target,) = make_targets(load([folder], registry, environment={}, now=NOW), registry).values()
    return target


@dataclass
class Site:
    """`now` is the clock of the next run. Files are written an hour before it, unless their age is told."""

    folder: Path
    target: Target
    now: datetime = NOW
    lake: MemoryLake = field(default_factory=MemoryLake)
    writings: int = 0

    @property
    def feed(self) -> Feed:
        return self.target.feeds[0]

    @property
    def state(self) -> PartitionState:
        return self.lake.state

    def path(self, name: str) -> Path:
        return self.folder / "logs" / name

    def write(self, name: str, text: str, age: timedelta = HOUR) -> None:
        """A name that ends in .gz gets its content compressed."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        self.touch(name, age)

    def append(self, name: str, text: str, age: timedelta = HOUR) -> None:
        with self.path(name).open("a") as file:
            file.write(text)
        self.touch(name, age)

    def touch(self, name: str, age: timedelta) -> None:
        """No two writings have the same time, whatever the file system makes of inodes."""
        self.writings += 1
        seconds = (self.now - age).timestamp() + self.writings / 1000
        os.utime(self.path(name), (seconds, seconds))

    def move(self, old: str, new: str) -> None:
        self.path(old).rename(self.path(new))

    def pack(self, name: str, new: str, age: timedelta = HOUR) -> None:
        self.write(new, self.path(name).read_text(), age)
        self.path(name).unlink()

    def plan(
        self, start: str | None = None, end: str | None = None, is_overwrite: bool = False
    ) -> PartitionPlan:
        asked = AskedWindow(
            parse_moment(start, now=self.now) if start else None,
            parse_moment(end, now=self.now, is_end=True) if end else None,
        )
        return plan_partition(self.target, self.state, asked, HORIZONS, self.now, is_overwrite)

    def run(
        self, start: str | None = None, end: str | None = None, is_overwrite: bool = False
    ) -> PartitionPlan:
        """Does all that is planned and returns the plan; the state knows of it."""
        plan = self.plan(start, end, is_overwrite)
        self.lake.execute(plan, self.now)
        return plan

    def sightings(self) -> dict[str, Sighting]:
        """By the names of the files."""
        found = [item for item in self.feed.source.list(ALWAYS) if isinstance(item, Artifact)]
        sightings = recognise(self.feed, self.state.artifacts, found, ALWAYS, self.now)
        return {self.name(sighting.artifact.location): sighting for sighting in sightings}

    def name(self, location: str) -> str:
        return location.removeprefix(f"{self.folder}/logs/")


def units(plan: PartitionPlan) -> list[str]:
    return [unit.key for unit in plan.units]


def done(site: Site, plan: PartitionPlan) -> list[tuple[str, str]]:
    """Names of files with what is done with them."""
    return [
        (site.name(item.artifact.location), item.action.value)
        for unit in plan.units
        for item in unit.artifacts
    ]
