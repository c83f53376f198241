"""A restore brings files back while another command removes them for good: one of the two gives way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from histories import TABLE, History, truth
from lake_history import FIRST_DAY
from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.deletion import delete_rejects, delete_window
from tailpipe.lake.log import TableLog
from tailpipe.lake.purge import purge
from tailpipe.lake.restoring import restore
from tailpipe.lake.sweep import Sweep
from tailpipe.lake.vacuum import vacuum_table
from tailpipe.times import Lookback, day_window

Step = Callable[[History], object]
DAY = day_window(FIRST_DAY)
COMMANDS: dict[str, tuple[Step, Step]] = {
    "rows are purged": (
        lambda history: delete_window(history.lake, TABLE, "one", DAY),
        lambda history: purge(history.address, "one", DAY),
    ),
    "rejects are purged": (
        lambda history: delete_rejects(history.lake, TABLE, "one"),
        lambda history: purge(history.address, "one"),
    ),
    "rows are vacuumed": (
        lambda history: delete_window(history.lake, TABLE, "one", DAY),
        lambda history: vacuum_table(history.address, Lookback(0, "d")),
    ),
    "rejects are vacuumed": (
        lambda history: delete_rejects(history.lake, TABLE, "one"),
        lambda history: vacuum_table(history.address, Lookback(0, "d")),
    ),
}


@pytest.fixture
def history(tmp_path: Path) -> History:
    found = History(Lake(str(tmp_path / "lake")))
    found.collect("one", rejected=1)
    found.collect("two", rejected=1)
    return found


def is_whole(history: History) -> bool:
    """Whether all that the newest version names is there."""
    paths = (path for _, state in truth(history.address).states.items() for path in state[5])
    return all((Path(history.address.uri) / path).is_file() for path in paths)


def once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, before: Callable[[], None]) -> None:
    real, waiting = getattr(owner, name), [before]

    def wrapped(*arguments: object) -> object:
        while waiting:
            waiting.pop()()
        return real(*arguments)

    monkeypatch.setattr(owner, name, wrapped)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_about_to_go_does_not_come_back(
    history: History, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    remove, free = COMMANDS[command]
    then = history.version
    remove(history)

    def restoring() -> None:
        with pytest.raises(LakeError, match=r"because of vacuum or --purge. Nothing was changed"):
            restore(history.address, then)

    once(monkeypatch, Sweep, "_delete", restoring)
    free(history)
    assert is_whole(history)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_came_back_does_not_go(history: History, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    remove, free = COMMANDS[command]
    then, before = history.version, truth(history.address)
    remove(history)
    once(monkeypatch, TableLog, "append_mark", lambda: restore(history.address, then) and None)
    free(history)
    assert truth(history.address) == before
    assert is_whole(history)


def test_a_purge_is_a_floor_for_files_of_its_partition(history: History) -> None:
    then = history.version
    delete_rejects(history.lake, TABLE, "two")
    purge(history.address, "two")
    kept = history.version
    delete_window(history.lake, TABLE, "one", DAY)
    with pytest.raises(LakeError, match="because of vacuum or --purge"):
        restore(history.address, then)
    restore(history.address, kept)
    assert is_whole(history)
