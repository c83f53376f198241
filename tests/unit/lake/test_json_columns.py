from __future__ import annotations

import pyarrow as pa
import pytest

from tailpipe.lake.columns import valid_json


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ('{"a":1}', '{"a":1}'),
        ("1e400", "1e400"),
        ("[-1e400,1]", "[-1e400,1]"),
        ("true", "true"),
        ("no JSON", '"no JSON"'),
        ("NaN", '"NaN"'),
        ("[" * 5_000, '"' + "[" * 5_000 + '"'),
    ],
)
def test_a_json_column_holds_json(text: str, stored: str) -> None:
    assert valid_json(pa.array([text])).to_pylist() == [stored]
