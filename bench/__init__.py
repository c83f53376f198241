"""Measures the installed `tailpipe collect`: against plain DuckDB, and what known files and many days cost."""
