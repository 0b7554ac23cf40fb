"""adminkit demo."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit.errors import AdminkitError
from adminkit.trace.location import data_home

Database = Annotated[
    Path | None, typer.Option("--db", metavar="FILE", help="The trace to make. Default: demo.db beside your own trace.")
]
Text = Annotated[
    Path | None,
    typer.Option("--text", metavar="FILE", help="Also write its jobs as sacct text, which `adminkit import` reads."),
]
Plot = Annotated[bool, typer.Option("--plot/--no-plot", help="Draw the plots in the terminal.")]
Story = Annotated[
    bool,
    typer.Option(
        "--story", help="Two months more: a crowded machine, failures, habits, and a rule from February 2018 on."
    ),
]
Page = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write the report as one HTML page.")]

#: What to try next.
_STUDY: Final = (
    "report parallelism",
    "report accuracy --queue gq --format json",
    "feedback preview --sample --text --as-of 2017-08-15",
)
_STORY: Final = (
    "findings --since 60d --as-of 2018-03-01",
    "findings --kind month --severity good --as-of 2018-03-01",
    "report wait --since 2018-01-01 --plot",
    "report states --since 2018-01-01",
)


def demo(db: Database = None, text: Text = None, story: Story = False, plot: Plot = True, page: Page = None) -> None:
    """Make a synthetic trace that looks like AAIC's (55 127 jobs), and show how accurate its time limits are."""
    from adminkit.cli.report import show
    from adminkit.render.sink import Way
    from adminkit.reports.accuracy import SPEC
    from adminkit.reports.spec import ReportOptions

    path = db or data_home() / "demo.db"
    print("This trace is synthetic: no job in it ever ran. docs/demo.md says how it was made.\n", flush=True)
    make(path, text, story)
    options = ReportOptions(job_class=["single-gpu"])
    show(SPEC, options, path, Way(plot=plot))
    if page:
        show(SPEC, options, path, Way("html", page))
    print("\nTry:", file=sys.stderr)
    for words in _STORY if story else _STUDY:
        print(f"  adminkit {words} --db {path}", file=sys.stderr)


def make(path: Path, text: Path | None = None, story: bool = False) -> None:
    """The demo's trace at `path`, with two months more where `story`. A trace of anything else is left alone."""
    from adminkit.demo import generate
    from adminkit.demo import story as months
    from adminkit.ingest.files import Import, import_stream
    from adminkit.owner import as_owner
    from adminkit.render.sink import write_aside
    from adminkit.stats.sources import jobs_besides_demo
    from adminkit.trace import connect

    if path.exists():
        with connect.reader(path) as trace:
            others = jobs_besides_demo(trace, generate.CLUSTER)
        if others:
            raise AdminkitError(f"{path} holds {others} jobs that are no demo", "name another place with --db")
    rows = b"".join(generate.sacct_text(months.jobs() if story else generate.jobs()))
    if text:
        write_aside(text, rows)
    wanted = Import(
        None, path, generate.CLUSTER, kind="demo", origin="demo", site=generate.SITE, site_since=generate.BEGIN
    )
    with as_owner(path):
        import_stream(wanted, io.BytesIO(rows), int(time.time()))
