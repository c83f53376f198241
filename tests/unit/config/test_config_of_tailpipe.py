"""Configurations as they are written for the Tailpipe CLI load, with all that is installed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.collect.check import find_problems
from tailpipe.collect.target import find_targets
from tailpipe.config import load
from tailpipe.config.values import Config
from tailpipe.errors import Problem
from tailpipe.plugins.registry import load_registry

WORKSPACES = """
workspace "default" {
  log_level            = "info"
  update_check         = "true"
  memory_max_mb        = 0
  plugin_memory_max_mb = 512
  temp_dir_max_mb      = 2048
}

workspace "staging" {
  base          = workspace.default
  log_level     = "WARN"
  update_check  = false
  memory_max_mb = 1024
}

plugin "aws" {
  memory_max_mb = 512
}
"""
FORMATS = r"""
format "regex" "gateway" {
  layout      = `^(?P<when>\S+ \S+) (?P<client>\S+) (?P<verb>[A-Z]+) (?P<path>\S+) (?P<status>\d{3})`
  description = "lines of the gateway"
}

format "grok" "queue" {
  layout   = `%{TIMESTAMP_ISO8601:time} %{NUMBER:job_id} \[%{ZONE:zone}\] %{GREEDYDATA:text}`
  patterns = {
    "ZONE" = "[a-z]+-[0-9]+"
  }
}

format "delimited" "billing" {
  delimiter = "\t"
  header    = true
}

format "jsonl" "events" {
  description = "one object in each line"
}

format "nginx_access_log" "timed" {
  layout = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "-" "-" $request_time`
}
"""
TABLES = """
table "gateway_log" {
  format     = format.regex.gateway
  null_if    = "-"
  map_fields = ["*"]

  column "tp_timestamp" {
    source = "when"
  }

  column "tp_index" {
    source = "client"
  }

  column "tp_source_ip" {
    source = "client"
  }

  column "status" {
    type        = "integer"
    required    = true
    description = "HTTP status"
  }
}

table "queue_log" {
  column "tp_timestamp" {
    type      = "timestamp"
    required  = true
    transform = "strptime(time, '%Y-%m-%dT%H:%M:%S')"
  }

  column "tp_usernames" {
    transform = "[zone]"
  }

  column "job_id" {
    type    = "ubigint"
    null_if = "0"
  }
}
"""
PARTITIONS = """
partition "gateway_log" "edge" {
  source "file" {
    paths       = ["/srv/gateway"]
    file_layout = `%{DATE_PART}_%{DATA}.log`
    patterns = {
      "DATE_PART": `%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}`
    }
  }
}

partition "queue_log" "all" {
  filter   = "job_id > 0"
  tp_index = "zone"

  source "file" {
    format      = format.grok.queue
    paths       = ["/srv/queue"]
    file_layout = ".log$"
  }
}

partition "nginx_access_log" "timed" {
  plugin = "turbot/nginx@latest"
  filter = "status <> 404"

  source "file" {
    paths  = ["/var/log/nginx"]
    format = format.nginx_access_log.timed
  }
}

partition "aws_cloudtrail_log" "local" {
  tp_index = "recipient_account_id"
  filter   = "not read_only and event_source = 'ec2.amazonaws.com'"

  source "file" {
    paths       = ["/srv/cloudtrail"]
    file_layout = `AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/us-east-1/%{DATA}.json.gz`
  }
}
"""
CONNECTIONS = """
connection "aws" "audit" {
  plugin  = "aws"
  profile = "audit-reader"
}

connection "aws" "default" {
  access_key = "AKIAEXAMPLE"
  secret_key = "not-a-real-key"
}
"""
BUCKET = """
partition "aws_cloudtrail_log" "bucket" {
  source "aws_s3_bucket" {
    connection = connection.aws.audit
    bucket     = "audit"
    prefix     = "AWSLogs/"
  }
}
"""


def loaded(folder: Path, **texts: str) -> tuple[Config, tuple[Problem, ...]]:
    for name, text in texts.items():
        (folder / f"{name}.tpc").write_text(text)
    registry = load_registry()
    config = load([folder], registry, environment={}, now=datetime.now(UTC))
    return config, find_problems(config, registry)


def test_all_of_it(tmp_path: Path) -> None:
    config, problems = loaded(tmp_path, a=WORKSPACES, b=FORMATS, c=TABLES, d=PARTITIONS, e=CONNECTIONS)
    assert problems == ()
    targets, broken = find_targets(config, load_registry())
    assert (len(targets), broken) == (4, {})
    assert targets["gateway_log", "edge"].config.tp_index == "client"
    assert targets["queue_log", "all"].config.tp_index == "zone"
    assert targets["nginx_access_log", "timed"].config.plugin == "nginx"


def test_a_source_that_is_not_installed_costs_its_partition(tmp_path: Path) -> None:
    config, problems = loaded(tmp_path, a=FORMATS, b=TABLES, c=PARTITIONS, d=CONNECTIONS, e=BUCKET)
    assert [problem.message for problem in problems] == [
        'source "aws_s3_bucket" is not installed. Installed: file.'
    ]
    assert len(config.partitions) == 4


def test_a_workspace_takes_from_its_base_what_it_does_not_say(tmp_path: Path) -> None:
    text = """
workspace "default" {
  data_dir = "/srv/lake"
  cores    = 3
  engine   = "sail"
}
workspace "small" {
  base  = workspace.default
  cores = 1
}
workspace "same" {
  base = workspace.small
}
"""
    config, problems = loaded(tmp_path, a=text)
    assert problems == ()
    small, same = config.workspaces["small"], config.workspaces["same"]
    assert (small.cores, small.engine, small.data_dir) == (1, "sail", None)
    assert (same.cores, same.engine, same.name) == (1, "sail", "same")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("workspace.a", 'workspace "a" is based on itself'),
        ("workspace.b", 'workspace "b" is based on itself'),
        ('"b"', 'argument "base" is a workspace, not a string'),
        ("workspace.nope", "workspace.nope does not exist"),
    ],
)
def test_a_base_that_is_none(tmp_path: Path, base: str, message: str) -> None:
    text = f'workspace "a" {{\n  base = {base}\n}}\nworkspace "b" {{\n  base = workspace.a\n}}\n'
    config, problems = loaded(tmp_path, a=text)
    assert [problem.message for problem in problems] == [message]
    assert config.workspaces == {}
