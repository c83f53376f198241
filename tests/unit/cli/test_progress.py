"""What a run says when it ends early."""

from __future__ import annotations

import pytest

from tailpipe.cli.interruption import Interrupted
from tailpipe.cli.progress import make_watcher
from tailpipe.errors import LakeError


def end_early(error: BaseException, units: int, rows: int) -> None:
    with make_watcher(is_shown=False) as watcher:
        watcher.units_kept, watcher.rows_kept = units, rows
        raise error


def test_a_run_that_ends_early_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LakeError):
        end_early(LakeError("the disk is full"), 2, 1300)
    assert (
        capsys.readouterr().err
        == "2 units with 1,300 rows committed in this run and kept. The next run takes up the rest.\n"
    )
    with pytest.raises(Interrupted) as interrupted:
        end_early(Interrupted(), 0, 0)
    assert interrupted.value.kept == "Nothing was committed yet: run the same command again."
