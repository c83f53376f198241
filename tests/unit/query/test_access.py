"""What SQL may do: read the lake, and write nothing unless it was asked to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tailpipe.errors import QueryError
from tailpipe.query.access import Access
from tailpipe.query.connection import load_extension, open_connection
from tailpipe.query.results import run_script


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with a file, and others beside it, one of which only starts with the same name."""
    for name in ("lake", "lake-2", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text("a\n1\n")
    (tmp_path / "lake" / "linked").symlink_to(tmp_path / "other")
    return tmp_path / "lake"


@pytest.fixture
def closed(lake: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, Access]]:
    access = Access(lake)
    with open_connection() as connection:
        load_extension(connection, "delta")
        load_extension(connection, "httpfs")
        access.restrict(connection)
        yield connection, access


def files(lake: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in lake.parent.rglob("*") if path.is_file()}


def run(opened: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str) -> list[object]:
    connection, access = opened
    text = script.replace("LAKE", str(lake)).replace("OUT", str(lake.parent / "other"))
    results = run_script(connection, text, (), access)
    return [row for result in results for batch in result.text_batches() for row in batch]


@pytest.mark.parametrize(
    "script",
    [
        "select * from read_csv('LAKE/rows.csv')",
        "select * from read_csv('LAKE/linked/rows.csv')",
        'create temp table t as select 1; insert into t values (2); update t set "1" = 3; from t',
        "create macro m(x) as x + 1; select m(1)",
        "create view v as select 1; from v; drop view v",
        "set session timezone = 'Europe/Berlin'; set threads = 1; reset threads; pragma memory_limit = '1GB'; select 1",
        "set variable q = 5; select getvariable('q')",
        "use memory; set schema = 'main'; select 1",
        "explain select 1",
        "explain analyze select 1",
        "explain (analyze) select 1",
        "explain (format json) select 1",
        '/* a */ prepare /* b */ "as" as /* copy */ select $1; execute "as"(\'copy x to y\')',
        "with a as (select 1) from a",
        "values (1)",
        "pivot (select 1 as k, 2 as v) on k using sum(v)",
        "begin; select 1; commit",
        "select 'enable_logging(' as query, 1 as copy",
        "show tables; describe select 1; summarize select 1; pragma version",
        "create temp table t as select 1; from query_table('t')",
    ],
)
def test_what_stays_in_the_session_is_allowed(
    closed: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str
) -> None:
    before = files(lake)
    assert run(closed, lake, script)
    assert files(lake) == before


@pytest.mark.parametrize(
    "script",
    [
        "copy (select 1) to 'LAKE/rows.csv'",
        "COPY (select 1) TO 'LAKE/new.parquet' (format parquet)",
        "select 1; copy (select 1) to ('LAKE/' || 'new.csv')",
        "explain analyze copy (select 1) to 'LAKE/new.csv'",
        "explain (analyze) copy (select 1) to 'LAKE/new.csv'",
        "explain /* ( */ analyze -- select\n copy (select 1) to 'LAKE/new.csv'",
        "prepare p as copy (select 1) to $1; execute p('LAKE/new.csv')",
        "explain prepare p as copy (select 1) to 'LAKE/new.csv'",
        "é; copy (select 1) to 'LAKE/new.csv'",
        "export database 'LAKE/new'",
        "attach 'LAKE/new.db'",
        "attach ':memory:' as m",
        "install httpfs",
        "load httpfs",
        "update extensions",
        "call enable_logging(storage = 'file', storage_path = 'LAKE/new')",
        "from enable_logging(storage = 'file', storage_path = 'LAKE/new'); select 1",
        "from \"ENABLE_LOGGING\" /* x */ (storage = 'file', storage_path = 'LAKE/new'); select 1",
        "from system.main.enable_logging(storage = 'file', storage_path = 'LAKE/new'); select 1",
        "from query('from enable_log' || 'ging(storage = ''file'', storage_path = ''LAKE/new'')'); select 1",
        "create macro l() as table from enable_logging(storage = 'file', storage_path = 'LAKE/new'); from l()",
        "set log_query_path = 'LAKE/new.txt'; select 1",
        "set /* threads */ log_query_path = 'LAKE/new.txt'; select 1",
        "set global \"log_query_path\" to 'LAKE/new.txt'; select 1",
        "pragma enable_profiling = 'json'; pragma profiling_output = 'LAKE/new.json'; select 1",
        "set enable_external_access = true",
        "set allowed_directories = ['/']",
        "set temp_directory = 'LAKE/new'",
        "from read_csv('OUT-2/rows.csv')",
        "from read_csv('LAKE-2/rows.csv')",
        "from read_csv('LAKE/../lake-2/rows.csv')",
        "from read_text('/etc/hostname')",
        "from glob('/etc/*')",
        "from '/etc/hostname'",
        "from sniff_csv('/etc/hostname')",
        "from read_parquet('http://127.0.0.1:1/x.parquet')",
        "from delta_scan('http://127.0.0.1:1/x')",
        "from delta_list_files('OUT')",
        "create table t(a int); copy t from '/etc/hostname'",
        "copy (select 1) to '/dev/stdout'",
        "import database 'OUT'",
        "create persistent secret s (type http)",
        "select getenv('HOME')",
    ],
)
def test_what_writes_or_leaves_the_lake_is_refused_and_nothing_runs(
    closed: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str
) -> None:
    before = files(lake)
    with pytest.raises(QueryError):
        run(closed, lake, script)
    assert files(lake) == before


def test_a_refusal_says_what_and_how_to_ask(
    closed: tuple[duckdb.DuckDBPyConnection, Access], lake: Path
) -> None:
    with pytest.raises(QueryError) as copied:
        run(closed, lake, "copy (select 1) to 'LAKE/x'")
    assert str(copied.value) == (
        "COPY is not allowed: a query reads the lake and writes nothing.\n"
        "hint: --allow-external lets SQL read and write what lies outside the lake"
    )
    with pytest.raises(QueryError) as read:
        run(closed, lake, "from read_csv('/etc/passwd')")
    assert str(read.value).startswith(
        '"/etc/passwd" is not in the lake: a query reads the lake and writes nothing.'
    )


@pytest.fixture
def external(lake: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, Access]]:
    access = Access(lake, is_external=True)
    with open_connection(is_external=True) as connection:
        access.restrict(connection)
        yield connection, access


@pytest.mark.parametrize(
    "script",
    [
        "copy (select 1) to 'OUT/new.csv'; from read_csv('OUT/new.csv')",
        "copy (from read_csv('OUT/rows.csv')) to 'OUT/new.parquet'; select 1",
        "attach 'OUT/new.db' as n; create table n.t as select 1; from n.t",
        "export database 'OUT/new'; select 1",
        "prepare p as copy (select 1) to 'OUT/new.csv'; execute p; select 1",
    ],
)
def test_what_was_asked_for_may_write_outside_the_lake(
    external: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str
) -> None:
    before = files(lake)
    assert run(external, lake, script)
    assert len(files(lake)) > len(before)


@pytest.mark.parametrize(
    "script",
    [
        "copy (select 1) to 'LAKE/rows.csv'",
        "copy (select 1) to 'file://LAKE/new.csv'",
        "copy (select 1) to 'OUT/../lake/new.csv'",
        "copy (select 1) to $$LAKE/new.csv$$",
        "copy (select 1) to ('LAKE' || '/new.csv')",
        "prepare p as copy (select 1) to $1; execute p('LAKE/new.csv')",
        "explain analyze copy (select 1) to 'LAKE/new.csv'",
        "attach 'LAKE/new.db'",
        "export database 'LAKE/new'",
        "set log_query_path = 'LAKE/new.txt'",
        "call enable_logging(storage = 'file', storage_path = 'LAKE/new'); select 1",
    ],
)
def test_the_lake_itself_is_never_written(
    external: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str
) -> None:
    before = files(lake)
    with pytest.raises(QueryError):
        run(external, lake, script)
    assert files(lake) == before


def test_large_answers_still_spill(lake: Path) -> None:
    access = Access(lake)
    with open_connection(memory_max_mb=60, cores=2) as connection:
        access.restrict(connection)
        connection.execute("create table t as select i, hash(i)::varchar as h from range(3000000) t(i)")
        assert connection.execute("select count(*) from (from t order by h offset 1)").fetchone() == (
            2999999,
        )
        used = connection.execute("select count(*) from duckdb_temporary_files()").fetchone()
        assert used is not None
        assert used[0] > 0


def test_closing_files_loads_no_large_library(lake: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tailpipe.query.access import Access;"
        "from tailpipe.query.connection import open_connection\n"
        "with open_connection() as connection: Access(Path(sys.argv[1])).restrict(connection)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(lake)], check=True)
