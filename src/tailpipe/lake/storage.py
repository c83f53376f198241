"""How an object store is reached: with which credentials, where, and how buckets are named there."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from tailpipe.aws_credentials import AwsAccess, AwsConnection, CredentialsError, resolve
from tailpipe.errors import LakeError
from tailpipe.lake.files import Files
from tailpipe.lake.objects import ObjectFiles

# A store that is down is told after some ten seconds; one that is busy is tried again until then.
_RETRIES = 7
_RETRY_SECONDS = 60
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5


@dataclass(frozen=True)
class Storage:
    """`fixed` are credentials for those who cannot ask for them, such as executors. No text of it shows a secret."""

    connection: AwsConnection = field(default_factory=AwsConnection)
    fixed: AwsAccess | None = None

    def access(self) -> AwsAccess:
        """As it is now: credentials may have been renewed since. Raises LakeError where there are none."""
        if self.fixed:
            return self.fixed
        try:
            return resolve(self.connection)
        except CredentialsError as error:
            raise LakeError(error.message, error.hint) from error

    def resolved(self) -> Storage:
        return Storage(fixed=self.access())

    def options(self, bucket: str) -> dict[str, str]:
        """For the Delta library."""
        access = self.access()
        told = {
            "AWS_ACCESS_KEY_ID": access.access_key,
            "AWS_SECRET_ACCESS_KEY": access.secret_key,
            "AWS_SESSION_TOKEN": access.session_token,
            "AWS_REGION": access.region,
            "AWS_ENDPOINT_URL": endpoint(access, bucket),
            "AWS_ALLOW_HTTP": "true" if is_plain_http(access) else None,
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(not access.is_path_style).lower(),
            "conditional_put": "etag",
            "max_retries": str(_RETRIES),
            "retry_timeout": f"{_RETRY_SECONDS}s",
            "backoff_config.init_backoff": f"{_FIRST_PAUSE_SECONDS * 1000:.0f}ms",
            "backoff_config.max_backoff": f"{_LONGEST_PAUSE_SECONDS}s",
        }
        return {name: value for name, value in told.items() if value is not None}

    def files(self, uri: str) -> Files:
        """Below a URL such as `s3://bucket/folder`."""
        return _files(uri, self.access())


def bucket_of(uri: str) -> tuple[str, str]:
    """The bucket of a URL, and the prefix in it."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    return bucket, prefix


def endpoint(access: AwsAccess, bucket: str) -> str | None:
    """As the libraries want it: with the bucket in its host where that is not in the path."""
    if access.endpoint_url is None or access.is_path_style:
        return access.endpoint_url
    scheme, _, host = access.endpoint_url.partition("://")
    return f"{scheme}://{bucket}.{host}"


def is_plain_http(access: AwsAccess) -> bool:
    return (access.endpoint_url or "").startswith("http://")


@lru_cache(maxsize=256)
def _files(uri: str, access: AwsAccess) -> Files:
    """A store has connections of its own: those who name the same one share them."""
    return ObjectFiles(_store(uri, access))


def _store(uri: str, access: AwsAccess) -> Any:
    from obstore.store import S3Store

    bucket, prefix = bucket_of(uri)
    said: dict[str, Any] = {
        "session_token": access.session_token,
        "endpoint": endpoint(access, bucket),
    }
    return S3Store(
        bucket,
        prefix=prefix or None,
        access_key_id=access.access_key,
        secret_access_key=access.secret_key,
        region=access.region,
        virtual_hosted_style_request=not access.is_path_style,
        client_options={"allow_http": is_plain_http(access)},
        retry_config={
            "max_retries": _RETRIES,
            "retry_timeout": timedelta(seconds=_RETRY_SECONDS),
            "backoff": {
                "init_backoff": timedelta(seconds=_FIRST_PAUSE_SECONDS),
                "max_backoff": timedelta(seconds=_LONGEST_PAUSE_SECONDS),
                "base": 2,
            },
        },
        **{name: value for name, value in said.items() if value is not None},
    )
