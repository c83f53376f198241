"""The contract of a format: cut bytes into records on executors, turn records into fields in Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from tailpipe.formats.members import Wanted


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
    documents. `reason` (string) is null, or why the record is rejected as it stands; `code` (string) is its
    `ReasonCode`, null for one that just cannot be read. `original` (string) is the record as it stood in the file where
    `raw` was rewritten, and `extra` (string) a JSON object of what no column reads. The last three are null for most
    records, and None where they are for all.
    """

    raw: pa.Array
    position: pa.Array
    reason: pa.Array
    code: pa.Array | None = None
    original: pa.Array | None = None
    extra: pa.Array | None = None

    def filter(self, mask: pa.Array) -> Cut:
        return Cut(*(array if array is None else array.filter(mask) for array in vars(self).values()))


class Format(ABC):
    """A configured format, which inherits what it has no word to say about.

    Frozen and picklable; importing it must not import pyspark. `field_map` has names of fields as tables use them, and
    the names that records use instead.
    """

    type: str
    field_map: Mapping[str, str] = MappingProxyType({})

    @property
    @abstractmethod
    def mismatch_reason(self) -> str:
        """What is said of a record that `fields` turns into null: `line does not match the layout`."""

    @property
    def framing(self) -> str:
        """LINES, TEXT or DOCUMENT: what may be done with a file that changed."""
        return DOCUMENT

    @abstractmethod
    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        """Records of one plain file, in order, in batches of bounded size. Chunk borders mean nothing."""

    def cut_again(self, raw: pa.Array, position: pa.Array) -> Cut:
        """Records that `cut` gave once, and that were kept since: rejected for the reasons that `cut` would give."""
        import pyarrow as pa

        return Cut(raw, position, pa.nulls(len(raw), pa.string()))

    def settled(self, cut: Cut) -> Cut:
        """Records of any number of files, ready for the engine. Closing rows among them stay as they are."""
        return cut

    @abstractmethod
    def field_names(self, sample: bytes) -> tuple[str, ...]:
        """The fields records have, judged by the first bytes of a file where the definition is open."""

    @abstractmethod
    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        """A struct with the wanted fields, all scalars as strings; null where the record is rejected."""

    @property
    def needs_fields(self) -> bool:
        """Whether values are told apart by their places: `with_fields` comes before `cut` where fields are open."""
        return False

    def with_fields(self, names: Sequence[str]) -> Self:
        """Fixes the fields and their order; names as `field_names` gave them."""
        return self

    def with_members(self, wanted: Wanted) -> Self:
        """Tells what is read of each record, by the names that tables use; `settled` may set the rest aside."""
        return self

    def expecting(self, read: Iterable[str], mentioned: Iterable[str]) -> Self:
        """Tells names of fields, as tables use them, by which a header can be known: those that columns read, and
        those that may be fields in expressions.
        """
        return self

    def is_whole(self, line: bytes) -> bool:
        """Whether nothing can be missing of the last line of a file, though its end is; then it does not wait."""
        return False

    @property
    def needs_look_around(self) -> bool:
        """Whether `fields` uses regular expressions that look ahead or behind, which not every engine can do."""
        return False

    @property
    def other_fields_hint(self) -> str:
        """What to do where no field of the records is a column."""
        return "name the fields as the columns, or say `source` in the columns"
