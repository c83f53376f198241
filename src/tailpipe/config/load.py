"""Files to configuration, or to everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tailpipe.config.directories import config_files
from tailpipe.config.schema import Catalog
from tailpipe.config.values import Config


def load(
    directories: Sequence[Path],
    catalog: Catalog,
    *,
    environment: Mapping[str, str],
    now: datetime,
) -> Config:
    """Reads every `*.tpc` file; later directories win. Whatever is wrong costs its block and is told in the result.

    Raises ConfigError when there is no file.
    """
    # The parser is loaded here, because the package is imported by everyone who needs a value type.
    from tailpipe.config.declarations import declare
    from tailpipe.config.read import read_files
    from tailpipe.config.report import Report, in_order
    from tailpipe.config.resolve import resolve

    files = config_files(directories)
    report = Report()
    declarations = declare(read_files(files, report), report)
    config = resolve(declarations, catalog, environment, now, report)
    return replace(
        config,
        files=tuple(str(path) for _, path in files),
        problems=in_order(report.problems),
        broken={key: in_order(problems) for key, problems in report.broken.items()},
        lost_texts=tuple(declarations.lost_texts),
    )
