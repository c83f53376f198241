"""Arrow and numpy, loaded when they are first used: a query or a list of plugins reads no record and does without."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["np", "pa", "pc"]


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


class _NoPandas:
    """Arrow loads pandas to make its first array: 35 MB, and longer than Arrow itself. Told that there is none, it
    never asks again; others still find it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


class _Arrow(_Later):
    def __getattr__(self, name: str) -> Any:
        if "pandas" not in sys.modules:
            sys.meta_path.insert(0, finder := _NoPandas())
            try:
                import_module("pyarrow").array([])
            finally:
                sys.meta_path.remove(finder)
        return super().__getattr__(name)


if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    np, pa, pc = _Later("numpy"), _Arrow("pyarrow"), _Later("pyarrow.compute")
