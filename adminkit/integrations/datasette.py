"""The trace in Datasette 0.65: read-only, with numbers of the reports as saved queries and a chart of each.

A chart is an output format of its query, svg: drawn from the rows that the page shows, by what draws the reports.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.integrations.datasette_watch import Watch
from adminkit.job import KEY
from adminkit.quote import quote
from adminkit.render.figure import need_matplotlib, panels
from adminkit.render.report import Bar, Bars, Curves, Heat, Line, Panel, Pictures
from adminkit.sqlite import sqlite3
from adminkit.stats.saved import PARAMETERS, PARAMETERS_HELP, Saved, saved_queries
from adminkit.trace.exposed import READABLE, exposed

#: The name of the trace in addresses: /trace/accuracy.
NAME: Final = "trace"
_PLUGIN: Final = "adminkit"
_TEMPLATES: Final = Path(__file__).parent / "templates"
#: The most bars, or rows of tiles, that a chart has.
MOST_DRAWN: Final = 20
#: Characters of a text in a cell of a page; JSON and CSV have all.
LONGEST_CELL: Final = 2048
_ABOUT: Final = (
    "The runs of one cluster or several: the view run has a row for each, and the saved queries give the numbers of the"
    " reports. Times are epoch seconds, durations seconds. Letters and their addresses, rejected lines and the log of "
    "acts are not shown."
)
#: Trap: rc_context of matplotlib is one for all threads.
_drawing = threading.Lock()


def application(
    path: Path, settings: Config, *, time_limit: float, base_url: str = "/", watch: Watch | None = None
) -> Any:
    """A Datasette of the trace at `path`, which connect.reader() has looked at. AdminkitError where it is missing.

    `time_limit`: seconds for each query. `base_url` is the path below which a proxy has it, with a / at both ends.
    `watch` checks whether queries have ended; the caller starts it.
    """
    try:
        from datasette.app import Datasette
    except ImportError as error:
        raise AdminkitError("serve needs datasette", "pip install 'adminkit[serve]'") from error
    need_matplotlib()
    _quiet()
    queries = saved_queries(settings.report.states, settings.report.min_elapsed, settings.checkpoint.code)
    _register()
    served = Datasette(
        metadata=_metadata(queries),
        template_dir=str(_TEMPLATES),
        settings={
            "sql_time_limit_ms": max(1, round(time_limit * 1000)),
            "default_page_size": 50,
            "default_cache_ttl": 0,
            "allow_download": False,
            "suggest_facets": False,
            "base_url": base_url,
        },
    )
    served.add_database(_database(served, path, watch or Watch(time_limit)), name=NAME)
    served.remove_database("_memory")  # what it makes where it is given no file
    served.adminkit_charts = {one.name: one for one in queries}
    _start_threads(served.executor, served.setting("num_sql_threads"))
    return served


def _start_threads(pool: Executor, count: int) -> None:
    """Trap: a pool starts a thread when the first task needs it, and a process at its bound of memory cannot."""
    together = threading.Barrier(count)
    for task in [pool.submit(together.wait) for _ in range(count)]:
        task.result()


def _quiet() -> None:
    """Trap: where rich is installed, Datasette prints each error, a 404 too, with the values of all variables."""
    from datasette import handle_exception  # trap: before datasette.app it would be registered half made

    handle_exception.rich = None


def _metadata(queries: Sequence[Saved]) -> dict[str, Any]:
    saved = {
        one.name: {
            "sql": one.sql,
            "title": one.title,
            "description": f"{one.help} adminkit report {one.report} has the same numbers. {PARAMETERS_HELP}",
            "params": list(PARAMETERS),
            "hide_sql": True,
            "chart": one.chart.title,
        }
        for one in queries
    }
    return {"title": "adminkit", "databases": {NAME: {"description": _ABOUT, "queries": saved}}}


def _database(served: Any, path: Path, watch: Watch) -> Any:
    from datasette.database import Database

    class Trace(Database):  # type: ignore[misc]  # Datasette has no types
        """The trace, read only through trace/exposed.py."""

        def connect(self, write: bool = False) -> Any:
            if write:
                raise AdminkitError(f"{path} can only be read here", "writing is for sync and import")
            return exposed(path)

        async def primary_keys(self, table: str) -> list[str]:
            # The key's index, and not rowid: what is archived has none, and a link holds where rows move.
            found: list[str] = [*KEY, *(["step"] if table == "step" else [])]
            return found if table in ("job", "step") else await super().primary_keys(table)

        async def execute(self, *args: Any, **named: Any) -> Any:
            # A reader's mistake is shown to the reader; the log would get whatever they typed.
            try:
                return await super().execute(*args, **{**named, "log_sql_errors": False})
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:  # what may not be read; in a table's filter Datasette expects this
                raise sqlite3.OperationalError(str(error)) from error

        async def execute_fn(self, fn: Callable[[Any], Any]) -> Any:
            def watched(db: Any) -> Any:
                with watch.over():
                    return fn(db)

            return await super().execute_fn(watched)

    return Trace(served, path=str(path), is_mutable=True)


def _register() -> None:
    """Datasette has one list of plugins for a process; this one knows its Datasettes by an attribute."""
    from datasette import hookimpl
    from datasette.plugins import pm
    from datasette.utils import is_url
    from datasette.utils.asgi import Response
    from markupsafe import escape

    if pm.has_plugin(_PLUGIN):
        return

    def can_draw(datasette: Any, rows: Sequence[Any], query_name: str | None) -> bool:
        return query_name in getattr(datasette, "adminkit_charts", {}) and bool(rows)

    async def draw(datasette: Any, rows: Sequence[Any], query_name: str | None) -> Any:
        query = getattr(datasette, "adminkit_charts", {}).get(query_name)
        loop = asyncio.get_running_loop()
        svg = await loop.run_in_executor(datasette.executor, drawn, query, rows) if query and rows else None
        return svg and Response(svg, content_type="image/svg+xml; charset=utf-8")

    class Plugin:
        __name__ = _PLUGIN

        @hookimpl  # type: ignore[misc, untyped-decorator, unused-ignore]
        def register_output_renderer(self) -> dict[str, Any]:
            return {"extension": "svg", "render": draw, "can_render": can_draw}

        @hookimpl  # type: ignore[misc, untyped-decorator, unused-ignore]
        def render_cell(self, value: Any, datasette: Any) -> Any:
            # A job may have any name. Datasette makes a link of one that looks like a link; one with characters that
            # are not seen, or that reorder a line, would look like another's.
            if not hasattr(datasette, "adminkit_charts") or not isinstance(value, str):
                return None
            shown = quote(value, LONGEST_CELL)
            return escape(shown) if shown != value or is_url(value.strip()) else None

        @hookimpl  # type: ignore[misc, untyped-decorator, unused-ignore]
        def permission_allowed(self, datasette: Any, action: str, resource: Any) -> bool | None:
            ours = hasattr(datasette, "adminkit_charts") and action == "view-table" and resource[0] == NAME
            return False if ours and resource[1] not in READABLE else None

    pm.register(Plugin(), _PLUGIN)


def drawn(query: Saved, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The chart of a query's rows, as SVG; None where no row has a value."""
    panel = _panel(query, rows)
    if panel is None:
        return None
    with _drawing:
        return panels(Pictures(query.title, "", [panel]))[0]


def _panel(query: Saved, rows: Sequence[Mapping[str, Any]]) -> Panel | None:
    chart = query.chart
    if chart.kind == "curves":
        seconds = [row[chart.names[0]] for row in rows]
        lines = [Line(name.replace("_", " "), seconds, [row[name] for row in rows]) for name in chart.values]
        return Curves(chart.title, "", lines)
    taken = [row for row in rows if any(row[name] is not None for name in chart.values)][:MOST_DRAWN]
    if not taken:
        return None
    names = [_name(row, chart.names, taken) for row in taken]
    counts = [row[chart.count] for row in taken]
    if chart.kind == "heat":
        values = [[row[name] for name in chart.values] for row in taken]
        few = [[count] * len(chart.values) for count in counts]
        return Heat(chart.title, "", "", "", names, chart.values, values, few)
    shares = [row[chart.values[0]] for row in taken]
    if not any(shares):
        return None
    return Bars(chart.title, "", [Bar(*one) for one in zip(names, counts, shares, strict=True)])


def _name(row: Mapping[str, Any], columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """What a row is about; the cluster only where there are several."""
    told = [one for one in columns if one != "cluster" or len({other[one] for other in rows}) > 1]
    return " ".join("(unknown)" if row[one] is None else str(row[one]) for one in told)
