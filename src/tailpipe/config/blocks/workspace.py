"""`workspace "name" { … }` and `plugin "name" { … }`: options of the program itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailpipe.config.blocks.arguments import Arguments, BlockReader
from tailpipe.config.blocks.limits import LIMITS, checked_limits
from tailpipe.config.language.syntax import Block
from tailpipe.config.report import Report
from tailpipe.config.schema import ANY, BOOL, NUMBER, STRING_MAP, Argument, BlockSchema
from tailpipe.config.values import WorkspaceConfig

LOG_LEVELS = ("trace", "debug", "info", "warn", "error", "off")
ENGINES = ("spark", "sail")
WORKSPACE = BlockSchema(
    (
        Argument("data_dir"),
        Argument("engine", choices=ENGINES),
        Argument("master"),
        Argument("remote"),
        Argument("spark_config", STRING_MAP),
        Argument("memory_max_mb", NUMBER),
        Argument("cores", NUMBER),
        *LIMITS,
        Argument("log_level", choices=LOG_LEVELS),
        Argument("update_check", BOOL),
    )
)
_UNUSED_IN_WORKSPACE = ("update_check",)
_LEAST = {"memory_max_mb": 256, "cores": 1}
PLUGIN = BlockSchema((Argument("source"), Argument("version"), Argument("memory_max_mb", NUMBER)))


def read_workspaces(
    blocks: Mapping[tuple[str, ...], Block], reader: BlockReader
) -> dict[str, WorkspaceConfig]:
    workspaces: dict[str, WorkspaceConfig] = {}
    for (name,), block in blocks.items():
        owner = f'workspace "{name}"'
        arguments = reader.arguments(block, WORKSPACE, owner)
        limits = checked_limits(arguments, owner, reader.report)
        for unused in _UNUSED_IN_WORKSPACE:
            if unused in arguments.values:
                message = f'argument "{unused}" has no effect'
                reader.report.warn(arguments.positions[unused], message, "remove it")
        numbers = {key: _whole(key, arguments, owner, reader.report) for key in _LEAST}
        values, _ = arguments.without((*_UNUSED_IN_WORKSPACE, *_LEAST))
        options: dict[str, Any] = {**values, **numbers, **limits}
        workspaces[name] = WorkspaceConfig(name=name, **options, position=block.position)
    return workspaces


def _whole(name: str, arguments: Arguments, owner: str, report: Report) -> int | None:
    value = arguments.get(name)
    if value is None:
        return None
    if value != int(value) or value < _LEAST[name]:
        message = f'argument "{name}" of {owner} must be a whole number of at least {_LEAST[name]}'
        report.error(arguments.positions[name], message)
    return int(value)


def read_plugins(blocks: Mapping[tuple[str, ...], Block], reader: BlockReader) -> tuple[str, ...]:
    """Arguments that are not known are let through with a warning: other versions may know them."""
    for (name,), block in blocks.items():
        unknown = [each for each in block.attributes if PLUGIN.argument(each.name) is None]
        for attribute in unknown:
            message = f'argument "{attribute.name}" of plugin "{name}" has no effect'
            reader.report.warn(attribute.position, message, "remove it")
        lenient = BlockSchema((*PLUGIN.arguments, *(Argument(each.name, ANY) for each in unknown)))
        reader.arguments(
            block, lenient, f'plugin "{name}"', inner_blocks={each.type for each in block.blocks}
        )
    return tuple(name for (name,) in blocks)
