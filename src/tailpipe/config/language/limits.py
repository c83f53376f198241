"""How much values may hold and expressions may do: no configuration fills the memory or runs for ever.

Sizes are bytes, roughly as they lie in memory; what several values share counts for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

MAX_VALUE_BYTES = 16 << 20
MAX_DECODED_BYTES = 4 << 20
# For one value, and for all of a configuration.
_MAX_STEPS = (300_000, 3_000_000)
_MAX_WORK_BYTES = (64 << 20, 192 << 20)

_CONTAINER, _ITEM, _SCALAR = 64, 8, 16
LIST_ITEM_BYTES = _ITEM
# Smaller ones are measured again each time rather than remembered.
_REMEMBERED = 1024


class OverLimit(Exception):
    pass


def check_size(size: int) -> None:
    if size > MAX_VALUE_BYTES:
        raise OverLimit(f"the value is larger than {MAX_VALUE_BYTES >> 20} MiB, the limit of a value")


def text_size(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)


@dataclass
class Budget:
    """Counts steps and bytes. A value that needs another one pays for it once, with a budget of its own."""

    _steps: int = 0
    _work: int = 0
    _steps_before: int = 0
    _work_before: int = 0
    _sizes: dict[int, tuple[Any, int]] = field(default_factory=dict)

    @contextmanager
    def for_one_value(self) -> Iterator[None]:
        steps, work = self._steps, self._work
        self._steps = self._work = 0
        try:
            yield
        finally:
            self._steps_before += self._steps
            self._work_before += self._work
            self._steps, self._work = steps, work

    def step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS[0]:
            raise OverLimit(f"the value takes more than {_MAX_STEPS[0]:,} steps to compute")
        if self._steps + self._steps_before > _MAX_STEPS[1]:
            raise OverLimit(f"all values together take more than {_MAX_STEPS[1]:,} steps to compute")

    def charge(self, work_bytes: int) -> None:
        self._work += work_bytes
        if self._work > _MAX_WORK_BYTES[0]:
            raise OverLimit(f"the value is made from more than {_MAX_WORK_BYTES[0] >> 20} MiB of others")
        if self._work + self._work_before > _MAX_WORK_BYTES[1]:
            raise OverLimit(f"all values together are made from more than {_MAX_WORK_BYTES[1] >> 20} MiB")

    def keep(self, value: Any) -> None:
        """A new value: it must not be too large."""
        size = self.size(value)
        check_size(size)
        self.charge(size)

    def size(self, value: Any) -> int:
        if isinstance(value, str):
            return text_size(value)
        if not isinstance(value, list | dict):
            return _SCALAR
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        keys = sum(_ITEM + text_size(key) for key in value) if isinstance(value, dict) else 0
        items = value.values() if isinstance(value, dict) else value
        size = _CONTAINER + keys + sum(_ITEM + self.size(item) for item in items)
        if size > _REMEMBERED:
            # The value is held so that its id stays its own.
            self._sizes[id(value)] = (value, size)
        return size
