from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from config_catalog import FakeCatalog

from tailpipe.config import config_directories, load
from tailpipe.errors import EXIT_USAGE, ConfigError


def test_flags_come_before_the_environment_before_the_install_directory(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).mkdir()
    environment = {
        "HOME": str(tmp_path),
        "TAILPIPE_CONFIG_PATH": os.pathsep.join((str(tmp_path / "c"), "~/d")),
        "TAILPIPE_INSTALL_DIR": "/opt/tailpipe",
    }
    given = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert config_directories(given, environment) == [tmp_path / "a", tmp_path / "b"]
    assert config_directories([], environment) == [tmp_path / "c", tmp_path / "d"]
    del environment["TAILPIPE_CONFIG_PATH"]
    assert config_directories([], environment) == [Path("/opt/tailpipe/config")]
    del environment["TAILPIPE_INSTALL_DIR"]
    assert config_directories([], environment) == [tmp_path / ".tailpipe" / "config"]


def test_a_directory_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config_directories([str(tmp_path / "no")], {})
    assert str(caught.value) == (
        f"--config-path: {tmp_path}/no does not exist\n"
        "hint: name a directory with *.tpc files, or one such file"
    )
    with pytest.raises(ConfigError, match="TAILPIPE_CONFIG_PATH"):
        config_directories([], {"TAILPIPE_CONFIG_PATH": str(tmp_path / "no")})


@pytest.mark.parametrize("exists", [True, False])
def test_no_configuration_at_all(tmp_path: Path, exists: bool) -> None:
    directory = tmp_path / "config"
    if exists:
        directory.mkdir()
        (directory / "notes.txt").write_text("x")
    with pytest.raises(ConfigError) as caught:
        load([directory], FakeCatalog(), environment={}, now=datetime(2024, 1, 1, tzinfo=UTC))
    assert caught.value.exit_code == EXIT_USAGE
    assert f"there is no configuration. Looked for: {directory}/*.tpc" in str(caught.value)
    assert "hint: a file such as main.tpc" in str(caught.value)
