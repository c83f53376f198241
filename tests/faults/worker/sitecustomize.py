"""Python loads this by itself when the folder is on its path: workers of Apache Spark meet an incident.

The command finds it too, and nothing happens there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if "pyspark.daemon" in sys.orig_argv:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from steps import install_in_worker, read_incident

    install_in_worker(read_incident(os.environ["WORKER_INCIDENT"]))
