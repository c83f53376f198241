"""Apache Spark runs tasks in processes of their own: one that dies fails its units or is made good, never a part."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from forks import Forks
from ledger import Ledger
from scenarios import COLLECT, Scenario, first_collection
from stages import check_recovery, check_whole, copy_home, make_stage, visible
from steps import AFTER, BEFORE, Incident, Point

from installed import Home

HOOKS = Path(__file__).with_name("worker")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("point", "kind"),
    [
        (Point("read artifact (worker)", 2, BEFORE), "die once"),
        (Point("sync data (worker)", 1, AFTER), "die once"),
        (Point("write rejects (worker)", 1, BEFORE), "die"),
    ],
    ids=str,
)
def test_a_worker_that_dies(forks: Forks, ledger: Ledger, tmp_path: Path, point: Point, kind: str) -> None:
    stage = make_stage(forks, tmp_path / "stage", Scenario("first collection", first_collection))
    copied = copy_home(stage.home, tmp_path / "home")
    sign = tmp_path / "died"
    incident = json.dumps(asdict(Incident(point, kind, str(sign))))
    environment = {"TAILPIPE_ENGINE": "spark", "PYTHONPATH": str(HOOKS), "WORKER_INCIDENT": incident}
    with ledger.entry("Spark's workers", point.name):
        ended = Home(copied.folder, environment).run(*COLLECT)
        if kind == "die once":
            assert sign.exists()
            assert ended.returncode == 0, ended.stderr + ended.stdout
            assert visible(forks, copied) == stage.after
        else:
            assert ended.returncode == 1, ended.stderr + ended.stdout
            (partition,) = json.loads(ended.stdout)["partitions"]
            assert len(partition["failed"]) == 3
            assert visible(forks, copied) == {}
        check_whole(stage, visible(forks, copied))
        check_recovery(forks, stage, copied)
