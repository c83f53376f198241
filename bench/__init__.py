"""Measures the installed `tailpipe collect` against plain DuckDB on the same files, in the same run."""
