"""Words on the command line choose partitions, and sources of them."""

from __future__ import annotations

import pytest

from tailpipe.cli.selection import Selection, select
from tailpipe.errors import UsageError

PARTITIONS = {
    ("a_log", "prod"): ["file", "file_2", "bucket"],
    ("a_log", "dev"): ["file"],
    ("b_log", "prod"): ["bucket", "dev"],
}
A_PROD, A_DEV, B_PROD = PARTITIONS.values()


def selected(*words: str) -> list[tuple[list[str], tuple[str, ...]]]:
    selections = select(words, PARTITIONS, lambda names: names)
    return [(selection.chosen, selection.sources) for selection in selections]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("", [A_PROD, A_DEV, B_PROD]),
        ("a_log", [A_PROD, A_DEV]),
        ("a_log.dev", [A_DEV]),
        ("prod", [A_PROD, B_PROD]),
        ("*.prod a_log", [A_PROD, B_PROD, A_DEV]),
        ("?_log.dev", [A_DEV]),
        ("a_log a_log.prod", [A_PROD, A_DEV]),
    ],
)
def test_words_choose_partitions_with_all_their_sources(words: str, chosen: list[list[str]]) -> None:
    assert selected(*words.split()) == [(names, ()) for names in chosen]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("a_log.prod file_2", [(A_PROD, ("file_2",))]),
        ("file_2 a_log.prod", [(A_PROD, ("file_2",))]),
        ("a_log.prod bucket file", [(A_PROD, ("file", "bucket"))]),
        ("a_log.prod file*", [(A_PROD, ("file", "file_2"))]),
        ("prod bucket", [(A_PROD, ("bucket",)), (B_PROD, ("bucket",))]),
        ("a_log file", [(A_PROD, ("file",)), (A_DEV, ())]),
    ],
    ids=str,
)
def test_sources_restrict_the_chosen_partitions(words: str, chosen: list[object]) -> None:
    assert selected(*words.split()) == chosen


def test_sources_alone_choose_every_partition_that_has_one() -> None:
    assert selected("bucket") == [(A_PROD, ("bucket",)), (B_PROD, ("bucket",))]
    assert selected("file_2") == [(A_PROD, ("file_2",))]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("a_log.prod.file", [(A_PROD, ("file",))]),
        ("b_log.prod.dev", [(B_PROD, ("dev",))]),
        ("a_log.prod.bucket a_log.prod.file", [(A_PROD, ("file", "bucket"))]),
        ("*.prod.bucket", [(A_PROD, ("bucket",)), (B_PROD, ("bucket",))]),
        ("a_log.dev a_log.prod.file", [(A_DEV, ()), (A_PROD, ("file",))]),
        ("a_log.prod a_log.prod.file", [(A_PROD, ())]),
        ("a_log.prod.file bucket", [(A_PROD, ("file", "bucket"))]),
        ("a_log.prod.file_2 b_log.prod bucket", [(A_PROD, ("file_2",)), (B_PROD, ("bucket",))]),
        ("b_log.prod.*", [(B_PROD, ())]),
    ],
    ids=str,
)
def test_a_place_adds_a_source(words: str, chosen: list[object]) -> None:
    assert selected(*words.split()) == chosen


def test_a_word_that_names_a_partition_means_the_partition() -> None:
    assert selected("dev") == [(A_DEV, ())]


ALL = "a_log.prod, a_log.dev, b_log.prod"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            "a_lg",
            f'no partition and no source matches "a_lg". Partitions: {ALL}. Sources: file, file_2, bucket, dev.',
            "did you mean a_log?",
        ),
        (
            "prod buckett",
            f'no partition and no source matches "buckett". Partitions: {ALL}. '
            "Sources: file, file_2, bucket, dev.",
            "did you mean bucket?",
        ),
        ("a_log.prd", f'no partition matches "a_log.prd". Configured: {ALL}.', "did you mean a_log.prod?"),
        (
            "a_log.prd.file",
            f'no partition matches "a_log.prd". Configured: {ALL}.',
            "did you mean a_log.prod?",
        ),
        (
            "a_log.prod.bukket",
            'no source of a_log.prod matches "bukket". Configured: file, file_2, bucket.',
            "did you mean bucket?",
        ),
        (
            "a_log.dev bucket",
            'no source of a_log.dev matches "bucket". Configured: file.',
            "to collect that source, write a_log.prod.bucket",
        ),
        (
            "a_log bucket",
            'no source of a_log.dev matches "bucket". Configured: file.',
            "to collect that source, write a_log.prod.bucket",
        ),
        (
            "a_log.dev file bucket",
            'no source of a_log.dev matches "bucket". Configured: file.',
            "to collect that source, write a_log.prod.bucket",
        ),
        (
            "a_log.prod.file.x",
            f'no partition matches "a_log.prod.file". Configured: {ALL}.',
            "did you mean a_log.prod?",
        ),
        ("zzzz.*", f'no partition matches "zzzz.*". Configured: {ALL}.', None),
    ],
    ids=str,
)
def test_words_that_mean_nothing(words: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as error:
        selected(*words.split())
    assert (error.value.message, error.value.hint) == (message, hint)


def test_a_configuration_without_partitions() -> None:
    nothing: dict[tuple[str, str], list[str]] = {}
    with pytest.raises(UsageError, match="has no partition"):
        select([], nothing, lambda names: names)


def test_selections_are_values() -> None:
    assert select(["b_log"], {("b_log", "x"): 1}, lambda _: ["file"]) == [Selection(1)]
