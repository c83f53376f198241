"""A real S3 server for tests: one for a whole run, in a folder of its own, gone with the process that started it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import S3Store

SERVER = Path(sys.executable).with_name("weed")
PORTS = (
    "admin.port",
    "admin.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "master.port",
    "master.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "metricsPort",
)
SETTINGS = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-webdav=false",
    "-admin.ui=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-master.telemetry=false",
)
# Its standard input is a pipe that nobody else holds: it closes when this process ends, in whichever way.
WHILE_WE_LIVE = """
exec 3<&0
"$@" & server=$!
(cat <&3; kill -9 $server; for port in $PORTS; do rm -f /tmp/seaweedfs-*-$port.sock; done) 2>/dev/null &
wait $server
"""
ATTEMPTS = 5
START_SECONDS = 30
ANSWER_SECONDS = 3
LOOK_SECONDS = 0.02
COUNT = re.compile(r'^SeaweedFS_s3_request_total\{bucket="[^"]+",code="(\d+)",type="(\w+)"\} (\d+)$', re.M)


@dataclass(frozen=True)
class ObjectStore:
    """Where the server is, and who may use it."""

    endpoint: str
    metrics: str
    key: str = "tests"
    secret: str = field(default="only for tests", repr=False)
    bucket: str = "lake"
    region: str = "us-east-1"

    @property
    def environment(self) -> dict[str, str]:
        """For a command that finds its credentials in its environment."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
        }

    def new_uri(self) -> str:
        """Of a folder in the bucket that nobody uses."""
        return f"s3://{self.bucket}/{uuid.uuid4().hex}"

    def client(self, uri: str, retry_config: Any = None) -> S3Store:
        """Looks below the address by other ways than the code under test."""
        return S3Store.from_url(
            uri,
            access_key_id=self.key,
            secret_access_key=self.secret,
            region=self.region,
            endpoint=self.endpoint,
            client_options={"allow_http": True},
            retry_config=retry_config,
        )

    def paths(self, uri: str) -> list[str]:
        """All objects below the address, relative to it."""
        return sorted(entry["path"] for batch in self.client(uri).list() for entry in batch)

    def requests(self) -> Counter[str]:
        """How many requests for buckets the server has counted since it began, by kind: `GET 200`."""
        with urllib.request.urlopen(self.metrics, timeout=ANSWER_SECONDS) as answer:
            found = COUNT.findall(answer.read().decode())
        counts: Counter[str] = Counter()
        for code, kind, count in found:
            counts[f"{kind} {code}"] += int(count)
        return counts


@contextmanager
def open_object_store(folder: Path) -> Iterator[ObjectStore]:
    """Others may take a port between the choice and its use: then all are chosen anew."""
    for attempt in range(ATTEMPTS):
        with _server(folder / str(attempt)) as store:
            if store:
                yield store
                return
    log = (folder / str(ATTEMPTS - 1) / "log").read_text()
    raise RuntimeError(f"the object store did not start:\n{log[-3000:]}")


@contextmanager
def _server(folder: Path) -> Iterator[ObjectStore | None]:
    folder.mkdir()
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    store = ObjectStore(
        f"http://127.0.0.1:{ports['s3.port']}", f"http://127.0.0.1:{ports['metricsPort']}/metrics"
    )
    places = [f"-dir={folder}", f"-filer.localSocket={folder}/filer", f"-s3.localSocket={folder}/s3"]
    command = [
        *(str(SERVER), "-logtostderr", "mini", *SETTINGS, *places),
        *(f"-{name}={port}" for name, port in ports.items()),
    ]
    process = _start(command, folder, store, ports.values())
    try:
        yield store if _is_up(process, store) else None
    finally:
        process.communicate()


def _start(
    command: list[str], folder: Path, store: ObjectStore, ports: Iterable[int]
) -> subprocess.Popen[bytes]:
    """Without what the user of this machine has set up for such servers."""
    keys = {"AWS_ACCESS_KEY_ID": store.key, "AWS_SECRET_ACCESS_KEY": store.secret}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-c", WHILE_WE_LIVE, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "PORTS": " ".join(map(str, ports)), **keys},
        )


def _is_up(process: subprocess.Popen[bytes], store: ObjectStore) -> bool:
    """It answers, and has made its bucket, which it does at once for the first object."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{store.endpoint}/healthz", timeout=ANSWER_SECONDS):
                store.client(store.new_uri()).put("first", b"")
                return True
        except (OSError, BaseError):
            time.sleep(LOOK_SECONDS)
    return False


def _free_ports(count: int) -> list[int]:
    """Different from each other, for all are held until the last is chosen."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for chosen in sockets:
            chosen.bind(("127.0.0.1", 0))
        return [chosen.getsockname()[1] for chosen in sockets]
