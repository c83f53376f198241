"""Measures the installed `tailpipe collect`: against plain DuckDB on the same files, and what known files and days cost."""
