"""Which JSON records are rewritten before an engine reads them, how, and why some are rejected."""

from __future__ import annotations

import json

import msgspec
import pyarrow as pa
import pytest

from tailpipe.formats.format import Cut
from tailpipe.formats.json_document import JsonDocument
from tailpipe.formats.json_numbers import is_kept, is_respelled
from tailpipe.formats.json_text import compact, lone_surrogates
from tailpipe.formats.jsonl import JsonLines
from tailpipe.formats.members import JSON, LIST, MAP, STRUCT, Wanted
from tailpipe.records import CLOSING_POSITION

KEPT = (
    "0",
    "7",
    "-1",
    "9223372036854775807",
    "-123456789012345678",
    "0.5",
    "-0.0",
    "1.0",
    "0.001",
    "9999999.5",
)
CHANGED = (
    "-0", "1.50", "0.0001", "10000000.5", "1e3", "1E-3", "1e400", "-9999999999999999999", "18446744073709551616",
    "0.1234567890123456", "123456.1234567891", "1" * 40,
)  # fmt: skip

ITEM = Wanted(STRUCT, (("k", Wanted()),))
WANTED = Wanted(
    STRUCT,
    (
        ("a", Wanted()),
        ("doc", Wanted(JSON)),
        ("list", Wanted(LIST, item=ITEM)),
        ("apart", Wanted(is_apart=True)),
    ),
)


def cut_lines(*lines: str) -> list[Cut]:
    data = "".join(f"{line}\n" for line in lines).encode()
    format = JsonLines().with_members(WANTED)
    return [format.settled(cut) for cut in format.cut(iter([data]))]


def settled(line: str) -> tuple[str, str | None, str | None]:
    (cut,) = cut_lines(line, '{"a":1}')
    extra = cut.extra[0].as_py() if cut.extra is not None else None
    assert cut.original is None or cut.original[0].as_py() == line
    return cut.raw[0].as_py(), extra, cut.reason[0].as_py()


@pytest.mark.parametrize("number", [*KEPT, *CHANGED])
def test_numbers_that_an_engine_would_respell_are_found_wherever_they_stand(number: str) -> None:
    is_odd = number in CHANGED
    assert is_kept(number.encode()) is not is_odd
    texts = [
        f'{{"a":{number}}}',
        f'{{"a": [ {number} , 1]}}',
        f'{{"a":{{"b":[{number}]}}}}',
        f'{{"b":"x","a":{number}\n}}',
    ]
    fillers = ['{"a":"12:30:45.1234567890Z","b":1}', '{"a":"1.50"}', '{"a":12}']
    records = pa.array([text for pair in zip(texts, fillers + fillers[:1], strict=True) for text in pair])
    assert is_respelled(records).tolist() == [is_odd, False] * 4
    assert is_respelled(records[2:5]).tolist() == [is_odd, False, is_odd]


def test_numbers_are_found_across_chunks() -> None:
    filler = ",".join(f'"k{k}":"{"v" * 50}"' for k in range(9_000))
    records = pa.array([f"{{{filler}}}", f'{{{filler},"a":1.50}}', '{"a":1}'])
    assert is_respelled(records).tolist() == [False, True, False]


def test_a_row_of_brackets_is_found() -> None:
    deep = "[" * 200 + "]" * 200
    records = pa.array(['{"a":[[[1]]]}', f'{{"a":{deep}}}', f'{{"a":{"[{" * 0}1}}', '{"a":1}'])
    assert is_respelled(records).tolist() == [False, True, False, False]


def test_records_that_pass_are_not_touched() -> None:
    (cut,) = cut_lines('{"a":"x","doc":{"b":1.5},"list":[{"k":"v"}]}', '{"a":{"b":1}}')
    assert (cut.original, cut.extra) == (None, None)


@pytest.mark.parametrize(
    ("line", "text", "extra"),
    [
        ('{"a": 1.50}', '{"a":"1.50"}', None),
        ('{"a": {"b": 1e3}}', '{"a":"{\\"b\\":1e3}"}', None),
        ('{"doc": "12"}', '{"doc":"\\"12\\""}', None),
        ('{"doc": [1.50, "\\u00e9\\/"]}', '{"doc":"[1.50,\\"é/\\"]"}', None),
        ('{"A": "x", "b": {"c": 1.50}}', '{"a":"x"}', '{"b":{"c":1.50}}'),
        ('{"a": "x", "A": "y"}', '{"a":"x"}', '{"A":"y"}'),
        ('{"list": [{"k": 1}, {"z": 3}, null]}', '{"list":[{"k":"1"},{},null]}', '{"list":[null,{"z":3},null]}'),
        ('{"apart": "x"}', '{"apart":"x"}', '{"apart":"x"}'),
        ('{"b": 1, "b": 2}', "{}", '{"b":2}'),
    ],
)  # fmt: skip
def test_odd_records_are_rewritten_and_the_rest_is_set_aside(line: str, text: str, extra: str | None) -> None:
    assert settled(line) == (text, extra, None)
    json.loads(text)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"list": {"k": 1}}', 'list {"k": 1} is not a JSON array'),
        ('{"list": [5]}', "list.0 5 is not a JSON object"),
        ('{"a": "\\ud800"}', "JSON has half of a surrogate pair, which is no character: \\ud800"),
        ('{"a": "x\\udc00y"}', "JSON has half of a surrogate pair, which is no character: \\udc00"),
        ('{"a": "\\ud800\\u0041"}', "JSON has half of a surrogate pair, which is no character: \\ud800"),
        ('{"a": "\\ud800", "b": tru}', "JSON is malformed: invalid character (byte 22)"),
        ('{"a": "\\ud800', "JSON ends in the middle"),
        ('{"a": 1', "JSON ends in the middle"),
        ('{"a": 01}', "JSON is malformed: invalid number (byte 7)"),
        ("[" * 5000, "JSON is nested too deeply"),
    ],
)
def test_rejected_records_tell_the_true_reason(line: str, reason: str) -> None:
    assert settled(line)[2] == reason


def test_half_a_surrogate_pair_costs_its_record_of_a_document() -> None:
    records = ['{"a":"x"}', '{"a":"\\ud800 \\ud83d\\ude00","b":"\\udfff"}', '{"a":"\\ud83d\\ude00"}']
    document = f'{{"Records":[{",".join(records)}]}}'.encode()
    format = JsonDocument(records="Records").with_members(WANTED)
    (cut,) = map(format.settled, format.cut(iter([document])))
    assert cut.raw.to_pylist() == records
    assert [reason is None for reason in cut.reason.to_pylist()] == [True, False, True]


def test_halves_of_surrogate_pairs_are_told_from_whole_ones() -> None:
    text = rb'"\ud83d\ude00 \ud83d \\ud800 \udc00\ud800"'
    assert [text[start:end] for start, end in lone_surrogates(text)] == [rb"\ud83d", rb"\udc00", rb"\ud800"]


@pytest.mark.parametrize(
    "text", ['{"a b": [1.50, "x y"]}', '"\\u00e9\\n"', "[ {} , [ ] ]", '{"\\u0000": "\\""}']
)
def test_compact_text_is_the_same_value(text: str) -> None:
    shorter = compact(text.encode())
    assert json.loads(shorter) == json.loads(text)
    assert msgspec.json.encode(msgspec.json.decode(shorter)).decode() == shorter.decode().replace(
        "1.50", "1.5"
    )


def test_a_name_in_a_map_that_one_engine_cannot_read_is_rejected() -> None:
    wanted = Wanted(STRUCT, (("m", Wanted(MAP, item=Wanted())),))
    lines = [f'{{"m":{{"{"x" * length}":1}}}}\n' for length in (50_000, 50_001)]
    format = JsonLines().with_members(wanted)
    (cut,) = map(format.settled, format.cut(iter(["".join(lines).encode()])))
    assert cut.reason.to_pylist() == [None, f"m has a name over 50,000 bytes: {'x' * 200}"]
    assert cut.original[1].as_py() == lines[1].rstrip()


def test_closing_rows_and_rejects_among_records_stay_as_they_are() -> None:
    texts = ['{"a":1e400,"other":1}', '{"rows":1e400}', "{", '{"a":2}']
    reasons = [None, None, "JSON ends in the middle", None]
    cut = Cut(pa.array(texts), pa.array([1, CLOSING_POSITION, 2, 3]), pa.array(reasons, pa.string()))
    settled = JsonLines().with_members(WANTED).settled(cut)
    assert settled.raw.to_pylist()[1:3] == texts[1:3]
    assert settled.raw.to_pylist()[0] != texts[0]
    assert settled.original is not None
    assert settled.original.to_pylist()[:3] == [texts[0], None, None]
    assert settled.reason.to_pylist()[1:3] == reasons[1:3]
