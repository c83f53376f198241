"""`connection "aws" "prod" { … }`"""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.config.blocks.arguments import Arguments, BlockReader
from tailpipe.config.blocks.claims import refuse_claimed
from tailpipe.config.language.kinds import BlockReference, kind, with_article
from tailpipe.config.language.syntax import Block
from tailpipe.config.report import Report
from tailpipe.config.schema import ANY, Argument, BlockSchema, Catalog
from tailpipe.config.values import ConnectionConfig
from tailpipe.suggest import near_or_all

IMPLICIT_NAME = "default"
# Taken without a word: Tailpipe names the plugin here, which the type does already.
_UNUSED = (Argument("plugin", ANY),)
Connections = Mapping[tuple[str, str], ConnectionConfig]


def read_connections(
    blocks: Mapping[tuple[str, ...], Block], catalog: Catalog, reader: BlockReader
) -> dict[tuple[str, str], ConnectionConfig]:
    """The user's, then `connection.<type>.default` for each installed type that has none."""
    types = catalog.connection_types
    connections: dict[tuple[str, str], ConnectionConfig] = {}
    for (type_, name), block in blocks.items():
        with reader.report.reading("connection", (type_, name)):
            if type_ not in types:
                message = f'connection type "{type_}" is not installed'
                hint = near_or_all(type_, types, "installed")
                reader.report.error(block.labels[0].position, message, hint)
                continue
            refuse_claimed("connection", type_, block.labels[0].position, catalog, reader.report)
            schema = BlockSchema((*types[type_].arguments, *_UNUSED))
            arguments = reader.arguments(block, schema, f'connection "{type_}"')
            values, positions = arguments.without([argument.name for argument in _UNUSED])
            connections[type_, name] = ConnectionConfig(type_, name, values, block.position, positions)
    for type_ in types:
        connections.setdefault((type_, IMPLICIT_NAME), ConnectionConfig(type_, IMPLICIT_NAME))
    return connections


def connection_of(arguments: Arguments, connections: Connections, report: Report) -> ConnectionConfig | None:
    """What the argument `connection` means, a reference or its text: `connection.aws.prod`, "aws.prod"."""
    value = arguments.get("connection")
    if value is None:
        return None
    position = arguments.positions["connection"]
    if isinstance(value, BlockReference) and value.kind == "connection":
        report.use("connection", value.labels)
        return connections.get((value.labels[0], value.labels[1]))
    if not isinstance(value, str):
        message = f"a connection is a reference, not {with_article(kind(value))}"
        report.error(position, message, "write connection.type.name")
        return None
    type_, _, name = value.removeprefix("connection.").partition(".")
    report.use("connection", (type_, name))
    if (type_, name) not in connections and ("connection", (type_, name)) not in report.broken:
        known = [".".join(key) for key in connections]
        message = f'there is no connection "{value}"'
        report.error(position, message, near_or_all(value, known, "connections"))
    return connections.get((type_, name))
