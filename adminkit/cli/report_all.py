"""adminkit report all: one page of every report."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.operators import PAGE, operators_only
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import clean
from adminkit.render.say import complain, say
from adminkit.render.sink import write_aside
from adminkit.trace.location import find_trace
from adminkit.units import moment

if TYPE_CHECKING:
    from adminkit.render.document import Document
    from adminkit.reports.page import Asked

#: The mode of a new file: it names users.
MODE: Final = 0o640


Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the page to FILE, completely or not at all.")
]
Lang = Annotated[
    options.Language | None, typer.Option("--lang", help="The language of the page. Default: the language of letters.")
]


def report_all(
    html: Html = None,
    lang: Lang = None,
    db: options.Database = None,
    queue: options.Queues = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
) -> None:
    """Write all reports onto one page, with charts. The findings and the changes come first.

    By default, the page begins with this month a year ago. It is one HTML file that has no scripts and loads nothing.
    If a report fails, the page says so, and the exit code is 1.

    Example: adminkit report all --html report.html
    """
    from adminkit.render.figure import need_matplotlib
    from adminkit.render.html_document import document_page
    from adminkit.reports.page import Asked, page

    target = _file(html)
    need_matplotlib()
    when, settings = moment(as_of, time.time()), config.load()
    path = find_trace(db, settings.db)
    operators_only(path, PAGE)
    asked = Asked(
        when.now, str(lang) if lang else settings.feedback.language, settings.report.clusters(cluster or ()),
        queue or (), since, until,
        when.as_of,
    )  # fmt: skip
    with progress("reading the trace", "report") as tick:
        made = page(path, settings, asked, tick=lambda done, of: tick(done, of, done))
    document = made.document if as_of or until or queue else _with_running(made.document, settings, asked)
    with progress("drawing", "section") as tick:
        many = len(document.sections)
        written = document_page(document, None, lambda done: tick(done, many, done))
    write_aside(target, written.encode(), MODE)
    say(f"wrote {target}")
    for one in made.failures:
        complain(f"error: report {one.name}: {clean(' '.join(one.message.split()))}")
        if one.bug is not None:
            for text in traceback.format_exception(one.bug):
                complain("\n".join(clean(line) for line in text.splitlines()))
    if made.failures:
        raise typer.Exit(1)


def _with_running(document: Document, settings: config.Config, asked: Asked) -> Document:
    """The page with the part about running jobs, where this host has Slurm and a source measures them."""
    from adminkit.reports.page_running import with_running
    from adminkit.slurm.cluster import local_cluster
    from adminkit.slurm.gpu_jobs import gpu_jobs
    from adminkit.slurm.process import find
    from adminkit.usage.held import IDLE
    from adminkit.usage.now import measure_to_show

    if not find("squeue"):
        return document
    try:
        cluster = local_cluster()
        if asked.cluster and cluster not in asked.cluster:
            return document
        found, notes = measure_to_show(settings.usage, gpu_jobs(), asked.now)
    except AdminkitError as error:
        say(f"running jobs are left out: {error.message}")
        return document
    return with_running(document, found, IDLE, cluster, notes)


def _file(html: Path | None) -> Path:
    if html is None:
        raise UsageError("no file to write the page to", "name one: adminkit report all --html report.html")
    if str(html) == "-":
        raise UsageError("--html -: the page goes into a file, not to the terminal", "name one: --html report.html")
    if html.is_dir():
        raise UsageError(f"--html {html}: a folder", f"name a file in it: --html {html}/index.html")
    return html
