from __future__ import annotations

import pyarrow as pa
import pytest

from tailpipe.formats import json_pairs
from tailpipe.formats.json_pairs import has_pairs

RECORDS = {
    '{"a":"plain"}': False,
    '{"a":"ü日本"}': False,
    '{"a":"🎉"}': True,
    r'{"a":"\ud83c\udf89"}': True,
    r'{"a":"\uD83C\uDF89"}': True,
    r'{"a":"\u00e9\\n"}': False,
    r'{"a":"\\"}': False,
    "{}": False,
}


@pytest.mark.parametrize("chunk_bytes", [1, 7, 256])
def test_records_with_characters_that_need_a_pair(chunk_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pairs, "_CHUNK_BYTES", chunk_bytes)
    assert has_pairs(pa.array(RECORDS)).tolist() == list(RECORDS.values())
    assert has_pairs(pa.array(["{}", *RECORDS])[1:]).tolist() == list(RECORDS.values())
