"""What SQL may do: read the lake, and write nothing unless it was asked to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tailpipe.errors import QueryError
from tailpipe.lake.address import Lake
from tailpipe.query.access import Access
from tailpipe.query.connection import load_extension, open_connection
from tailpipe.query.permissions import EXTERNAL, NEVER
from tailpipe.query.results import run_script


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with a file, and others beside it, one of which only starts with the same name."""
    for name in ("lake", "lake-2", "other", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text("a\n1\n")
    (tmp_path / "lake" / "linked").symlink_to(tmp_path / "other")
    return tmp_path / "lake"


@pytest.fixture
def closed(lake: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, Access]]:
    access = Access(Lake(str(lake)))
    with open_connection() as connection:
        load_extension(connection, "delta")
        load_extension(connection, "httpfs")
        access.restrict(connection)
        yield connection, access


def files(lake: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in lake.parent.rglob("*") if path.is_file()}


def run(opened: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str) -> list[object]:
    connection, access = opened
    text = script.replace("LAKE", str(lake)).replace("OUT", str(lake.parent / "out"))
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
        "create temp table secret(a int); drop table secret; create or replace view secret as select 1; from secret",
        "select 'enable_logging(' as query, 1 as copy",
        "show tables; describe select 1; summarize select 1; pragma version",
        "create temp table t as select 1; from query_table('t')",
        "select\u00a01\u3000as x",
        "pivot (select 'é' as k, 2 as v) on k using sum(v)",
        "from range(2); from duckdb_settings(); from json_each('[1]'); from glob('LAKE/*')",
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
        "create secret (type s3, key_id 'a', secret 'b')",
        "create /* table */ or replace secret s (type s3)",
        'create temporary "SECRET" if not exists s (type s3)',
        "create or replace persistent secret s in local_file (type s3)",
        "drop secret tailpipe_lake",
        "drop persistent secret if exists tailpipe_lake from local_file",
        "explain analyze drop secret tailpipe_lake",
        "from duckdb_secrets()",
        "from duckdb_secrets(redact = false)",
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
        "from read_csv('OUT/rows.csv')",
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
        "from enable_profiling(format = 'json', save_location = 'LAKE/new.json'); select 1",
        "from enable_profiling(format = 'json', save_location = 'OUT/new.json'); select 1",
        "call enable_profiling(format = 'json', save_location = 'LAKE/new.json'); select 1",
        "select write_blob('LAKE/rows.csv', 'x')",
        "select write_blob('OUT/new', 'x')",
        "select ('OUT/new').write_blob('x')",
        "select list_transform(['OUT/new'], lambda x: write_blob(x, 'x'))",
        "from copy_dir('LAKE', 'OUT/new')",
        "from read_duckdb('LAKE/new.db', table_name = 't')",
        "select\u00a0write_blob('OUT/new', 'x')",
        "select \ufeffwrite_blob\u3000('OUT/new', 'x')",
        "select\u00a0E'\\'', write_blob('OUT/new', 'x') --'",
        "pivot\u00a0(select\u00a0write_blob('OUT/new', 'x') as k, 2 as v) on k using sum(v)",
        "explain\u00a0analyze\u00a0copy (select 1) to 'OUT/new.csv'",
        "set\u00a0log_query_path = 'LAKE/new.txt'; select 1",
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
    access = Access(Lake(str(lake)), is_external=True)
    with open_connection(is_external=True) as connection:
        load_extension(connection, "delta")
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
        "copy (from read_csv('LAKE/rows.csv')) to 'OUT/new.csv' (delimiter E'\\t'); select 1",
        "create table t as from read_csv('LAKE/rows.csv'); copy t to 'OUT/new.csv' /* it */; from t",
        "create table t (a int); copy t from 'LAKE/rows.csv'; copy t to 'OUT/new.csv'; from t",
        "set variable p = 'LAKE/rows.csv'; copy (from read_csv(getvariable('p'))) to 'OUT/n.csv'; select 1",
        "copy (select 1 as a, 2 as b) to 'OUT/new' (partition_by (a), filename_pattern 'f_{i}'); select 1",
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
        "copy (select 1) to 'LAKE/linked/new.csv'",
        "copy (select 1) to E'OUT/../l\\x61ke/new.csv'",
        "copy (select 1) to 'OUT/../la'\n'ke/new.csv'",
        "copy (select 1) to 'OUT/../la' -- x\n 'ke/new.csv'",
        "copy (select 1) to 'file://localhostLAKE/new.csv'",
        "copy (select 1 as a) to 'OUT/new' (partition_by (a), filename_pattern '../../../lake/new_{i}')",
        "set home_directory = 'LAKE/..'; copy (select 1) to '~/lake/new.csv'",
        "attach 'duckdb:LAKE/new.db' as n",
        "attach E'OUT/../l\\x61ke/new.db' as n",
        'set log_query_path = "LAKE/new.txt"; select 1',
        'set temp_directory = "LAKE/new"; select 1',
        "set secret_directory = \"LAKE/new\"; create persistent secret s (type http, bearer_token 'x')",
        "from enable_profiling(format = 'json', save_location = 'LAKE/new.json'); select 1",
        "select write_blob('LAKE/new', 'x')",
    ],
)
def test_the_lake_itself_is_never_written(
    external: tuple[duckdb.DuckDBPyConnection, Access], lake: Path, script: str
) -> None:
    before = files(lake)
    with pytest.raises(QueryError):
        run(external, lake, script)
    assert files(lake) == before


# Looked at: they read what DuckDB lets them read, or act on the session alone.
READERS = """
    checkpoint disable_logging disable_profiling duckdb_approx_database_count duckdb_columns duckdb_connection_count
    duckdb_constraints duckdb_coordinate_systems duckdb_databases duckdb_dependencies duckdb_extensions
    duckdb_external_file_cache duckdb_functions duckdb_indexes duckdb_keywords duckdb_log_contexts duckdb_logs
    duckdb_logs_parsed duckdb_memory duckdb_optimizers duckdb_prepared_statements duckdb_profiling_settings
    duckdb_schemas duckdb_secret_types duckdb_sequences duckdb_settings duckdb_table_sample
    duckdb_tables duckdb_temporary_files duckdb_types duckdb_variables duckdb_views force_checkpoint generate_series
    glob histogram histogram_values icu_calendar_names json_each json_tree parquet_bloom_probe parquet_file_metadata
    parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan parquet_schema pg_timezone_names
    pragma_collations pragma_database_size pragma_metadata_info pragma_platform pragma_show pragma_storage_info
    pragma_table_info pragma_user_agent pragma_version query_table range read_blob read_csv read_csv_auto read_json
    read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects
    read_parquet read_text repeat repeat_row sniff_csv summary test_all_types test_vector_types unnest which_secret
    delta_filter_pushdown_log delta_filter_pushdown_log_tpcds parse_delta_filter_logline
    broadcast family host html_escape html_unescape netmask network <<= >>=
    current_connection_id current_query current_query_id current_transaction_id currval error gen_random_uuid nextval
    random setseed sleep_ms stats uuid uuidv4 uuidv7
"""


def test_every_function_that_may_have_an_effect_was_looked_at() -> None:
    """Functions of tables, those that DuckDB calls volatile, and all that the extensions bring."""
    names = "select function_name from duckdb_functions()"
    with open_connection() as connection:
        own = set(connection.execute(names).fetchall())
        for extension in ("delta", "inet", "httpfs"):
            load_extension(connection, extension)
        brought = set(connection.execute(names).fetchall()) - own
        acting = connection.execute(
            f"{names} where function_type in ('table', 'table_macro')"
            " or (function_type = 'scalar' and has_side_effects)"
        ).fetchall()
    found = {str(name) for (name,) in brought.union(acting)}
    readers = set(READERS.split())
    assert found == readers | NEVER | EXTERNAL
    assert not readers & (NEVER | EXTERNAL)


def test_large_answers_still_spill(lake: Path) -> None:
    access = Access(Lake(str(lake)))
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
        "import sys; from tailpipe.lake.address import Lake; from tailpipe.query.access import Access;"
        "from tailpipe.query.connection import open_connection\n"
        "with open_connection() as connection: Access(Lake(sys.argv[1])).restrict(connection)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(lake)], check=True)
