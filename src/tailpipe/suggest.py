"""The nearest right name for a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_MAX_LISTED = 12
# Comparing takes long where names are many or long.
_MOST_COMPARED, _LONGEST = 500, 100


def nearest(wrong: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """In any letter case. `cutoff` is how alike they must be: 1 is the same."""
    if len(wrong) > _LONGEST:
        return None
    fit = (name for name in known if len(name) <= _LONGEST)
    names = {name.lower(): name for name in islice(fit, _MOST_COMPARED)}
    found = get_close_matches(wrong.lower(), names, n=1, cutoff=cutoff)
    return names[found[0]] if found else None


def did_you_mean(wrong: str, known: Iterable[str]) -> str | None:
    name = nearest(wrong, known)
    return f'did you mean "{name}"?' if name else None


def near_or_all(wrong: str, known: Iterable[str], label: str) -> str | None:
    """A hint: the nearest name, else what there is to choose from."""
    names = sorted(known)
    return did_you_mean(wrong, names) or (f"{label}: {listed(names)}" if names else None)


def listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    rest = len(ordered) - _MAX_LISTED
    shown = ", ".join(ordered[:_MAX_LISTED])
    return f"{shown} and {rest} more" if rest > 0 else shown
