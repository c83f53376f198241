"""What formats say of records that were kept: the same as when they were cut."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tailpipe.config.values import FormatConfig
from tailpipe.formats import delimited, grok, json_document, jsonl, nginx, regex
from tailpipe.formats.delimited_records import Dialect
from tailpipe.formats.format import DOCUMENT, LINES, TEXT, Cut, Format
from tailpipe.formats.lines import is_cut_off, size_reason
from tailpipe.formats.regex import MAX_REPEATED_BYTES
from tailpipe.formats.text import MAX_RECORD_BYTES

CSV = delimited.make_csv(FormatConfig("csv", "x", {}))
FORMATS: dict[str, Format] = {
    "jsonl": jsonl.JsonLines(),
    "json": json_document.JsonDocument(),
    "json at a path": json_document.JsonDocument("r"),
    "regex": regex.make(FormatConfig("regex", "x", {"layout": r"^(?P<a>\S+) (?P<b>.*)$"})),
    "regex that repeats": regex.make(FormatConfig("regex", "x", {"layout": r"(?P<a>(?:\w|\s)*)"})),
    "grok": grok.make(FormatConfig("grok", "x", {"layout": "%{WORD:a} %{GREEDYDATA:b}"})),
    "nginx": nginx.make(FormatConfig("nginx_access_log", "x", {"layout": nginx.COMBINED})),
    "csv": CSV,
    "csv in another order": CSV.with_fields(["b", "a"]),
    "fields": delimited.make(FormatConfig("delimited", "x", {"fields": ["a", "b"], "delimiter": "::"})),
    "no quotes": replace(CSV, dialect=Dialect(quote="", has_header=True)).with_fields(["c", "a"]),
}
SHAPES = {"json": DOCUMENT, "csv": TEXT, "delimited": TEXT}


def judged_again(format: Format, data: bytes) -> list[tuple[str | None, str | None]]:
    """The reason of each record when it was cut and now, of those that are not cut off."""
    pairs: list[tuple[str | None, str | None]] = []
    for cut in format.cut(iter([data])):
        refusals = format.refusals(cut.raw)
        assert refusals.type == pa.string()
        is_open = pc.invert(is_cut_off(cut.reason))
        pairs += zip(
            cut.reason.filter(is_open).to_pylist(), refusals.filter(is_open).to_pylist(), strict=True
        )
    return pairs


WORDS = r'a b a,b , " "" :: { } [ ] : {"a":1} {"r":[ ]} {"r":[{"a":1},2]} null "a": 1 \ GET é'
pieces = st.sampled_from([*WORDS.split(), "\n", "\r\n", " ", "\x00", "\x01"])
texts = st.lists(pieces | st.text(max_size=5), max_size=30).map("".join)
many_quotes = "a,b\n" + '"' + '""' * 600 + '",x\n' + '"",' * 700 + "\n" + "\x01" + '""' * 600 + "\n"


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None)
@given(text=texts)
@example(text=many_quotes)
@example(text='a,b,c\n1,2\n"\x01",2,3\n\x01\x01\n1,2,3\n')
@example(text='{"r":[{"a":1},2,null,{}]}\n{"r":[]}')
@example(text='{"a":1}\n{"a":\n   \n[1]\n{"x":"\x01"}\n')
@example(text='{"other":1}')
def test_kept_records_are_judged_as_they_were(name: str, text: str) -> None:
    for then, now in judged_again(FORMATS[name], text.encode("utf-8", "surrogatepass")):
        assert now == then


@pytest.mark.parametrize("name", FORMATS)
def test_parts_of_arrays_are_judged_by_themselves(name: str) -> None:
    raw = pa.array(["\x01", '{"a":1}', "a\x01", "plain", "[1]"])
    whole = FORMATS[name].refusals(raw).to_pylist()
    assert FORMATS[name].refusals(raw[1:4]).to_pylist() == whole[1:4]
    assert FORMATS[name].refusals(raw[:0]).to_pylist() == []


def test_every_format_says_what_may_be_done_with_a_file_that_changed() -> None:
    assert {name: format.shape for name, format in FORMATS.items()} == {
        name: SHAPES.get(format.type, LINES) for name, format in FORMATS.items()
    }


def test_records_that_were_split_early_stay_good() -> None:
    """Their text begins with a separator, like that of a line which is refused for it."""
    [cut] = CSV.with_fields(["a", "b"]).cut(iter([many_quotes.encode()]))
    assert [text[0] for text in cut.raw.to_pylist()] == ["\x01", "\x01", "\x01"]
    assert cut.reason.to_pylist()[:2] == [None, None]
    assert is_cut_off(cut.reason).to_pylist() == [False, False, True]
    assert CSV.refusals(cut.raw).to_pylist()[:2] == [None, None]


def reasons_of(format: Format, data: bytes) -> list[str]:
    cuts: list[Cut] = list(format.cut(iter([data])))
    return [reason for cut in cuts for reason in cut.reason.to_pylist() if reason]


def test_records_whose_text_is_not_enough_are_cut_off() -> None:
    long_line = b"x" * (MAX_RECORD_BYTES + 1)
    long_record = b'[{"a":"' + long_line + b'"}]'
    found = [
        *reasons_of(FORMATS["jsonl"], long_line),
        *reasons_of(FORMATS["json"], long_record),
        *reasons_of(FORMATS["regex that repeats"], b"x" * (MAX_REPEATED_BYTES + 1)),
        *reasons_of(FORMATS["csv in another order"], b"a,b,c\n1,2\n"),
        *reasons_of(FORMATS["json at a path"], b'{"a":1}'),
        *reasons_of(FORMATS["json at a path"], b'{"r":[{"a":1},'),
        *reasons_of(FORMATS["regex"], b"a\x01b"),
    ]
    assert len(found) == 7
    assert is_cut_off(pa.array(found)).to_pylist() == [True] * 7


@pytest.mark.parametrize(
    "reason",
    [
        None,
        "",
        "line does not match the layout",
        "line does not have 3 values",
        "JSON ends in the middle",
        "record is not a JSON object",
        f'size "{size_reason("line", 9)}" is not a valid INTEGER',
        f"{size_reason('line', 9)}; b is missing",
        "document is missing",
    ],
)
def test_other_records_are_not(reason: str | None) -> None:
    assert is_cut_off(pa.array([reason], pa.string())).to_pylist() == [False]


def test_a_whole_line_that_is_too_long_for_another_layout_is_not_cut_off() -> None:
    raw = pa.array(["x" * (MAX_REPEATED_BYTES + 1), "x"])
    assert FORMATS["regex"].refusals(raw).to_pylist() == [None, None]
    refusals = FORMATS["regex that repeats"].refusals(raw)
    assert refusals.to_pylist() == ["line is too long for a layout that repeats groups", None]
    assert is_cut_off(refusals).to_pylist() == [False, False]
