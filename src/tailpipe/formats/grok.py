"""Grok: `%{NAME:field}` expanded to a regular expression that every engine understands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tailpipe.config.schema import Argument, BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, PATTERNS, argument_error, field_map
from tailpipe.formats.grok_patterns import DEFAULT_PATTERNS
from tailpipe.formats.pattern import Pattern, PatternError, normalise
from tailpipe.formats.regex import Regex
from tailpipe.suggest import nearest

SCHEMA = BlockSchema(
    (
        Argument(
            "layout",
            required=True,
            description="Grok pattern whose `%{NAME:field}` parts are the fields; may match anywhere.",
        ),
        PATTERNS,
        FIELD_MAP,
        DESCRIPTION,
    ),
    "Lines that match a grok pattern.",
)

# A type after the field is accepted and not applied: columns carry the types.
_REFERENCE = re.compile(r"%\{([A-Za-z0-9_]+)(?::([^:{}]+))?(?::[a-z0-9_]+)?\}")
_MAX_LENGTH = 200_000


class GrokError(ValueError):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Grok:
    """`own_names` are the fields that the layout itself captures, those inside its patterns left out."""

    pattern: Pattern
    own_names: frozenset[str]


def make(config: FormatConfig) -> Regex:
    try:
        grok = expand(config.arguments["layout"], config.arguments.get("patterns") or {})
    except GrokError as error:
        raise argument_error(config, "layout", str(error), error.hint) from error
    if not grok.pattern.names:
        raise argument_error(
            config,
            "layout",
            "the layout names no field",
            "name parts as %{NAME:field}: they become the fields",
        )
    return Regex(grok.pattern, field_map(config), type="grok")


def expand(layout: str, patterns: Mapping[str, str]) -> Grok:
    """Raises GrokError for unknown names, patterns that use themselves, and what is no regular expression."""
    known = {**DEFAULT_PATTERNS, **patterns}
    text = _expanded(layout, known, ())
    try:
        pattern = normalise(text)
    except PatternError as error:
        raise GrokError(error.message) from error
    own_names = frozenset(match[2] for match in _REFERENCE.finditer(layout) if match[2])
    return Grok(pattern, own_names)


def _expanded(text: str, known: Mapping[str, str], above: tuple[str, ...]) -> str:
    def replacement(reference: re.Match[str]) -> str:
        name, field = reference[1], reference[2]
        if name not in known:
            raise _unknown(name, known)
        if name in above:
            raise GrokError(f"pattern {name} uses itself: {' → '.join([*above, name])}")
        inner = _expanded(known[name], known, (*above, name))
        return f"(?<{field}>{inner})" if field else f"(?:{inner})"

    expanded = _REFERENCE.sub(replacement, text)
    if len(expanded) > _MAX_LENGTH:
        raise GrokError(f"the pattern grows beyond {_MAX_LENGTH:,} characters when expanded")
    return expanded


def _unknown(name: str, known: Mapping[str, str]) -> GrokError:
    near = nearest(name, (key for key in known if not key.startswith("_")))
    hint = f"did you mean {near}?" if near else "define it in patterns, or use one of the built-in names"
    return GrokError(f"grok pattern {name} is not known", hint)
