"""What a user can choose about an output."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class OutputOptions:
    """`width_columns` is the width of the terminal; None means that lines may be as long as they need."""

    has_header: bool = True
    separator: str = ","
    width_columns: int | None = None
    clock: Callable[[], float] = time.perf_counter
