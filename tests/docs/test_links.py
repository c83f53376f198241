"""Every link inside the repository leads somewhere, and every document can be found from the README."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import ROOT, anchors, documents, links


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_internal_links_exist(path: Path) -> None:
    broken = [link for link in links(path) if "://" not in link and not _exists(path, link)]
    assert not broken


def _exists(path: Path, link: str) -> bool:
    target, _, anchor = link.partition("#")
    file = (path.parent / target).resolve() if target else path
    if not file.exists() or ROOT not in (file, *file.parents):
        return False
    return not anchor or anchor in anchors(file)


def test_every_document_is_reachable_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        targets = [
            (path.parent / link.partition("#")[0]).resolve() for link in links(path) if "://" not in link
        ]
        waiting += [
            target
            for target in targets
            if target.suffix == ".md" and target.exists() and target not in reached
        ]
    assert set(documents()) - reached == set()
