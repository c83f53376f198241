"""Which engine is meant, by flag, environment and workspace block."""

from __future__ import annotations

import pytest

from tailpipe.config.values import WorkspaceConfig
from tailpipe.engine.settings import DEFAULT_MEMORY_MAX_MB, EngineSettings, available_cores, engine_settings
from tailpipe.errors import UsageError


@pytest.mark.parametrize(
    ("flag", "variable", "block", "engine"),
    [
        (None, None, None, "spark"),
        (None, None, "sail", "sail"),
        (None, "sail", "spark", "sail"),
        ("spark", "sail", "sail", "spark"),
        (None, "", None, "spark"),
    ],
)
def test_the_flag_wins_over_the_environment_and_that_over_the_block(
    flag: str | None, variable: str | None, block: str | None, engine: str
) -> None:
    environment = {"TAILPIPE_ENGINE": variable} if variable is not None else {}
    assert engine_settings(WorkspaceConfig(engine=block), environment, flag).name == engine


def test_what_the_workspace_says_reaches_the_engine() -> None:
    workspace = WorkspaceConfig(
        master="spark://host:7077", spark_config={"spark.x": "1"}, memory_max_mb=512, cores=3
    )
    settings = engine_settings(workspace, {})
    assert settings == EngineSettings("spark", "spark://host:7077", None, {"spark.x": "1"}, 512, 3)
    assert not settings.is_embedded
    assert settings.label == "spark://host:7077"


def test_without_a_word_the_engine_takes_the_whole_machine_and_a_fixed_heap() -> None:
    settings = engine_settings(WorkspaceConfig(), {})
    assert (settings.cores, settings.memory_max_mb) == (available_cores(), DEFAULT_MEMORY_MAX_MB)
    assert settings.is_embedded
    assert settings.label == "Spark"


def test_a_cluster_belongs_to_the_engine_of_its_block() -> None:
    workspace = WorkspaceConfig(remote="sc://host:15002")
    assert engine_settings(workspace, {}).remote == "sc://host:15002"
    assert engine_settings(workspace, {}, "sail").remote is None


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UsageError, match=r'engine "flink" is not known\. Known: spark, sail\.'):
        engine_settings(WorkspaceConfig(), {}, "flink")


def test_the_name_of_a_server_never_shows_its_token() -> None:
    settings = EngineSettings(remote="sc://host:15002/;token=secret;user_id=a")
    assert settings.label == "sc://host:15002"
    assert EngineSettings().label == "Spark"
