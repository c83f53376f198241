"""The reference names every argument of every source and format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.config.schema import BlockSchema
from tailpipe.formats import delimited, grok, json_document, jsonl, nginx, regex
from tailpipe.sources import file

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
FORMATS = (jsonl, json_document, delimited, regex, grok, nginx)
SCHEMAS = [(file.SCHEMA, "sources.md"), *((format.SCHEMA, "formats.md") for format in FORMATS)]


@pytest.mark.parametrize(("schema", "page"), SCHEMAS)
def test_every_argument_is_in_the_reference(schema: BlockSchema, page: str) -> None:
    text = (REFERENCE / page).read_text()
    assert [argument.name for argument in schema.arguments if f"`{argument.name}`" not in text] == []
    assert [argument.name for argument in schema.arguments if not argument.description] == []
