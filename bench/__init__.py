"""Measures the installed `tailpipe`: against plain DuckDB, what known files and many days cost, and a bucket."""

import sys
from pathlib import Path

# The object store is the one that tests run.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
