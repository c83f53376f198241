"""Tables of a package, one module each: a new table is one new file."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from tailpipe.tables.table import Table


def tables_in(package: ModuleType) -> tuple[Table, ...]:
    """The `TABLE` of every module in the package."""
    names = sorted(module.name for module in iter_modules(package.__path__))
    return tuple(import_module(f"{package.__name__}.{name}").TABLE for name in names)
