"""Which artifacts are looked into for their fields."""

from __future__ import annotations

import pytest

from tailpipe.collect.plan import PlannedArtifact
from tailpipe.collect.sample import spread
from tailpipe.sources.artifact import Artifact


@pytest.mark.parametrize(
    ("total", "count", "chosen"),
    [(0, 3, []), (2, 3, [0, 1]), (3, 3, [0, 1, 2]), (5, 3, [0, 2, 4]), (100, 4, [0, 33, 66, 99])],
)
def test_the_first_the_last_and_some_between(total: int, count: int, chosen: list[int]) -> None:
    artifacts = [PlannedArtifact(0, Artifact(str(number), 1, "v")) for number in range(total)]
    assert [item.artifact.location for item in spread(artifacts, count)] == [str(k) for k in chosen]
