"""Functions that look at the environment, at files and at paths."""

from __future__ import annotations

import os
from pathlib import Path

from tailpipe.config.functions.function import Function, FunctionError, Surroundings
from tailpipe.config.language.limits import MAX_VALUE_BYTES
from tailpipe.config.regular_file import TooLarge, read_regular_file


def _env(surroundings: Surroundings, name: str, *default: str) -> str:
    value = surroundings.environment.get(name)
    if value is not None:
        return value
    if default:
        return default[0]
    hint = f'set it, or give a default: env("{name}", "…")'
    raise FunctionError(f"the environment variable {name} is not set", 0, hint)


def _below(surroundings: Surroundings, path: str) -> Path:
    return surroundings.folder / _pathexpand(surroundings, path)


def _file(surroundings: Surroundings, path: str) -> str:
    try:
        return read_regular_file(_below(surroundings, path), MAX_VALUE_BYTES).decode()
    except TooLarge:
        raise FunctionError(f"the file {path} is larger than {MAX_VALUE_BYTES >> 20} MiB", 0) from None
    except UnicodeDecodeError:
        raise FunctionError(f"the file {path} is not UTF-8 text", 0) from None
    except OSError as error:
        hint = "paths are relative to the configuration file"
        raise FunctionError(f"cannot read the file {path}: {error.strerror}", 0, hint) from None
    except ValueError:
        raise FunctionError("argument 1 is not a path", 0) from None


def _pathexpand(surroundings: Surroundings, path: str) -> str:
    home = surroundings.environment.get("HOME")
    if path == "~" or path.startswith("~/"):
        return (home or str(Path.home())) + path[1:]
    return path


FUNCTIONS = (
    Function("abspath", "string", lambda here, path: os.path.abspath(_below(here, path)), looks_around=True),
    Function("basename", "string", lambda path: os.path.basename(path.rstrip("/"))),
    Function("dirname", "string", lambda path: os.path.dirname(path.rstrip("/")) or "."),
    Function("env", "string string?", _env, looks_around=True),
    Function("file", "string", _file, looks_around=True),
    Function("fileexists", "string", lambda here, path: _below(here, path).is_file(), looks_around=True),
    Function("pathexpand", "string", _pathexpand, looks_around=True),
)
