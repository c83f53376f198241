"""What a run says when it ends early."""

from __future__ import annotations

import pytest

from tailpipe.cli.interruption import Interrupted
from tailpipe.cli.progress import make_watcher
from tailpipe.errors import LakeError


def test_a_run_that_ends_early_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LakeError), make_watcher(is_shown=False) as watcher:
        watcher.units_kept, watcher.rows_kept = 2, 1300
        raise LakeError("the disk is full")
    assert capsys.readouterr().err == "2 units with 1,300 rows committed in this run and kept.\n"
    with pytest.raises(Interrupted) as interrupted, make_watcher(is_shown=False):
        raise Interrupted
    assert interrupted.value.kept == "Nothing was committed yet."
