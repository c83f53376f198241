"""A lake that knows files without holding their rows: what a collection of them would have committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from bench.command import Site
from tailpipe.aws_credentials import AwsConnection
from tailpipe.cli.progress import make_watcher
from tailpipe.collect.outcome import PartitionOutcome, UnitDone
from tailpipe.collect.plan import PartitionPlan, Unit
from tailpipe.collect.run import Collection
from tailpipe.collect.run_report import Ending
from tailpipe.collect.tally import UnitTally
from tailpipe.collect.target import Target, find_targets
from tailpipe.collect.windows import AskedWindow
from tailpipe.config import load
from tailpipe.config.values import WorkspaceConfig
from tailpipe.engine.settings import engine_settings
from tailpipe.lake.address import Lake
from tailpipe.lake.facts import RowsFact
from tailpipe.lake.storage import Storage
from tailpipe.lake.transaction import Change
from tailpipe.plugins.registry import load_registry
from tailpipe.records import Reading
from tailpipe.sources.fingerprint import Watch
from tailpipe.times import day_window

RUN = "bench"


def remember(site: Site, days: Sequence[date]) -> int:
    """Plans as `collect` does, and commits every unit as if it had been read and stored. The number of commits."""
    now = datetime.now(UTC)
    registry = load_registry()
    targets, _ = find_targets(load([site.config], registry, environment={}, now=now), registry)
    (target,) = targets.values()
    asked = AskedWindow(day_window(min(days)).start, day_window(max(days)).end)
    with make_watcher(is_shown=False) as watcher:
        engine = engine_settings(WorkspaceConfig(), {}, "sail")
        collection = Collection(
            targets=[target],
            lake=_lake(site),
            asked=asked,
            engine=engine,
            now=now,
            watcher=watcher,
        )
        (plan,), _ = collection.plan()
    log = collection.log(target)
    log.refresh()
    outcome = PartitionOutcome(target.name, plan.window, plan.listings)
    version = plan.state.version
    for unit in plan.units:
        tally = _tally(target, unit, now)
        version = log.commit(_change(plan, tally), version)
        done = UnitDone(unit, tally.rows, unit.size_bytes, tally.raw_bytes, 0, 0, frozenset())
        outcome = replace(outcome, done=(*outcome.done, done))
    Ending(plan, outcome, RUN, engine.name, now, datetime.now(UTC), log.version(target.config.name)).leave(
        log
    )
    return len(plan.units)


def _lake(site: Site) -> Lake:
    if site.data_uri is None:
        return Lake(site.lake)
    words = ("access_key_id", "secret_access_key", "region", "endpoint_url")
    key, secret, region, endpoint = (site.environment[f"AWS_{word.upper()}"] for word in words)
    said = {"access_key": key, "secret_key": secret, "region": region, "endpoint_url": endpoint}
    return Lake(site.lake, Storage(AwsConnection.of({**said, "s3_force_path_style": True})))


def _change(plan: PartitionPlan, tally: UnitTally) -> Change:
    return Change(
        partition=plan.target.config.name,
        kind="collect",
        unit=tally.unit.key,
        run=RUN,
        artifacts=tuple(tally.known.values()),
        asked=plan.asked,
    )


def _tally(target: Target, unit: Unit, now: datetime) -> UnitTally:
    tally = UnitTally(target, unit, RUN, now)
    for planned in unit.artifacts:
        data = Path(planned.artifact.location).read_bytes()
        read, moment = _reading(data), _moment(data)
        tally.add(planned, read, RowsFact(0, read.rows, 0, 0, moment, moment))
    return tally


def _reading(data: bytes) -> Reading:
    watch = Watch()
    watch.see(data)
    end = watch.mark()
    return Reading(end.position, end.offset, end)


def _moment(data: bytes) -> int:
    """Of the first line of an access log, in microseconds since 1970."""
    text = data[data.index(b"[") + 1 : data.index(b"]")].decode()
    return int(datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp()) * 1_000_000
