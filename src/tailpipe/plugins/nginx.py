"""nginx."""

from __future__ import annotations

from tailpipe.formats import nginx as layout
from tailpipe.plugins.contract import FormatType, Plugin
from tailpipe.plugins.discover import tables_in
from tailpipe.tables import nginx


def plugin() -> Plugin:
    access_log = FormatType(
        "nginx_access_log", layout.SCHEMA, layout.make, presets={"combined": {"layout": layout.COMBINED}}
    )
    return Plugin("nginx", tables=tables_in(nginx), formats=(access_log,))
