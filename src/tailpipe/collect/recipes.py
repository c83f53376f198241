"""How the records of each source become rows. Made before any job: files may have to be looked into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tailpipe.collect.outcome import UnitFailed
from tailpipe.collect.plan import PlannedArtifact, Unit
from tailpipe.collect.sample import feed_recipe
from tailpipe.collect.target import Feed, Target
from tailpipe.errors import SourceError
from tailpipe.tables.stored_schema import column_types

if TYPE_CHECKING:
    from tailpipe.tables.standardise import Recipe

MakeRecipe = Callable[[Target, Feed, Sequence[PlannedArtifact], Mapping[str, str]], "Recipe"]


@dataclass(frozen=True)
class Recipes:
    """By number of the feed: how its records become rows, or why they cannot."""

    made: Mapping[int, Recipe]
    errors: Mapping[int, SourceError]


def make_recipes(
    target: Target, units: Sequence[Unit], stored: Mapping[str, str], make: MakeRecipe = feed_recipe
) -> Recipes:
    """Each source with artifacts adds its columns to those that the table and the sources before it have."""
    made: dict[int, Recipe] = {}
    errors: dict[int, SourceError] = {}
    columns = dict(stored)
    for number, feed in enumerate(target.feeds):
        artifacts = [item for unit in units for item in unit.artifacts if item.feed == number]
        if not artifacts:
            continue
        try:
            made[number] = make(target, feed, artifacts, columns)
        except SourceError as error:
            errors[number] = error
            continue
        columns |= column_types(made[number].table)
    return Recipes(made, errors)


def without_feed(
    units: Sequence[Unit], number: int, error: SourceError
) -> tuple[tuple[Unit, ...], tuple[UnitFailed, ...]]:
    """The units that are left where a source cannot be read, and those that fail for it.

    A unit that is committed whole fails with all its artifacts; another one goes on without those of the source.
    """
    sentence = f"{error.message}. {error.hint}" if error.hint else error.message
    left: list[Unit] = []
    failed: list[UnitFailed] = []
    for unit in units:
        rest = tuple(item for item in unit.artifacts if item.feed != number)
        count = len(unit.artifacts) - len(rest)
        if count:
            artifacts = len(unit.artifacts) if unit.is_whole else count
            failed.append(UnitFailed(unit.label, artifacts, sentence, day=unit.day))
        if rest and not (unit.is_whole and count):
            left.append(replace(unit, artifacts=rest))
    return tuple(left), tuple(failed)
