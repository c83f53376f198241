"""Functions on lists and maps. A set is a list of distinct items."""

from __future__ import annotations

from typing import Any

from tailpipe.config.functions.function import Function, FunctionError
from tailpipe.config.language.kinds import BlockReference, identity, is_number, kind, same, with_article
from tailpipe.suggest import did_you_mean

_MAX_RANGE = 100_000


def distinct(items: list[Any]) -> list[Any]:
    unique: dict[Any, Any] = {}
    for item in items:
        unique.setdefault(identity(item), item)
    return list(unique.values())


def _identities(items: list[Any]) -> set[Any]:
    return {identity(item) for item in items}


def _concat(*lists: list[Any]) -> list[Any]:
    return [item for items in lists for item in items]


def _flatten(items: list[Any]) -> list[Any]:
    return _concat(*(_flatten(item) if isinstance(item, list) else [item] for item in items))


def _length(value: Any) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    raise FunctionError(f"argument 1 must be a string, list or map, not {with_article(kind(value))}", 0)


def _contains(items: list[Any], searched: Any) -> bool:
    if isinstance(searched, list | dict | BlockReference):
        return any(same(item, searched) for item in items)
    return any(item == searched and same(item, searched) for item in items)


def _slice(items: list[Any], start: float, end: float) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise FunctionError(f"the range does not lie within the list of {len(items)}", 1)
    return items[int(start) : int(end)]


def _element(items: list[Any], index: float) -> Any:
    """Counts on from the beginning behind the end."""
    if not items:
        raise FunctionError("the list is empty", 0)
    return items[int(index) % len(items)]


def _index(items: list[Any], searched: Any) -> int:
    for place, item in enumerate(items):
        if same(item, searched):
            return place
    raise FunctionError("the list does not hold this value", 1)


def _range(*bounds: float) -> list[int | float]:
    if not 1 <= len(bounds) <= 3:
        raise FunctionError(f"takes 1 to 3 arguments, not {len(bounds)}")
    start, end = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else (1 if end >= start else -1)
    if step == 0:
        raise FunctionError("the step is zero", 2)
    count = max(0, -int(-(end - start) // step))
    if count > _MAX_RANGE:
        raise FunctionError(f"the range holds more than {_MAX_RANGE:,} numbers")
    return [start + at * step for at in range(count)]


def _one(items: list[Any]) -> Any:
    if len(items) > 1:
        raise FunctionError(f"the list holds {len(items)} items", 0)
    return items[0] if items else None


def _sum(items: list[Any]) -> int | float:
    numbers = [item for item in items if is_number(item)]
    if len(numbers) < len(items) or not items:
        raise FunctionError("argument 1 must be a list of numbers", 0)
    return sum(numbers)


def _coalesce(*values: Any) -> Any:
    for value in values:
        if value is not None and value != "":
            return value
    raise FunctionError("all arguments are null or empty")


def _coalescelist(*lists: list[Any]) -> list[Any]:
    for items in lists:
        if items:
            return items
    raise FunctionError("all lists are empty")


def _chunklist(items: list[Any], size: float) -> list[list[Any]]:
    if size < 1:
        raise FunctionError("the size of a chunk is at least 1", 1)
    return [items[at : at + int(size)] for at in range(0, len(items), int(size))]


def _intersection(first: list[Any], *others: list[Any]) -> list[Any]:
    wanted = [_identities(other) for other in others]
    return [item for item in distinct(first) if all(identity(item) in each for each in wanted)]


def _subtract(first: list[Any], second: list[Any]) -> list[Any]:
    unwanted = _identities(second)
    return [item for item in distinct(first) if identity(item) not in unwanted]


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
    Function("alltrue", "list", lambda items: all(item is True for item in items)),
    Function("anytrue", "list", lambda items: any(item is True for item in items)),
    Function("chunklist", "list number", _chunklist),
    Function("coalesce", "any any*", _coalesce),
    Function("coalescelist", "list list*", _coalescelist),
    Function("compact", "list", lambda items: [item for item in items if item not in (None, "")]),
    Function("concat", "list*", _concat),
    Function("contains", "list any", _contains),
    Function("distinct", "list", distinct),
    Function("element", "list number", _element),
    Function("flatten", "list", _flatten),
    Function("index", "list any", _index),
    Function("keys", "map", lambda values: sorted(values)),
    Function("length", "any", _length),
    Function("lookup", "map string any?", _lookup),
    Function("merge", "any*", _merge),
    Function("one", "list", _one),
    Function("range", "number number*", _range),
    Function("reverse", "list", lambda items: items[::-1]),
    Function("setintersection", "list list*", _intersection),
    Function("setsubtract", "list list", _subtract),
    Function("setunion", "list*", lambda *lists: distinct(_concat(*lists))),
    Function("slice", "list number number", _slice),
    Function("sort", "list(string)", sorted),
    Function("sum", "list", _sum),
    Function("values", "map", lambda values: [values[key] for key in sorted(values)]),
    Function("zipmap", "list(string) list", _zipmap),
)
