"""The sentence in an error of the Delta library that a person can use."""

from __future__ import annotations

import re

from tailpipe.lake.store_errors import COLOUR, store_problem

_TRACE = re.compile(r"^\s+0: ", re.MULTILINE)


def delta_message(error: BaseException) -> str:
    """Without colours and traces, causes on one line; what an object store answered in our words."""
    problem = store_problem(error)
    if problem is not None:
        return problem.message
    text = _TRACE.split(COLOUR.sub("", str(error)))[0]
    causes = (line.strip().removeprefix("↳").strip() for line in text.splitlines())
    return ": ".join(cause for cause in causes if cause) or type(error).__name__
