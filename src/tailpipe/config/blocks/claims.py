"""Types and tables that more than one plugin offers under the same name."""

from __future__ import annotations

from tailpipe.config.report import Report
from tailpipe.config.schema import Catalog
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all


def refuse_claimed(kind: str, name: str, position: Position, catalog: Catalog, report: Report) -> None:
    """A source, format or connection cannot say whose type it means."""
    owners = catalog.owners.get((kind, name), ())
    if len(owners) > 1:
        report.error(position, _claimed(kind, name, owners), "remove one of these packages")


def table_plugin(
    table: str, plugin: str | None, place: Position, catalog: Catalog, report: Report
) -> str | None:
    """The plugin whose table a partition means; None for a table of the configuration.

    Tailpipe's longer names, `turbot/aws@latest`, end in the plugin's own.
    """
    owners = catalog.owners.get(("table", table), ())
    if plugin is None:
        if len(owners) > 1:
            choices = " or ".join(f'plugin = "{owner}"' for owner in owners)
            report.error(place, _claimed("table", table, owners), f"say which: {choices}")
        return None
    name = plugin.rpartition("/")[2].partition("@")[0]
    if name in owners:
        return name
    if owners:
        hint = near_or_all(name, owners, "plugins with this table")
        report.error(place, f'plugin "{plugin}" has no table "{table}"', hint)
    return None


def _claimed(kind: str, name: str, owners: tuple[str, ...]) -> str:
    shown = " and ".join(f'"{owner}"' for owner in owners)
    count = "two" if len(owners) == 2 else str(len(owners))
    return f'{kind} "{name}" is claimed by {count} plugins: {shown}'
