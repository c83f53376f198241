"""The fields of kept records where a format's definition leaves them to the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tailpipe.collect.plan import PlannedArtifact
from tailpipe.collect.retry_plan import RetryPlan
from tailpipe.collect.sample import (
    SAMPLE_BYTES,
    SAMPLED_ARTIFACTS,
    has_open_fields,
    recipe_for_fields,
    sampled_fields,
    spread,
)
from tailpipe.errors import TailpipeError
from tailpipe.formats.json_fields import json_field_names
from tailpipe.lake.address import TableAddress
from tailpipe.lake.quarantine import read_file
from tailpipe.sources.artifact import Artifact
from tailpipe.tables.standardise import Recipe


class FieldsUnknown(TailpipeError):
    """Nobody can say what the values of kept records are called. The message goes on after their number."""


def retry_recipe(plan: RetryPlan, number: int, address: TableAddress, stored: Mapping[str, str]) -> Recipe:
    """How a feed's rejects become rows. Raises FieldsUnknown."""
    target, feed = plan.target, plan.target.feeds[number]
    if not has_open_fields(target, feed):
        return recipe_for_fields(target, feed, (), stored)
    artifacts = _artifacts(plan, number)
    if feed.format.needs_fields:
        headers = [sampled_fields(feed, [artifact]) for artifact in artifacts]
        return recipe_for_fields(target, feed, common_header(headers), stored)
    own = json_field_names(_texts(plan, number, address), feed.format.field_map)
    fields = dict.fromkeys((*sampled_fields(feed, artifacts), *own))
    return recipe_for_fields(target, feed, tuple(fields), stored)


def common_header(headers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names of values in files of one kind. Files that could not be read have none.

    Kept records say no longer by which header they were read: where files differ, a value may have either name.
    """
    longest = max(headers, key=len, default=())
    if not longest:
        raise FieldsUnknown(
            "whose values only a header names, and none of the files can be read",
            "name the `fields` in the format",
        )
    if any(header != longest[: len(header)] for header in headers):
        raise FieldsUnknown(
            "of files whose headers differ, so that nobody can say which value is which",
            "`tailpipe collect --overwrite` reads the files again",
        )
    return longest


def _artifacts(plan: RetryPlan, number: int) -> list[PlannedArtifact]:
    """A few of the artifacts with rejects, and a few of all that the source gave."""
    source = plan.target.feeds[number].source.name
    everything = list(plan.state.artifacts.of_sources([source]).known())
    rejected = [item.record for item in plan.feeds[number]]
    return [
        PlannedArtifact(number, Artifact(record.location, record.size_bytes, record.version, record.span))
        for records in (rejected, everything)
        for record in spread(records, SAMPLED_ARTIFACTS)
    ]


def _texts(plan: RetryPlan, number: int, address: TableAddress) -> Iterator[str]:
    choice = plan.choice(number)
    for path in spread(plan.files, SAMPLED_ARTIFACTS):
        rows = read_file(address, path)
        texts = rows.column("raw").filter(choice.slots_of(rows).is_valid())
        mean_bytes = max(1, texts.nbytes // max(1, len(texts)))
        yield from islice(texts.to_pylist(), SAMPLE_BYTES // mean_bytes + 1)
