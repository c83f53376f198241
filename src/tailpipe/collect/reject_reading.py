"""Records that come from quarantine, as executors read them. Workers import this module: it must stay light."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.formats.format import Format
from tailpipe.lake.address import TableAddress
from tailpipe.lake.quarantine import is_within, prefixes_of, read_file
from tailpipe.records import Reading, closing_rows, is_final, record_batch
from tailpipe.sources.read import BATCH_BYTES, BATCH_ROWS
from tailpipe.times import Window

# What says whether a reject is chosen, and by which slot.
CHOICE_COLUMNS = ["id", "artifact", "code", "rejected_at"]


@dataclass(frozen=True)
class Choice:
    """Which rejects are tried again: those of some artifacts, rejected within the window.

    A slot is an artifact by the first characters of its ids and by where it lay when the record was rejected. Records
    that must stay rejected are never chosen.
    """

    slots: tuple[tuple[str, str], ...]
    window: Window | None

    def __call__(self, rows: pa.Table) -> pa.Array:
        """Whether each row is chosen."""
        return self.slots_of(rows).is_valid()

    def slots_of(self, rows: pa.Table) -> pa.Array:
        """The slot's number of each chosen row, null for the others. Needs CHOICE_COLUMNS."""
        keys = pc.binary_join_element_wise(prefixes_of(rows.column("id")), rows.column("artifact"), "\0")
        known = pa.array(["\0".join(slot) for slot in self.slots], pa.string())
        is_chosen = pc.and_not(is_within(rows, self.window), is_final(rows.column("code")))
        numbers = _array(pc.index_in(_array(keys), value_set=known))
        return pc.if_else(_array(is_chosen), numbers, pa.scalar(None, pa.int32()))


@dataclass(frozen=True)
class RejectJob:
    """The function for `mapInArrow` that turns numbers of packs, which are files of quarantine, into records.

    Records come as a source would give them, and behind those of a pack one closing row for each slot that it had.
    """

    address: TableAddress
    format: Format
    choice: Choice
    packs: tuple[tuple[str, ...], ...]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._pack(self.packs[number])

    def _pack(self, files: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = np.zeros(len(self.choice.slots), dtype=np.int64)
        size_bytes = rows.copy()
        for path in files:
            for records in self._records(read_file(self.address, path)):
                slots = records.column("artifact").to_numpy()
                rows += np.bincount(slots, minlength=len(rows))
                sizes = pc.binary_length(records.column("raw")).to_numpy()
                size_bytes += np.bincount(slots, sizes, minlength=len(rows)).astype(np.int64)
                yield records
        seen = np.flatnonzero(rows).tolist()
        if seen:
            yield closing_rows({slot: Reading(int(rows[slot]), int(size_bytes[slot])) for slot in seen})

    def _records(self, rejects: pa.Table) -> Iterator[pa.RecordBatch]:
        slots = self.choice.slots_of(rejects)
        chosen = rejects.filter(slots.is_valid())
        raw = _array(chosen.column("raw"))
        cut = self.format.settled(self.format.cut_again(raw, _array(chosen.column("position"))))
        places = {"artifact": slots.drop_null(), "entry": _array(chosen.column("entry"))}
        records = record_batch(vars(cut) | places)
        share = max(1, -(-raw.nbytes // BATCH_BYTES))
        step = max(1, min(BATCH_ROWS, -(-records.num_rows // share)))
        for start in range(0, records.num_rows, step):
            yield records.slice(start, step)


def _array(values: Any) -> Any:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
