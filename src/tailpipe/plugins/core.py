"""What every installation has: the file source and the plain formats."""

from __future__ import annotations

from tailpipe.formats import delimited, grok, json_document, jsonl, regex
from tailpipe.plugins.contract import FormatType, Plugin, SourceType
from tailpipe.sources import file


def plugin() -> Plugin:
    return Plugin(
        "core",
        sources=(SourceType("file", file.SCHEMA, file.make),),
        formats=(
            FormatType("jsonl", jsonl.SCHEMA, jsonl.make, presets={"default": {}}),
            FormatType(
                "json",
                json_document.SCHEMA,
                json_document.make,
                presets={"default": {}, "records": {"records": "Records"}},
            ),
            FormatType("delimited", delimited.SCHEMA, delimited.make, presets={"default": {"header": True}}),
            FormatType("csv", delimited.SCHEMA, delimited.make_csv, presets={"default": {"header": True}}),
            FormatType("regex", regex.SCHEMA, regex.make),
            FormatType("grok", grok.SCHEMA, grok.make),
        ),
    )
