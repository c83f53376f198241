"""A small catalog that stands in for installed plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.schema import ANY, BOOL, NUMBER, STRING_MAP, STRINGS, Argument, BlockSchema


def _connections() -> dict[str, BlockSchema]:
    aws = BlockSchema(
        (
            Argument("profile"),
            Argument("regions", STRINGS),
            Argument("secret_key", is_secret=True),
            Argument("mode", is_secret=True, choices=("a", "b")),
        )
    )
    return {"aws": aws}


def _sources() -> dict[str, BlockSchema]:
    file = BlockSchema(
        (
            Argument("paths", STRINGS, required=True, description="files, folders or globs"),
            Argument("file_layout"),
            Argument("patterns", STRING_MAP),
        )
    )
    bucket = BlockSchema(
        (Argument("bucket", required=True), Argument("prefix"), Argument("page_size", NUMBER))
    )
    return {"file": file, "aws_s3_bucket": bucket, "command": BlockSchema((Argument("command"),))}


def _formats() -> dict[str, BlockSchema]:
    delimited = BlockSchema(
        (
            Argument("delimiter"),
            Argument("header", BOOL),
            Argument("fields", STRINGS),
            Argument("null_column_char"),
            Argument("field_map", STRING_MAP),
        )
    )
    return {
        "jsonl": BlockSchema((Argument("field_map", STRING_MAP), Argument("extra", ANY))),
        "delimited": delimited,
        "csv": delimited,
        "grok": BlockSchema((Argument("layout", required=True), Argument("patterns", STRING_MAP))),
        "nginx_access_log": BlockSchema((Argument("layout"),)),
    }


@dataclass(frozen=True)
class FakeCatalog:
    connection_types: Mapping[str, BlockSchema] = field(default_factory=_connections)
    source_types: Mapping[str, BlockSchema] = field(default_factory=_sources)
    format_types: Mapping[str, BlockSchema] = field(default_factory=_formats)
    owners: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    table_names: tuple[str, ...] = ("aws_cloudtrail_log", "nginx_access_log", "aws_vpc_flow_log")
    format_presets: Mapping[tuple[str, str], Mapping[str, Any]] = field(
        default_factory=lambda: {("nginx_access_log", "combined"): {"layout": "$remote_addr"}}
    )
