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
from tailpipe.formats.lines import size_reason
from tailpipe.formats.members import LIST, STRUCT, Wanted
from tailpipe.formats.regex import MAX_REPEATED_BYTES
from tailpipe.formats.text import MAX_RECORD_BYTES
from tailpipe.lake.rejects import codes_of as old_codes_of
from tailpipe.records import ReasonCode, is_final

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
FRAMINGS = {"json": DOCUMENT, "csv": TEXT, "delimited": TEXT}


def codes_of(cut: Cut) -> pa.Array:
    return pa.nulls(len(cut.raw), pa.string()) if cut.code is None else cut.code


def judged_again(format: Format, data: bytes) -> list[tuple[str | None, str | None]]:
    """The reason of each record when it was cut and now, of those that can be tried again."""
    pairs: list[tuple[str | None, str | None]] = []
    for cut in format.cut(iter([data])):
        again = format.cut_again(cut.raw, cut.position)
        assert again.reason.type == pa.string()
        assert again.position == cut.position
        is_open = pc.invert(is_final(codes_of(cut)))
        pairs += zip(
            cut.reason.filter(is_open).to_pylist(), again.reason.filter(is_open).to_pylist(), strict=True
        )
    return pairs


def reasons_again(name: str, raw: pa.Array) -> list[str | None]:
    position = pa.array(range(1, len(raw) + 1), pa.int64())
    found: list[str | None] = FORMATS[name].cut_again(raw, position).reason.to_pylist()
    return found


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
    whole = reasons_again(name, raw)
    assert reasons_again(name, raw[1:4]) == whole[1:4]
    assert reasons_again(name, raw[:0]) == []


def test_every_format_says_what_may_be_done_with_a_file_that_changed() -> None:
    assert {name: format.framing for name, format in FORMATS.items()} == {
        name: FRAMINGS.get(format.type, LINES) for name, format in FORMATS.items()
    }


def test_records_that_were_split_early_stay_good() -> None:
    """Their text begins with a separator, like that of a line which is rejected for it."""
    [cut] = CSV.with_fields(["a", "b"]).cut(iter([many_quotes.encode()]))
    assert [text[0] for text in cut.raw.to_pylist()] == ["\x01", "\x01", "\x01"]
    assert cut.reason.to_pylist()[:2] == [None, None]
    assert is_final(codes_of(cut)).to_pylist() == [False, False, True]
    assert reasons_again("csv", cut.raw)[:2] == [None, None]


def rejects_of(format: Format, data: bytes) -> list[tuple[str, str]]:
    """The code and the reason of each reject."""
    cuts: list[Cut] = [format.settled(cut) for cut in format.cut(iter([data]))]
    pairs = [
        pair for cut in cuts for pair in zip(codes_of(cut).to_pylist(), cut.reason.to_pylist(), strict=True)
    ]
    return [(code, reason) for code, reason in pairs if reason]


def test_records_whose_text_is_not_enough_are_rejected_for_good() -> None:
    long_line = b"x" * (MAX_RECORD_BYTES + 1)
    long_record = b'[{"a":"' + long_line + b'"}]'
    found = [
        *rejects_of(FORMATS["jsonl"], long_line),
        *rejects_of(FORMATS["json"], long_record),
        *rejects_of(FORMATS["regex that repeats"], b"x" * (MAX_REPEATED_BYTES + 1)),
        *rejects_of(FORMATS["csv in another order"], b"a,b,c\n1,2\n"),
        *rejects_of(FORMATS["json at a path"], b'{"a":1}'),
        *rejects_of(FORMATS["json at a path"], b'{"r":[{"a":1},'),
        *rejects_of(FORMATS["regex"], b"a\x01b"),
    ]
    assert [code for code, _ in found] == [
        *["too_long"] * 3,
        "other_header",
        "no_records",
        "no_records",
        "control_character",
    ]
    assert all(ReasonCode(code).is_final for code, _ in found)
    old = [reason for _, reason in found]
    assert old_codes_of(pa.array(old, pa.string())).to_pylist() == [code for code, _ in found]


def test_records_that_can_be_tried_again_have_another_code_or_none() -> None:
    broken = rejects_of(FORMATS["jsonl"], b'{"a":1')
    assert broken == [(None, "JSON ends in the middle")]
    wanted = Wanted(STRUCT, (("a", Wanted(LIST, item=Wanted())),))
    assert rejects_of(jsonl.JsonLines().with_members(wanted), b'{"a":1}') == [
        ("bad_value", "a 1 is not a JSON array")
    ]
    assert not is_final(pa.array([None, "unreadable", "bad_value"])).to_pylist().count(True)


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
def test_other_reasons_of_lakes_of_before_have_no_code(reason: str | None) -> None:
    assert old_codes_of(pa.array([reason], pa.string())).to_pylist() == [None]


def test_a_whole_line_that_is_too_long_for_another_layout_is_not_cut_off() -> None:
    raw = pa.array(["x" * (MAX_REPEATED_BYTES + 1), "x"])
    assert reasons_again("regex", raw) == [None, None]
    again = FORMATS["regex that repeats"].cut_again(raw, pa.array([1, 2]))
    assert again.reason.to_pylist() == ["line is too long for a layout that repeats groups", None]
    assert is_final(codes_of(again)).to_pylist() == [False, False]
