"""JSON records to fields, in Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


def json_fields(
    raw: Column, names: Sequence[str], nested: StructType, names_map: Mapping[str, str]
) -> Column:
    """`nested` gives the type of every wanted field; under a field map, records use the other name."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    types = {field.name: field.dataType for field in nested.fields}
    wanted = [
        StructField(names_map.get(name, name), types.get(name, StringType()), nullable=True) for name in names
    ]
    # One JSON member may feed several fields; a schema may name it once.
    schema = StructType(list({field.name: field for field in wanted}.values()))
    parsed = F.from_json(raw, schema)
    if not names_map:
        return parsed
    members = [parsed.getField(names_map.get(name, name)).alias(name) for name in names]
    return F.struct(*members)


def json_field_names(records: Iterable[str], names_map: Mapping[str, str]) -> tuple[str, ...]:
    """Members of the records under the names that tables use: those that most records have come first."""
    table_names = {source: name for name, source in names_map.items()}
    members: Counter[str] = Counter()
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    for record in records:
        with suppress(msgspec.DecodeError):
            members.update(decoder.decode(record).keys())
    return tuple(table_names.get(member, member) for member, _ in members.most_common())
