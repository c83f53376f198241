"""The line from files to a Delta table, on both embedded engines: what is stored, counted and refused."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from pipelines import BY_PLACE, BY_RUN, Place, only

CLOUDTRAIL = r"""
locals {
  day = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}"
}
partition "aws_cloudtrail_log" "prod" {
  source "file" {
    paths       = ["LOGS"]
    file_layout = "AWSLogs/%{NUMBER:account}/CloudTrail/%{DATA:region}/${local.day}/%{DATA}.json.gz"
  }
}
"""
NGINX = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS"] }
}
"""
APP = """
table "app_log" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "at" { type = "timestamp" }
  column "level" {}
  column "size" { type = "int" }
}
partition "app_log" "one" {
  source "file" { paths = ["LOGS"] }
}
"""


def event(number: int, time: str, **more: Any) -> dict[str, Any]:
    return {"eventID": f"e{number}", "eventTime": time, "eventName": "GetObject", **more}


def trail(*events: dict[str, Any]) -> str:
    return json.dumps({"Records": list(events)})


def bucket_path(day: str, name: str) -> str:
    return f"AWSLogs/123456789012/CloudTrail/us-east-1/{day.replace('-', '/')}/{name}.json.gz"


def request(time: str, path: str = "/", status: int = 200) -> str:
    return f'10.0.0.1 - - [{time}] "GET {path} HTTP/1.1" {status} 12 "-" "curl/8"\n'


def line(at: str, level: str = "info", size: object = 1) -> str:
    return json.dumps({"at": at, "level": level, "size": size}) + "\n"


def test_one_row_of_each_kind_of_log(place: Place) -> None:
    place.write(bucket_path("2024-06-01", "a"), trail(event(1, "2024-06-01T10:00:00Z", readOnly=True)))
    place.write("nginx/access.log", request("02/Jun/2024:10:00:00 +0200", "/x?y=1", 404))
    place.write("csv/net.csv", 'ts,ip,note\n2024-06-03 01:02:03,10.0.0.9,"a, b"\n')
    place.write("json/app.jsonl", line("2024-06-04T00:00:00.250Z", "warn", 7))
    sources = {
        "aws_cloudtrail_log": "AWSLogs",
        "nginx_access_log": "nginx",
        "net_log": "csv",
        "app_log": "json",
    }
    place.configure(
        """
        table "net_log" {
          format = format.csv.default
          column "tp_timestamp" { source = "ts" }
          column "ip" { type = "inet" }
        }
        table "app_log" {
          format = format.jsonl.default
          column "tp_timestamp" { source = "at" }
          column "size" { type = "int" }
        }
        """
        + "".join(
            f'partition "{table}" "p" {{ source "file" {{ paths = ["LOGS/{folder}"] }} }}\n'
            for table, folder in sources.items()
        )
    )
    outcome = place.collect()
    assert (outcome.rows.read, outcome.rows.stored) == (4, 4)

    trails = place.rows("aws_cloudtrail_log")
    assert only(trails, "event_id", "event_time", "read_only", "tp_date", "aws_region") == [
        ("e1", "2024-06-01T10:00:00", True, "2024-06-01", "")
    ]
    requests = place.rows("nginx_access_log")
    assert only(requests, "status", "request_uri", "tp_timestamp", "http_referer", "tp_ips") == [
        (404, "/x?y=1", "2024-06-02T08:00:00", None, ["10.0.0.1"])
    ]
    nets = place.rows("net_log")
    assert only(nets, "ip", "note", "tp_timestamp") == [("10.0.0.9", "a, b", "2024-06-03T01:02:03")]
    apps = place.rows("app_log")
    assert only(
        apps, "level", "size", "tp_timestamp", "tp_table", "tp_partition", "tp_source_type", "tp_index"
    ) == [("warn", 7, "2024-06-04T00:00:00.250000", "app_log", "p", "file", "default")]
    assert Path(apps[0]["tp_source_location"]) == place.logs / "json/app.jsonl"


def test_collecting_again_adds_nothing(place: Place) -> None:
    for day in ("2024-06-01", "2024-06-02"):
        place.write(bucket_path(day, "a"), trail(event(1, f"{day}T10:00:00Z"), event(2, f"{day}T11:00:00Z")))
    place.configure(CLOUDTRAIL)
    assert place.collect().rows.stored == 4
    first = place.rows("aws_cloudtrail_log")
    version = DeltaTable(str(place.data / "aws_cloudtrail_log")).version()

    again = place.collect()

    assert again.rows.read == 0
    assert place.rows("aws_cloudtrail_log") == first
    assert DeltaTable(str(place.data / "aws_cloudtrail_log")).version() == version
    assert place.plan()[0].units == ()


def test_new_files_of_a_known_day_are_added(place: Place) -> None:
    place.write(bucket_path("2024-06-14", "a"), trail(event(1, "2024-06-14T10:00:00Z")))
    place.configure(CLOUDTRAIL)
    place.collect()
    place.write(bucket_path("2024-06-14", "b"), trail(event(2, "2024-06-14T09:00:00Z")))

    assert place.collect().rows.stored == 1
    assert only(place.rows("aws_cloudtrail_log"), "event_id") == [("e2",), ("e1",)]


def test_first_collection_takes_the_newest_day_first_and_later_ones_the_oldest(place: Place) -> None:
    for day in ("2024-06-01", "2024-06-03", "2024-06-02"):
        place.write(bucket_path(day, "a"), trail(event(1, f"{day}T10:00:00Z")))
    place.configure(CLOUDTRAIL)
    assert [unit.key for unit in place.plan()[0].units] == ["2024-06-03", "2024-06-02", "2024-06-01"]
    place.collect()
    for day in ("2024-06-01", "2024-06-02"):
        place.write(bucket_path(day, "b"), trail(event(2, f"{day}T10:00:00Z")))
    assert [unit.key for unit in place.plan(start="2024-06-01")[0].units] == ["2024-06-01", "2024-06-02"]


def test_a_wider_window_adds_exactly_what_was_missing(place: Place) -> None:
    times = [f"2024-06-{day:02d}T00:00:00Z" for day in range(1, 8)]
    place.write("app.jsonl", "".join(line(time) for time in times) + "not json\n")
    place.configure(APP)

    narrow = place.collect(start="2024-06-03", end="2024-06-04")
    assert (narrow.rows.read, narrow.rows.stored, narrow.rows.outside, narrow.rows.rejected) == (8, 2, 5, 1)
    wider = place.collect(start="2024-06-02", end="2024-06-06")
    assert (wider.rows.read, wider.rows.stored) == (8, 3)
    assert place.collect(start="2024-06-03", end="2024-06-05").rows.read == 0
    assert place.collect(start="2024-06-01").rows.stored == 2
    assert place.collect(start="2024-06-01").rows.read == 0

    assert only(place.rows("app_log"), "tp_timestamp") == [(time[:-1],) for time in times]
    assert len({row["tp_id"] for row in place.rows("app_log")}) == 7
    assert [reject["position"] for reject in place.rejects("app_log")] == [8]


def test_row_ids_are_unique_and_the_same_on_every_collection(place: Place, tmp_path: Path) -> None:
    for name in ("a", "b"):
        place.write(f"{name}.jsonl", line("2024-06-01T00:00:00Z") * 50)
    place.configure(APP)
    place.collect()
    first = place.rows("app_log")
    other = Place(tmp_path / "other", place.session)
    other.configure(APP.replace("LOGS", str(place.logs)))
    other.collect()

    assert other.rows("app_log") == first
    assert len({row["tp_id"] for row in first}) == 100
    assert {len(row["tp_id"]) for row in first} == {20}


def test_equal_files_at_two_places_both_count(place: Place) -> None:
    place.write("a/app.jsonl", line("2024-06-01T00:00:00Z"))
    place.write("b/app.jsonl", line("2024-06-01T00:00:00Z"))
    place.configure(APP)
    assert place.collect().rows.stored == 2


def test_bad_values_are_kept_with_reason_and_place(place: Place) -> None:
    bad = [
        line("2024-06-01T00:00:00Z", size="many"),
        line("yesterday"),
        '{"at": "2024-06-01T00:00:00Z"',
        "[1, 2]\n",
        '{"level": "no time"}\n',
    ]
    place.write(
        "app.jsonl", line("2024-06-01T00:00:00Z") + "\n" + "".join(text.rstrip("\n") + "\n" for text in bad)
    )
    place.configure(APP)

    outcome = place.collect()

    assert (outcome.rows.read, outcome.rows.stored, outcome.rows.rejected) == (6, 1, 5)
    rejects = place.rejects("app_log")
    assert [(reject["file"], reject["position"]) for reject in rejects] == [
        ("app.jsonl", n) for n in range(3, 8)
    ]
    assert [reject["raw"] for reject in rejects] == [text.rstrip("\n") for text in bad]
    reasons = [reject["reason"] for reject in rejects]
    assert reasons[0] == 'size "many" is not a valid INTEGER'
    assert 'at "yesterday" is not a valid TIMESTAMP' in reasons[1]
    assert reasons[2] == "JSON ends in the middle"
    assert reasons[3] == "record is not a JSON object"
    assert reasons[4] == "tp_timestamp is missing"


def test_a_truncated_gzip_fails_only_its_own_day_until_it_is_repaired(place: Place) -> None:
    days = ("2024-06-01", "2024-06-02", "2024-06-03")
    whole = {}
    for number, day in enumerate(days):
        padding = "".join(f"{k:x}" for k in range(20_000))
        path = place.write(bucket_path(day, "a"), trail(event(number, f"{day}T10:00:00Z", userAgent=padding)))
        whole[day] = path.read_bytes()
    other = place.write(bucket_path("2024-06-02", "b"), trail(event(9, "2024-06-02T11:00:00Z")))
    broken = place.logs / bucket_path("2024-06-02", "a")
    broken.write_bytes(whole["2024-06-02"][:-100])
    place.configure(CLOUDTRAIL)

    outcome = place.collect()

    (failure,) = outcome.failed
    assert (failure.label, failure.artifacts) == ("2024-06-02", 2)
    assert str(broken) in failure.message
    assert "gzip stream ends" in failure.message
    assert "Nothing of 2024-06-02 was stored; the day stays pending." in failure.message
    assert only(place.rows("aws_cloudtrail_log"), "event_id") == [("e0",), ("e2",)]

    broken.write_bytes(whole["2024-06-02"])
    again = place.collect()
    assert (again.failed, again.rows.stored) == ((), 2)
    assert other.exists()
    assert only(place.rows("aws_cloudtrail_log"), "event_id") == [("e0",), ("e1",), ("e9",), ("e2",)]


def test_an_undated_broken_file_fails_alone(place: Place) -> None:
    for number in range(4):
        place.write(f"{number}.jsonl.gz", line(f"2024-06-0{number + 1}T00:00:00Z") * 3)
    broken = place.logs / "2.jsonl.gz"
    content = broken.read_bytes()
    broken.write_bytes(content[:-9])
    place.configure(APP)

    outcome = place.collect()

    (failure,) = outcome.failed
    assert failure.label == str(broken)
    assert "Nothing of it was stored." in failure.message
    assert (outcome.rows.read, outcome.rows.stored) == (9, 9)
    broken.write_bytes(content)
    assert place.collect().rows.stored == 3
    assert len({row["tp_id"] for row in place.rows("app_log")}) == 12


def test_archives_give_the_rows_of_their_entries(place: Place) -> None:
    files = {f"{name}.jsonl": line("2024-06-01T00:00:00Z", name) * 2 for name in ("a", "b")}
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("../../escape.jsonl", line("2024-06-01T00:00:00Z", "escaped"))
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    place.write("good.tgz", tarred.getvalue())
    place.write("bad.zip", zipped.getvalue())
    place.configure(APP)

    outcome = place.collect()

    (failure,) = outcome.failed
    assert failure.label.endswith("bad.zip")
    assert "escape.jsonl" in failure.message
    rows = place.rows("app_log")
    assert only(rows, "level") == [("a",), ("a",), ("b",), ("b",)]
    assert len({row["tp_id"] for row in rows}) == 4
    assert not list(place.folder.parent.rglob("escape.jsonl"))


def test_a_filter_keeps_what_it_says_and_counts_the_rest(place: Place) -> None:
    place.write(
        "app.jsonl", "".join(line("2024-06-01T00:00:00Z", level, 5) for level in ("info", "warn", "debug"))
    )
    place.write("more.jsonl", line("2024-06-01T00:00:00Z", "info", 50) + "broken\n")
    text = "filter = \"level <> 'debug' and size < 10 and tp_partition = 'one'\""
    place.configure(APP.replace('partition "app_log" "one" {', f'partition "app_log" "one" {{\n  {text}\n'))

    outcome = place.collect()

    assert (outcome.rows.read, outcome.rows.stored, outcome.rows.filtered, outcome.rows.rejected) == (
        5,
        2,
        2,
        1,
    )
    assert sorted(only(place.rows("app_log"), "level")) == [("info",), ("warn",)]


def test_tp_index_makes_folders_of_any_text(place: Place) -> None:
    names = ["web", "a/b", "../up", "50%", "ü €", "a=b&c", "tab\there", "", None, "x'y\"z", "trailing.", "#?"]
    records = [{"at": "2024-06-01T00:00:00Z", "level": name, "size": 1} for name in names]
    place.write("app.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    place.configure(APP.replace('"one" {', '"one" {\n  tp_index = "level"\n'))

    assert place.collect().rows.stored == len(names)

    rows = place.rows("app_log")
    assert sorted(only(rows, "level", "tp_index"), key=str) == sorted(
        ((name, name or "default") for name in names), key=str
    )
    folders = sorted(path.name for path in (place.data / "app_log" / "tp_partition=one").iterdir())
    assert len(folders) == len(names) - 1
    assert all(folder.startswith("tp_index=") for folder in folders)
    assert {"tp_index=web", "tp_index=a%2Fb", "tp_index=default", "tp_index=50%25"} <= set(folders)


def test_rows_of_a_file_are_sorted_by_time(place: Place) -> None:
    place.write("app.jsonl", "".join(line(f"2024-06-01T00:00:{59 - k:02d}Z") for k in range(60)))
    place.configure(APP)
    place.collect()
    (file,) = DeltaTable(str(place.data / "app_log")).file_uris()
    import pyarrow.parquet as pq

    moments = pq.ParquetFile(file).read(columns=["tp_timestamp"]).column(0).to_pylist()
    assert moments == sorted(moments)
    assert len(moments) == 60


def test_columns_with_null_if_required_transform_and_source(place: Place) -> None:
    place.configure(
        """
        table "t" {
          format     = format.jsonl.default
          null_if    = ["-"]
          map_fields = []
          column "tp_timestamp" { transform = "epoch_ms(CAST(ms AS BIGINT))" }
          column "name" { source = "user.name" }
          column "port" {
            type    = "int"
            null_if = ["none", "0"]
          }
          column "host" { required = true }
          column "loud" { transform = "upper(word) || '!'" }
        }
        partition "t" "p" { source "file" { paths = ["LOGS"] } }
        """
    )
    good = {"ms": 1717200000500, "user": {"name": "ann", "id": 3}, "port": "80", "host": "h", "word": "hey"}
    records = [
        good,
        {**good, "port": "none", "user": None, "word": None},
        {**good, "port": "0", "host": "-"},
        {**good, "port": "-", "unmapped": "x"},
        {**good, "host": None},
        {**good, "port": "http"},
    ]
    place.write("t.jsonl", "".join(json.dumps(record) + "\n" for record in records))

    outcome = place.collect()

    assert (outcome.rows.stored, outcome.rows.rejected) == (3, 3)
    rows = place.rows("t")
    assert sorted(only(rows, "name", "port", "host", "loud"), key=str) == [
        ("ann", 80, "h", "HEY!"),
        ("ann", None, "h", "HEY!"),
        (None, None, "h", None),
    ]
    assert {row["tp_timestamp"] for row in rows} == {"2024-06-01T00:00:00.500000"}
    assert "unmapped" not in rows[0]
    assert [(r["position"], r["reason"]) for r in place.rejects("t")] == [
        (3, "host is missing"),
        (5, "host is missing"),
        (6, 'port "http" is not a valid INTEGER'),
    ]


def test_map_fields_takes_the_fields_that_its_globs_name(place: Place) -> None:
    text = APP.replace(
        "format = format.jsonl.default", 'format = format.jsonl.default\n  map_fields = ["http_*"]'
    )
    place.configure(text)
    record = {"at": "2024-06-01T00:00:00Z", "http_path": "/", "http_code": 200, "other": 1}
    place.write("app.jsonl", json.dumps(record) + "\n")
    place.collect()
    (row,) = place.rows("app_log")
    assert (row["http_path"], row["http_code"]) == ("/", "200")
    assert "other" not in row


def test_two_sources_with_different_formats_fill_one_partition(place: Place) -> None:
    place.write("json/app.jsonl", line("2024-06-01T00:00:00Z", "json", 1))
    place.write("csv/app.csv", "at,level,size,extra\n2024-06-01T00:00:01Z,csv,2,more\n")
    place.configure(
        APP.replace(
            'source "file" { paths = ["LOGS"] }',
            """
            source "file" { paths = ["LOGS/json"] }
            source "file" {
              paths  = ["LOGS/csv"]
              format = format.csv.default
            }
            """,
        )
    )
    assert place.collect().rows.stored == 2
    assert only(place.rows("app_log"), "level", "size", "extra") == [("json", 1, None), ("csv", 2, "more")]
    assert place.collect().rows.read == 0


def test_sources_of_one_day_commit_together_or_not_at_all(place: Place) -> None:
    layout = "file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`"
    place.configure(
        APP.replace(
            'source "file" { paths = ["LOGS"] }',
            "".join(f'source "file" {{\n paths = ["LOGS/{name}"]\n {layout}\n}}\n' for name in ("a", "b")),
        )
    )
    place.write("a/2024-06-01.jsonl", line("2024-06-01T00:00:00Z", "a"))
    place.write("b/2024-06-01.jsonl", b"\x1f\x8b\x08 this is no gzip")
    place.write("b/2024-06-02.jsonl", line("2024-06-02T00:00:00Z", "b"))

    outcome = place.collect()

    assert [failure.label for failure in outcome.failed] == ["2024-06-01"]
    assert only(place.rows("app_log"), "level") == [("b",)]
    place.write("b/2024-06-01.jsonl", line("2024-06-01T00:00:00Z", "mended"))
    assert place.collect().rows.stored == 2


def test_a_new_column_is_added_to_the_table(place: Place) -> None:
    place.write("a.jsonl", line("2024-06-01T00:00:00Z", "old"))
    place.configure(APP)
    place.collect()
    place.write("b.jsonl", json.dumps({"at": "2024-06-02T00:00:00Z", "level": "new", "zone": "z1"}) + "\n")
    assert place.collect().rows.stored == 1
    assert only(place.rows("app_log"), "level", "zone") == [("old", None), ("new", "z1")]


def test_two_partitions_of_a_table_do_not_mix(place: Place) -> None:
    place.write("a/app.jsonl", line("2024-06-01T00:00:00Z", "a"))
    place.write("b/app.jsonl", line("2024-06-01T00:00:00Z", "b"))
    place.configure(
        APP.replace('paths = ["LOGS"]', 'paths = ["LOGS/a"]')
        + 'partition "app_log" "two" { source "file" { paths = ["LOGS/b"] } }'
    )
    assert place.collect("app_log.two").rows.stored == 1
    assert place.collect().rows.stored == 1
    assert only(place.rows("app_log"), "tp_partition", "level") == [("one", "a"), ("two", "b")]


def test_layout_captures_fill_tp_columns_and_odd_names_are_no_trouble(place: Place) -> None:
    place.write("it's #1 ü/2024-06-01.jsonl", line("2024-06-01T05:00:00Z"))
    place.configure(
        APP.replace(
            'source "file" { paths = ["LOGS"] }',
            """source "file" {
              paths = ["LOGS"]
              file_layout = `%{DATA:tp_source_name}/%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
            }""",
        )
    )
    assert place.collect().rows.stored == 1
    (row,) = place.rows("app_log")
    assert row["tp_source_name"] == "it's #1 ü"


def test_text_of_any_kind_survives(place: Place) -> None:
    odd = "ü €\U0001f600 'quoted' \"double\" back\\slash tab\t nul? \u0001 % $1 ${x}"
    place.write("app.jsonl", line("2024-06-01T00:00:00Z", odd))
    place.write("nginx.log", request("01/Jun/2024:00:00:00 +0000", "/%C3%BC?q='a'"))
    place.configure(APP.replace('"LOGS"', '"LOGS/app.jsonl"') + NGINX.replace('"LOGS"', '"LOGS/nginx.log"'))
    place.collect()
    assert only(place.rows("app_log"), "level") == [(odd,)]
    assert only(place.rows("nginx_access_log"), "request_uri") == [("/%C3%BC?q='a'",)]


def test_the_manifest_of_a_commit_tells_what_was_collected(place: Place) -> None:
    from tailpipe.lake.address import TableAddress
    from tailpipe.lake.history import partition_versions, read_manifests, recent_names
    from tailpipe.lake.known import Artifacts
    from tailpipe.records import RowCounts

    path = place.write("app.jsonl", line("2024-06-01T00:00:00Z") * 3 + "bad\n")
    place.configure(APP)
    place.collect(start="2024-05-01")
    location = str(place.data / "app_log")
    address = TableAddress(location)
    names = recent_names(address, "one", partition_versions(address)["one"])
    manifest, of_the_run = read_manifests(address, "one", names)
    (record,) = Artifacts([manifest.rows]).known()
    assert (record.location, record.size_bytes) == (str(path), path.stat().st_size)
    assert record.rows == RowCounts(4, stored=3, rejected=1)
    assert [f"{location}/{file}" for file in manifest.header.files] == DeltaTable(location).file_uris()
    report = of_the_run.header.report
    assert report is not None
    assert (report.units, report.rows, report.stored, report.rejected) == (1, 4, 3, 1)


def test_any_split_of_the_input_gives_the_same_rows(place: Place, tmp_path: Path) -> None:
    lines = [line(f"2024-06-0{1 + k % 3}T00:00:{k:02d}Z", f"l{k}", k) for k in range(40)]
    lines[7], lines[23] = "broken\n", line("2024-06-01T00:00:00Z", size="x")
    seen = []
    for number, cuts in enumerate(([40], [1, 39], [10, 11, 12, 40], list(range(40)))):
        part = Place(tmp_path / str(number), place.session)
        part.configure(APP)
        for start, end in zip([0, *cuts], [*cuts, 40], strict=True):
            if lines[start:end]:
                part.write(f"{start:02d}.jsonl", "".join(lines[start:end]))
        outcome = part.collect()
        assert (outcome.rows.read, outcome.rows.stored, outcome.rows.rejected) == (40, 38, 2)
        seen.append(part.rows("app_log", BY_RUN | BY_PLACE))
    assert all(rows == seen[0] for rows in seen[1:])


def test_gzip_written_in_members_is_read_whole(place: Place) -> None:
    members = [gzip.compress(line(f"2024-06-01T00:00:0{k}Z").encode()) for k in range(3)]
    path = place.write("app.jsonl", b"")
    path.write_bytes(b"".join(members))
    place.configure(APP)
    assert place.collect().rows.stored == 3
