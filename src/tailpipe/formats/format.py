"""The contract of a format: cut bytes into records on executors, turn records into fields in Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


# Every line is a record of its own, so that a file that grew can be read on from where it ended.
LINES = "lines"
# Lines, but a record may need what stands before it: a header, an open quote. A file that grew is read again whole.
TEXT = "text"
# A file means something only as a whole; one that changed is a new version of it.
DOCUMENT = "document"


@dataclass(frozen=True)
class Cut:
    """A batch of records of one file: equally long arrays.

    `raw` (string) is always valid UTF-8. `position` (int64) counts from 1: the line for text, the record for
    documents. `reason` (string) is null, or why the record is refused as it stands. `original` (string) is the record
    as it stood in the file where `raw` was rewritten, and `extra` (string) a JSON object of what no column reads; both
    are null for most records, and None where they are for all.
    """

    raw: pa.Array
    position: pa.Array
    reason: pa.Array
    original: pa.Array | None = None
    extra: pa.Array | None = None


def is_whole_line(format: object, line: bytes) -> bool:
    """Whether nothing can be missing of the last line of a file, though its end is; a format may know."""
    is_whole = getattr(format, "is_whole", None)
    return is_whole is not None and bool(is_whole(line))


class Format(Protocol):
    """A configured format. Frozen and picklable; importing it must not import pyspark."""

    @property
    def type(self) -> str: ...

    @property
    def refusal(self) -> str:
        """What is said of a record that `fields` turns into null: `line does not match the layout`."""
        ...

    @property
    def shape(self) -> str:
        """LINES, TEXT or DOCUMENT: what may be done with a file that changed."""
        ...

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        """Records of one plain file, in order, in batches of bounded size. Chunk borders mean nothing."""
        ...

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        """The fields records have, judged by the first bytes of a file where the definition is open."""
        ...

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        """A struct with the wanted fields, all scalars as strings; null where the record is refused."""
        ...

    def refusals(self, raw: pa.Array) -> pa.Array:
        """Of records as `cut` gave them, kept since: null, or why each is refused as it stands."""
        ...
