"""Functions on maps."""

from __future__ import annotations

from typing import Any

from tailpipe.config.functions.function import Function, FunctionError
from tailpipe.suggest import did_you_mean


def _lookup(values: dict[str, Any], key: str, *default: Any) -> Any:
    if key in values:
        return values[key]
    if default:
        return default[0]
    raise FunctionError(
        f'the map has no key "{key}"', 1, did_you_mean(key, values) or "give a third argument"
    )


def _merge(*maps: dict[str, Any] | None) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for place, values in enumerate(maps):
        if values is not None and not isinstance(values, dict):
            raise FunctionError(f"argument {place + 1} must be a map", place)
        merged.update(values or {})
    return merged


def _zipmap(keys: list[str], values: list[Any]) -> dict[str, Any]:
    if len(keys) != len(values):
        raise FunctionError(f"there are {len(keys)} keys for {len(values)} values", 1)
    return dict(zip(keys, values, strict=True))


FUNCTIONS = (
    Function("keys", "map", lambda values: sorted(values)),
    Function("lookup", "map string any?", _lookup),
    Function("merge", "any*", _merge),
    Function("values", "map", lambda values: [values[key] for key in sorted(values)]),
    Function("zipmap", "list(string) list", _zipmap),
)
