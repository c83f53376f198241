"""Units become Spark jobs: a few packs of artifacts each, one task per pack, rows through the engine once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from tailpipe.collect.plan import Action, PlannedArtifact, Rejects, Unit, grouped
from tailpipe.collect.reading import Pack, ReadJob
from tailpipe.collect.reject_reading import Choice, RejectJob
from tailpipe.collect.stopping import read_together
from tailpipe.collect.target import Target
from tailpipe.collect.windows import ALWAYS
from tailpipe.lake.address import TableAddress
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

# The artifacts of one feed, with the units that they are of, as the facts of a job number them.
Slots = Sequence[tuple[Unit, PlannedArtifact]]

# A batch of units is one job per source. Large enough that starting a job does not matter, small enough that
# days become visible while the run goes on.
BATCH_RAW_BYTES = 1024 * 1024 * 1024
PACKS_PER_CORE = 2
MIN_PACK_RAW_BYTES = 8 * 1024 * 1024
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".tgz")
_USUAL_RATIO = 10


def batches(units: Sequence[Unit], raw_bytes: int = BATCH_RAW_BYTES) -> Iterator[tuple[Unit, ...]]:
    """Consecutive units whose logs, unpacked, are about `raw_bytes`."""
    return grouped(units, lambda unit: sum(_raw_bytes(item.artifact) for item in unit.artifacts), raw_bytes)


def make_read_job(
    session: Session, target: Target, address: TableAddress, recipe: Recipe, slots: Slots, spool: str | None
) -> ReadJob | RejectJob:
    """Gives the records of the slots, from the feed's source or from quarantine. `spool` is that of `ReadJob`."""
    # An engine that runs all tasks at once needs no spare ones, and holds all their memory.
    count = session.cores * (1 if session.runs_all_tasks_at_once else PACKS_PER_CORE)
    artifacts = [item for _, item in slots]
    rejects, format = slots[0][0].rejects, reading_format(recipe)
    if rejects is not None:
        files = tuple(rejects.files[k::count] for k in range(min(count, len(rejects.files))))
        return RejectJob(address, format, choice_of(target, rejects, artifacts), files)
    packs = make_packs([item.artifact for item in artifacts], count)
    return ReadJob(target.feeds[artifacts[0].feed].source, format, packs, spool, read_together(slots))


def run_job(session: Session, recipe: Recipe, read: ReadJob | RejectJob, write: WriteJob) -> list[Fact]:
    """One pass: read, parse, standardise, write. `read` gets the numbers of its packs."""
    count = len(read.packs)
    records = session.spark.range(0, count, 1, count).mapInArrow(read, RECORD_DDL)
    facts = standardise(records, recipe).mapInArrow(write, FACTS_SCHEMA)
    return decode_facts(facts.toArrow().column("fact").to_pylist())


def choice_of(target: Target, rejects: Rejects, artifacts: Iterable[PlannedArtifact]) -> Choice:
    """The rejects of these artifacts, numbered as they are."""
    slots = tuple((item.prefix(target).decode(), item.artifact.location) for item in artifacts)
    return Choice(slots, rejects.window)


def make_write_job(
    target: Target,
    address: TableAddress,
    recipe: Recipe,
    slots: Slots,
    reject_files: tuple[str, ...],
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
        slots=tuple(_make_slot(target, unit, item, reject_files) for unit, item in slots),
        index_column=recipe.index_column,
        ingested_at=now,
        json_columns=json_columns(recipe.table),
        computing=recipe.computing,
        keeps_all_rejects=any(unit.rejects for unit, _ in slots),
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


def _make_slot(
    target: Target, unit: Unit, planned: PlannedArtifact, reject_files: tuple[str, ...]
) -> ArtifactSlot:
    """`reject_files` are those that may hold rejects of the artifact."""
    artifact, known = planned.artifact, planned.known
    is_reread = planned.action is Action.WIDEN
    # Rejects become what they would have become when their artifact was read.
    constants = known.constants if known and planned.action is Action.RETRY else artifact_constants(artifact)
    return ArtifactSlot(
        unit=unit.key,
        source=planned.source(target),
        location=artifact.location,
        id_prefix=planned.prefix(target),
        constants={
            **constants,
            "tp_table": target.config.table,
            "tp_source_type": target.feeds[planned.feed].source.type,
            "tp_source_location": artifact.location,
        },
        captures=artifact.captures,
        keep=() if planned.keep == (ALWAYS,) else planned.keep,
        is_reread=is_reread,
        reject_files=reject_files if is_reread and known and known.rows.rejected else (),
    )


def artifact_constants(artifact: Artifact) -> dict[str, str]:
    return {name: value for name, value in artifact.captures.items() if name.startswith("tp_")}


def _raw_bytes(artifact: Artifact) -> int:
    is_compressed = artifact.location.lower().endswith(_COMPRESSED)
    read_before = artifact.start.offset if artifact.start and not is_compressed else 0
    return max(0, artifact.size_bytes - read_before) * (_USUAL_RATIO if is_compressed else 1)
