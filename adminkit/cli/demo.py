"""adminkit demo."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit.errors import AdminkitError, UsageError
from adminkit.render.say import put, say
from adminkit.trace.location import data_home

if TYPE_CHECKING:
    from adminkit.slurm.site import Site

Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="The trace to make. Default: demo.db, story.db or look-alike.db, next to your own trace.",
    ),
]
Text = Annotated[
    Path | None,
    typer.Option(
        "--text", metavar="FILE", help="Also write the trace's jobs as sacct text, which `adminkit import` reads."
    ),
]
Plot = Annotated[bool, typer.Option("--plot/--no-plot", help="Draw the plots in the terminal.")]
Story = Annotated[
    bool,
    typer.Option(
        "--story",
        help="Add two months with a crowded machine, failures, habits and a rule, then four weeks with energy data.",
    ),
]
Fit = Annotated[
    Path | None,
    typer.Option(
        "--fit", metavar="TRACE", help="Make a look-alike of this trace instead: similar jobs, without names."
    ),
]
Many = Annotated[
    int | None, typer.Option("--jobs", min=200, help="With --fit: the number of jobs. Default: that of the trace.")
]
Seed = Annotated[
    int, typer.Option("--seed", help="With --fit: the random seed; a different seed makes different jobs.")
]
KeepQueues = Annotated[bool, typer.Option("--keep-queues", help="With --fit: keep the queues' names.")]
Clusters = Annotated[
    str | None, typer.Option("--cluster", "-M", metavar="NAME", help="With --fit: the cluster to copy.")
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
    "report energy --since 2018-03-18 --until 2018-04-15",
    "recommend gpus --user user002 --name resnet_whole.sh --as-of 2018-04-15",
    "report wait --since 2018-04-15 --by hour",
    "findings --kind images --since 15d --as-of 2018-05-01",
    "report frameworks --since 2018-04-15 --by container",
)


def demo(
    db: Database = None,
    text: Text = None,
    story: Story = False,
    fit: Fit = None,
    jobs: Many = None,
    seed: Seed = 2018,
    keep_queues: KeepQueues = False,
    cluster: Clusters = None,
    plot: Plot = True,
    page: Page = None,
) -> None:
    """Make a synthetic trace of a GPU cluster, to try adminkit. It resembles the trace of AAIC's cluster (55,127
    jobs). Also shows how accurate the jobs' time limits are.

    Example: adminkit demo --db demo.db --plot
    """
    if fit:
        if story or page:
            raise UsageError(
                "--story and --page describe another trace than --fit makes", "leave out --story and --page"
            )
        look_alike(fit, db or data_home() / "look-alike.db", text, (jobs, seed, keep_queues, cluster))
        return
    if jobs is not None or keep_queues or cluster or seed != 2018:
        raise UsageError("--jobs, --seed, --keep-queues and --cluster need --fit", "name a trace: --fit TRACE")
    from adminkit.cli.report import show
    from adminkit.render.sink import Way
    from adminkit.reports.accuracy import SPEC
    from adminkit.reports.spec import ReportOptions

    path = db or data_home() / ("story.db" if story else "demo.db")
    put("This trace is synthetic: no job in it ever ran. docs/demo.md says how it was made.\n")
    make(path, text, story)
    options = ReportOptions(job_class=["single-gpu"])
    show(SPEC, options, path, Way(plot=plot))
    if page:
        show(SPEC, options, path, Way("html", page))
    say("\nTry:")
    for words in _STORY if story else _STUDY:
        say(f"  adminkit {words} --db {path}")


def look_alike(trace: Path, path: Path, text: Path | None, how: tuple[int | None, int, bool, str | None]) -> None:
    """A look-alike of `trace` at `path`; `how`: jobs, seed, whether queues keep their names, which cluster."""
    from adminkit.cli.operators import operators_only
    from adminkit.config import load
    from adminkit.demo import fit, fitted
    from adminkit.render.sink import Way, emit
    from adminkit.stats.select import Filter, clusters
    from adminkit.stats.workload import read_runs
    from adminkit.trace import connect

    jobs, seed, keep_queues, cluster = how
    _leave_real(path, fit.CLUSTER)
    if path.exists():
        raise AdminkitError(f"{path} already exists", "choose another path with --db, or move it away")
    operators_only(trace, ("only operators may make a look-alike of everybody's jobs", "adminkit my shows your jobs"))
    with connect.reader(trace) as db:
        known = clusters(db)
        if len(known) > 1 and cluster is None:
            raise UsageError(f"{trace} has several clusters: {', '.join(known)}", "name one: --cluster NAME")
        if cluster is not None and cluster not in known:
            raise UsageError(f"{trace} has no cluster {cluster}", f"it has {', '.join(known) or 'none'}")
        chosen = Filter([cluster] if cluster else known, checkpoint_code=load().checkpoint.code)
        real, past, merged = fit.past_of(read_runs(db, chosen), keep_queues)
    made = fit.draw(past, jobs or len(past), seed)
    _store(path, b"".join(fitted.sacct_text(made)), text, fit.CLUSTER)
    emit(fitted.report(real, made, merged, str(path)), Way())


def make(path: Path, text: Path | None = None, story: bool = False) -> None:
    """The demo's trace at `path`, with two months more where `story`. A trace of anything else is left alone."""
    from adminkit.demo import generate
    from adminkit.demo import story as months

    _leave_real(path, generate.CLUSTER)
    rows = b"".join(generate.sacct_text(months.jobs() if story else generate.jobs()))
    _store(path, rows, text, generate.CLUSTER, generate.SITE, generate.BEGIN)


def _leave_real(path: Path, cluster: str) -> None:
    """AdminkitError where `path` holds anything but the demo's `cluster`."""
    from adminkit.stats.sources import jobs_besides_demo
    from adminkit.trace import connect

    if path.exists():
        with connect.reader(path) as trace:
            others = jobs_besides_demo(trace, cluster)
        if others:
            raise AdminkitError(f"{path} holds {others} jobs that are not the demo's", "choose another path with --db")


def _store(path: Path, rows: bytes, text: Path | None, cluster: str, site: Site | None = None, since: int = 0) -> None:
    from adminkit.ingest.files import Import, import_stream
    from adminkit.owner import as_owner
    from adminkit.render.sink import write_aside

    if text:
        write_aside(text, rows)
    wanted = Import(None, path, cluster, kind="demo", origin="demo", site=site, site_since=since)
    with as_owner(path):
        import_stream(wanted, io.BytesIO(rows), int(time.time()))
