"""One session per embedded engine for the whole run; pipeline tests get each in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from fault_proxy import FaultProxy
from object_store import ObjectStore, open_object_store
from pipelines import Place
from tailpipe.engine.session import Session, open_session
from tailpipe.engine.settings import ENGINES, EngineSettings

# How long an example takes says how busy the machine is.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Session]:
    with open_session(EngineSettings(name=request.param, memory_max_mb=1024, cores=2)) as session:
        yield session


@pytest.fixture(scope="session")
def spark(engine: Session) -> object:
    return engine.spark


@pytest.fixture
def place(tmp_path: Path, engine: Session) -> Place:
    """An empty place to collect in, on each engine in turn."""
    return Place(tmp_path, engine)


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """One server for all tests that ask for it. Each takes an address of its own: `object_store.new_uri()`."""
    with open_object_store(tmp_path_factory.mktemp("object-store")) as store:
        yield store


@pytest.fixture
def fault_proxy(object_store: ObjectStore) -> Iterator[FaultProxy]:
    """In front of the server, with no rule yet; `fault_proxy.store` is how a test reaches the server through it."""
    with FaultProxy(object_store).running() as proxy:
        yield proxy
