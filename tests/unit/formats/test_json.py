from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.config.values import FormatConfig
from tailpipe.errors import ArtifactError, ConfigError, Position
from tailpipe.formats import json_document, jsonl
from tailpipe.formats.format import Format
from tailpipe.formats.text import KEPT_BYTES, MAX_RECORD_BYTES

Row = tuple[str, int, str | None]


def cut(format: Format, *chunks: bytes) -> list[Row]:
    return [
        row
        for cut in format.cut(iter(chunks))
        for row in zip(cut.raw.to_pylist(), cut.position.to_pylist(), cut.reason.to_pylist(), strict=True)
    ]


@pytest.mark.parametrize("line", [b"\x1f", b"\x1c\x1d", b"\x0b", "\u2028".encode(), "\u00a0".encode()])
def test_only_spaces_of_json_are_nothing(line: bytes) -> None:
    ((_, position, reason),) = cut(jsonl.JsonLines(), line + b"\n \t\n")
    assert (position, reason) == (1, "JSON is malformed: invalid character (byte 0)")


def test_lines_are_told_apart_one_by_one() -> None:
    data = b'{"a":1}\n\n[1]\n{"a":\n {"b":2} \r\n   \n"x"\n{"a":1}{"b":2}\n'
    found = cut(jsonl.JsonLines(), data)
    assert [(raw, position) for raw, position, reason in found if reason is None] == [
        ('{"a":1}', 1),
        (' {"b":2} ', 5),
    ]
    assert {position: reason for _, position, reason in found if reason} == {
        3: "record is not a JSON object",
        4: "JSON ends in the middle",
        7: "record is not a JSON object",
        8: "JSON is malformed: trailing characters (byte 8)",
    }


def test_halves_that_are_whole_together_are_both_rejected() -> None:
    found = cut(jsonl.JsonLines(), b'{"a":[{"b":1}\n,{"c":2}]}\n{},{}\n')
    assert [reason is None for _, _, reason in found] == [False, False, False]
    found = cut(jsonl.JsonLines(), b'{"a":{"b":1}\n}\n{}{}\n{"x":1}\n')
    assert [reason is None for _, _, reason in found] == [False, False, False, True]


def test_a_document_nested_too_deeply_is_a_reject_and_no_crash() -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    assert [reason for *_, reason in cut(jsonl.JsonLines(), deep)] == ["JSON is nested too deeply"]
    found = cut(json_document.JsonDocument("Records"), b'{"Records":[' + deep + b"]}")
    assert [reason for *_, reason in found] == ["document cannot be read: JSON is nested too deeply"]


objects = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        st.lists,
        max_leaves=5,
    ),
    max_size=4,
)


@given(st.lists(objects, max_size=10), st.booleans())
def test_every_object_comes_out_once_whatever_wraps_it(
    records: list[dict[str, Any]], is_pretty: bool
) -> None:
    def texts(data: str, format: Format) -> list[Any]:
        found = cut(format, data.encode())
        assert [position for _, position, _ in found] == list(range(1, len(found) + 1))
        assert all(reason is None for *_, reason in found)
        return [json.loads(raw) for raw, *_ in found]

    indent = 2 if is_pretty else None
    assert texts("\n".join(map(json.dumps, records)), jsonl.JsonLines()) == records
    assert texts(json.dumps(records, indent=indent), json_document.JsonDocument()) == records
    wrapped = {"x": 1, "a": {"b.c": None, "b": records}}
    assert texts(json.dumps(wrapped, indent=indent), json_document.JsonDocument("a.b")) == records
    documents = "\n".join(json.dumps(record, indent=indent) for record in records)
    assert texts(documents, json_document.JsonDocument()) == records


@pytest.mark.parametrize(
    ("records", "data", "reason"),
    [
        ("Records", b'{"other":[]}', "document has no list at Records"),
        ("Records", b'{"Records":{"a":1}}', "document has no list at Records"),
        ("a.b", b'{"a":[]}', "document has no list at a.b"),
        ("Records", b"[]", "document has no list at Records"),
        ("Records", b'{"Records":[{"a":1},{"b"', "document cannot be read: JSON ends in the middle"),
        (None, b"not json", "document cannot be read: JSON is malformed: invalid character (byte 1)"),
        (
            None,
            b"\x89PNG\r\n\x1a\n\x00\x00",
            "document cannot be read: JSON is malformed: invalid character (byte 0)",
        ),
    ],
)
def test_a_bad_document_is_one_reject(records: str | None, data: bytes, reason: str) -> None:
    found = cut(json_document.JsonDocument(records), data)
    assert [(position, why) for _, position, why in found] == [(1, reason)]


def test_objects_on_lines_of_their_own_survive_a_broken_one() -> None:
    found = cut(json_document.JsonDocument(), b'{"a":1}\n{"a":\n{"a":3}\n')
    assert [(position, reason is None) for _, position, reason in found] == [(1, True), (2, False), (3, True)]


def test_members_that_are_no_objects_are_rejected_in_place() -> None:
    found = cut(json_document.JsonDocument("r"), b'{"r":[1,{"a":1},null]}')
    refusal = "record is not a JSON object"
    assert found == [("1", 1, refusal), ('{"a":1}', 2, None), ("null", 3, refusal)]


def test_several_lists_follow_each_other() -> None:
    assert [raw for raw, *_ in cut(json_document.JsonDocument(), b'[{"a":1}]\n[{"a":2},{"a":3}]')] == [
        '{"a":1}',
        '{"a":2}',
        '{"a":3}',
    ]


def test_broken_bytes_and_byte_order_marks() -> None:
    found = cut(json_document.JsonDocument("r"), b'\xef\xbb\xbf{"r":[{"a":"\xff"}]}')
    assert found == [('{"a":"\ufffd"}', 1, None)]
    utf16 = '\ufeff{"r":[{"a":"é"}]}'.encode("utf-16-le")
    assert cut(json_document.JsonDocument("r"), utf16) == [('{"a":"é"}', 1, None)]


def test_batches_stay_small_and_a_huge_record_is_rejected() -> None:
    big = b'{"a":"' + b"x" * MAX_RECORD_BYTES + b'"}'
    small = b'{"a":"' + b"y" * 1_000_000 + b'"}'
    document = b'{"r":[' + b",".join([small] * 9 + [big, small]) + b"]}"
    cuts = list(json_document.JsonDocument("r").cut(iter([document])))
    assert max(cut.raw.nbytes for cut in cuts) < 5_000_000
    found = cut(json_document.JsonDocument("r"), document)
    assert [(position, len(raw)) for raw, position, reason in found if reason] == [(10, KEPT_BYTES)]
    assert len(found) == 11


def test_a_document_over_the_limit_fails_its_artifact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_document, "MAX_DOCUMENT_BYTES", 10)
    with pytest.raises(ArtifactError, match="JSON document is over 10 bytes"):
        cut(json_document.JsonDocument(), b'{"a":1}', b'{"a":2}')


def test_fields_of_a_sample_carry_the_tables_names() -> None:
    sample = b'{"eventID":1,"b":{"c":1}}\n{"b":2,"d":3}\nbroken\n'
    format = jsonl.make(FormatConfig("jsonl", "x", {"field_map": {"event_id": "eventID"}}))
    assert format.field_names(sample) == ("b", "event_id", "d")
    assert format.field_names(b"") == ()


def test_records_must_be_a_path() -> None:
    where = Position("a.tpc", 3, 5)
    config = FormatConfig("json", "x", {"records": "a..b"}, argument_positions={"records": where})
    with pytest.raises(ConfigError) as caught:
        json_document.make(config)
    assert str(caught.value) == (
        'a.tpc:3:5: format "json" "x": records "a..b" is not a dotted path\n'
        'hint: write it as "Records" or "a.b"'
    )


@pytest.mark.parametrize(
    ("records", "sample"),
    [
        (None, '[{"a": 1, "b": {"x": [1]}},\n {"c": null}, {"d": "cut o'),
        (None, '{"a": 1, "b": 2}\n{"c": 3}\n{"d": 4'),
        (None, r'[{"odd": "\ud800"}, {"a": 1, "b": 2}, {"c": 3}]'),
        (None, '[{"a": 1}]\n[{"b": 1}, {"c": 1}]\n[{"d'),
        ("Records", '{"x": 1, "Records": [{"a": 1, "b": 2}, {"c": 3}, {"d": "cut'),
        ("deep.list", '{"deep": {"list": [{"a": 1, "b": 2}, 7, {"c": 3}, {"d": '),
    ],
)
def test_fields_of_a_document_that_the_sample_cuts_off(records: str | None, sample: str) -> None:
    assert json_document.JsonDocument(records).field_names(sample.encode()) == ("a", "b", "c")
