"""Values of JSON records on both engines: numbers, names and kinds that an engine would change, refuse or drop."""

from __future__ import annotations

import json
from typing import Any

from pipelines import Place, only

NUMBERS = (
    "0", "-0", "1.0", "1.50", "0.0001", "1e3", "1E-3", "1e400", "-1e-400", "1591367999.305988", "10000000.5",
    "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "0.12345678901234567890",
    "-9999999999999999999", "9223372036854775807", "12345.678",
)  # fmt: skip

TABLE = """
table "numbers" {
  format = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "at" }
  column "name" {}
  column "text" {}
  column "doc" { type = "json" }
  column "inner" { type = "struct(a varchar, b json)" }
  column "items" { type = "varchar[]" }
  column "by_name" { type = "map(varchar, varchar)" }
  column "size" { type = "double" }
  column "count" { type = "hugeint" }
  column "price" { type = "decimal(38,20)" }
}
partition "numbers" "all" {
  source "file" { paths = ["LOGS"] }
}
"""


def record(at: str = "2024-06-01T00:00:00Z", **members: str) -> str:
    """`members` are JSON texts."""
    inside = ", ".join(f"{json.dumps(name)}: {text}" for name, text in members.items())
    return f'{{"at": "{at}", {inside}}}\n'


def collected(place: Place, *lines: str) -> list[dict[str, Any]]:
    place.write("app.jsonl", "".join(lines))
    place.configure(TABLE)
    place.collect()
    return sorted(place.rows("numbers"), key=lambda row: row["name"] or "")


def test_a_number_in_a_text_or_json_column_is_spelled_as_in_the_log(place: Place) -> None:
    lines = [
        record(
            name=f'"{k:02}"',
            text=number,
            doc=f'{{"v": {number}, "list": [{number}]}}',
            inner=f'{{"a": {number}, "b": {number}}}',
            items=f"[{number}, {number}]",
            by_name=f'{{"k": {number}}}',
        )
        for k, number in enumerate(NUMBERS)
    ]
    assert only(collected(place, *lines), "text", "doc", "inner", "items", "by_name") == [
        (n, f'{{"v":{n},"list":[{n}]}}', {"a": n, "b": n}, [n, n], [("k", n)]) for n in NUMBERS
    ]


def test_numbers_keep_all_their_digits_in_columns_of_number_types(place: Place) -> None:
    rows = collected(
        place,
        record(name='"1"', count="123456789012345678901234567890", price="0.12345678901234567890"),
        record(name='"2"', price="1.2345678901234567890e5", size="1e3"),
        record(name='"3"', price="-12345.6789E-5", size="-0"),
        record(name='"4"', price="1e-400", size="1e-400"),
        record(name='"5"', price="0e99", size="12345678.25"),
    )
    assert [(row["count"] and str(row["count"]), str(row["price"]), row["size"]) for row in rows] == [
        ("123456789012345678901234567890", "0.12345678901234567890", None),
        (None, "123456.78901234567890000000", 1000.0),
        (None, "-0.12345678900000000000", 0.0),
        (None, "0E-20", 0.0),
        (None, "0E-20", 12345678.25),
    ]  # fmt: skip


def test_a_number_that_its_column_cannot_hold_is_a_reject_that_says_so(place: Place) -> None:
    collected(place, record(size="1e400"), record(count="1e3"), record(price="1e30"), record(count="9" * 39))
    assert only(place.rejects("numbers"), "position", "reason") == [
        (1, 'size "1e400" is not a valid DOUBLE'),
        (2, 'count "1e3" is not a valid HUGEINT'),
        (3, 'price "1e30" is not a valid DECIMAL(38,20)'),
        (4, f'count "{"9" * 39}" is not a valid HUGEINT'),
    ]
    assert place.rejects("numbers")[0]["raw"] == record(size="1e400").strip()


def test_json_columns_hold_what_the_record_holds(place: Place) -> None:
    texts = ['"12"', '"a\\"b"', "12", "true", '"true"', "null", '"{}"', "[]", '"\\ud83d\\ude00"', '""']
    texts += ['{"b": "\\/\\u00e9\\u0000\\u001F😀", "a": null}', '[1, {"x": [ ]}]', '{"": {"a": 1}}']
    rows = collected(place, *(record(name=f'"{k:02}"', doc=text) for k, text in enumerate(texts)))
    assert [row["doc"] if row["doc"] is None else json.loads(row["doc"]) for row in rows] == [
        json.loads(text) for text in texts
    ]
    assert rows[8]["doc"] == '"😀"'
    assert rows[10]["doc"] == '{"b":"/é\\u0000\\u001f😀","a":null}'


def test_other_values_in_text_columns(place: Place) -> None:
    texts = ["true", "false", "null", '{"a": [1, 2]}', "[]", '" \\u00a0"', '"a\\u0000b"', '""', '"\\n"']
    rows = collected(place, *(record(name=f'"{k}"', text=text) for k, text in enumerate(texts)))
    assert only(rows, "text") == [
        ("true",), ("false",), (None,), ('{"a":[1,2]}',), ("[]",), (" \u00a0",), ("a\0b",), ("",), ("\n",)
    ]  # fmt: skip


def test_what_no_column_reads_is_kept_in_tp_extra(place: Place) -> None:
    rows = collected(
        place,
        record(name='"1"', other="1.50", inner='{"a": "x", "c": {"d": [1, 2]}}'),
        record(name='"2"', inner='{"a": "x"}'),
        record(name='"3"', **{"": '"nameless"', "*": "1", "a\0b": "2", "tp_tags": "[]", "n" * 300: "null"}),
    )
    assert only(rows[:2], "tp_extra") == [('{"other":1.50,"inner":{"c":{"d":[1,2]}}}',), (None,)]
    assert json.loads(rows[2]["tp_extra"]) == {
        "": "nameless", "*": 1, "a\0b": 2, "tp_tags": [], "n" * 300: None
    }  # fmt: skip
    assert rows[0]["inner"] == {"a": "x", "b": None}


def test_a_member_in_another_letter_case_fills_the_column_that_none_fills_exactly(place: Place) -> None:
    rows = collected(
        place,
        record(name='"1"', TEXT='"upper"'),
        record(name='"2"', TEXT='"upper"', text='"exact"', Text='"mixed"'),
        record(name='"3"', tEXT='"b"', TEXT='"a"', Inner='{"A": "x"}'),
    )
    assert only(rows, "text", "tp_extra") == [
        ("upper", None),
        ("exact", '{"TEXT":"upper","Text":"mixed"}'),
        ("a", '{"tEXT":"b"}'),
    ]
    assert rows[2]["inner"] == {"a": "x", "b": None}


def test_the_last_of_two_members_with_one_name_counts(place: Place) -> None:
    lines = [record(name='"1"').replace("}", ', "text": "a", "text": "b"}')]
    lines.append(record(name='"2"', other="1").replace("}", ', "text": "a", "text": "b"}'))
    lines.append(record(name='"3"', by_name='{"k": 1, "k": 2}'))
    rows = collected(place, *lines)
    assert only(rows, "text", "by_name") == [("b", None), ("b", None), (None, [("k", "2")])]


def test_a_value_of_another_kind_is_a_reject(place: Place) -> None:
    collected(place, record(inner='"x"'), record(items="5"), record(by_name="[]"), record(inner='{"a": 1}'))
    assert only(place.rejects("numbers"), "position", "reason") == [
        (1, 'inner "x" is not a JSON object'),
        (2, "items 5 is not a JSON array"),
        (3, "by_name [] is not a JSON object"),
    ]


def test_nesting_and_long_names_are_no_trouble(place: Place) -> None:
    deep = "[" * 400 + "1" + "]" * 400
    rows = collected(
        place,
        record(name='"1"', doc=deep),
        record(name='"2"', doc=f'{{"{"k" * 60_000}": 1}}'),
        record(name='"3"'),
    )
    assert [len(row["doc"] or "") for row in rows] == [801, 60_006, 0]
    assert place.rejects("numbers") == []


OPEN = """
table "open" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "name" {}
}
partition "open" "all" {
  source "file" { paths = ["LOGS"] }
}
"""


def test_fields_that_differ_in_letter_case_are_one_column_in_any_order_of_arrival(place: Place) -> None:
    place.configure(OPEN)
    spellings = (["ok", "OK"], ["Ok"], ["OK"], ["ok"], ["oK", "Ok"])
    for k, names in enumerate(spellings):
        place.write(f"{k}.jsonl", record(name=f'"{k}"', **{name: f'"{name}"' for name in names}))
        outcome = place.collect()
        assert not any(partition.failed for partition in outcome.partitions)
    rows = sorted(place.rows("open"), key=lambda row: row["name"])
    assert only(rows, "OK", "tp_extra") == [
        ("OK", '{"ok":"ok"}'), ("Ok", None), ("OK", None), ("ok", None), ("Ok", '{"oK":"oK"}')
    ]  # fmt: skip


def test_no_name_of_a_member_blocks_its_file(place: Place) -> None:
    place.configure(OPEN)
    names = [
        "*",
        "a\0b",
        "a`b",
        "a.b",
        '"',
        "'",
        " lead",
        "trail ",
        "n" * 300,
        "n" * 200,
        "$",
        "{x}",
        "a\nb",
        "a,b;c=d",
    ]
    names += [
        "\\",
        "%",
        "😀",
        "(",
        "a:b",
        "\u2028",
        "#",
        "*x",
        "f",
        "item",
        "",
        "TP_ID",
        "\x7f",
        "İ",
        "null",
        "-",
    ]
    place.write("odd.jsonl", record(name='"odd"', **{name: f'"{k}"' for k, name in enumerate(names)}))
    place.collect()
    place.write("many.jsonl", record(name='"many"', **{f"key_{k}": str(k) for k in range(5_000)}))
    outcome = place.collect()
    assert not any(partition.failed for partition in outcome.partitions)
    odd, many = sorted(place.rows("open"), key=lambda row: row["name"], reverse=True)
    for row, values in (
        (odd, {n: str(k) for k, n in enumerate(names)}),
        (many, {f"key_{k}": k for k in range(5_000)}),
    ):
        kept = {name: value for name, value in row.items() if value is not None} | json.loads(row["tp_extra"])
        assert {name: str(kept[name]) for name in values} == {
            name: str(value) for name, value in values.items()
        }
