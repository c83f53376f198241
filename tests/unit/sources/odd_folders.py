"""Folders with things in them that nobody can read, and the user who cannot read them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65_534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, to whom no folder is closed."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def make_deep(folder: Path, levels: int, name: str = "d" * 200) -> None:
    """A file so deep that its path is longer than the system takes; made step by step, as others do."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("deep.log", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def make_odd(folder: Path) -> dict[str, str]:
    """Things beside logs; the reason by name for which each is left out."""
    (folder / "itself").symlink_to("itself")
    (folder / "ping").symlink_to("pong")
    (folder / "pong").symlink_to("ping")
    (folder / "gone").symlink_to("nowhere.log")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder)  # the path of a socket is short
        listener.bind("socket")
        os.chdir(here)
    (folder / "null").symlink_to("/dev/null")
    (folder / "empty.log").touch()
    (folder / os.fsdecode(b"latin-\xe9.log")).write_text("x\n")
    (folder / os.fsdecode(b"lost-\xe9")).symlink_to("nowhere")
    return {
        "itself": "link in a circle",
        "ping": "link in a circle",
        "pong": "link in a circle",
        "gone": "dangling link",
        "pipe": "not a regular file",
        "socket": "not a regular file",
        "null": "not a regular file",
        "empty.log": "empty",
        "latin-\ufffd.log": "name is not UTF-8",
        "lost-\ufffd": "dangling link",
    }
