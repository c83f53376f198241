"""`workspace "name" { … }` and `plugin "name" { … }`: options of the program itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tailpipe.config.blocks.arguments import Arguments, BlockReader
from tailpipe.config.blocks.bucket_connection import bucket_connection
from tailpipe.config.blocks.connection import Connections, connection_of
from tailpipe.config.blocks.limits import LIMITS, read_limits
from tailpipe.config.data_dir import data_dir_problem
from tailpipe.config.language.kinds import BlockReference, kind, with_article
from tailpipe.config.language.syntax import Block
from tailpipe.config.report import Report
from tailpipe.config.schema import ANY, NUMBER, STRING_MAP, Argument, BlockSchema
from tailpipe.config.values import LOG_LEVELS, WorkspaceConfig
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all

# Arguments of the Tailpipe CLI that mean nothing here: they are taken without a word.
_UNUSED = tuple(
    Argument(name, ANY)
    for name in (
        "memory_max_mb_plugin",
        "memory_temp_cache_mb",
        "plugin_memory_max_mb",
        "temp_dir_max_mb",
        "update_check",
    )
)
ENGINES = ("spark", "sail")
WORKSPACE = BlockSchema(
    (
        Argument("base", ANY),
        Argument("data_dir"),
        Argument("connection", ANY),
        Argument("engine", choices=ENGINES),
        Argument("master"),
        Argument("remote"),
        Argument("spark_config", STRING_MAP),
        Argument("memory_max_mb", NUMBER),
        Argument("cores", NUMBER),
        Argument("log_level"),
        *LIMITS,
        *_UNUSED,
    )
)
_LEAST = {"memory_max_mb": 256, "cores": 1}
PLUGIN = BlockSchema((Argument("source"), Argument("version"), Argument("memory_max_mb", NUMBER)))


def read_workspaces(
    blocks: Mapping[tuple[str, ...], Block], connections: Connections, reader: BlockReader
) -> dict[str, WorkspaceConfig]:
    workspaces: dict[str, WorkspaceConfig] = {}
    for (name,) in blocks:
        _read(name, blocks, connections, workspaces, (), reader)
    return workspaces


def _read(
    name: str,
    blocks: Mapping[tuple[str, ...], Block],
    connections: Connections,
    workspaces: dict[str, WorkspaceConfig],
    users: tuple[str, ...],
    reader: BlockReader,
) -> None:
    """A workspace, after the one it is based on."""
    if name in workspaces:
        return
    with reader.report.reading("workspace", (name,)):
        own, base, places = _workspace(name, blocks[name,], connections, reader)
        workspaces[name] = own
        if base in (*users, name):
            reader.report.error(places["base"], f'workspace "{name}" is based on itself', "remove `base`")
        elif base is not None:
            _read(base, blocks, connections, workspaces, (*users, name), reader)
            reader.report.use("workspace", (base,))
            own = _with_base(own, workspaces[base])
        connection = bucket_connection(own, places.get("connection"), connections, reader.report)
        workspaces[name] = replace(own, connection=connection)


def _with_base(own: WorkspaceConfig, base: WorkspaceConfig) -> WorkspaceConfig:
    """What the workspace does not say, its base does; but each has its own tables unless both say where."""
    unsaid = [name for name, value in vars(own).items() if value is None or value == {}]
    inherited = {name: getattr(base, name) for name in unsaid if name not in ("data_dir", "position")}
    return replace(own, **inherited)


def _base(arguments: Arguments, report: Report) -> str | None:
    value = arguments.get("base")
    if value is None or (isinstance(value, BlockReference) and value.kind == "workspace"):
        return value.labels[0] if value else None
    message = f'argument "base" is a workspace, not {with_article(kind(value))}'
    report.error(arguments.positions["base"], message, "write workspace.name")
    return None


def _workspace(
    name: str, block: Block, connections: Connections, reader: BlockReader
) -> tuple[WorkspaceConfig, str | None, Mapping[str, Position]]:
    """The workspace, its base, and where its arguments stand."""
    owner = f'workspace "{name}"'
    arguments = reader.arguments(block, WORKSPACE, owner)
    limits = read_limits(arguments, owner, reader.report)
    numbers = {key: _whole(key, arguments, owner, reader.report) for key in _LEAST}
    values, _ = arguments.without((*(argument.name for argument in _UNUSED), *_LEAST, "base"))
    _check_data_dir(arguments, owner, reader.report)
    log_level = _log_level(arguments, owner, reader.report)
    connection = connection_of(arguments, connections, reader.report)
    options: dict[str, Any] = {
        **values,
        **numbers,
        **limits,
        "log_level": log_level,
        "connection": connection,
    }
    workspace = WorkspaceConfig(name=name, **options, position=block.position)
    return workspace, _base(arguments, reader.report), arguments.positions


def _whole(name: str, arguments: Arguments, owner: str, report: Report) -> int | None:
    value = arguments.get(name)
    if not value:
        # Zero is Tailpipe's word for no limit of its own.
        return None
    if value != int(value) or value < _LEAST[name]:
        message = f'argument "{name}" of {owner} must be a whole number of at least {_LEAST[name]}'
        report.error(arguments.positions[name], message)
    return int(value)


def _log_level(arguments: Arguments, owner: str, report: Report) -> str | None:
    """A wrong one is not worth an error: it costs messages, and no row."""
    text = (arguments.get("log_level") or "").lower()
    if text and text not in LOG_LEVELS:
        message = f'argument "log_level" of {owner} is not known: "{text}"'
        report.warn(arguments.positions["log_level"], message, near_or_all(text, LOG_LEVELS, "levels"))
    return text if text in LOG_LEVELS else None


def _check_data_dir(arguments: Arguments, owner: str, report: Report) -> None:
    value = arguments.get("data_dir")
    found = None if value is None else data_dir_problem(value)
    if found:
        report.error(arguments.positions["data_dir"], f'argument "data_dir" of {owner} {found[0]}', found[1])


def check_plugins(blocks: Mapping[tuple[str, ...], Block], reader: BlockReader) -> None:
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
