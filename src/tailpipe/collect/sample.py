"""The start of a source's data tells the fields that a format's definition leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from tailpipe.collect.plan import PlannedArtifact
from tailpipe.collect.target import Feed, Target, check_fields
from tailpipe.formats.headers import merged_headers
from tailpipe.sources.content import open_content
from tailpipe.sources.entries import Unread
from tailpipe.tables.mapping import NOTHING_STORED
from tailpipe.tables.recipe import declared_fields, make_recipe
from tailpipe.tables.standardise import Recipe

SAMPLE_BYTES = 1024 * 1024
SAMPLED_ARTIFACTS = 20
# Enough to see whether the files are of the right kind at all.
_GLANCE = (3, 64 * 1024)

Item = TypeVar("Item")


def feed_recipe(
    target: Target,
    feed: Feed,
    artifacts: Sequence[PlannedArtifact],
    stored: Mapping[str, str] = NOTHING_STORED,
) -> Recipe:
    """The recipe for a feed's artifacts. Reads the start of a few of them where fields are open.

    `stored` are columns that the table has already, with their types.
    """
    is_open = has_open_fields(target, feed)
    fields = sampled_fields(feed, artifacts) if is_open else ()
    made = recipe_for_fields(target, feed, fields, stored)
    if declared_fields(feed.format) is None:
        check_fields(target, feed, made, fields if is_open else sampled_fields(feed, artifacts, *_GLANCE))
    return made


def has_open_fields(target: Target, feed: Feed) -> bool:
    """Whether only the data tells which fields there are, and columns depend on it."""
    is_open = declared_fields(feed.format) is None
    return is_open and bool(target.table.map_fields or feed.format.needs_fields)


def recipe_for_fields(
    target: Target, feed: Feed, fields: tuple[str, ...], stored: Mapping[str, str] = NOTHING_STORED
) -> Recipe:
    """`fields` are those that the data shows; they matter where fields are open."""
    declared = declared_fields(feed.format)
    make = partial(
        make_recipe,
        target.config,
        target.table,
        captures=feed.captures,
        stored=stored,
        is_sampled=declared is None,
    )
    if not has_open_fields(target, feed):
        return make(feed.format, declared)
    if feed.format.needs_fields:
        return make(feed.format.with_fields(fields), fields)
    # Records of a self-describing format may have fields that the sample lacks.
    return make(feed.format, None, seen=fields)


def sampled_fields(
    feed: Feed,
    artifacts: Sequence[PlannedArtifact],
    count: int = SAMPLED_ARTIFACTS,
    size_bytes: int = SAMPLE_BYTES,
) -> tuple[str, ...]:
    """Fields that most of the artifacts have come first; those of a header stay in its order."""
    found = [feed.format.field_names(_start(feed, item, size_bytes)) for item in spread(artifacts, count)]
    if feed.format.needs_fields:
        return merged_headers(found)
    counts = Counter(field for fields in found for field in fields)
    return tuple(field for field, _ in counts.most_common())


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count`, evenly over all, the first and the last among them."""
    if len(items) <= count:
        return list(items)
    return [items[k * (len(items) - 1) // (count - 1)] for k in range(count)]


def _start(feed: Feed, planned: PlannedArtifact, size_bytes: int) -> bytes:
    sample = b""
    try:
        with feed.source.open(planned.artifact) as stream:
            content = open_content(stream, planned.artifact, feed.format.is_whole)
            for item in content.entries():
                if isinstance(item, Unread):
                    continue
                for chunk in item[1]:
                    sample += chunk
                    if len(sample) >= size_bytes:
                        return sample[: sample.rfind(b"\n") + 1] or sample
                return sample
    except Exception:
        return sample  # the run itself reports what cannot be read
    return sample
