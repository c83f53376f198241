"""Delimited text cut into records: a quoted value may run over lines, a header names the values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tailpipe.arrow import np, pa, pc
from tailpipe.formats.format import Cut
from tailpipe.formats.headers import Expected, aligned, foreign_reason, numbered_names
from tailpipe.formats.lines import SEPARATOR, reject_separators, with_reasons
from tailpipe.formats.quoted_lines import cut_quoted_lines
from tailpipe.formats.text import MAX_RECORD_BYTES
from tailpipe.records import ReasonCode

# Java's regex goes one call deeper for each doubled quote, and a task dies when its stack is full.
_MOST_DOUBLED_QUOTES = 500

csv.field_size_limit(MAX_RECORD_BYTES)


@dataclass(frozen=True)
class Dialect:
    """With `has_header` None, a first line that is a header for sure counts as one: see `is_header`."""

    delimiter: str = ","
    quote: str = '"'
    has_header: bool | None = None
    comment: str = ""
    skipped_lines: int = 0
    expected: Expected = field(default_factory=Expected)


def cut_records(chunks: Iterator[bytes], dialect: Dialect, planned: Sequence[str]) -> Iterator[Cut]:
    """Records without header, comments and empty lines; `position` is the line a record starts on.

    Where the header is not `planned`, records are written anew in that order.
    """
    cuts = _without_preamble(cut_quoted_lines(chunks, dialect.quote, dialect.delimiter), dialect)
    header, cuts = _header(cuts, dialect)
    if header is None:
        yield from (_finished(cut, dialect) for cut in cuts)
        return
    names = aligned(header, planned)
    is_as_planned = not planned or names == tuple(planned)
    for cut in cuts:
        yield _finished(cut if is_as_planned else _rearranged(cut, names, planned, dialect), dialect)


def first_values(sample: bytes, dialect: Dialect) -> tuple[str, ...]:
    """The header's names, or numbered ones after the first record of a file without one."""
    lines = _without_preamble(cut_quoted_lines(iter([sample]), dialect.quote, dialect.delimiter), dialect)
    for cut in lines:
        values = values_of(cut.raw[0].as_py(), dialect)
        is_header = dialect.expected.is_header(values) if dialect.has_header is None else dialect.has_header
        return tuple(_names(values)) if is_header else numbered_names(len(values))
    return ()


def values_of(text: str, dialect: Dialect) -> list[str]:
    delimiter = dialect.delimiter
    if len(delimiter) > 1:
        text, delimiter = text.replace(delimiter, "\x02"), "\x02"
    if not dialect.quote:
        return [value.replace("\x02", dialect.delimiter) for value in text.split(delimiter)]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=dialect.quote)
    return [value.replace("\x02", dialect.delimiter) for row in rows for value in row]


def _names(values: Sequence[str]) -> list[str]:
    """Header names without spaces around them; a nameless or repeated column gets a name of its own."""
    names: list[str] = []
    for number, value in enumerate(values):
        name = value.strip() or f"column{number}"
        names.append(name if name not in names else f"{name}_{number}")
    return names


def _header(cuts: Iterator[Cut], dialect: Dialect) -> tuple[tuple[str, ...] | None, Iterator[Cut]]:
    """The names in the header, None without one, and the records after it."""
    if dialect.has_header is False:
        return None, cuts
    for cut in cuts:
        values = values_of(cut.raw[0].as_py(), dialect)
        if dialect.has_header is None and not dialect.expected.is_header(values):
            return None, _after(cut, cuts)
        is_record = pa.array(np.arange(len(cut.raw)) > 0)
        return tuple(_names(values)), _after(cut.filter(is_record), cuts)
    return None, cuts


def _after(first: Cut, cuts: Iterator[Cut]) -> Iterator[Cut]:
    if len(first.raw):
        yield first
    yield from cuts


def _without_preamble(cuts: Iterator[Cut], dialect: Dialect) -> Iterator[Cut]:
    for cut in cuts:
        keep = np.asarray(cut.position) > dialect.skipped_lines
        if dialect.comment:
            keep &= np.array([not text.startswith(dialect.comment) for text in cut.raw.to_pylist()])
        if not keep.all():
            cut = cut.filter(pa.array(keep))
        if len(cut.raw):
            yield cut


def _rearranged(cut: Cut, header: Sequence[str], planned: Sequence[str], dialect: Dialect) -> Cut:
    """Values by name; those whose name is not planned are set aside."""
    texts, reasons = [], []
    extras: list[str | None] = []
    others = [name for name in header if name not in planned]
    foreign = None if len(others) < len(header) else foreign_reason(header)
    for text, reason in zip(cut.raw.to_pylist(), cut.reason.to_pylist(), strict=True):
        reason = reason or foreign
        extra = None
        values = values_of(text, dialect) if reason is None else []
        if reason is None and len(values) != len(header):
            reason = f"line has {len(values)} values, the header has {len(header)}"
        if reason is None:
            by_name = dict(zip(header, values, strict=True))
            text = _written([by_name.get(name, "") for name in planned], dialect)
            left = {name: by_name[name] for name in others if by_name[name]}
            extra = json.dumps(left, ensure_ascii=False, separators=(",", ":")) if left else None
        texts.append(text)
        reasons.append(reason)
        extras.append(extra)
    raw, reason, extra = (pa.array(part, pa.string()) for part in (texts, reasons, extras))
    return with_reasons(replace(cut, raw=raw, extra=extra), reason, ReasonCode.OTHER_HEADER)


def _written(values: Sequence[str], dialect: Dialect) -> str:
    quote = dialect.quote
    if not quote:
        return dialect.delimiter.join(values)
    return dialect.delimiter.join(
        f"{quote}{value.replace(quote, quote * 2)}{quote}"
        if dialect.delimiter in value or quote in value or "\n" in value
        else value
        for value in values
    )


def _finished(cut: Cut, dialect: Dialect) -> Cut:
    cut = reject_separators(cut)
    doubled = (dialect.quote * 2).encode()
    data = cut.raw.buffers()[2]
    if not doubled or data is None or bytes(data).count(doubled) <= _MOST_DOUBLED_QUOTES:
        return cut
    texts = [_split_early(text, dialect) for text in cut.raw.to_pylist()]
    return replace(cut, raw=pa.array(texts, pa.string()))


def _split_early(text: str, dialect: Dialect) -> str:
    """A record with very many quotes becomes what the regex pass would have made of it."""
    if text.count(dialect.quote * 2) <= _MOST_DOUBLED_QUOTES or SEPARATOR in text:
        return text
    quoted = dialect.quote
    return "".join(SEPARATOR + _signed(value, quoted) for value in values_of(text, dialect))


def recognised(cut: Cut) -> Cut:
    """Of records as `cut_records` gives them: what begins with a separator was split early, and is good."""
    return reject_separators(cut, is_exempt=pc.starts_with(cut.raw, SEPARATOR))


def _signed(value: str, quote: str) -> str:
    return f"{quote}{value.replace(quote, quote * 2)}" if quote in value else value
