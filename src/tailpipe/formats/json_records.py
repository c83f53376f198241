"""JSON records made ready for an engine: what it would read wrongly is rewritten, what no column reads is set aside.

Almost all records pass as they are. A record is settled, one by one, where it has members that nobody wants, numbers
that an engine would spell anew, values of another kind than wanted, or a size that an engine refuses.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.formats.format import Cut
from tailpipe.formats.json_numbers import Flags, is_respelled, record_bytes
from tailpipe.formats.json_pairs import has_pairs
from tailpipe.formats.json_settle import settle
from tailpipe.formats.lines import with_reasons
from tailpipe.formats.members import JSON, LIST, MAP, STRUCT, Wanted
from tailpipe.records import ReasonCode

# One engine refuses names of 50,000 characters.
_USUAL_BYTES = 40_000
# Names that the decoder cannot look for: records that have one are settled.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')


class _AnyObject(msgspec.Struct, gc=False):
    """Members are passed over without a copy."""


def settled(cut: Cut, wanted: Wanted | None) -> Cut:
    """The cut with rewritten records and what was set aside of them. Closing rows and rejected records stay."""
    if wanted is None or not (is_odd := _is_odd(cut, wanted)).any():
        return cut
    mask = pa.array(is_odd)
    odd = cut.raw.filter(mask)
    results = [settle(text.encode(), wanted) for text in odd.to_pylist()]
    texts, extras, reasons = (pa.array(part, pa.string()) for part in zip(*results, strict=True))
    nothing = pa.nulls(len(cut.raw), pa.string())
    rewritten = replace(
        cut,
        raw=pc.replace_with_mask(cut.raw, mask, texts),
        original=pc.replace_with_mask(nothing, mask, odd),
        extra=pc.replace_with_mask(nothing, mask, extras),
    )
    return with_reasons(rewritten, pc.replace_with_mask(cut.reason, mask, reasons), ReasonCode.BAD_VALUE)


def _is_odd(cut: Cut, wanted: Wanted) -> Flags:
    is_good = cut.reason.is_null().to_numpy(zero_copy_only=False) & (cut.position.to_numpy() > 0)
    if not is_good.any():
        return np.zeros(len(is_good), dtype=bool)
    raw = cut.raw if is_good.all() else cut.raw.filter(pa.array(is_good))
    is_odd = is_respelled(raw) | _is_large(raw) | has_pairs(raw)
    decoder = _decoder(wanted)
    if not _passes(record_bytes(raw)[0].data, decoder.decode_lines):
        texts = raw.to_pylist()
        for row in np.flatnonzero(~is_odd).tolist():
            is_odd[row] = not _passes(texts[row], decoder.decode)
    found = np.zeros(len(cut.raw), dtype=bool)
    found[np.flatnonzero(is_good)[is_odd]] = True
    return found


def _is_large(raw: pa.Array) -> Flags:
    _, starts = record_bytes(raw)
    is_large: Flags = np.diff(starts) > _USUAL_BYTES
    return is_large


def _passes(text: Any, decode: Any) -> bool:
    try:
        decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


@cache
def _decoder(wanted: Wanted) -> msgspec.json.Decoder[Any]:
    """Fails at whatever is not wanted in the shape that it has."""
    return msgspec.json.Decoder(_type(wanted))


def _type(wanted: Wanted) -> Any:
    if wanted.kind == STRUCT:
        read = [
            (name, member)
            for name, member in wanted.members
            if not member.is_apart and not _ESCAPED.search(name)
        ]
        members = [(f"m{k}", _type(member), None) for k, (_, member) in enumerate(read)]
        names = {f"m{k}": name for k, (name, _) in enumerate(read)}
        struct = msgspec.defstruct("Members", members, rename=names, forbid_unknown_fields=True, gc=False)
        return struct | None
    if wanted.item is not None and wanted.kind == LIST:
        return list[_type(wanted.item)] | None  # type: ignore[misc]
    if wanted.kind == MAP:
        return None  # one engine keeps a name that comes twice, which no map can have
    if wanted.kind == JSON:
        # A string would lose the quotes that tell it from other JSON.
        return _AnyObject | list[msgspec.Raw] | float | bool | None
    return msgspec.Raw
