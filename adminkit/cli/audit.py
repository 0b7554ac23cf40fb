"""adminkit trace audit and restore: commands of `adminkit trace`."""

from __future__ import annotations

from typing import Annotated

import typer

from adminkit import config
from adminkit.cli.operators import AUDIT, operators_only
from adminkit.cli.options import Apply, Clusters, Database, Format, FormatOption, Output
from adminkit.cli.progress import progress
from adminkit.config import chosen
from adminkit.errors import UsageError, unknown_word
from adminkit.render.say import say
from adminkit.trace import connect
from adminkit.trace.location import find_trace

Again = Annotated[bool, typer.Option("--all", help="Also ask about rows that an earlier audit confirmed.")]
Steps = Annotated[
    bool | None,
    typer.Option("--steps/--no-steps", help="Compare steps and CPU time too. Default: the setting `steps` in [sync]."),
]
Purge = Annotated[
    str | None,
    typer.Option(
        "--purge-after",
        metavar="TIME|none",
        help="PurgeJobAfter from slurmdbd.conf, if slurmdbd does not report it: 12months, 90days, 48hours, none.",
    ),
]
Archived = Annotated[
    bool,
    typer.Option(
        "--archived",
        help="Also ask about archived months. With --apply they come back into SQLite, and are archived again.",
    ),
]
Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RUN]…", help="The runs to put back, as listed: 4711@1796083200. Default: list all."),
]


def audit(
    db: Database = None,
    cluster: Clusters = None,
    apply: Apply = False,
    again: Again = False,
    steps: Steps = None,
    purge_after: Purge = None,
    archived: Archived = False,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Compare rows that came from slurmdbd with slurmdbd itself. With --apply, sets aside rows that it
    contradicts or never had.

    Example: adminkit trace audit --cluster lab --apply
    """
    from adminkit.ingest.audit import audit as run
    from adminkit.ingest.sync_run import Options
    from adminkit.render.sink import Way, emit
    from adminkit.reports.audit import audit_report
    from adminkit.slurm.cluster import parse_purge

    purge = None if purge_after is None else parse_purge(purge_after)
    if purge_after is not None and purge is None:
        raise UsageError(f"not an age: {purge_after}", "write it as in slurmdbd.conf: 12months, 90days, 48hours, none")
    settings = config.load()
    usual, path = settings.sync, find_trace(db, settings.db)
    operators_only(path, AUDIT)
    options = Options(
        path,
        budget=usual.row_budget,
        jobs=usual.jobs,
        steps=chosen(steps, usual.steps),
        steps_pause=usual.steps_pause,
        timeout=usual.timeout,
        record=usual.record,
    )
    with progress("asking slurmdbd", "row") as tick:
        done = run(
            options,
            cluster or (),
            lambda text: say(f"note: {text}"),
            tick,
            apply=apply,
            again=again,
            purge=purge,
            archive=settings.months if archived else None,
        )
    emit(audit_report(done, apply, str(options.db)), Way(format, output))


def restore(
    which: Runs = None,
    db: Database = None,
    cluster: Clusters = None,
    apply: Apply = False,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Put back rows that an audit set aside. You then vouch for these rows. Without --apply, only lists them.

    Example: adminkit trace restore 4711@1796083200 --apply
    """
    from adminkit.quote import clean
    from adminkit.render.sink import Way, emit
    from adminkit.reports.audit import aside_report
    from adminkit.trace import audit as asides
    from adminkit.trace.lock import only_one

    path = find_trace(db, config.load().db)
    operators_only(path, AUDIT)
    with connect.reader(path) as trace:
        aside = asides.aside(trace)
    known_clusters = sorted({one.cluster for one in aside})
    for name in cluster or ():
        if name not in known_clusters:
            raise unknown_word("cluster", name, known_clusters)
    aside = [one for one in aside if not cluster or one.cluster in cluster]
    known = {one.run for one in aside}
    for run in which or ():
        if run not in known:
            raise unknown_word("run", run, known)
        clusters = sorted({one.cluster for one in aside if one.run == run})
        if len(clusters) > 1:
            raise UsageError(f"{run} is a run on {' and on '.join(map(clean, clusters))}", "say which with --cluster")
    wanted = [one for one in aside if not which or one.run in which]
    notes = ["nothing was written; --apply puts back the runs that are named"]
    if apply and which:
        with only_one(path, "adminkit trace restore"), connect.writer(path) as trace:
            back = asides.restore(trace, wanted)
        notes = [f"{back} put back as trusted; slurmdbd's own rows have replaced the other rows"]
    emit(aside_report(wanted, notes, str(path)), Way(format, output))
