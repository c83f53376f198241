"""The one sentence in an error of an engine or a source that a person can use."""

from __future__ import annotations

import re

from tailpipe.errors import TailpipeError, told

_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt)|Arrow\w+): (.+)$", re.MULTILINE)
_SYSTEM_ERROR = re.compile(r"^(?:\w+\.)*\w+Error: (.*\[errno \d+\] .+)$", re.MULTILINE | re.IGNORECASE)
# Numbers, and Arrow's words around the cause; it names a file only where it could not make one.
_AROUND_CAUSE = re.compile(
    r"\[errno \d+\] |Error (writing|reading) bytes (to|from) file\. Detail: ", re.IGNORECASE
)
_OUR_ERRORS = re.compile(r"^tailpipe\.errors\.\w+: (.+)$", re.MULTILINE)


def engine_message(error: BaseException) -> str:
    """Errors of tasks arrive as text with traces of two languages; the cause is the last Python error in it."""
    text = str(error)
    if "java.lang.StackOverflowError" in text:
        return "a record is too long for the regular expressions that read it: Spark's stack is full"
    ours = _OUR_ERRORS.findall(text)
    if ours:
        return str(ours[-1]).strip()
    refused = _SYSTEM_ERROR.findall(text)
    if refused:
        return f"a file could not be written or read: {_AROUND_CAUSE.sub('', refused[-1]).strip()}"
    found = [(name, message) for name, message in _PYTHON_ERROR.findall(text) if "Traceback" not in message]
    if found:
        name, message = found[-1]
        return f"the engine stopped: {name}: {message.strip()}"
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return f"the engine stopped: {first}"


def listing_message(error: Exception) -> str:
    """Why a source could not be listed. What is no error of ours or of the system is a defect of the source."""
    if isinstance(error, TailpipeError | OSError):
        return told(error)
    return (
        f"its listing stopped: {type(error).__name__}: {error}\n"
        "hint: this is a defect of the source's plugin; report it to its author"
    )
