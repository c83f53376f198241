"""The reference names every argument of every source and format, and all that a format of a plugin may say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailpipe.config.schema import BlockSchema
from tailpipe.formats import delimited, grok, json_document, jsonl, nginx, regex
from tailpipe.formats.format import DOCUMENT, Cut, Format
from tailpipe.formats.members import Wanted
from tailpipe.records import ReasonCode
from tailpipe.sources import file

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
FORMATS = (jsonl, json_document, delimited, regex, grok, nginx)
SCHEMAS = [(file.SCHEMA, "sources.md"), *((format.SCHEMA, "formats.md") for format in FORMATS)]


@pytest.mark.parametrize(("schema", "page"), SCHEMAS)
def test_every_argument_is_in_the_reference(schema: BlockSchema, page: str) -> None:
    text = (REFERENCE / page).read_text()
    assert [argument.name for argument in schema.arguments if f"`{argument.name}`" not in text] == []
    assert [argument.name for argument in schema.arguments if not argument.description] == []


def test_every_member_of_the_contract_is_in_the_reference() -> None:
    text = (REFERENCE / "plugins.md").read_text().split("## Format", 1)[1].split("## Table", 1)[0]
    members = [name for name in vars(Format) if not name.startswith("_")]
    assert len(members) > 10
    assert [name for name in members if not re.search(rf"`{name}[(`]", text)] == []
    assert [code for code in ReasonCode if f"`{code}`" not in (REFERENCE / "errors.md").read_text()] == []


def test_a_format_says_what_it_must_and_inherits_the_rest() -> None:
    @dataclass(frozen=True)
    class Whole(Format):
        type: str = "whole"
        mismatch_reason: str = "never"

        def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
            return iter(())

        def field_names(self, sample: bytes) -> tuple[str, ...]:
            return ("text",)

        def fields(self, raw: Any, names: Any, nested: Any) -> Any:
            return raw

    made = Whole()
    assert (made.framing, made.is_whole(b"{}"), made.needs_fields, dict(made.field_map)) == (
        DOCUMENT,
        False,
        False,
        {},
    )
    assert made.with_fields(["a"]).with_members(Wanted()).expecting((), ()) == made
    assert made.settled(made.cut_again(pa.array(["x"]), pa.array([1]))).raw.to_pylist() == ["x"]
    again = made.cut_again(pa.array(["x", "y"]), pa.array([1, 2]))
    assert (again.raw.to_pylist(), again.reason.to_pylist(), again.code) == (["x", "y"], [None, None], None)
