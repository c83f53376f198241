"""Log files on disk, and the state that runs over them leave: as collections do it, without an engine."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tailpipe.collect.plan import PartitionPlan, PlannedArtifact, Unit, plan_partition
from tailpipe.collect.recognise import Sighting, recognise
from tailpipe.collect.tally import UnitTally
from tailpipe.collect.target import Feed, Target, make_targets
from tailpipe.collect.windows import ALWAYS, AskedWindow, Horizons, claimed
from tailpipe.config import load
from tailpipe.lake.facts import ReadFact, RowsFact
from tailpipe.lake.manifest import ArtifactRecord, Header, Manifest, Windows, windows_text
from tailpipe.lake.state import PartitionState, fold
from tailpipe.plugins.registry import load_registry
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.read import read_artifacts
from tailpipe.times import Window, parse_lookback, parse_moment

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HORIZONS = Horizons(parse_lookback("30d"), parse_lookback("2d"))
LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    manifests: list[Manifest] = field(default_factory=list)
    writings: int = 0

    @property
    def feed(self) -> Feed:
        return self.target.feeds[0]

    @property
    def state(self) -> PartitionState:
        return fold(len(self.manifests), self.manifests)

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
        asked = {source: windows_text(windows) for source, windows in plan.asked.items()}
        for unit in plan.units:
            self._add(unit.key, self._read(unit), asked)
        covered = {
            source: windows_text(claimed(windows, (), self.now)) for source, windows in plan.asked.items()
        }
        self._add("", plan.renamed, asked, covered)
        return plan

    def sightings(self) -> dict[str, Sighting]:
        """By the names of the files."""
        found = [item for item in self.feed.source.list(ALWAYS) if isinstance(item, Artifact)]
        sightings = recognise(
            self.feed.source, self.feed.format.shape, self.state.artifacts, found, ALWAYS, self.now
        )
        return {self.name(sighting.artifact.location): sighting for sighting in sightings}

    def name(self, location: str) -> str:
        return location.removeprefix(f"{self.folder}/logs/")

    def _add(
        self,
        unit: str,
        records: tuple[ArtifactRecord, ...],
        asked: dict[str, tuple[str, ...]],
        covered: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        header = Header("p", "collect", unit, "run", self.now, asked=asked, covered=covered or {})
        self.manifests.append(Manifest(header, records))

    def _read(self, unit: Unit) -> tuple[ArtifactRecord, ...]:
        tally = UnitTally(unit, "run", self.now)
        for planned in unit.artifacts:
            *records, trailer = self._records(planned)
            end = json.loads(trailer["raw"])
            mark = {name: end[name] for name in ("offset", "position", "head", "tail", "held_bytes")}
            tally.add(
                planned,
                self.target,
                ReadFact(0, end["rows"], end["bytes"], **mark),
                _counts([row["raw"] for row in records], planned.keep),
            )
        return tuple(tally.records)

    def _records(self, planned: PlannedArtifact) -> Iterator[dict[str, str]]:
        batches = read_artifacts(self.feed.source, self.feed.format, [(0, planned.artifact)])
        return (row for batch in batches for row in batch.to_pylist())


def units(plan: PartitionPlan) -> list[str]:
    return [unit.key for unit in plan.units]


def done(site: Site, plan: PartitionPlan) -> list[tuple[str, str]]:
    """Names of files with what is done with them."""
    return [
        (site.name(item.artifact.location), item.action.value)
        for unit in plan.units
        for item in unit.artifacts
    ]


def _counts(raws: list[str], keep: Windows) -> RowsFact:
    moments = [_moment(raw) for raw in raws]
    good = [moment for moment in moments if moment is not None]
    stored = [moment for moment in good if any(part.contains(moment) for part in keep)]
    microseconds = [(moment - _EPOCH) // timedelta(microseconds=1) for moment in stored]
    return RowsFact(
        slot=0,
        stored=len(stored),
        outside=len(good) - len(stored),
        rejected=len(moments) - len(good),
        first=min(microseconds, default=None),
        last=max(microseconds, default=None),
    )


def _moment(raw: str) -> datetime | None:
    try:
        return datetime.fromisoformat(json.loads(raw)["at"]).replace(tzinfo=UTC)
    except (ValueError, TypeError, KeyError):
        return None
