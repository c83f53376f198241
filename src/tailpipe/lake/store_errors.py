"""What an object store answered, in a sentence. Its own text may name keys, so it is never shown as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REGION = re.compile(r"<Region>([\w-]+)</Region>|expecting '([\w-]+)'")
_STATUS = re.compile(r"(?:status code\W+|HTTP (?:code )?)(\d{3})\b")
_REQUEST = re.compile(r"performing (GET|HEAD|PUT|POST|DELETE) (https?://[^/\s]+)")
_BODY = re.compile(r"\s*:?\s*<\?xml.*", re.S)
_KEYS = "check access_key and secret_key of the connection, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_RENEW = "renew them: log in again, or set a new session token"
_RIGHTS = "readers need s3:ListBucket and s3:GetObject for the bucket, collectors s3:PutObject and s3:DeleteObject too"
_BY_CODE = {
    "InvalidAccessKeyId": ("the object store does not know the access key", _KEYS),
    "SignatureDoesNotMatch": ("the secret key is not the one of the access key", _KEYS),
    "ExpiredToken": ("the credentials have expired", _RENEW),
    "ExpiredTokenException": ("the credentials have expired", _RENEW),
    "RequestExpired": ("the credentials have expired", _RENEW),
    "TokenRefreshRequired": ("the credentials have expired", _RENEW),
    "InvalidToken": ("the session token is not valid", _RENEW),
    "RequestTimeTooSkewed": (
        "the clock of this machine differs too much from that of the object store",
        "set the clock",
    ),
    "NoSuchBucket": ("there is no such bucket", "make the bucket, or correct data_dir of the workspace"),
}
_ELSEWHERE = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
_REDIRECT = re.compile(r"redirect without LOCATION|status code\W+301\b", re.I)
_UNREACHED = re.compile(
    r"error sending request|tcp connect error|dns error|Could not (?:connect|resolve)|client error \(Connect\)"
    r"|Connection (?:refused|reset|error)|operation timed out",
    re.I,
)


@dataclass(frozen=True)
class StoreProblem:
    message: str
    hint: str | None = None


class StoreError(OSError):
    """An object store refused, or could not be reached."""

    def __init__(self, problem: StoreProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def store_error(error: BaseException) -> OSError:
    """The same error as files of a disk raise it. Only the message of the library is lost, not its cause."""
    text = str(error).partition("\n\nDebug source")[0]
    code = _CODE.search(text)
    if isinstance(error, FileNotFoundError) and not (code and code[1] in _BY_CODE):
        return FileNotFoundError(_BODY.sub("", text))
    problem = _problem(text)
    return StoreError(problem or StoreProblem(_BODY.sub("", text)))


def store_problem(error: BaseException) -> StoreProblem | None:
    """None where it is no error of an object store."""
    return error.problem if isinstance(error, StoreError) else _problem(str(error))


def store_hint(error: BaseException) -> str | None:
    problem = store_problem(error)
    return problem.hint if problem else None


def plain_cause(error: BaseException) -> BaseException:
    """To raise another error from: what a store answered may name keys, and traces show causes."""
    problem = store_problem(error)
    return StoreError(problem) if problem else error


def _problem(coloured: str) -> StoreProblem | None:
    text = COLOUR.sub("", coloured)
    code, status, request = _CODE.search(text), _STATUS.search(text), _REQUEST.search(text)
    if code and code[1] in _BY_CODE:
        return StoreProblem(*_BY_CODE[code[1]])
    if (code and code[1] in _ELSEWHERE) or _REDIRECT.search(text):
        return _elsewhere(text)
    if status and status[1] in ("401", "403"):
        return _denied(request[1] if request else "GET", code[1] if code else None)
    if request and _UNREACHED.search(text):
        reason = "refused the connection" if "Connection refused" in text else "cannot be reached"
        return StoreProblem(f"{request[2]} {reason}", "check endpoint_url of the connection and the network")
    if status and int(status[1]) >= 400 and (code or request):
        answer = f"{status[1]} {code[1]}" if code else status[1]
        return StoreProblem(f"the object store answered {answer}", "try again later")
    return None


def _elsewhere(text: str) -> StoreProblem:
    found = _REGION.search(text)
    region = (found[1] or found[2]) if found else None
    where = f"in region {region}" if region else "in another region"
    return StoreProblem(
        f"the bucket is {where}", f'set region = "{region or "…"}" in the connection, or AWS_REGION'
    )


def _denied(method: str, code: str | None) -> StoreProblem:
    what = "read" if method in ("GET", "HEAD") else "delete" if method == "DELETE" else "write"
    told = f" ({code})" if code else ""
    return StoreProblem(f"the object store does not let these credentials {what}{told}", _RIGHTS)
