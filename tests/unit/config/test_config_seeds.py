"""Configurations in the words of the first sketches: older spellings still load."""

from __future__ import annotations

from collections.abc import Callable

from tailpipe.config.values import Config

LoadText = Callable[..., Config]

NETWORK_LOGS = """
  table "my_custom_table" {
    column "timestamp" {
      type = "datetime"
    }

    column "src_port" {
      type = "int"
    }

    column "src_ip" {
      type = "cidr"
    }
  }

  collection "my-stuff" {
    type = table.my_custom_table

    source {
      type       = "aws_s3_bucket"
      connection = connection.aws.dev
      bucket     = "my-dev-log-bucket"
      format     = format.jsonl.my_netlogs_jsonl
    }

    source {
      type   = "file"
      paths  = ["csvlgs/*net.csv", formatdate("YYYY-MM-DD", timeadd(timestamp(), "-365d"))]
      format = format.csv.my_netlogs_csv
    }
  }

  connection "aws" "dev" {
    profile = "dev"
  }

  format "jsonl" "my_netlogs_jsonl" {
    field_map  = {
      timestamp  = "ts"
      src_ip     = "from_addr"
    }
  }

  // csv example
  format  "csv" "my_netlogs_csv" {
    fields            = [ timestamp, src_ip, dest_ip ]
  }

  collection "my-other stuff" {
    type = table.my_custom_table
    source "command" {
      command  = "flowpipe pipeline run import_my_flowlogs"
    }
    source_format = {
      type              = "delimited"
      delimiter         = ","
      fields            = [ timestamp, src_ip ]
    }
  }
"""

FLOW_LOGS = r"""
  collection "aws_vpc_flow_log" "dev_s3" {
    source "aws_s3_bucket" {
      connection  = connection.aws.default
      bucket      = "b"
    }
    source "file" {
      paths  = ["x"]
      format = format.jsonl.default
    }
    source_format = format.my_flowlogs
  }

  // vs generic format directives?
  format "my_flowlogs" {
    type              = "delimited" // vs json, jsonl, etc....
    delimiter         = "\s"        // other args are format type specific ?
    null_column_char  =  "-"
    fields = [
      "timestamp",
      "vpc-id",
    ]
  }
"""


def test_network_logs(load_text: LoadText) -> None:
    config = load_text(NETWORK_LOGS)
    assert list(config.partitions) == [
        ("my_custom_table", "my-stuff"),
        ("my_custom_table", "my-other stuff"),
    ]
    bucket, file = config.partitions["my_custom_table", "my-stuff"].sources
    assert bucket.connection is config.connections["aws", "dev"]
    assert bucket.format is not None
    assert bucket.format.arguments["field_map"] == {"timestamp": "ts", "src_ip": "from_addr"}
    assert file.arguments["paths"] == ["csvlgs/*net.csv", "2023-03-06"]
    assert file.format is not None
    assert file.format.arguments["fields"] == ["timestamp", "src_ip", "dest_ip"]
    (command,) = config.partitions["my_custom_table", "my-other stuff"].sources
    assert command.format is not None
    assert (command.format.type, command.format.name) == ("delimited", "inline")
    assert command.format.arguments == {"delimiter": ",", "fields": ["timestamp", "src_ip"]}


def test_flow_logs(load_text: LoadText) -> None:
    config = load_text(FLOW_LOGS)
    bucket, file = config.partitions["aws_vpc_flow_log", "dev_s3"].sources
    assert bucket.format is config.formats["delimited", "my_flowlogs"]
    assert bucket.format.arguments["delimiter"] == r"\s"
    assert file.format is not None
    assert file.format.type == "jsonl"
