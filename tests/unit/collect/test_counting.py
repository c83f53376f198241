"""Facts of tasks added up per unit, the sentence in an engine's error, and jobs that are watched."""

from __future__ import annotations

import threading
import time

import pytest

from tailpipe.collect.messages import engine_message
from tailpipe.collect.stopping import run_watched
from tailpipe.lake.delta_errors import delta_message
from tailpipe.records import RowCounts


def test_rows_add_up_and_know_whether_they_balance() -> None:
    total = RowCounts(5, 2, 1, 1, 1) + RowCounts(3, 3, 0, 0, 0)
    assert total == RowCounts(8, 5, 1, 1, 1)
    assert total.left_out == 2
    assert total.is_balanced
    assert not RowCounts(read=5, stored=4).is_balanced
    assert not RowCounts(read=5, stored=6, filtered=-1).is_balanced


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            '  File "x.py", line 1, in f\ntailpipe.errors.LakeError: t.p: too many folders\nhint: fewer',
            "t.p: too many folders",
        ),
        (
            "Job aborted.\nTraceback (most recent call last):\n  in f\nOSError: [Errno 28] No space left",
            "a file could not be written or read: No space left",
        ),
        ("\n\nout of memory\nmore", "the engine stopped: out of memory"),
        ("", "the engine stopped: RuntimeError"),
    ],
)
def test_the_sentence_in_an_engine_error(text: str, sentence: str) -> None:
    assert engine_message(RuntimeError(text)) == sentence


def test_the_sentence_in_a_delta_error() -> None:
    arrow = "\n          \x1b[31m↳\x1b[0m "
    text = f"Kernel error{arrow}Unable to rename{arrow}Is a directory\n   0: <unknown>\n   1: start_thread"
    assert delta_message(OSError(text)) == "Kernel error: Unable to rename: Is a directory"
    assert delta_message(ValueError("")) == "ValueError"


def test_a_watched_job_returns_raises_and_is_looked_at() -> None:
    looks: list[str] = []

    def slow() -> str:
        time.sleep(0.5)
        return "done"

    assert run_watched(slow, lambda: looks.append(threading.current_thread().name)) == "done"
    assert set(looks) == {threading.current_thread().name}

    def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_watched(fail, lambda: None)
