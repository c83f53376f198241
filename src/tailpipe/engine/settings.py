"""Which engine runs the pipeline, and with how much of the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailpipe.config.values import WorkspaceConfig
from tailpipe.errors import UsageError

SPARK, SAIL = "spark", "sail"
ENGINES = (SPARK, SAIL)
DEFAULT_MEMORY_MAX_MB = 2048


@dataclass(frozen=True)
class EngineSettings:
    """`master` and `remote` reach a cluster; without them the engine is embedded.

    `memory_max_mb` is the heap of the embedded JVM; the Python processes beside it stay within 1 GB.
    """

    name: str = SPARK
    master: str | None = None
    remote: str | None = None
    spark_config: Mapping[str, str] = field(default_factory=dict)
    memory_max_mb: int = DEFAULT_MEMORY_MAX_MB
    cores: int = 1
    log_level: str | None = None

    @property
    def is_embedded(self) -> bool:
        return self.master is None and self.remote is None

    @property
    def label(self) -> str:
        return without_token(self.remote) or self.master or {SPARK: "Spark", SAIL: "Sail"}[self.name]


def engine_settings(
    workspace: WorkspaceConfig, environment: Mapping[str, str], flag: str | None = None
) -> EngineSettings:
    """The flag wins over TAILPIPE_ENGINE, which wins over the workspace block."""
    name = flag or environment.get("TAILPIPE_ENGINE") or workspace.engine or SPARK
    if name not in ENGINES:
        raise UsageError(f'engine "{name}" is not known. Known: {", ".join(ENGINES)}.')
    chosen_elsewhere = name != (workspace.engine or SPARK)
    return EngineSettings(
        name=name,
        master=None if chosen_elsewhere else workspace.master,
        remote=None if chosen_elsewhere else workspace.remote,
        spark_config=dict(workspace.spark_config),
        memory_max_mb=workspace.memory_max_mb or DEFAULT_MEMORY_MAX_MB,
        cores=workspace.cores or available_cores(),
        log_level=workspace.log_level,
    )


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def without_token(remote: str | None) -> str:
    """The address of a Spark Connect server as it may be shown: parameters may hold a token."""
    return (remote or "").partition(";")[0].rstrip("/")
