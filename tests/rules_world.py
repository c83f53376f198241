"""Log files that are written, grow, are rotated, packed, replaced and removed while a clock goes on.

Time is counted in whole hours since the beginning, so that windows are sets of numbers.
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
HOURS = 24 * 200
LOOKBACK_HOURS = 24 * 6
LATENESS_HOURS = 24 * 2
DATED, UNDATED = "file", "file_2"
CONFIG = """
table "app_log" {
  format = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "at" }
  column "level" {}
  column "size" { type = "int" }
  column "number" { type = "int" }
}
partition "app_log" "p" {
  lookback = "6d"
  lateness = "2d"
  source "file" {
    paths       = ["LOGS/dated"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}`
  }
  source "file" {
    paths = ["LOGS/undated"]
  }
}
"""


def moment(hour: int) -> datetime:
    return BEGINNING + timedelta(hours=hour)


def day_hours(day: int) -> frozenset[int]:
    return frozenset(range(24 * day, 24 * (day + 1)))


@dataclass(frozen=True)
class Line:
    """What a line of a log is about: `hours_ago`, counted from now or from the end of the file's day.

    In a file with a day it may be so many days astray.
    """

    hours_ago: int
    is_bad: bool = False
    days_astray: int = 0


@dataclass(frozen=True)
class Entry:
    """Lines that are written at once; `cut` says how many of the last characters are still to come.

    One that is quiet was written a minute ago.
    """

    lines: tuple[Line, ...] = ()
    cut: int = 0
    is_quiet: bool = False


@dataclass
class LogFile:
    """`text` is the plain content, `rest` what is still to be written of its last line, `written` the hour.

    A quiet one was written a minute before that. Nobody can read a damaged one.
    """

    name: str
    day: int | None
    text: str
    written: int
    rest: str = ""
    is_damaged: bool = False
    is_quiet: bool = False

    @property
    def source(self) -> str:
        return UNDATED if self.day is None else DATED

    @property
    def is_packed(self) -> bool:
        return self.name.endswith(".gz")


@dataclass
class World:
    """`expire_after` is what the partition says of its rows, in days."""

    folder: Path
    now: int = 24 * 40 + 9
    expire_after: int | None = None
    files: dict[str, LogFile] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))
    writings: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        for name in ("dated", "undated"):
            (self.folder / name).mkdir(parents=True)

    def of(self, source: str) -> list[LogFile]:
        """Files that are not empty, by name."""
        return [file for _, file in sorted(self.files.items()) if file.source == source and file.text]

    def text(self, entry: Entry, day: int | None) -> str:
        return "".join(self._line(line, day) for line in entry.lines)

    def _line(self, line: Line, day: int | None) -> str:
        number = next(self.numbers)
        last = self.now if day is None else 24 * (day + line.days_astray) + 23
        at = moment(last - line.hours_ago % (24 * 9 if day is None else 24)) + timedelta(minutes=number % 60)
        fields = {"number": number, "at": "never" if line.is_bad else f"{at:%Y-%m-%dT%H:%M:%SZ}"}
        return json.dumps({**fields, "level": f"l{number % 3}", "size": number * 7}) + "\n"

    def put(self, file: LogFile) -> None:
        """Writes the file as it is now, and its time."""
        self.files[file.name] = file
        path = self.folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = file.text.encode()
        stored = gzip.compress(data, mtime=0) if file.is_packed else data
        path.write_bytes(stored[:-4] if file.is_damaged else stored)
        seconds = moment(file.written).timestamp() - 60 * file.is_quiet + next(self.writings) / 1000
        os.utime(path, (seconds, seconds))

    def write(self, name: str, entry: Entry, day: int | None = None) -> None:
        self.append(LogFile(name, day, "", self.now), entry)

    def append(self, file: LogFile, entry: Entry) -> None:
        """What was still missing of its last line comes first."""
        text = file.rest + self.text(entry, file.day)
        end = len(text) - entry.cut
        file.text, file.rest, file.written = file.text + text[:end], text[end:], self.now
        file.is_quiet = entry.is_quiet
        self.put(file)

    def move(self, file: LogFile, name: str) -> None:
        (self.folder / file.name).rename(self.folder / name)
        del self.files[file.name]
        file.name = name
        self.files[name] = file

    def copy(self, file: LogFile, name: str) -> None:
        """With the time of the original."""
        self.put(LogFile(name, file.day, file.text, file.written, is_quiet=file.is_quiet))

    def remove(self, file: LogFile) -> None:
        (self.folder / file.name).unlink()
        del self.files[file.name]

    def make_room(self, name: str) -> None:
        """`app.log.1` becomes `app.log.2`, and so on, packed or not."""
        stem, _, number = name.rpartition(".")
        following = f"{stem}.{int(number) + 1}"
        for suffix in ("", ".gz"):
            if name + suffix in self.files:
                self.make_room(following)
                self.move(self.files[name + suffix], following + suffix)


@dataclass(frozen=True)
class NewDated:
    days_ago: int
    entry: Entry

    def apply(self, world: World) -> None:
        day = world.now // 24 - self.days_ago
        world.write(f"dated/{moment(24 * day):%Y-%m-%d}/{next(world.writings)}.jsonl", self.entry, day)


@dataclass(frozen=True)
class NewUndated:
    entry: Entry

    def apply(self, world: World) -> None:
        world.write(f"undated/app{next(world.writings)}.log", self.entry)


@dataclass(frozen=True)
class Touching:
    """Something is done with one of the files that it can be done with."""

    which: int

    def apply(self, world: World) -> None:
        files = [file for _, file in sorted(world.files.items()) if self.suits(file)]
        if files:
            self.change(world, files[self.which % len(files)])

    def suits(self, file: LogFile) -> bool:
        return not file.is_packed

    def change(self, world: World, file: LogFile) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Append(Touching):
    entry: Entry

    def change(self, world: World, file: LogFile) -> None:
        world.append(file, self.entry)


@dataclass(frozen=True)
class Replace(Touching):
    """Other content at the same place."""

    entry: Entry

    def change(self, world: World, file: LogFile) -> None:
        world.write(file.name, self.entry, file.day)


@dataclass(frozen=True)
class Rotate(Touching):
    """The log moves away; lines begin a new one in its place."""

    entry: Entry

    def suits(self, file: LogFile) -> bool:
        return file.day is None and file.name.endswith(".log")

    def change(self, world: World, file: LogFile) -> None:
        name = file.name
        world.make_room(f"{name}.1")
        world.move(file, f"{name}.1")
        if self.entry.lines:
            world.write(name, self.entry)


@dataclass(frozen=True)
class CopyTruncate(Rotate):
    def change(self, world: World, file: LogFile) -> None:
        world.make_room(f"{file.name}.1")
        world.copy(file, f"{file.name}.1")
        world.write(file.name, self.entry)


@dataclass(frozen=True)
class Rename(Touching):
    """A dated file gets another name for the same day."""

    def suits(self, file: LogFile) -> bool:
        return file.day is not None

    def change(self, world: World, file: LogFile) -> None:
        folder, _, name = file.name.rpartition("/")
        world.move(file, f"{folder}/renamed{next(world.writings)}-{name}")


@dataclass(frozen=True)
class Pack(Touching):
    def change(self, world: World, file: LogFile) -> None:
        world.remove(file)
        world.put(LogFile(f"{file.name}.gz", file.day, file.text, world.now))


@dataclass(frozen=True)
class PackBeside(Pack):
    """The packed file is there, and its original is not gone yet."""

    def change(self, world: World, file: LogFile) -> None:
        world.put(LogFile(f"{file.name}.gz", file.day, file.text, world.now))


@dataclass(frozen=True)
class Damage(Touching):
    """A packed file ends too early, and lies beside its original under a name of its own."""

    def suits(self, file: LogFile) -> bool:
        return not file.is_packed

    def change(self, world: World, file: LogFile) -> None:
        folder = file.name.rpartition("/")[0]
        name = f"{folder}/damaged{next(world.writings)}.gz"
        world.put(
            LogFile(name, file.day, world.text(Entry((Line(3),)), file.day), world.now, is_damaged=True)
        )


@dataclass(frozen=True)
class Repair(Touching):
    def suits(self, file: LogFile) -> bool:
        return file.is_damaged

    def change(self, world: World, file: LogFile) -> None:
        file.is_damaged = False
        world.put(file)


@dataclass(frozen=True)
class Remove(Touching):
    def suits(self, file: LogFile) -> bool:
        return True

    def change(self, world: World, file: LogFile) -> None:
        world.remove(file)


@dataclass(frozen=True)
class Copy(Touching):
    """An equal file at a second place."""

    def suits(self, file: LogFile) -> bool:
        return file.day is None and file.name.endswith(".log")

    def change(self, world: World, file: LogFile) -> None:
        world.copy(file, f"undated/copy{next(world.writings)}.log")


@dataclass(frozen=True)
class Advance:
    """The clock goes on, or was put back; but not before a time at which a file was written."""

    hours: int

    def apply(self, world: World) -> None:
        now = world.now + self.hours
        if all(file.written < now for file in world.files.values()) or self.hours > 0:
            world.now = now


Happening = NewDated | NewUndated | Touching | Advance
