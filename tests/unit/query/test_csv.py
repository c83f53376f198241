"""What is written as CSV reads back as the same values."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from tailpipe.query.output import WRITERS, OutputOptions
from tailpipe.query.results import Result, ResultColumn, Row

text = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)
cells = st.one_of(st.none(), text, st.sampled_from(["", '"', ",", "\r", "\n", "\r\n", ";", " "]))
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=5)
)


def result_of(rows: list[Row]) -> Result:
    columns = tuple(ResultColumn(f"c{place}", "VARCHAR", f"c{place}") for place in range(len(rows[0])))
    return Result(columns, lambda cell: iter([rows[:1], rows[1:]]))


@given(tables, st.sampled_from([",", ";", "\t", "|"]))
def test_csv_reads_back(rows: list[Row], separator: str) -> None:
    out = io.StringIO(newline="")
    WRITERS["csv"](result_of(rows), out, OutputOptions(separator=separator))
    header, *read = csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=separator)
    assert header == [f"c{place}" for place in range(len(rows[0]))]
    assert read == [["" if cell is None else cell for cell in row] for row in rows]


def test_null_and_empty_text_are_told_apart() -> None:
    out = io.StringIO()
    WRITERS["csv"](result_of([("", None, "x")]), out, OutputOptions(has_header=False))
    assert out.getvalue() == '"",,x\n'
