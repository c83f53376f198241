"""How an object store is reached: with which credentials, where, and how buckets are named there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tailpipe.lake.files import Files
from tailpipe.lake.objects import ObjectFiles


@dataclass(frozen=True)
class Storage:
    """`endpoint` is a URL, None for the service's own. No text of it shows a secret."""

    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    region: str | None = None
    endpoint: str | None = None
    is_path_style: bool = False

    def options(self) -> dict[str, str]:
        """For the Delta library."""
        told = {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_SESSION_TOKEN": self.session_token,
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true" if self.is_plain_http else None,
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": None if self.is_path_style else "true",
            "conditional_put": "etag",
        }
        return {name: value for name, value in told.items() if value is not None}

    @property
    def is_plain_http(self) -> bool:
        return (self.endpoint or "").startswith("http://")

    def resolved(self) -> Storage:
        """With credentials as they are now, for those who cannot ask for them."""
        return self

    def files(self, uri: str) -> Files:
        """Below a URL such as `s3://bucket/folder`."""
        return _files(uri, self.resolved())


@lru_cache(maxsize=256)
def _files(uri: str, storage: Storage) -> Files:
    """A store has connections of its own: those who name the same one share them."""
    return ObjectFiles(_store(uri, storage))


def _store(uri: str, storage: Storage) -> Any:
    from obstore.store import S3Store

    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    said: dict[str, Any] = {
        "access_key_id": storage.access_key,
        "secret_access_key": storage.secret_key,
        "session_token": storage.session_token,
        "endpoint": storage.endpoint,
    }
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=storage.region or "us-east-1",
        virtual_hosted_style_request=not storage.is_path_style,
        client_options={"allow_http": storage.is_plain_http},
        **{name: value for name, value in said.items() if value is not None},
    )
