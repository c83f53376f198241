"""Arrow columns as the lake stores them: types, nulls, JSON, encodings, row ids."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers = np.ndarray[Any, np.dtype[Any]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

PREFIX_LENGTH = 12
_ENTRY_LENGTH = 12
_COUNT_LENGTH = 8
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BASE32_TEXT = "0123456789abcdefghijklmnopqrstuv"
_BASE32 = np.frombuffer(_BASE32_TEXT.encode(), dtype=np.uint8)
_UNDECODED = msgspec.json.Decoder(msgspec.Raw)


def as_stored(array: Any, stored_type: pa.DataType) -> Any:
    """The engines name list items and zones differently from the lake; values stay as they are.

    Members of a struct are found by name, in any letter case; those that the lake has beside them are null.
    A struct that holds nothing but nulls becomes null.
    """
    if pa.types.is_struct(stored_type):
        parts = {part.name.lower(): values for part, values in zip(array.type, array.flatten(), strict=True)}
        members = [
            as_stored(parts[key], member.type) if key in parts else pa.nulls(len(array), member.type)
            for member in stored_type
            for key in (member.name.lower(),)
        ]
        return pa.StructArray.from_arrays(members, fields=list(stored_type), mask=_all_null(members))
    if array.type == stored_type:
        return array
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(stored_type):
        return array.cast(pa.int64()).cast(stored_type)
    if pa.types.is_list(stored_type):
        values = as_stored(array.values, stored_type.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=stored_type, mask=array.is_null())
    return array.cast(stored_type)


def encodings(schema: pa.Schema) -> dict[str, Any]:
    """Times are sorted and ids share their start: differences are smaller than a dictionary of them.

    Ranges of text help nobody to skip a row group, so they are not computed.
    """
    leaves = {path: type_ for column in schema for path, type_ in _leaves(column.name, column.type)}
    times = [path for path, type_ in leaves.items() if pa.types.is_timestamp(type_)]
    encodings = dict.fromkeys(times, "DELTA_BINARY_PACKED") | {"tp_id": "DELTA_BYTE_ARRAY"}
    return {
        "column_encoding": encodings,
        "use_dictionary": [path for path in leaves if path not in encodings],
        "write_statistics": [path for path, type_ in leaves.items() if not pa.types.is_string(type_)],
    }


def _leaves(path: str, type_: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Columns as Parquet sees them, named as Parquet names them."""
    if pa.types.is_struct(type_):
        for member in type_:
            yield from _leaves(f"{path}.{member.name}", member.type)
    elif pa.types.is_list(type_):
        yield from _leaves(f"{path}.list.element", type_.value_type)
    elif pa.types.is_map(type_):
        yield from _leaves(f"{path}.key_value.key", type_.key_type)
        yield from _leaves(f"{path}.key_value.value", type_.item_type)
    else:
        yield path, type_


def _all_null(members: list[Any]) -> pa.Array:
    is_null = members[0].is_null()
    for member in members[1:]:
        if not pc.any(is_null).as_py():
            break
        is_null = pc.and_(is_null, member.is_null())
    return is_null


def valid_json(texts: pa.Array) -> pa.Array:
    """Text that is no JSON becomes a string; escapes are those that JSON needs, whatever the engine writes."""
    return _with_quotes(_with_few_escapes(texts))


def _with_few_escapes(texts: pa.Array) -> pa.Array:
    """One engine writes characters beyond 16 bits as two escapes, and hexadecimal digits in capitals."""
    has_escape = pc.fill_null(pc.match_substring(texts, "\\u"), False)
    if not pc.any(has_escape).as_py():
        return texts
    rewritten = [_STRING.sub(_few_escapes, text) for text in texts.filter(has_escape).to_pylist()]
    return pc.replace_with_mask(texts, has_escape, pa.array(rewritten, texts.type))


def _few_escapes(string: re.Match[str]) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(string[0])).decode()
    except msgspec.DecodeError:
        return string[0]


def _with_quotes(texts: pa.Array) -> pa.Array:
    is_usual = pc.or_(
        pc.and_(pc.starts_with(texts, '{"'), pc.ends_with(texts, "}")),
        pc.and_(pc.match_substring_regex(texts, r'^\[["{]'), pc.ends_with(texts, "]")),
    )
    if pc.all(is_usual).as_py() is not False:
        return texts
    others = texts.filter(pc.invert(is_usual)).to_pylist()
    repaired = pa.array([_json_value(text) for text in others], texts.type)
    return pc.replace_with_mask(texts, pc.fill_null(pc.invert(is_usual), False), repaired)


def _json_value(text: str) -> str:
    # Undecoded: a number beyond all doubles is JSON too.
    try:
        _UNDECODED.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    return text


def without_empty_lists(lists: pa.Array) -> pa.Array:
    is_empty = pc.equal(pc.list_value_length(lists), 0)
    return pc.if_else(is_empty, pa.scalar(None, lists.type), lists) if pc.any(is_empty).as_py() else lists


def id_prefix(*identity: str) -> bytes:
    """The 12 characters that the ids of an artifact's rows share."""
    digest = int.from_bytes(hashlib.blake2b("\0".join(identity).encode(), digest_size=8).digest())
    return "".join(_BASE32_TEXT[(digest >> (5 * k)) & 31] for k in range(PREFIX_LENGTH)).encode()


def row_id(prefix: bytes, position: int) -> str:
    """As `row_ids` gives it for a record outside of archives."""
    id: str = row_ids(np.frombuffer(prefix, np.uint8), pa.array([position]), pa.nulls(1, pa.string()))[
        0
    ].as_py()
    return id


def row_ids(prefixes: Numbers, positions: pa.Array, entries: pa.Array) -> pa.Array:
    """12 characters say which artifact, the last 8 count its records, so that an id is the same on every run.

    Records of an archive count from 1 in each entry: 12 characters between say which entry.
    """
    count = len(positions)
    numbers = positions.to_numpy()
    text = np.empty((count, PREFIX_LENGTH + _COUNT_LENGTH), dtype=np.uint8)
    text[:, :PREFIX_LENGTH] = prefixes
    for k in range(_COUNT_LENGTH):
        text[:, PREFIX_LENGTH + k] = _BASE32[(numbers >> (5 * (_COUNT_LENGTH - 1 - k))) & 31]
    lengths = np.full(count, text.shape[1])
    if entries.null_count < count:
        text, lengths = _with_entries(text, entries)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))


def _with_entries(text: Numbers, entries: pa.Array) -> tuple[Numbers, Numbers]:
    """All characters in one row, and how many of them are each id's."""
    encoded = entries.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=_ENTRY_LENGTH).digest() for name in names)
    texts = _BASE32[np.frombuffer(digests, dtype=np.uint8).reshape(-1, _ENTRY_LENGTH) & 31]
    chosen = texts[encoded.indices.fill_null(0).to_numpy()]
    wide = np.concatenate([text[:, :PREFIX_LENGTH], chosen, text[:, PREFIX_LENGTH:]], axis=1)
    is_used = np.ones(wide.shape, dtype=bool)
    is_used[:, PREFIX_LENGTH:-_COUNT_LENGTH] = entries.is_valid().to_numpy(zero_copy_only=False)[:, None]
    return wide[is_used], is_used.sum(axis=1)
