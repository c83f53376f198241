"""What lies beside the logs, and sources that break: each costs itself and is named, all else is collected."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import zstandard

from installed import APP_TABLE, Home, line

MOMENT = "2024-06-01T00:00:00Z"
PLUGIN = """
from dataclasses import dataclass
from tailpipe.config.schema import BlockSchema
from tailpipe.plugins.contract import Plugin, SourceType
from tailpipe.sources.artifact import Source

@dataclass(frozen=True)
class Broken(Source):
    name: str
    type: str = "broken"
    def list(self, window):
        return self.undefined
    def open(self, artifact): ...

plugin = Plugin("broken", sources=(SourceType("broken", BlockSchema((), ""), lambda c, _: Broken(c.name)),))
"""


def install_plugin(home: Home) -> Home:
    library = home.folder / "library"
    info = library / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (library / "broken_plugin.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tailpipe.plugins]\nbroken = broken_plugin:plugin\n")
    paths = os.pathsep.join(filter(None, [str(library), os.environ.get("PYTHONPATH")]))
    return replace(home, environment={**home.environment, "PYTHONPATH": paths})


def test_a_source_that_breaks_while_listing_costs_itself_and_is_named(home: Home) -> None:
    home = install_plugin(home)
    home.write("a.jsonl", line(MOMENT))
    home.configure(
        APP_TABLE
        + 'partition "app_log" "a" { source "broken" {} }\n'
        + 'partition "app_log" "b" {\nsource "broken" {}\nsource "file" { paths = ["LOGS"] }\n}\n'
        + 'partition "app_log" "c" { source "file" { paths = ["LOGS", "LOGS/gone"] } }\n'
        + 'partition "app_log" "d" { source "file" { paths = ["LOGS"] } }\n'
    )
    done = home.run("collect", "--from", "2024-01-01", "--output", "json")
    assert done.returncode == 3, done.stderr
    found = {part["partition"][-1]: part for part in json.loads(done.stdout)["partitions"]}
    assert {name: part["rows"]["stored"] for name, part in found.items()} == {"a": 0, "b": 1, "c": 1, "d": 1}
    labels = {name: [failure["label"] for failure in part["failed"]] for name, part in found.items()}
    assert labels == {"a": ["source broken"], "b": ["source broken"], "c": [f"{home.logs}/gone"], "d": []}
    coverage = home.run(
        "coverage", "app_log.b", "--from", "2024-06-01", "--to", "2024-06-01", "--output", "json"
    )
    assert json.loads(coverage.stdout)["partitions"][0]["days"][0]["state"] == "partial"
    planned = home.run("collect", "--dry-run", "--from", "2024-01-01")
    assert planned.returncode == 3
    assert planned.stdout.count("failed: source broken: its listing stopped: AttributeError") == 2


def test_odd_things_beside_logs_are_left_out_and_the_logs_are_collected(home: Home) -> None:
    home.configure(APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }')
    home.write("good.jsonl", line(MOMENT))
    home.write("new\nline\x1b[31m.jsonl", line(MOMENT))
    home.write("x.gz/inner.jsonl", line(MOMENT))
    (home.logs / "itself").symlink_to("itself")
    (home.logs / "gone").symlink_to("nowhere")
    (home.logs / "circle").symlink_to(".")
    os.mkfifo(home.logs / "pipe")
    done = home.run("collect", "--from", "2024-01-01", "--progress=false")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rows in 3 = stored 3 + filtered 0 + rejected 0" in done.stdout
    for reason, name in (
        ("link in a circle", "itself"),
        ("dangling link", "gone"),
        ("not a regular file", "pipe"),
    ):
        assert f"source file: 1 file left out: {reason}, for example {home.logs}/{name}\n" in done.stdout


def test_a_layout_that_matches_nothing_is_the_reason_and_not_the_window(home: Home) -> None:
    home.write("web/a.jsonl", line(MOMENT))
    layout = "%{YEAR:year}-%{MONTHNUM:month}.jsonl"
    source = f'source "file" {{\npaths = ["LOGS"]\nfile_layout = "{layout}"\n}}'
    home.configure(APP_TABLE + f'partition "app_log" "one" {{\n{source}\n}}')
    done = home.run("collect", "--from", "2024-01-01")
    assert "1 listed, 0 matched, 1 do not match the file_layout\n" in done.stdout
    assert f'hint: the file_layout is "{layout}", which is looked for in "web/a.jsonl"\n' in done.stdout
    assert "window" not in done.stdout


def test_folders_outside_the_window_are_the_reason(home: Home) -> None:
    home.write("2024/06/01/a.jsonl", line(MOMENT))
    layout = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/"
    source = f'source "file" {{\npaths = ["LOGS"]\nfile_layout = "{layout}"\n}}'
    home.configure(APP_TABLE + f'partition "app_log" "one" {{\n{source}\n}}')
    done = home.run("collect", "--from", "2024-07-01")
    assert "source file: 0 listed, 1 folder outside the window\n" in done.stdout
    assert "hint: the window is 2024-07-01 00:00 to now; --from and --to choose another\n" in done.stdout


def test_an_empty_folder_is_the_reason(home: Home) -> None:
    home.logs.mkdir()
    home.configure(APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }')
    done = home.run("collect")
    assert "source file: 0 listed\n    hint: there is no file below the paths of the source\n" in done.stdout


def test_what_was_stored_before_is_not_called_outside_the_window(home: Home) -> None:
    home.write("a.jsonl", line(MOMENT) + line("2024-03-01T00:00:00Z"))
    home.configure(APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }')
    home.run("collect", "--from", "2024-05-01")
    done = home.run("collect", "--from", "2024-04-01")
    assert "  1 row stored before\n  1 row outside the window 2024-04-01 00:00 to now\n" in done.stdout
    home.run("collect", "--from", "2024-02-01")
    done = home.run("collect", "--from", "2024-01-01")
    assert "1 listed, 1 known" in done.stdout
    assert "window" not in done.stdout


def test_a_filter_that_drops_everything_is_the_reason(home: Home) -> None:
    home.write("a.jsonl", line(MOMENT))
    home.configure(
        APP_TABLE + 'partition "app_log" "one" {\nfilter = "size > 5"\nsource "file" { paths = ["LOGS"] }\n}'
    )
    done = home.run("collect", "--from", "2024-01-01")
    assert "  every record was dropped by the filter of the partition\n" in done.stdout


def test_the_working_folder_is_taken_only_when_it_is_named(home: Home) -> None:
    config = home.configure(APP_TABLE + 'partition "app_log" "one" { source "file" { paths = [""] } }')
    done = home.run("collect")
    assert done.returncode == 2
    assert f'{config}:8:53: paths: "" is not a path\nhint: ' in done.stderr
    assert not Path(home.data).exists()


def test_packed_files_that_are_odd_cost_themselves(home: Home) -> None:
    good = line(MOMENT).encode()
    home.configure(APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }')
    home.write("good.jsonl", good)
    home.write("tail.jsonl.gz", gzip.compress(good) + b"written by somebody else\n")
    home.write(
        "skipped.jsonl.zst", b"\x50\x2a\x4d\x18\x04\x00\x00\x00\x01\x02\x03\x04" + zstandard.compress(good)
    )
    home.write("empty.zip", zipped({}))
    home.write("secret.zip", encrypted(zipped({"a.jsonl": good})))
    home.write("cut.jsonl.gz", gzip.compress(good)[:-5])
    done = home.run("collect", "--from", "2024-01-01", "--progress=false")
    assert done.returncode == 1
    assert "rows in 4 = stored 3 + filtered 0 + rejected 1" in done.stdout
    assert f'failed: {home.logs}/secret.zip: entry "a.jsonl" of the zip archive is encrypted' in done.stdout
    assert f"failed: {home.logs}/cut.jsonl.gz: gzip stream ends after " in done.stdout
    (reject,) = home.query("select position, raw, records, reason from tailpipe.rejects")
    assert reject == {
        "position": 0,
        "raw": "written by somebody else\n",
        "records": 1,
        "reason": "25 bytes behind the end of the gzip data are of another kind and were not read",
    }
    tried = home.run("rejects", "retry", "--progress=false")
    assert "not tried: 1 reject of which too little was kept" in tried.stdout
    again = home.run("collect", "--from", "2024-01-01", "--progress=false")
    assert "4 known, 2 to read" in again.stdout


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def encrypted(archive: bytes) -> bytes:
    """Only its flags say so, which is all that is looked at."""
    data = bytearray(archive)
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)
