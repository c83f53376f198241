"""`variable "name" { … }`: the shape of the block; values are the business of `variables`."""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.config.language.syntax import Block
from tailpipe.config.report import Report
from tailpipe.suggest import near_or_all

_ARGUMENTS = ("type", "default", "description")


def check_variables(blocks: Mapping[str, Block], report: Report) -> None:
    for name, block in blocks.items():
        for attribute in block.attributes:
            if attribute.name not in _ARGUMENTS:
                message = f'variable "{name}" has no argument "{attribute.name}"'
                report.error(
                    attribute.position, message, near_or_all(attribute.name, _ARGUMENTS, "arguments")
                )
        for inner in block.blocks:
            report.error(inner.position, f'variable "{name}" has no block "{inner.type}"')
