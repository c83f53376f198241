"""Partitions of a configuration in which nothing is wrong."""

from __future__ import annotations

from tailpipe.collect.target import Target, find_targets
from tailpipe.config.report import in_order
from tailpipe.config.values import Config
from tailpipe.errors import ConfigError
from tailpipe.partition_names import Key
from tailpipe.plugins.registry import Registry


def make_targets(config: Config, registry: Registry) -> dict[Key, Target]:
    """Raises ConfigError with every problem."""
    targets, broken = find_targets(config, registry)
    problems = (*config.errors, *(problem for problems in broken.values() for problem in problems))
    if problems:
        raise ConfigError(in_order(problems))
    return targets
