"""Quarantine as people read it, or as JSON for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import indent
from typing import Any

from tailpipe.cli.listing import columns
from tailpipe.cli.terminal import counted, say, say_json, size
from tailpipe.lake.quarantine import ReasonCount
from tailpipe.query.widths import escape_controls

NOTHING = "There are no rejects"
_MOST_GROUPS = 20
_MOST_REASON = 160
_MOST_RAW = 2_000


def say_groups(groups: Mapping[str, Sequence[ReasonCount]], form: str) -> None:
    """Counts by reason for each partition."""
    total = sum(group.rejects for counts in groups.values() for group in counts)
    if form == "json":
        found = [group_json(name, group) for name, counts in groups.items() for group in counts]
        say_json({"rejects": total, "groups": found})
        return
    for name, counts in groups.items():
        say(name)
        say_counts(counts, _MOST_GROUPS)
    say(f"total: {counted(total, 'reject')}" if total else f"{NOTHING}.")
    if total:
        say("see: tailpipe rejects show with a partition or an id; tailpipe rejects retry tries them again")


def say_rejects(rejects: Sequence[Mapping[str, Any]], total: int, form: str) -> None:
    """One after another, each with its text."""
    if form == "json":
        say_json({"total": total, "rejects": [_reject_json(reject) for reject in rejects]})
        return
    for reject in rejects:
        _say_reject(reject)
    if not total:
        say(f"{NOTHING} to show.")
    elif len(rejects) < total:
        say(f"{len(rejects):,} of {total:,} rejects; --limit shows more")


def say_counts(counts: Sequence[ReasonCount], most: int) -> None:
    shown = [
        {
            "rejects": group.rejects,
            "source": group.source,
            "example": group.example,
            "reason": _cut(group.reason, _MOST_REASON),
        }
        for group in counts[:most]
    ]
    say(indent(columns(shown), "  "))
    rest = counts[most:]
    if rest:
        rejects = counted(sum(group.rejects for group in rest), "reject")
        say(f"  and {rejects} for {counted(len(rest), 'other reason')}")


def _say_reject(reject: Mapping[str, Any]) -> None:
    raw = reject["raw"] or ""
    entry = f" {reject['entry']}" if reject["entry"] else ""
    lines: Iterable[tuple[str, str]] = [
        ("partition", f"{reject['table_name']}.{reject['partition']}, source {reject['source']}"),
        ("place", f"{reject['artifact']}{entry}:{reject['position']}"),
        ("rejected", reject["rejected_at"].isoformat(sep=" ", timespec="seconds")),
        ("reason", reject["reason"] or ""),
    ]
    say(reject["id"])
    for name, text in lines:
        say(f"  {name:<9}  {escape_controls(text)}")
    note = f"  ({size(len(raw.encode()))} in all)" if len(raw) > _MOST_RAW else ""
    say(f"  {'raw':<9}  {_cut(raw, _MOST_RAW)}{note}")
    say()


def _cut(text: str, most: int) -> str:
    return escape_controls(text if len(text) <= most else f"{text[:most]}…")


def group_json(name: str, group: ReasonCount) -> dict[str, Any]:
    facts = {"partition": name, **vars(group)}
    del facts["kind"]
    return facts


def _reject_json(reject: Mapping[str, Any]) -> dict[str, Any]:
    return {**reject, "rejected_at": f"{reject['rejected_at'].isoformat()}Z"}
