"""A clock that is wrong by days, for the process that runs the command."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, tzinfo
from typing import Any


def shift_clock(days: int) -> None:
    """For the modules of the command that are loaded; what they make and compare are ordinary moments."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tailpipe") and getattr(module, "datetime", None) is datetime:
            module.datetime = _shifted(timedelta(days=days))  # type: ignore[attr-defined]


def _shifted(shift: timedelta) -> type:
    class AnyMoment(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class Shifted(datetime, metaclass=AnyMoment):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return datetime(*args, **kwargs)  # noqa: DTZ001

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + shift

    return Shifted
