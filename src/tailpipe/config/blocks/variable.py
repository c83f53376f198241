"""`variable "name" { … }`: the shape of the block; values are the business of `variables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailpipe.config.language.syntax import Block
from tailpipe.config.report import Report
from tailpipe.suggest import near_or_all

_ARGUMENTS = ("type", "default", "description")


def check_variables(blocks: Mapping[str, Block], given: Mapping[str, Any], report: Report) -> None:
    for name, block in blocks.items():
        for attribute in block.attributes:
            if attribute.name not in _ARGUMENTS:
                message = f'variable "{name}" has no argument "{attribute.name}"'
                report.error(
                    attribute.position, message, near_or_all(attribute.name, _ARGUMENTS, "arguments")
                )
        for inner in block.blocks:
            report.error(inner.position, f'variable "{name}" has no block "{inner.type}"')
    for name in given:
        if name not in blocks:
            message = f'variable "{name}" is given a value, but no block declares it'
            hint = near_or_all(name, blocks, "variables") or f'add variable "{name}" {{}}'
            report.error(None, message, hint)
