from __future__ import annotations

from collections.abc import Iterator

import pytest
from forks import Forks, open_forks
from ledger import Ledger

LEDGER = pytest.StashKey[Ledger]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEDGER] = Ledger()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    ledger = config.stash[LEDGER]
    if ledger.tried:
        terminalreporter.section("deaths tried")
        for text in ledger.lines():
            terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def ledger(pytestconfig: pytest.Config) -> Ledger:
    return pytestconfig.stash[LEDGER]


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with open_forks() as forks:
        yield forks
