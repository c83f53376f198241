"""`config check` finds every problem in one run: of what is used, of what is not, and of what is broken already."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tailpipe.collect.check import find_problems
from tailpipe.config import load
from tailpipe.plugins.registry import load_registry

ALONE = """
table "alone" {
  column "tp_timestamp" {
    transform = "no_such_1(x)"
  }
  column "b" {
    transform = "1 +"
  }
  column "c" {
    type = "no such"
  }
}
format "regex" "alone" {
  layout = "(("
}
format "grok" "alone" {
  layout = "%{NOPE:x}"
}
source "file" "alone" {
  paths       = ["x"]
  file_layout = "%{NOPE:year}"
}
"""
USED = """
table "used" {
  format = format.regex.bad
  column "tp_timestamp" {
    source = "at"
  }
  column "b" {
    transform = "no_such_2(x)"
  }
}
format "regex" "bad" {
  layout = "(("
}
partition "used" "p" {
  filter   = "no_such_3(x)"
  tp_index = "tp_nope"
  source "file" {
    paths       = ["/x"]
    file_layout = "(("
  }
  source "file" {
    paths = [""]
  }
}
"""
DAMAGED = """
table "damaged" {
  nope = 1
  column "tp_timestamp" {
    transform = "no_such_4(x)"
  }
}
partition "nginx_access_log" "damaged" {
  filtre   = "x"
  filter   = "no_such_5(status)"
  tp_index = "tp_nope"
  source "fil" {
  }
}
"""

HIDING = """
table "hiding" {
  format = {
    type   = "regex"
    layout = "(("
    nope   = 1
  }
  column "tp_timestamp" {
    typ = "timestamp"
  }
  column "b" {
    type = "integr"
  }
  column "tp_date" {
    source = "x"
  }
}
format "regex" "hiding" {
  nope   = 1
  layout = "(("
}
source "file" "hiding" {
  paths  = []
  format = format.nope.x
}
partition "nginx_access_log" "hiding" {
  source "file" {
    paths       = ["x"]
    file_layout = "%{NOPE:x}"
    format      = format.nope.x
  }
}
partition "no_such" "hiding" {
  source "file" {
    paths = []
  }
}
"""
UNKNOWN = """
format "regex" "unknown" {
  layout = var.nope
}
format "regex" "missing" {
  nope = 1
}
source "file" "unknown" {
  paths       = ["x"]
  file_layout = "%{MINE:x}"
  patterns    = var.nope
}
partition "nginx_access_log" "unknown" {
  source "file" {
    nope = 1
  }
}
"""


def places(folder: Path, text: str) -> list[int]:
    (folder / "main.tpc").write_text(text)
    registry = load_registry()
    config = load([folder], registry, environment={}, now=datetime.now(UTC))
    found = [problem.position for problem in find_problems(config, registry)]
    assert found == sorted(position for position in found if position)
    return [position.line for position in found if position]


def test_of_what_nothing_uses(tmp_path: Path) -> None:
    assert places(tmp_path, ALONE) == [4, 7, 10, 14, 17, 21]


def test_of_a_partition(tmp_path: Path) -> None:
    assert places(tmp_path, USED) == [8, 12, 15, 16, 19, 22]


def test_of_blocks_that_are_broken_already(tmp_path: Path) -> None:
    assert places(tmp_path, DAMAGED) == [3, 5, 9, 10, 11, 12]


def test_one_problem_of_a_block_does_not_hide_another(tmp_path: Path) -> None:
    assert places(tmp_path, HIDING) == [5, 6, 9, 12, 14, 19, 20, 23, 24, 29, 30, 33, 35]


def test_what_cannot_be_known_is_not_judged(tmp_path: Path) -> None:
    assert places(tmp_path, UNKNOWN) == [3, 5, 6, 11, 14, 15]


def test_all_together(tmp_path: Path) -> None:
    assert len(places(tmp_path, ALONE + USED + DAMAGED)) == 18


def test_what_is_right_has_none(tmp_path: Path) -> None:
    text = """
table "t" {
  map_fields = ["a*"]
  column "tp_timestamp" {
    transform = "strptime(anything, '%Y')"
  }
}
format "csv" "unused" {
  header = true
}
"""
    assert places(tmp_path, text) == []


def test_a_table_whose_format_lost_an_argument_is_checked_all_the_same(tmp_path: Path) -> None:
    text = """format "regex" "mine" {
  lay${out = "x"
}
table "app_log" {
  format = format.regex.mine
  column "tp_timestamp" { transform = "no_such_9(x)" }
}
"""
    assert places(tmp_path, text)[-1] == 6
