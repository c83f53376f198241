"""Where configuration files are looked for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailpipe.errors import ConfigError, Problem, UsageError

FILE_SUFFIX = ".tpc"
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_EXAMPLE = """a file such as main.tpc there could hold
  partition "nginx_access_log" "web" {
    source "file" {
      paths = ["/var/log/nginx/*"]
    }
  }"""


def config_directories(config_paths: Sequence[str], environment: Mapping[str, str]) -> list[Path]:
    """The directories (or single files) to read, later ones win.

    `config_paths` from the command line come before TAILPIPE_CONFIG_PATH, that before the install directory.
    Raises ConfigError if one that was named does not exist.
    """
    named = [path for path in config_paths if path]
    origin = "--config-path"
    if not named:
        named = [path for path in environment.get("TAILPIPE_CONFIG_PATH", "").split(os.pathsep) if path]
        origin = "TAILPIPE_CONFIG_PATH"
    if not named:
        return [install_directory(environment) / "config"]
    paths = [expanded(path, environment) for path in named]
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise ConfigError([_missing(path, origin) for path in missing])
    return paths


def install_directory(environment: Mapping[str, str]) -> Path:
    named = environment.get("TAILPIPE_INSTALL_DIR")
    found = path_problem(named) if named else None
    if found:
        raise UsageError(f"TAILPIPE_INSTALL_DIR {found[0]}", found[1])
    return expanded(named or "~/.tailpipe", environment)


def path_problem(text: str) -> tuple[str, str] | None:
    """Why a text cannot name a folder of this machine, and what to write instead."""
    scheme = SCHEME.match(text)
    if scheme and scheme[1].lower() == "file":
        return f'is a URL, not a path: "{text}"', f"write {text[scheme.end() :] or '/…'}"
    if scheme:
        return f'is not a folder of this machine: "{text}"', "name one, such as /var/lib/tailpipe"
    if not text.strip():
        return "is empty", "name a folder, or leave it out for the default"
    if "\0" in text:
        return "holds a NUL character, which no path can", "remove it"
    try:
        Path(text).expanduser()
    except RuntimeError:
        return f'names a home folder that does not exist: "{text}"', "write ~/… or a whole path"
    return None


def config_files(directories: Sequence[Path]) -> list[tuple[int, Path]]:
    """Every file with the number of the directory it comes from. Raises ConfigError when there is none."""
    files = [(layer, path) for layer, directory in enumerate(directories) for path in _files_of(directory)]
    if not files:
        places = ", ".join(f"{directory}/*{FILE_SUFFIX}" for directory in directories) or "nowhere"
        raise ConfigError([Problem(f"there is no configuration. Looked for: {places}", hint=_EXAMPLE)])
    return files


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        found = [file for file in path.iterdir() if file.suffix == FILE_SUFFIX]
        return sorted(found, key=lambda file: file.name)
    return [path] if path.is_file() else []


def expanded(path: str, environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return Path(home + path[1:])
    return Path(path).expanduser()


def _missing(path: Path, origin: str) -> Problem:
    return Problem(
        f"{origin}: {path} does not exist",
        hint=f"name a directory with *{FILE_SUFFIX} files, or one such file",
    )
