"""One connection to a server inside this process, and none for anybody else.

A loopback port can be reached by every user of the machine, and Sail asks nobody who they are: it would run their code
as the user who collects. So the server accepts one connection, ours, and its listening descriptor is replaced at once.
Whoever was accepted meanwhile is cut off, and the run ends. The port is open for about a millisecond; the first request
to a new server takes twenty.

The client's connection is made before there is a client, because that would take longer: its bytes are relayed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from tailpipe.errors import TailpipeError
from tailpipe.scratch import scratch_folder

_PATIENCE_SECONDS = 10
_LOOK_SECONDS = 0.0005
_CHUNK_BYTES = 256 * 1024

Address = tuple[str, int]


@dataclass(frozen=True)
class _Socket:
    """A descriptor of this process; `peer` is None where nobody is connected to it."""

    descriptor: int
    is_listening: bool
    local: Address
    peer: Address | None


class LoneConnection:
    """The only connection to a server; `relay` hands it to a client. Made before the server, to be quick then."""

    def __init__(self) -> None:
        self._instead = _silent_listener()
        self._connection = socket.socket()
        self._server: Address = ("", 0)

    def connect(self, server: Address) -> None:
        """To be called as soon as the server listens. It accepts nobody after this connection."""
        self._server = server
        self._connection.settimeout(_PATIENCE_SECONDS)
        self._connection.connect(server)
        self._wait_until_accepted()
        _replace_listener(server, self._instead)
        self.check_alone()
        self._connection.settimeout(None)

    def check_alone(self) -> None:
        """Raises, and cuts them off, if the server accepted others before it stopped listening."""
        own = _address(self._connection.getsockname())
        others = [found for found in self._accepted() if found.peer != own]
        for found in others:
            with suppress(OSError), socket.socket(fileno=os.dup(found.descriptor)) as other:
                other.shutdown(socket.SHUT_RDWR)
        if others:
            raise TailpipeError(
                "another process connected to the embedded engine while it started. "
                "It was cut off, and nothing was collected.",
                hint="find out who connects to ports of this machine, then run again; engine spark asks for a secret",
            )

    def relay(self) -> Address:
        """A port for one client of this process; whoever else connects to it is turned away."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(_PATIENCE_SECONDS)
        threading.Thread(target=self._let_in, args=(listener,), name="tailpipe-relay", daemon=True).start()
        return _address(listener.getsockname())

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._instead.close()

    def _accepted(self) -> list[_Socket]:
        return [found for found in _own_sockets() if found.local == self._server and found.peer is not None]

    def _wait_until_accepted(self) -> None:
        own = _address(self._connection.getsockname())
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while all(found.peer != own for found in self._accepted()):
            if time.monotonic() > deadline:
                raise TailpipeError(f"the embedded engine did not answer within {_PATIENCE_SECONDS} seconds")
            time.sleep(_LOOK_SECONDS)

    def _let_in(self, listener: socket.socket) -> None:
        with suppress(OSError):
            with listener:
                client = _accept_own(listener)
            back = (self._connection, client)
            threading.Thread(target=_pump, args=back, name="tailpipe-relay", daemon=True).start()
            _pump(client, self._connection)


def _accept_own(listener: socket.socket) -> socket.socket:
    """The first connection that a socket of this process made."""
    here = _address(listener.getsockname())
    while True:
        client, name = listener.accept()
        peer = _address(name)
        if any(found.local == peer and found.peer == here for found in _own_sockets()):
            client.settimeout(None)
            return client
        client.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Ends when either side does, and ends both."""
    for each in (source, target):
        with suppress(OSError):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(OSError):
        while chunk := source.recv(_CHUNK_BYTES):
            target.sendall(chunk)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _replace_listener(server: Address, instead: socket.socket) -> None:
    """Connections that wait to be accepted are refused with it."""
    found = [each for each in _own_sockets() if each.is_listening and each.local == server]
    if not found:
        raise TailpipeError(
            f"the embedded engine listens on port {server[1]}, and this process cannot close it to others",
            hint="use engine spark",
        )
    for each in found:
        os.dup2(instead.fileno(), each.descriptor, inheritable=False)


def _silent_listener() -> socket.socket:
    """A socket that nobody can connect to, and that listens: the server may look once more whether somebody came,
    and would ask for ever if it got an error instead of an empty queue.
    """
    silent = socket.socket(socket.AF_UNIX)
    with scratch_folder("sail") as folder:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            # The path of a socket may have about a hundred bytes; that of a temporary folder may have more.
            short = f"/proc/self/fd/{descriptor}"
            silent.bind(f"{short if os.path.isdir(short) else folder}/closed")
        finally:
            os.close(descriptor)
    silent.listen(0)
    silent.setblocking(False)
    return silent


def _own_sockets() -> list[_Socket]:
    """TCP sockets of this process."""
    described = (_describe(int(name)) for name in os.listdir("/dev/fd"))
    return [found for found in described if found is not None]


def _describe(descriptor: int) -> _Socket | None:
    with suppress(OSError):
        found = socket.socket(fileno=descriptor)
        try:
            if found.family not in (socket.AF_INET, socket.AF_INET6):
                return None
            is_listening = bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
            peer = None if is_listening else _address(found.getpeername())
            return _Socket(descriptor, is_listening, _address(found.getsockname()), peer)
        finally:
            found.detach()
    return None


def _address(name: tuple[str, int] | tuple[str, int, int, int]) -> Address:
    """Sockets for both families spell an IPv4 address in their own way."""
    return name[0].removeprefix("::ffff:"), name[1]
