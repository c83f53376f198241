"""Collect logs with Spark into a lake of Parquet tables; query them with DuckDB."""

__version__ = "0.1.0"
