"""Credentials for AWS and for what speaks its protocol, resolved once, so that every library uses the same.

Libraries read the environment and ~/.aws each in their own way. Here the first of these counts: keys of the connection,
its profile, keys of the environment, then what botocore finds: AWS_PROFILE, ~/.aws, a container, an instance. Only the
profile and what follows the environment load botocore, which takes longer than a short query.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

from tailpipe.errors import EXIT_SOURCE, TailpipeError

_DEFAULT_REGION = "us-east-1"
_ENDPOINT = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?/?")
_ENDPOINT_PLACES = (
    "it is that of the connection, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or that of the profile in ~/.aws"
)
_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
}


class CredentialsError(TailpipeError):
    exit_code = EXIT_SOURCE


@dataclass(frozen=True)
class AwsConnection:
    """What a connection says, which may be nothing. Keys are hidden from whoever prints it."""

    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    is_path_style: bool | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Of a block `connection "aws"`; arguments that do not concern credentials are left out."""
        names = ("access_key", "secret_key", "session_token", "profile", "region", "endpoint_url")
        said = {name: arguments.get(name) for name in names}
        return cls(**said, is_path_style=arguments.get("s3_force_path_style"))


@dataclass(frozen=True)
class AwsAccess:
    """Credentials as they are now, and where they count. They may expire: resolve again before each use of length."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    region: str = _DEFAULT_REGION
    endpoint_url: str | None = None
    is_path_style: bool = False


def resolve(connection: AwsConnection, environment: Mapping[str, str] | None = None) -> AwsAccess:
    """Raises CredentialsError where there are none."""
    variables = os.environ if environment is None else environment
    keys = _keys_of(connection, variables)
    place = {"region": connection.region, "endpoint_url": connection.endpoint_url}
    place = {name: value or _from_environment(name, variables) for name, value in place.items()}
    files = _shared_files(variables)
    if keys is None or (files and not all(place.values())):
        found = _from_botocore(connection.profile or variables.get("AWS_PROFILE"), files)
        keys = keys or found.keys()
        place = {name: value or found.place.get(name) for name, value in place.items()}
    endpoint = place["endpoint_url"]
    if endpoint and (problem := endpoint_problem(endpoint)):
        raise CredentialsError(f"endpoint_url {problem}.", _ENDPOINT_PLACES)
    is_path_style = connection.is_path_style if connection.is_path_style is not None else endpoint is not None
    return AwsAccess(
        *keys, place["region"] or _DEFAULT_REGION, endpoint and endpoint.rstrip("/"), is_path_style
    )


def endpoint_problem(endpoint_url: str) -> str | None:
    """Why a text is no address of a service."""
    # Not shown: what stands before an @ may be a password.
    if "@" in endpoint_url:
        return "must not hold a user or a password"
    if not _ENDPOINT.fullmatch(endpoint_url):
        return f'is not an address such as https://host or http://host:port: "{endpoint_url}"'
    return None


Keys = tuple[str, str, str | None]


def _keys_of(connection: AwsConnection, environment: Mapping[str, str]) -> Keys | None:
    """Those that take no search."""
    if connection.access_key and connection.secret_key:
        return connection.access_key, connection.secret_key, connection.session_token
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if connection.profile is None and key and secret:
        return key, secret, environment.get("AWS_SESSION_TOKEN") or None
    return None


def _from_environment(name: str, environment: Mapping[str, str]) -> str | None:
    variables = {
        "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "endpoint_url": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    }
    return next((environment[each] for each in variables[name] if environment.get(each)), None)


def _shared_files(environment: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Those that there are, and when they were last written."""
    paths = (os.path.expanduser(environment.get(name) or path) for name, path in _FILES.items())
    return tuple((path, os.stat(path).st_mtime_ns) for path in paths if os.path.isfile(path))


@dataclass(frozen=True)
class _Found:
    """What botocore found. Its credentials renew themselves shortly before they expire."""

    credentials: Any = field(repr=False)
    place: Mapping[str, str | None]
    profile: str | None

    def keys(self) -> Keys:
        from botocore.exceptions import BotoCoreError, ClientError

        if self.credentials is None:
            raise _nothing_found(self.profile)
        try:
            frozen = self.credentials.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise _not_renewed(self.profile, error) from error
        return frozen.access_key, frozen.secret_key, frozen.token


@lru_cache(maxsize=8)
def _from_botocore(profile: str | None, files: tuple[tuple[str, int], ...]) -> _Found:
    """Looked for again when the shared files were written: whoever renews static keys writes them there."""
    from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
    from botocore.session import Session

    session = Session(profile=profile)
    try:
        settings = session.get_scoped_config()
        place = {
            "region": session.get_config_variable("region"),
            "endpoint_url": _endpoint(session, settings),
        }
        return _Found(session.get_credentials(), place, profile)
    except ProfileNotFound as error:
        raise CredentialsError(
            f'~/.aws has no profile "{profile}".', "check profile of the connection, or AWS_PROFILE"
        ) from error
    except (BotoCoreError, ClientError) as error:
        raise _not_renewed(profile, error) from error


def _endpoint(session: Any, settings: Mapping[str, Any]) -> str | None:
    """Of the profile: that of its service S3 before that of all services."""
    services = session.full_config.get("services", {}).get(settings.get("services"), {})
    own = services.get("s3") if isinstance(services, dict) else None
    return (own.get("endpoint_url") if isinstance(own, dict) else None) or settings.get("endpoint_url")


def _nothing_found(profile: str | None) -> CredentialsError:
    where = f'profile "{profile}" has no credentials' if profile else "there are no AWS credentials"
    return CredentialsError(
        f"{where}.",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or name a connection "
        "with keys or a profile in the workspace: connection = connection.aws.name",
    )


def _not_renewed(profile: str | None, error: Exception) -> CredentialsError:
    whose = f'of profile "{profile}" ' if profile else ""
    return CredentialsError(
        f"AWS credentials {whose}cannot be found: {error}".rstrip(".") + ".",
        "log in again if they come from a login (aws sso login), or check ~/.aws",
    )
