"""Filters and transforms: DuckDB expressions, checked when the configuration is read, evaluated where rows are written.

A value at which DuckDB would stop with an error (a bad cast, an overflow) becomes null, so that one row never ends a
run. This package is imported by executors: what only the driver needs is in `check`.
"""
