"""What vacuum and --purge tell of the files that went."""

from __future__ import annotations

from collections.abc import Sequence

from tailpipe.cli.terminal import counted, note, size
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL
from tailpipe.lake.kinds import Kind
from tailpipe.lake.sweep import Freed

_MOST_NAMED = 20


def freed_line(freed: Freed) -> str:
    """`12 data files (3.4 MB), 4 log files (8 kB)`."""
    return ", ".join(_words(freed, kind) for kind in Kind if kind in freed.files)


def freed_facts(freed: Freed) -> dict[str, object]:
    return {
        "files": sum(freed.files.values()),
        "size_bytes": sum(freed.size_bytes.values()),
        "kinds": {
            kind.value: {"files": freed.files.get(kind, 0), "size_bytes": freed.size_bytes.get(kind, 0)}
            for kind in Kind
        },
        "left": freed.left,
    }


def say_left(name: str, left: Sequence[str]) -> None:
    """Files that are still on the disk."""
    for path in left[:_MOST_NAMED]:
        note(f"{name}: {path} cannot be removed")
    if len(left) > _MOST_NAMED:
        note(f"{name}: {counted(len(left) - _MOST_NAMED, 'more file')} cannot be removed")


def purged_words(name: str, freed: Freed) -> tuple[str, int]:
    """What --purge did as a sentence, and the exit code for it; the rest goes to standard error."""
    say_left(name, freed.left)
    if freed.undecided:
        files = counted(freed.undecided, "file")
        note(
            f"{name}: left on the disk: {files} of the last day that no commit names, which a command that runs "
            "now may have written. tailpipe vacuum removes what is older"
        )
    nothing = "nothing purged" if freed.left or freed.undecided else "nothing to purge"
    said = f"{freed_line(freed)} purged" if freed.files else nothing
    return f"{name}: {said}", EXIT_PARTIAL if freed.left else EXIT_DONE


def _words(freed: Freed, kind: Kind) -> str:
    noun = {Kind.REJECTS: "reject", Kind.MANIFESTS: "manifest"}.get(kind, kind.value)
    return f"{counted(freed.files[kind], f'{noun} file')} ({size(freed.size_bytes[kind])})"
