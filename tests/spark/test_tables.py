"""Built-in tables against samples with expected rows beside them; a new case is a folder, not code.

`tests/golden/tables/<table>/<case>/` holds an `input.*`, an `expected.json` with rows in any order and
rejects as the file has them, and, where the table's default format does not fit, a `format.tpc`. Null values are left
out of expected rows. With `columns`, only those are compared.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines import Place, canonical, installed
from tailpipe.lake.catalog import stored_columns
from tailpipe.tables.standard import EXTRA, WRITER_COLUMNS
from tailpipe.tables.stored_schema import column_types
from tailpipe.tables.types import DataType, ListOf, Scalar, Struct, parse_type

GOLDEN = Path(__file__).parents[1] / "golden" / "tables"
CASES = sorted(path.parent for path in GOLDEN.glob("*/*/expected.json"))
REFERENCE = Path(__file__).parents[3] / "shared" / "tables"
BY_PLACE_OR_RUN = frozenset(WRITER_COLUMNS) - {"tp_date", "tp_index"}


def case_name(case: Path) -> str:
    return f"{case.parent.name}-{case.name}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_golden_case(place: Place, case: Path) -> None:
    table = case.parent.name
    expected = json.loads((case / "expected.json").read_text())
    (sample,) = case.glob("input.*")
    place.write(sample.name, sample.read_bytes())
    place.configure(_config(case, table))

    outcome = place.collect(start="2024-01-01")

    assert outcome.failed == ()
    types = {name: parse_type(type_) for name, type_ in stored_columns(place.lake.table(table)).items()}
    rows = [_without_nulls(row, types, is_stored=True) for row in place.rows(table, BY_PLACE_OR_RUN)]
    wanted = [_without_nulls(row, types) for row in expected["rows"]]
    if "columns" in expected:
        rows = [{name: row[name] for name in expected["columns"] if name in row} for row in rows]
    assert sorted(rows, key=canonical) == sorted(wanted, key=canonical)
    rejects = [{name: reject[name] for name in ("position", "reason")} for reject in place.rejects(table)]
    assert rejects == expected["rejects"]
    assert outcome.rows.read == len(wanted) + len(rejects)


@pytest.mark.parametrize("table", sorted({case.parent.name for case in CASES}))
def test_every_column_has_a_golden_value(table: str) -> None:
    seen: set[str] = set()
    for case in CASES:
        if case.parent.name == table:
            for row in json.loads((case / "expected.json").read_text())["rows"]:
                for name, value in row.items():
                    seen |= _paths(name, value)
    declared = column_types(installed().tables[table])
    own = {name: type_ for name, type_ in declared.items() if not name.startswith("tp_")}
    wanted = {path for name, type_ in own.items() for path in _type_paths(name, parse_type(type_))}
    wanted |= set(installed().tables[table].standard)
    assert wanted - seen == set()


def test_every_built_in_table_has_golden_cases() -> None:
    assert {case.parent.name for case in CASES} == set(installed().tables)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="../shared/tables is not beside the repository")
@pytest.mark.parametrize("table", sorted(installed().tables))
def test_columns_are_those_that_queries_rely_on(table: str) -> None:
    reference = json.loads((REFERENCE / f"{table}.json").read_text())
    common = json.loads((REFERENCE / "_common_columns.json").read_text())
    wanted = [(column["name"], _spelled(column["type"])) for column in reference["columns"]]
    wanted += [(column["name"], _spelled(column["type"])) for column in common["columns"]]
    declared = column_types(installed().tables[table])
    assert declared.pop(EXTRA) == "JSON"
    assert [(name, _spelled(type_)) for name, type_ in declared.items()] == wanted


def _config(case: Path, table: str) -> str:
    own_format = case / "format.tpc"
    if not own_format.exists():
        return f'partition "{table}" "golden" {{ source "file" {{ paths = ["LOGS"] }} }}'
    text = own_format.read_text()
    labels = re.search(r'format "(\w+)" "(\w+)"', text)
    assert labels
    return f"""{text}
    partition "{table}" "golden" {{
      source "file" {{
        paths  = ["LOGS"]
        format = format.{labels[1]}.{labels[2]}
      }}
    }}"""


def _without_nulls(
    row: dict[str, Any], types: dict[str, DataType], *, is_stored: bool = False
) -> dict[str, Any]:
    filled = ((name, value) for name, value in row.items() if value is not None)
    compared = {name: _comparable(value, types[name], is_stored) for name, value in filled}
    return {name: value for name, value in compared.items() if value != {}}


def _comparable(value: Any, type_: DataType, is_stored: bool) -> Any:
    """JSON as the value it stands for, 32-bit floats as they are stored, structs without nulls."""
    match type_:
        case Scalar("JSON"):
            return json.dumps(json.loads(value) if is_stored else value, sort_keys=True)
        case Scalar("FLOAT"):
            return float(np.float32(value))
        case Struct(members):
            inside = {member.name: member.type for member in members}
            return _without_nulls(value, inside, is_stored=is_stored)
        case ListOf(element):
            return [_comparable(item, element, is_stored) for item in value]
        case _:
            return value


def _paths(name: str, value: Any) -> set[str]:
    inside = value.items() if isinstance(value, dict) else ()
    return {name} | {path for key, item in inside for path in _paths(f"{name}.{key}", item)}


def _type_paths(name: str, type_: DataType) -> set[str]:
    if not isinstance(type_, Struct):
        return {name}
    return {path for member in type_.members for path in _type_paths(f"{name}.{member.name}", member.type)}


def _spelled(type_: str) -> str:
    return type_.upper().replace('"', "")
