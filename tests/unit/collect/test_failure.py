"""What of an engine's error reaches people."""

from __future__ import annotations

import pytest

from tailpipe.collect.messages import engine_message


def test_a_full_stack_is_told_without_the_trace() -> None:
    text = (
        "An error occurred while calling o1.getResult.\n: x\nCaused by: java.lang.StackOverflowError\n\tat y"
    )
    assert engine_message(RuntimeError(text)) == (
        "a record is too long for the regular expressions that read it: Spark's stack is full"
    )


def test_our_own_sentence_wins_over_the_engines() -> None:
    text = "job aborted\nTraceback\n  x\ntailpipe.errors.LakeError: the disk is full\nOSError: later"
    assert engine_message(RuntimeError(text)) == "the disk is full"


def test_errors_of_arrow_are_told_though_their_names_do_not_end_so() -> None:
    text = "An exception was thrown from the Python worker:\nTraceback\npyarrow.lib.ArrowInvalid: bad cast"
    assert engine_message(RuntimeError(text)) == "the engine stopped: ArrowInvalid: bad cast"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            "OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device",
            "No space left on device",
        ),
        ("PermissionError: [Errno 13] Permission denied: '/lake/x'", "Permission denied: '/lake/x'"),
    ],
)
def test_what_the_system_refuses_is_no_defect_of_the_engine(line: str, cause: str) -> None:
    text = f"An exception was thrown from the Python worker:\nTraceback\n  x\n{line}\n"
    assert engine_message(RuntimeError(text)) == f"a file could not be written or read: {cause}"
