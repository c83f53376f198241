"""The connection of a workspace whose tables live in a bucket."""

from __future__ import annotations

from tailpipe.aws_credentials import endpoint_problem
from tailpipe.config.blocks.connection import IMPLICIT_NAME, Connections
from tailpipe.config.data_dir import is_bucket
from tailpipe.config.report import Report
from tailpipe.config.values import ConnectionConfig, WorkspaceConfig
from tailpipe.errors import Position

_TYPE = "aws"
_NOT_EMPTY = ("access_key", "secret_key", "session_token", "profile", "region", "endpoint_url")


def bucket_connection(
    workspace: WorkspaceConfig, position: Position | None, connections: Connections, report: Report
) -> ConnectionConfig | None:
    """The one that the workspace names, else `connection.aws.default`; none where its tables live in a folder."""
    given = workspace.connection
    owner = f'workspace "{workspace.name}"'
    if workspace.data_dir is None:
        # Another workspace may be based on this one and have its tables in a bucket.
        return given
    if not is_bucket(workspace.data_dir):
        if position is not None:
            report.warn(
                position, f'argument "connection" of {owner} has no effect: data_dir is a folder', "remove it"
            )
        return None
    if given is None:
        report.use("connection", (_TYPE, IMPLICIT_NAME))
        given = connections.get((_TYPE, IMPLICIT_NAME))
    elif given.type != _TYPE:
        message = (
            f'argument "connection" of {owner} must be an {_TYPE} connection for a bucket, not {given.type}'
        )
        report.error(position, message, f"write connection.{_TYPE}.name")
    if given is not None:
        _check(given, report)
    return given


def _check(connection: ConnectionConfig, report: Report) -> None:
    owner = f'connection "{connection.type}"'
    values, places = connection.arguments, connection.argument_positions
    for name in _NOT_EMPTY:
        if values.get(name) == "":
            report.error(
                places[name], f'argument "{name}" of {owner} is empty', "give it a value, or leave it out"
            )
    endpoint = values.get("endpoint_url")
    problem = endpoint_problem(endpoint) if endpoint else None
    if problem:
        report.error(places["endpoint_url"], f'argument "endpoint_url" of {owner} {problem}')
