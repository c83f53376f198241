"""Which statements, settings and functions SQL may use. They were looked at for the DuckDB that is required."""

from __future__ import annotations

# They act on tables of the session, which lives in memory.
STATEMENTS = frozenset(
    (
        "SELECT",
        "CREATE",
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE_INTO",
        "DROP",
        "ALTER",
        "EXECUTE",
        "TRANSACTION",
        "VACUUM",
    )
)

# Settings that change answers or the work done for them. Others name files, print, or undo what this module does.
SETTINGS = frozenset(
    (
        "timezone",
        "calendar",
        "default_collation",
        "default_order",
        "default_null_order",
        "null_order",
        "order_by_non_integer_literal",
        "integer_division",
        "ieee_floating_point_ops",
        "old_implicit_casting",
        "scalar_subquery_error_on_multiple_rows",
        "lambda_syntax",
        "pivot_limit",
        "pivot_filter_threshold",
        "max_expression_depth",
        "explain_output",
        "preserve_insertion_order",
        "threads",
        "worker_threads",
        "memory_limit",
        "max_memory",
        "disabled_optimizers",
        "schema",
        "search_path",
    )
)

# Settings that name a file DuckDB writes, or where other names of files begin. No flag opens them.
FILE_SETTINGS = frozenset(
    (
        "log_query_path",
        "profile_output",
        "profiling_output",
        "http_logging_output",
        "logging_storage",
        "secret_directory",
        "home_directory",
    )
)

# Functions that write files without asking which may be written, that turn such writing on, or that read memory by
# address, or name keys. write_blob and copy_dir come with the Delta extension.
NEVER = frozenset(
    (
        "duckdb_secrets",
        "write_blob",
        "copy_dir",
        "write_log",
        "enable_logging",
        "enable_profiling",
        "truncate_duckdb_logs",
        "delta_set_transaction_version",
        "get_delta_test_expression",
        "json_execute_serialized_sql",
        "arrow_scan",
        "arrow_scan_dumb",
        "pandas_scan",
        "python_map_function",
        "seq_scan",
    )
)

# Functions that make SQL of text or open databases, and readers of Delta tables that do not ask DuckDB which files
# may be read.
EXTERNAL = frozenset(
    (
        "query",
        "read_duckdb",
        "delta_scan",
        "delta_list_files",
        "delta_domain_metadata",
        "delta_get_transaction_version",
    )
)
