"""Amazon Web Services."""

from __future__ import annotations

from tailpipe.config.schema import BOOL, NUMBER, Argument, BlockSchema
from tailpipe.plugins.contract import ConnectionType, Plugin
from tailpipe.plugins.discover import tables_in
from tailpipe.tables import aws

_CONNECTION = BlockSchema(
    (
        Argument("profile", description="Profile of the shared AWS configuration."),
        Argument(
            "access_key",
            is_secret=True,
            needs="secret_key",
            description="Access key id; comes with secret_key.",
        ),
        Argument(
            "secret_key",
            is_secret=True,
            needs="access_key",
            description="Secret access key; comes with access_key.",
        ),
        Argument(
            "session_token",
            is_secret=True,
            needs="access_key",
            description="Token of temporary credentials.",
        ),
        Argument("region", description="Region of the service, such as eu-central-1."),
        Argument("max_error_retry_attempts", NUMBER, description="How often a failed request is tried."),
        Argument("min_error_retry_delay", NUMBER, description="Milliseconds before the first retry."),
        Argument("endpoint_url", description="Address of an S3-compatible service."),
        Argument("s3_force_path_style", BOOL, description="Put the bucket into the path, not the host."),
    ),
    "Credentials for AWS and services like it; without arguments, those of the environment.",
)


def plugin() -> Plugin:
    return Plugin("aws", tables=tables_in(aws), connections=(ConnectionType("aws", _CONNECTION),))
