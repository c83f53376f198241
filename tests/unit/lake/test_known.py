"""The fold in columns against a plain one, over manifests in memory and in files, whatever was committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_log import SCHEMA

from tailpipe.lake import manifest_file, row_folding
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import partition_names
from tailpipe.lake.extent import lacking, lacks, may_hold
from tailpipe.lake.known import Artifacts
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import Header, KnownArtifact, kept_text, windows_text
from tailpipe.lake.manifest_file import Manifest, read_manifest, write_manifest
from tailpipe.lake.state import fold
from tailpipe.lake.transaction import Change
from tailpipe.records import RowCounts
from tailpipe.times import Window, merge, subtract, without

START = datetime(2024, 6, 1, tzinfo=UTC)
ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
NAMES = ("a", "b", "c", "d")

# A commit: the windows that it deletes, and what it says of artifacts.
Commit = tuple[tuple[Window, ...], tuple[KnownArtifact, ...]]


def hours(first: int, length: int) -> Window:
    return Window(START + timedelta(hours=first), START + timedelta(hours=first + length))


moments = st.integers(0, 120).map(lambda minutes: START + timedelta(minutes=minutes * 25))
windows = st.lists(st.builds(hours, st.integers(0, 48), st.integers(1, 30)), min_size=1, max_size=2).map(
    merge
)
kept = st.one_of(st.just((ALWAYS,)), windows)


@st.composite
def artifacts(draw: st.DrawFn) -> KnownArtifact:
    times = sorted(draw(st.lists(moments, min_size=4, max_size=4)))
    oldest, first, last, newest = times if draw(st.booleans()) else [None] * 4
    counts = [draw(st.integers(0, 2)) for _ in range(4)]
    identity = draw(st.sampled_from(NAMES))
    return KnownArtifact(
        draw(st.sampled_from(("file", "archive"))),
        identity,
        draw(st.sampled_from((identity, *NAMES))),
        draw(st.sampled_from("12")),
        draw(st.integers(0, 9)),
        draw(st.sampled_from((None, hours(0, 24), hours(24, 24)))),
        draw(kept),
        constants=draw(st.sampled_from(({}, {"zone": "x"}))),
        rows=RowCounts(sum(counts), *counts),
        waiting_bytes=draw(st.integers(0, 1)),
        first=first,
        last=last,
        oldest=oldest,
        newest=newest,
        is_gone=draw(st.booleans()),
        run=draw(st.sampled_from("rs")),
    )


commits = st.tuples(
    st.one_of(st.just(()), st.just(()), windows),
    st.lists(artifacts(), max_size=4, unique_by=lambda known: known.key).map(tuple),
)


def plain_fold(history: Iterable[Commit]) -> list[KnownArtifact]:
    found: dict[tuple[str, str], KnownArtifact] = {}
    for deleted, said in history:
        found = {key: plain_deletion(known, deleted) for key, known in found.items()}
        for known in said:
            before = found.get(known.key)
            if before and (before.location, before.version) != (known.location, known.version):
                del found[known.key]
            found[known.key] = known
    return list(found.values())


def plain_deletion(known: KnownArtifact, deleted: Sequence[Window]) -> KnownArtifact:
    left = without(known.kept, deleted)
    if left == known.kept:
        return known
    changed: dict[str, Any] = {"kept": left, "rows": known.rows}
    if not left:
        rejected = known.rows.rejected
        changed["rows"] += RowCounts(-rejected, rejected=-rejected)
    if known.first and known.last:
        rows = Window(known.first, known.last + timedelta.resolution)
        if not subtract(rows, deleted):
            stored = known.rows.stored
            changed["rows"] += RowCounts(stored=-stored, outside=stored)
            changed |= {"first": None, "last": None}
    return msgspec.structs.replace(known, **changed)


def header(deleted: Sequence[Window] = (), *, is_snapshot: bool = False) -> Header:
    return Header("p", "", "", "r", START, deleted=windows_text(deleted), is_snapshot=is_snapshot)


def in_memory(history: Iterable[Commit]) -> list[Manifest]:
    return [Manifest.of(header(deleted), known) for deleted, known in history]


def in_files(root: Path, manifests: Iterable[Manifest]) -> list[Manifest]:
    address = TableAddress(str(root))
    paths = []
    for number, manifest in enumerate(manifests):
        paths.append(f"_manifests/{number}.parquet")
        write_manifest(address, paths[-1], manifest)
    return [read_manifest(address, path) for path in paths]


def snapshot(known: Artifacts) -> Manifest:
    return Manifest(header(is_snapshot=True), known)


@settings(max_examples=50, deadline=None)
@given(history=st.lists(commits, max_size=6))
def test_the_fold_is_the_plain_one(history: list[Commit]) -> None:
    expected = plain_fold(history)
    found = fold(1, in_memory(history)).artifacts
    assert found.known() == expected
    assert len(found) == len(expected)
    assert fold(1, in_memory(history)).artifacts.known(np.array([], int)) == []


@settings(max_examples=50, deadline=None)
@given(before=st.lists(commits, max_size=4), after=st.lists(commits, max_size=4))
def test_a_snapshot_anywhere_changes_nothing(before: list[Commit], after: list[Commit]) -> None:
    first = snapshot(fold(1, in_memory(before)).artifacts)
    expected = plain_fold([*before, *after])
    assert fold(1, [first, *in_memory(after)]).artifacts.known() == expected
    assert fold(1, [*in_memory(before), first, *in_memory(after)]).artifacts.known() == expected


@settings(max_examples=50, deadline=None)
@given(history=st.lists(commits, min_size=1, max_size=4))
def test_hashes_that_meet_change_nothing(history: list[Commit]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_folding, "hash", lambda text: len(text), raising=False)
        found = fold(1, in_memory(history)).artifacts
        expected = plain_fold(history)
        assert found.known() == expected
        assert_found_by_name_and_place(found, expected)


@settings(max_examples=50, deadline=None)
@given(history=st.lists(commits, max_size=5))
def test_artifacts_are_found_by_name_and_place(history: list[Commit]) -> None:
    assert_found_by_name_and_place(fold(1, in_memory(history)).artifacts, plain_fold(history))


def assert_found_by_name_and_place(found: Artifacts, expected: list[KnownArtifact]) -> None:
    wanted = [*NAMES, "nowhere"]
    last = {known.location: number for number, known in enumerate(expected)}
    assert found.at(wanted).tolist() == [last.get(name, -1) for name in wanted]
    own = {known.location: number for number, known in enumerate(expected) if known.source == "file"}
    assert found.at(wanted, found.is_of(["file"])).tolist() == [own.get(name, -1) for name in wanted]
    assert found.all_at(["a", "b"]).tolist() == [known.location in ("a", "b") for known in expected]
    by_key = {known.key: number for number, known in enumerate(expected)}
    assert found.named("file", wanted).tolist() == [by_key.get(("file", name), -1) for name in wanted]
    for known in expected:
        assert found.of(*known.key) == known
    rows = np.array([*range(len(expected)), -1])
    assert found.has_versions(rows, ["1"] * len(rows)).tolist() == [
        *(known.version == "1" for known in expected),
        False,
    ]


@settings(max_examples=50, deadline=None)
@given(history=st.lists(commits, max_size=5), wanted=windows)
def test_masks_and_counts_are_those_of_the_values(history: list[Commit], wanted: tuple[Window, ...]) -> None:
    found, expected = fold(1, in_memory(history)).artifacts, plain_fold(history)
    assert found.is_kept.tolist() == [bool(known.kept) for known in expected]
    assert found.is_waiting.tolist() == [known.waiting_bytes > 0 for known in expected]
    assert found.keeps_all(wanted).tolist() == [
        bool(known.kept) and not without(wanted, known.kept) for known in expected
    ]
    assert found.emptied_by(wanted).tolist() == [
        bool(known.kept) and not without(known.kept, wanted) for known in expected
    ]
    for holds in (
        lambda known: lacks(known, wanted),
        lambda known: may_hold(known, wanted),
        lambda known: bool(lacking(known)),
        lambda known: known.source == "file" and known.is_gone and known.rows.rejected > 0,
    ):
        assert found.where(holds).tolist() == list(map(holds, expected))
    by_span: dict[Window, int] = {}
    for known in expected:
        if known.span and known.kept and known.rows.rejected:
            by_span[known.span] = by_span.get(known.span, 0) + known.rows.rejected
    assert found.rejects_by_span() == by_span
    ends = [known.span.end for known in expected if known.source == "file" and known.kept and known.span]
    assert found.newest_end("file", ALWAYS.end) == max(ends, default=None)


@settings(max_examples=50, deadline=None)
@given(history=st.lists(commits, max_size=5))
def test_those_of_a_source_are_alone(history: list[Commit]) -> None:
    found = fold(1, in_memory(history)).artifacts.of_sources(["file"])
    expected = [known for known in plain_fold(history) if known.source == "file"]
    assert found.known() == expected
    assert found.select(["kept"]).column(0).to_pylist() == [kept_text(known.kept) for known in expected]
    assert found.of("archive", "a") is None
    assert len(fold(1, [snapshot(found)]).artifacts) == len(expected)


@settings(max_examples=20, deadline=None)
@given(history=st.lists(commits, max_size=5), chance=st.randoms())
def test_files_tell_what_was_written_into_them(
    tmp_path_factory: pytest.TempPathFactory, history: list[Commit], chance: Any
) -> None:
    """In groups of a few rows, read in any order; and again as files of before."""
    root = tmp_path_factory.mktemp("manifests")
    expected = plain_fold(history)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_file, "_GROUP_ROWS", 2)
        found = fold(1, in_files(root, in_memory(history))).artifacts
        assert found.known() == expected
        which = chance.sample(range(len(expected)), chance.randint(0, len(expected)))
        assert found.known(np.array(which, int)) == [expected[number] for number in which]
        again = in_files(tmp_path_factory.mktemp("snapshot"), [snapshot(found)])
        assert fold(1, again).artifacts.known() == expected


def as_of_before(path: Path) -> None:
    """Moments as text, every identity, and no shared texts."""
    rows = pq.read_table(path)
    columns = {name: rows.column(name) for name in rows.column_names}
    for name in ("first", "last", "oldest", "newest", "collected_at"):
        texts = [moment and moment.astimezone(UTC).isoformat() for moment in columns[name].to_pylist()]
        columns[name] = pa.array(texts, pa.string())
    for name in ("source", "span", "kept", "constants", "run"):
        columns[name] = columns[name].cast(pa.string())
    places = columns["location"].to_pylist()
    names = columns["identity"].to_pylist()
    columns["identity"] = pa.array([name or place for name, place in zip(names, places, strict=True)])
    pq.write_table(pa.table(columns).replace_schema_metadata(rows.schema.metadata), path)


@settings(max_examples=20, deadline=None)
@given(history=st.lists(commits, max_size=3))
def test_files_of_before_are_read(tmp_path_factory: pytest.TempPathFactory, history: list[Commit]) -> None:
    root = tmp_path_factory.mktemp("manifests")
    manifests = in_files(root, in_memory(history))
    for path in root.glob("_manifests/*"):
        as_of_before(path)
    address = TableAddress(str(root))
    read = [read_manifest(address, f"_manifests/{number}.parquet") for number, _ in enumerate(manifests)]
    told = [(deleted, tuple(map(as_told_before, said))) for deleted, said in history]
    assert fold(1, read).artifacts.known() == plain_fold(told)


def as_told_before(known: KnownArtifact) -> KnownArtifact:
    """They said once what holds of stored rows and of all, where there are no others."""
    if known.rows.outside or known.oldest:
        return known
    return msgspec.structs.replace(known, oldest=known.first, newest=known.last)


def test_partitions_that_only_failed_have_a_name(tmp_path: Path) -> None:
    log = TableLog(TableAddress(str(tmp_path / "t")), SCHEMA)
    log.commit(Change("p", "run", "", "r"), 0)
    assert partition_names(Lake(str(tmp_path)), "t") == ["p"]
    assert partition_names(Lake(str(tmp_path)), "never") == []
