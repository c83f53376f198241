"""Units become Spark jobs: a few packs of artifacts each, one task per pack, rows through the engine once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from tailpipe.collect.plan import Action, PlannedArtifact, Unit
from tailpipe.collect.reading import Pack, ReadJob
from tailpipe.collect.target import Feed, Target
from tailpipe.collect.windows import ALWAYS
from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import id_prefix
from tailpipe.lake.facts import FACTS_SCHEMA, ArtifactSlot, Fact, decode_facts
from tailpipe.lake.log import TYPE_KEY
from tailpipe.lake.paths import PARTITION_COLUMNS
from tailpipe.lake.writer import WriteJob
from tailpipe.records import RECORD_DDL
from tailpipe.sources.artifact import Artifact
from tailpipe.tables.standard import TP_SCALARS, WRITER_COLUMNS
from tailpipe.tables.standardise import Recipe, filled_columns, reading_format, standardise
from tailpipe.tables.stored_schema import json_columns, table_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.engine.session import Session

Reader = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

# A batch of units is one job per source. Large enough that starting a job does not matter, small enough that
# days become visible while the run goes on.
BATCH_RAW_BYTES = 1024 * 1024 * 1024
PACKS_PER_CORE = 2
MIN_PACK_RAW_BYTES = 8 * 1024 * 1024
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".tgz")
_USUAL_RATIO = 10


def batches(units: Sequence[Unit], raw_bytes: int = BATCH_RAW_BYTES) -> Iterator[tuple[Unit, ...]]:
    """Consecutive units whose logs, unpacked, are about `raw_bytes`."""
    held: list[Unit] = []
    held_bytes = 0
    for unit in units:
        size = sum(_raw_bytes(planned.artifact) for planned in unit.artifacts)
        if held and held_bytes + size > raw_bytes:
            yield tuple(held)
            held, held_bytes = [], 0
        held.append(unit)
        held_bytes += size
    if held:
        yield tuple(held)


def run_job(
    session: Session,
    recipe: Recipe,
    feed: Feed,
    write: WriteJob,
    artifacts: Sequence[Artifact],
    spool: str | None = None,
    groups: tuple[int, ...] = (),
) -> list[Fact]:
    """One pass: read, parse, standardise, write. `artifacts` are numbered as the slots of `write`.

    `spool` and `groups` are those of `ReadJob`.
    """
    # An engine that runs all tasks at once needs no spare ones, and holds all their memory.
    packs = make_packs(artifacts, session.cores * (1 if session.runs_all_tasks_at_once else PACKS_PER_CORE))
    read = ReadJob(feed.source, reading_format(recipe), packs, spool, groups)
    return run_packs(session, recipe, read, len(packs), write)


def run_packs(session: Session, recipe: Recipe, read: Reader, count: int, write: WriteJob) -> list[Fact]:
    """`read` gets the numbers of packs, below `count`, and gives records."""
    numbers = session.spark.range(0, count, 1, count)
    records = numbers.mapInArrow(read, RECORD_DDL)
    facts = standardise(records, recipe).mapInArrow(write, FACTS_SCHEMA)
    return decode_facts(facts.toArrow().column("fact").to_pylist())


def make_write_job(
    target: Target,
    address: TableAddress,
    recipe: Recipe,
    slots: Iterable[ArtifactSlot],
    now: datetime,
    stored: Mapping[str, pa.Field],
) -> WriteJob:
    """`stored` says how the table spells and types its columns."""
    import pyarrow as pa

    filled = {name: stored[name] for name in _stored_columns(recipe)}
    return WriteJob(
        address=address,
        table=target.config.table,
        partition=target.config.name,
        stored_schema=pa.schema(filled.values()),
        spellings={field.name: name for name, field in filled.items() if field.name != name},
        slots=tuple(slots),
        index_column=recipe.index_column,
        ingested_at=now,
        json_columns=json_columns(recipe.table),
        computing=recipe.computing,
    )


def common_schema(target: Target, recipes: Iterable[Recipe]) -> pa.Schema:
    """Sources may bring different mapped fields; the table has them all."""
    columns = {column.name: column for recipe in recipes for column in recipe.table.columns}
    return table_schema(replace(target.table, columns=tuple(columns.values())), TYPE_KEY)


def _stored_columns(recipe: Recipe) -> list[str]:
    """Of data files: no columns of the hive path, and none that could only hold nulls; readers add those."""
    names = {*filled_columns(recipe), *WRITER_COLUMNS, *TP_SCALARS} - {*PARTITION_COLUMNS}
    return [name for name in table_schema(recipe.table, TYPE_KEY).names if name in names]


def make_packs(artifacts: Sequence[Artifact], count: int) -> tuple[Pack, ...]:
    """At most `count` packs of neighbours with about the same number of bytes each; little work is one pack."""
    total = sum(_raw_bytes(artifact) for artifact in artifacts)
    count = min(count, max(1, total // MIN_PACK_RAW_BYTES))
    share = max(1, -(-total // count))
    packs: list[list[tuple[int, Artifact]]] = [[]]
    filled = 0
    for number, artifact in enumerate(artifacts):
        if packs[-1] and filled >= share * len(packs):
            packs.append([])
        packs[-1].append((number, artifact))
        filled += _raw_bytes(artifact)
    return tuple(tuple(pack) for pack in packs)


def make_slot(
    target: Target, feed: Feed, unit: Unit, planned: PlannedArtifact, reject_files: tuple[str, ...] = ()
) -> ArtifactSlot:
    """`reject_files` are those that may hold rejects of the artifact."""
    artifact = planned.artifact
    is_reread = planned.action is Action.WIDEN
    return ArtifactSlot(
        unit=unit.key,
        source=planned.source(target),
        location=artifact.location,
        id_prefix=id_prefix(target.name, planned.source(target), planned.identity),
        constants={
            **artifact_constants(artifact),
            "tp_table": target.config.table,
            "tp_source_type": feed.source.type,
            "tp_source_location": artifact.location,
        },
        captures=artifact.captures,
        keep=() if planned.keep == (ALWAYS,) else planned.keep,
        is_reread=is_reread,
        reject_files=reject_files if is_reread and planned.known and planned.known.rejected else (),
    )


def artifact_constants(artifact: Artifact) -> dict[str, str]:
    return {name: value for name, value in artifact.captures.items() if name.startswith("tp_")}


def _raw_bytes(artifact: Artifact) -> int:
    is_compressed = artifact.location.lower().endswith(_COMPRESSED)
    read_before = artifact.start.offset if artifact.start and not is_compressed else 0
    return max(0, artifact.size_bytes - read_before) * (_USUAL_RATIO if is_compressed else 1)
