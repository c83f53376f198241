"""The format of a source's bytes: its own, its table's, or the one that the table's plugin presets."""

from __future__ import annotations

import re

from tailpipe.config.values import Config, FormatConfig, SourceConfig
from tailpipe.errors import ConfigError, Problem
from tailpipe.formats.format import Format
from tailpipe.plugins.registry import Registry
from tailpipe.tables.table import Table

_WORD = re.compile(r"[^\W\d][\w.]*")


def source_format(source: SourceConfig, config: Config, table: Table, registry: Registry) -> Format:
    own = config.tables[table.name].format if table.name in config.tables else None
    chosen = source.format or own or _preset(table.default_format, registry)
    if chosen is None:
        message = f'source "{source.name}" of table "{table.name}" has no format'
        hint = "add `format = format.jsonl.default` or another format to the source or the table"
        raise ConfigError([Problem(message, source.position, hint)])
    made = registry.formats[chosen.type].make(chosen)
    check_inherits(made, Format, source)
    return _expecting(made, table)


def check_inherits(made: object, contract: type, source: SourceConfig) -> None:
    """Raises ConfigError where what a plugin made lacks the contract, with all that is asked of it."""
    if not isinstance(made, contract):
        name = f'{type(made).__name__}, which a plugin made for source "{source.name}",'
        hint = f"the plugin's class must inherit {contract.__module__}.{contract.__name__}"
        raise ConfigError([Problem(f"{name} is no {contract.__name__}", source.position, hint)])


def _preset(default: tuple[str, str] | None, registry: Registry) -> FormatConfig | None:
    return FormatConfig(*default, arguments=registry.format_presets[default]) if default else None


def _expecting(format: Format, table: Table) -> Format:
    """A format that knows a header by the fields that it names is told those that the table reads."""
    read = [column.source or column.name for column in table.columns if not column.transform]
    mentioned = [name for column in table.columns for name in _WORD.findall(column.transform or "")]
    return format.expecting(read, mentioned)
