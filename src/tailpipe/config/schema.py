"""What arguments a block may have: declared by plugins, checked by the configuration loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

STRING, NUMBER, BOOL, ANY = "string", "number", "bool", "any"
STRINGS, STRING_MAP = "list(string)", "map(string)"


@dataclass(frozen=True)
class Argument:
    """One `name = value` that a block takes. `type` is one of the constants above; `needs` is given with it."""

    name: str
    type: str = STRING
    required: bool = False
    default: Any = None
    description: str = ""
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    needs: str | None = None


@dataclass(frozen=True)
class BlockSchema:
    """The arguments of one block type, or of one type of connection, source or format."""

    arguments: tuple[Argument, ...] = ()
    description: str = ""

    def argument(self, name: str) -> Argument | None:
        return next((argument for argument in self.arguments if argument.name == name), None)


class Catalog(Protocol):
    """What is installed: the loader asks it which types exist and what they take."""

    @property
    def connection_types(self) -> Mapping[str, BlockSchema]: ...

    @property
    def source_types(self) -> Mapping[str, BlockSchema]: ...

    @property
    def format_types(self) -> Mapping[str, BlockSchema]: ...

    @property
    def table_names(self) -> tuple[str, ...]: ...

    @property
    def owners(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """("table", "source", "format" or "connection", name) to the plugins that offer it: one, or more."""
        ...

    @property
    def format_presets(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Ready-made formats, (type, name) to arguments: `format.nginx_access_log.combined`."""
        ...
