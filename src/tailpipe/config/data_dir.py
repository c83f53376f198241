"""What `data_dir` may be: a folder of this machine, or a prefix of a bucket."""

from __future__ import annotations

import re

from tailpipe.config.directories import SCHEME, path_problem

_S3 = "s3"
_BUCKET = re.compile(r"(?!\d+\.\d+\.\d+\.\d+$)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# What stands for other names where DuckDB reads, ends a path where URLs are read, or is no letter.
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff*?\[\]{}#\\^`|<>\"]|%(?:[0-9A-Fa-f]{2})?")
_LONGEST_PREFIX_BYTES = 300
_EXAMPLE = "name a folder, or a bucket as s3://bucket/prefix"


def is_bucket(text: str) -> bool:
    scheme = SCHEME.match(text)
    return scheme is not None and scheme[1].lower() == _S3


def bucket_uri(text: str) -> str:
    """As one name for one place: without a slash at the end."""
    return f"{_S3}://{_rest(text)}"


def data_dir_problem(text: str) -> tuple[str, str] | None:
    """Why tables cannot live there, and what to write instead."""
    scheme = SCHEME.match(text)
    if is_bucket(text):
        return _bucket_problem(_rest(text))
    if scheme and scheme[1].lower() in ("s3a", "s3n"):
        return f'is named as Hadoop does: "{_shown(text)}"', f"write s3://{_shown(text[scheme.end() :])}"
    if scheme and scheme[1].lower() != "file":
        return f'is a place that tables cannot live in: "{_shown(text)}"', _EXAMPLE
    return path_problem(text)


def _rest(text: str) -> str:
    return re.sub(r"^[^:]*://", "", text).removesuffix("/")


def _bucket_problem(rest: str) -> tuple[str, str] | None:
    bucket, _, prefix = rest.partition("/")
    if not bucket:
        return "names no bucket", _EXAMPLE
    if not _BUCKET.fullmatch(bucket):
        # A secret may hold slashes, so that the bucket seems to end in the middle of it.
        if "@" in bucket or (":" in bucket and "@" in rest):
            hint = "keys do not belong here: they go into a connection or the environment"
            return f'has a bucket that cannot be: "{_shown(rest)}"', hint
        hint = "a bucket has 3 to 63 lower-case letters, digits, dots and hyphens"
        return f'has a bucket that cannot be: "{bucket}"', hint
    return _prefix_problem(prefix) if prefix else None


def _prefix_problem(prefix: str) -> tuple[str, str] | None:
    unfit = _UNFIT.search(prefix)
    if unfit:
        shown = unfit[0] if unfit[0].isprintable() else f"\\u{ord(unfit[0]):04x}"
        return f"has {shown} in its prefix, which not every reader takes as it is", "choose another prefix"
    if any(part in ("", ".", "..") for part in prefix.split("/")):
        return f'has an empty part, "." or ".." in its prefix: "{prefix}"', "write s3://bucket/part/part"
    if any(part.strip() != part for part in prefix.split("/")):
        return f'has space at an end of a part of its prefix: "{prefix}"', "remove it"
    if len(prefix.encode()) > _LONGEST_PREFIX_BYTES:
        return f"has a prefix of more than {_LONGEST_PREFIX_BYTES} bytes", "choose a shorter one"
    return None


def _shown(text: str) -> str:
    """Without what may be a user and a password."""
    return re.sub(r"^(\w*://)?.*@", r"\1…@", text, flags=re.S)
