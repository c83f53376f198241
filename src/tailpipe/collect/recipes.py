"""How the records of each source become rows. Made before any job: files may have to be looked into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tailpipe.collect.jobs import choice_of
from tailpipe.collect.outcome import UnitFailed
from tailpipe.collect.plan import PlannedArtifact, Rejects, Unit
from tailpipe.collect.sample import (
    SAMPLE_BYTES,
    SAMPLED_ARTIFACTS,
    feed_recipe,
    has_open_fields,
    recipe_for_fields,
    sampled_fields,
    spread,
)
from tailpipe.collect.target import Feed, Target
from tailpipe.errors import SourceError
from tailpipe.formats.json_fields import json_field_names
from tailpipe.lake.address import TableAddress
from tailpipe.lake.quarantine import read_file
from tailpipe.lake.state import PartitionState
from tailpipe.sources.artifact import Artifact
from tailpipe.tables.standardise import Recipe
from tailpipe.tables.stored_schema import column_types

MakeRecipe = Callable[[Target, Feed, Sequence[PlannedArtifact], Mapping[str, str]], Recipe]


def make_recipes(
    target: Target, units: Sequence[Unit], stored: Mapping[str, str], make: MakeRecipe = feed_recipe
) -> tuple[dict[int, Recipe], dict[int, SourceError]]:
    """By number of the feed: how its records become rows, or why they cannot.

    Each source with artifacts adds its columns to those that the table and the sources before it have.
    """
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
    return made, errors


def without_unreadable(
    units: tuple[Unit, ...], errors: Mapping[int, SourceError]
) -> tuple[tuple[Unit, ...], tuple[UnitFailed, ...]]:
    """The units that are left where sources cannot be read, and those that fail for it.

    A unit that is committed whole fails with all its artifacts; another one goes on without those of the source.
    """
    failed: list[UnitFailed] = []
    for number, error in errors.items():
        sentence = f"{error.message}. {error.hint}" if error.hint else error.message
        left: list[Unit] = []
        for unit in units:
            rest = tuple(item for item in unit.artifacts if item.feed != number)
            count = len(unit.artifacts) - len(rest)
            if count:
                artifacts = len(unit.artifacts) if unit.is_whole else count
                failed.append(UnitFailed(unit.label, artifacts, sentence, day=unit.day))
            if rest and not (unit.is_whole and count):
                left.append(replace(unit, artifacts=rest))
        units = tuple(left)
    return units, tuple(failed)


@dataclass(frozen=True)
class RejectRecipes:
    """Makes the recipes for rejects, which are in quarantine without the header of their file.

    Raises SourceError where nobody can say what the values are called; the message goes on after the number of rejects.
    """

    address: TableAddress
    state: PartitionState
    rejects: Rejects

    def __call__(
        self, target: Target, feed: Feed, artifacts: Sequence[PlannedArtifact], stored: Mapping[str, str]
    ) -> Recipe:
        if not has_open_fields(target, feed):
            return recipe_for_fields(target, feed, (), stored)
        sample = self._sample(feed, artifacts)
        if feed.format.needs_fields:
            headers = [sampled_fields(feed, [item]) for item in sample]
            return recipe_for_fields(target, feed, common_header(headers), stored)
        own = json_field_names(self._texts(target, artifacts), feed.format.field_map)
        fields = dict.fromkeys((*sampled_fields(feed, sample), *own))
        return recipe_for_fields(target, feed, tuple(fields), stored)

    def _sample(self, feed: Feed, artifacts: Sequence[PlannedArtifact]) -> list[PlannedArtifact]:
        """A few of the artifacts with rejects, and a few of all that the source gave, where they lie now."""
        everything = self.state.artifacts.of_sources([feed.source.name])
        some = everything.known(spread(range(len(everything)), SAMPLED_ARTIFACTS))
        rejected = [item.known for item in spread(artifacts, SAMPLED_ARTIFACTS) if item.known is not None]
        return [
            PlannedArtifact(
                artifacts[0].feed, Artifact(each.location, each.size_bytes, each.version, each.span)
            )
            for each in (*rejected, *some)
        ]

    def _texts(self, target: Target, artifacts: Sequence[PlannedArtifact]) -> Iterator[str]:
        choice = choice_of(target, self.rejects, artifacts)
        for path in spread(self.rejects.files, SAMPLED_ARTIFACTS):
            rows = read_file(self.address, path)
            texts = rows.column("raw").filter(choice(rows))
            mean_bytes = max(1, texts.nbytes // max(1, len(texts)))
            yield from islice(texts.to_pylist(), SAMPLE_BYTES // mean_bytes + 1)


def common_header(headers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names of values in files of one kind. Files that could not be read have none.

    Kept records say no longer by which header they were read: where files differ, a value may have either name.
    """
    longest = max(headers, key=len, default=())
    if not longest:
        raise SourceError(
            "whose values only a header names, and none of the files can be read",
            "name the `fields` in the format",
        )
    if any(header != longest[: len(header)] for header in headers):
        raise SourceError(
            "of files whose headers differ, so that nobody can say which value is which",
            "`tailpipe collect --overwrite` reads the files again",
        )
    return longest
