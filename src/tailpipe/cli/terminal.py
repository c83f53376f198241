"""Words and numbers as people read them."""

from __future__ import annotations

import sys


def say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """For people, not for pipes."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:,.0f} {unit}" if unit == "B" else f"{size_bytes:,.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:,.1f} TB"


def seconds(value: float) -> str:
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60)} s"
