"""The tp_ columns that every table has after its own."""

from __future__ import annotations

import re

from tailpipe.tables.table import Column

# Filled while writing, because they are constant for an artifact or follow from its place in the lake.
WRITER_COLUMNS = (
    "tp_date",
    "tp_id",
    "tp_index",
    "tp_ingest_timestamp",
    "tp_partition",
    "tp_source_location",
    "tp_source_name",
    "tp_source_type",
    "tp_table",
)

TP_COLUMNS: tuple[Column, ...] = (
    Column("tp_akas", "varchar[]", description="Identifiers seen in the row, such as ARNs."),
    Column("tp_date", "date", required=True, description="UTC day of tp_timestamp."),
    Column("tp_destination_ip", "varchar", description="Destination address."),
    Column("tp_domains", "varchar[]", description="Host names seen in the row."),
    Column("tp_emails", "varchar[]", description="Mail addresses seen in the row."),
    Column("tp_extra", "json", description="What of the record has no column of its own; null if nothing."),
    Column(
        "tp_id", "varchar", required=True, description="Identifier of the row, the same on every collection."
    ),
    Column("tp_index", "varchar", required=True, description="Value of the partition's tp_index column."),
    Column("tp_ingest_timestamp", "timestamp", required=True, description="When the row was collected."),
    Column("tp_ips", "varchar[]", description="Addresses seen in the row."),
    Column("tp_partition", "varchar", required=True, description="Name of the partition."),
    Column("tp_source_ip", "varchar", description="Source address."),
    Column("tp_source_location", "varchar", description="File path, object key, log stream or API host."),
    Column("tp_source_name", "varchar", description="Name the source gives itself, such as a log group."),
    Column("tp_source_type", "varchar", description="Type of the source."),
    Column("tp_table", "varchar", required=True, description="Name of the table."),
    Column("tp_tags", "varchar[]", description="Tags of the row."),
    Column("tp_timestamp", "timestamp", required=True, description="Time of the event, UTC."),
    Column("tp_usernames", "varchar[]", description="Users or identities seen in the row."),
)
# What goes through the engine beside a row's columns. Names with tp_ are kept for common columns, so that neither
# a column of a table nor a field of a log can have one of these.
ARTIFACT, ENTRY, POSITION = PLACE = ("tp_artifact", "tp_entry", "tp_position")
REASON, CODE, RAW = "tp_reason", "tp_code", "tp_raw"
TP_TIMESTAMP = "tp_timestamp"
EXTRA, ORIGINAL = "tp_extra", "tp_original"
TP_NAMES = frozenset(column.name for column in TP_COLUMNS)
# Texts that a layout's captures may fill, file by file.
TP_SCALARS = frozenset(column.name for column in TP_COLUMNS if column.type == "varchar")
DEFAULT_INDEX = "default"
_WORD = re.compile("[A-Za-z_][A-Za-z0-9_]{0,62}")


def engine_name(column: str) -> str:
    """A column's name in the engine and on its way to the writer.

    Names of logs may hold anything, and engines trim, fold, split or refuse some of it. What is not a plain word is
    spelled in hexadecimal.
    """
    return column if _WORD.fullmatch(column) else f"tp_x{column.encode().hex()}"
