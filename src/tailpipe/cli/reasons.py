"""Why a run stored nothing, and what it left out: the true reason of each source, with an example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailpipe.cli.terminal import counted, say
from tailpipe.collect.listing import Listing
from tailpipe.collect.outcome import PartitionOutcome
from tailpipe.collect.windows import END_OF_TIME
from tailpipe.query.widths import escape_controls
from tailpipe.sources.artifact import SkipReason
from tailpipe.times import Window

# Reasons that are told elsewhere, or that nobody needs to hear of a run that stored something.
_USUAL = frozenset(
    {
        SkipReason.LAYOUT,
        SkipReason.OUTSIDE_WINDOW,
        SkipReason.LATE,
        SkipReason.EXPIRED,
        SkipReason.WAITING,
        SkipReason.EMPTY,
    }
)


def tell(text: str) -> None:
    """One line: a name of a file must not steer the terminal."""
    say(escape_controls(text))


def window_words(window: Window) -> str:
    end = "now" if window.end == END_OF_TIME else window.end.strftime("%Y-%m-%d %H:%M")
    return f"{window.start:%Y-%m-%d %H:%M} to {end}"


def print_unstored(partition: PartitionOutcome) -> None:
    """What became of records that were read and not stored."""
    rows = partition.rows
    if rows.stored_before:
        tell(f"  {counted(rows.stored_before, 'row')} stored before")
    outside = rows.outside - rows.stored_before
    if outside:
        tell(f"  {counted(outside, 'row')} outside the window {window_words(partition.window)}")
        if not rows.stored:
            tell("  hint: --from and --to choose another window")
    if rows.read and rows.filtered == rows.read:
        tell("  every record was dropped by the filter of the partition")
    if partition.done and not rows.read and not any(unit.waiting for unit in partition.done):
        tell("  no records: the artifacts are empty inside")


def print_reasons(listings: Sequence[Listing], window: Window) -> None:
    """A run that stores nothing says why."""
    for listing in listings:
        tell(f"  source {listing.source}: {', '.join(_counts(listing))}")
        for reason in listing.skipped:
            if reason not in _USUAL or reason is SkipReason.LAYOUT:
                tell(f"    for example {listing.skip_examples[reason]}")
        if listing.newest:
            tell(f"    newest: {listing.newest}")
        for hint in _hints(listing, window):
            tell(f"    hint: {hint}")


def _counts(listing: Listing) -> Iterator[str]:
    yield f"{listing.listed:,} listed"
    if listing.matched != listing.listed:
        yield f"{listing.matched:,} matched"
    if listing.known:
        yield f"{listing.known:,} known"
    for reason, count in listing.skipped.items():
        yield f"{count:,} {reason.words}"
    if listing.folders_outside:
        yield f"{counted(listing.folders_outside, 'folder')} outside the window"
    if listing.planned:
        yield f"{listing.planned:,} to read"


def _hints(listing: Listing, window: Window) -> Iterator[str]:
    """Only what keeps everything away is worth a hint: where artifacts are known or read, the source works."""
    if listing.planned or listing.known or listing.failures:
        return
    if listing.skipped.get(SkipReason.OUTSIDE_WINDOW) or listing.folders_outside:
        yield f"the window is {window_words(window)}; --from and --to choose another"
    elif listing.listed == 0:
        yield "there is no file below the paths of the source"
    yield from (hint for reason, hint in listing.skip_hints.items() if listing.skipped.get(reason))


def print_left_out(listing: Listing) -> None:
    """Files that may be logs, and are never read as things are."""
    source = f"  source {listing.source}: "
    unfit = listing.skipped.get(SkipReason.LAYOUT)
    if unfit:
        do_not = "does not" if unfit == 1 else "do not"
        example = listing.skip_examples[SkipReason.LAYOUT]
        tell(f"{source}{counted(unfit, 'file')} {do_not} match the file_layout, for example {example}")
    for reason, count in listing.skipped.items():
        if reason not in _USUAL:
            example = listing.skip_examples[reason]
            tell(f"{source}{counted(count, 'file')} left out: {reason}, for example {example}")
