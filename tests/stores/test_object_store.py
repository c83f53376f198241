"""The server that the other tests rely on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path

import pytest
from obstore.exceptions import AlreadyExistsError

from object_store import ObjectStore

STARTS_AND_WAITS = """
import sys, time
from pathlib import Path
from object_store import open_object_store
with open_object_store(Path(sys.argv[1])) as store:
    print(store.endpoint, flush=True)
    time.sleep(600)
"""
PATIENCE_SECONDS = 30


def test_an_object_is_created_once_and_requests_are_counted(object_store: ObjectStore) -> None:
    uri = object_store.new_uri()
    before = object_store.requests()
    object_store.client(uri).put("a/b c=é", b"one", mode="create")
    with pytest.raises(AlreadyExistsError):
        object_store.client(uri).put("a/b c=é", b"two", mode="create")
    assert object_store.requests() - before == {"PUT 200": 1, "PUT 412": 1}
    assert object_store.paths(uri) == ["a/b c=é"]
    assert object_store.paths(object_store.new_uri()) == []


def test_the_server_is_gone_when_its_starter_was_killed(tmp_path: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert starter.stdout
    endpoint = starter.stdout.readline().strip()
    assert answers(endpoint)
    starter.kill()
    starter.communicate()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while answers(endpoint):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def answers(endpoint: str) -> bool:
    try:
        with urllib.request.urlopen(f"{endpoint}/healthz", timeout=PATIENCE_SECONDS):
            return True
    except (OSError, HTTPException):
        return False
