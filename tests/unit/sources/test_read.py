from __future__ import annotations

import gzip
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from tailpipe.config.values import SourceConfig
from tailpipe.formats.format import Cut
from tailpipe.formats.json_document import JsonDocument
from tailpipe.formats.jsonl import JsonLines
from tailpipe.records import CLOSING_POSITION, Failed, Mark, Reading, decode_closing, record_schema
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.file import FileSource, make
from tailpipe.sources.fingerprint import digest
from tailpipe.sources.read import BATCH_BYTES, BATCH_ROWS, read_artifacts
from tailpipe.times import Window

ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))


def listed(folder: Path) -> tuple[FileSource, list[tuple[int, Artifact]]]:
    files = make(SourceConfig("file", "logs", {"paths": [str(folder)]}))
    artifacts = [item for item in files.list(ALWAYS) if isinstance(item, Artifact)]
    return files, list(enumerate(artifacts, 10))


def rows(batches: list[pa.RecordBatch]) -> list[dict[str, object]]:
    return [row for batch in batches for row in batch.to_pylist()]


def reading(records: int, content: bytes, position: int) -> Reading:
    return Reading(records, len(content), Mark(len(content), position, digest(content), digest(content)))


def test_records_and_a_closing_row_for_each_artifact(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n\nbroken\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"a":2}\n'))
    batches = list(read_artifacts(listed(tmp_path)[0], JsonLines(), listed(tmp_path)[1]))
    assert [batch.schema for batch in batches] == [record_schema()]
    found = rows(batches)
    assert [(row["artifact"], row["position"], row["raw"]) for row in found if row["position"] != -1] == [
        (10, 1, '{"a":1}'),
        (10, 3, "broken"),
        (11, 1, '{"a":2}'),
    ]
    assert [decode_closing(str(row["raw"])) for row in (found[2], found[4])] == [
        reading(2, b'{"a":1}\n\nbroken\n', 3),
        reading(1, b'{"a":2}\n', 1),
    ]
    assert [row["reason"] is not None for row in found] == [False, True, False, False, False]


def test_what_breaks_one_artifact_does_not_stop_the_others(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"a":1}\n' * 100_000)
    for name in ("1-truncated.gz", "2-gone", "3-good", "4-changed"):
        (tmp_path / name).write_bytes(whole[: len(whole) // 2] if "truncated" in name else b'{"a":1}\n')
    files, artifacts = listed(tmp_path)
    (tmp_path / "2-gone").unlink()
    (tmp_path / "4-changed").write_bytes(b'{"a":2}\n')
    closing = {
        row["artifact"]: decode_closing(str(row["raw"]))
        for row in rows(list(read_artifacts(files, JsonLines(), artifacts)))
        if row["position"] == CLOSING_POSITION
    }
    assert closing == {
        10: Failed(f"{tmp_path}/1-truncated.gz: gzip stream ends after {len(whole) // 2:,} bytes"),
        11: Failed(f"{tmp_path}/2-gone: No such file or directory"),
        12: reading(1, b'{"a":1}\n', 1),
        13: Failed(f"{tmp_path}/4-changed: the file changed after it was listed"),
    }


def test_entries_of_an_archive_are_named(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/1.jsonl", '{"a":1}\n')
        archive.writestr("2.jsonl", '{"a":2}\n')
    found = rows(list(read_artifacts(listed(tmp_path)[0], JsonLines(), listed(tmp_path)[1])))
    assert [(row["entry"], row["position"]) for row in found] == [
        ("x/1.jsonl", 1),
        ("2.jsonl", 1),
        (None, -1),
    ]


def test_batches_are_neither_tiny_nor_huge(tmp_path: Path) -> None:
    document = json.dumps({"Records": [{"id": number, "pad": "x" * 700} for number in range(200)]}).encode()
    for number in range(300):
        (tmp_path / f"{number:04}.json.gz").write_bytes(gzip.compress(document, 1))
    (tmp_path / "long.json").write_bytes(b'{"Records":[' + b",".join([b'{"a":1}'] * 50_000) + b"]}")
    batches = list(read_artifacts(listed(tmp_path)[0], JsonDocument("Records"), listed(tmp_path)[1]))
    assert sum(batch.num_rows for batch in batches) == 300 * 200 + 50_000 + 301
    assert len(batches) < 40
    assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
    assert max(batch.column("raw").nbytes for batch in batches) <= BATCH_BYTES + (1 << 16)


def test_many_small_files_cost_about_what_few_large_ones_do(tmp_path: Path) -> None:
    record = json.dumps({"eventID": "0" * 36, "pad": {"x": ["y" * 30] * 40}})

    def written(folder: Path, files: int, records: int) -> Path:
        folder.mkdir()
        document = ('{"Records":[' + ",".join([record] * records) + "]}").encode()
        for number in range(files):
            (folder / f"{number}.json.gz").write_bytes(gzip.compress(document, 1))
        return folder

    def seconds(folder: Path) -> float:
        files, artifacts = listed(folder)
        start = time.process_time()
        for _ in read_artifacts(files, JsonDocument("Records"), artifacts):
            pass
        return time.process_time() - start

    small, large = written(tmp_path / "small", 400, 50), written(tmp_path / "large", 4, 5000)
    best = {folder: min(seconds(folder) for _ in range(3)) for folder in (small, large)}
    assert best[small] < best[large] * 4 + 0.1


class Settling(JsonLines):
    def settled(self, cut: Cut) -> Cut:
        if any("boom" in text for text in cut.raw.to_pylist()):
            raise ValueError("nobody can read this")
        return cut


def test_what_breaks_settling_costs_its_own_artifact(tmp_path: Path) -> None:
    for name, text in (("1", "fine"), ("2", "boom"), ("3", "good")):
        (tmp_path / name).write_text(json.dumps({"a": text}) + "\n")
    found = rows(list(read_artifacts(listed(tmp_path)[0], Settling(), listed(tmp_path)[1])))
    assert [row["raw"] for row in found if row["position"] != CLOSING_POSITION] == [
        '{"a": "fine"}',
        '{"a": "good"}',
    ]
    closing = {row["artifact"]: decode_closing(str(row["raw"])) for row in found if row["position"] == -1}
    assert closing[11] == Failed("ValueError: nobody can read this")
    assert [isinstance(closing[number], Reading) for number in (10, 12)] == [True, True]
