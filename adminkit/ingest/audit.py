"""adminkit trace audit: asks slurmdbd again about every row of source slurmdbd.

The answers go through sync's own passes into a scratch trace, and SQL compares the two, a window of the trace at a
time. A row that slurmdbd lacks is `unknown` where slurmdbd holds runs from before it and after it, by submission and by
end (horizon.py). Elsewhere it is `beyond` what slurmdbd can say: purged, lost with a rebuilt database, or of a cluster
that is gone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from adminkit import actions
from adminkit.errors import AdminkitError
from adminkit.files import remove_folder
from adminkit.ingest import horizon
from adminkit.ingest.audit_questions import Work, ask_steps, forget_answers, look_up
from adminkit.ingest.audit_verdicts import judge_absent, judge_answers, judge_open
from adminkit.ingest.audited import Audited
from adminkit.ingest.sources.base import JOBS, Opener
from adminkit.ingest.sources.sacct import open_sacct
from adminkit.ingest.sync_run import Options, SyncRun, Tick
from adminkit.ingest.sync_windows import ask_stretches
from adminkit.ingest.window_plan import Window
from adminkit.sections import Months
from adminkit.slurm import cluster as slurm
from adminkit.trace import answers, audit_verdict, connect, windows
from adminkit.trace import audit as trace
from adminkit.trace.actions import record_actions
from adminkit.trace.audit import AuditScope
from adminkit.trace.forgotten import hand_on
from adminkit.trace.load_log import record_load
from adminkit.trace.lock import only_one
from adminkit.trace.months import move

#: Key of the fact that a cluster was audited; its value has the counts.
DONE: Final = "audited"


def audit(
    options: Options,
    wanted: Sequence[str],
    talk: Callable[[str], None],
    tick: Tick = lambda *_: None,
    *,
    apply: bool = False,
    again: bool = False,
    purge: int | None = None,
    archive: Months | None = None,
    opener: Opener = open_sacct,
) -> list[Audited]:
    """Ask slurmdbd about these clusters' rows, all for none; with `apply` set aside what it contradicts or denies.

    `purge`: seconds after which slurmdbd purges jobs, as the operator says. `archive`: also about archived months,
    which with `apply` come back into SQLite for it, and are archived again. `opener`: the source.

    Confirmed rows are flagged window by window, so that an interrupted audit resumes there. Unknown rows are set
    aside only after the last answer: none is where slurmdbd fails before.
    """
    with ExitStack() as stack:
        if apply:
            connect.prepare(options.db)
            stack.enter_context(only_one(options.db, "adminkit trace audit"))
        db = stack.enter_context(
            connect.writer(options.db) if apply else connect.reader(options.db, archive=archive is not None)
        )
        months = move.overlapping(db, None, None, wanted)
        if months and archive is None:
            talk(f"{len(months)} archived months are not asked about: --archived asks about them too")
        elif months and archive and apply:
            stack.enter_context(move.brought_back(db, options.db, archive, months))
        # Trap: as root, later programs are started as the user who owns the trace.
        if not slurm.shows_every_job():
            raise AdminkitError(
                "slurmdbd shows this user only their own jobs: all other rows would look invented",
                "run it as a user with AdminLevel=Operator: sacctmgr modify user NAME set adminlevel=Operator",
            )
        known = slurm.known_clusters()
        said = [one for one in (slurm.accounting().purges_after, purge) if one is not None]
        purges_after = min(said, default=None)
        folder = stack.enter_context(_scratch(options.db))
        there = trace.clusters(db)
        if wanted:
            slurm.refuse_unknown_clusters(wanted, there)
        scratch = stack.enter_context(connect.writer(folder / "trace.db"))
        answers.attach(db, folder / "trace.db")
        hand_on(db, options.db, scratch, folder / "trace.db")
        found = []
        for name in wanted or there:
            now, began = int(time.time()), time.monotonic()
            source = opener(name, folder, timeout=options.timeout, record=options.record)
            run = SyncRun(scratch, source, replace(options, db=folder / "trace.db"), talk)
            scope = AuditScope(name, again)
            work = Work(db, run, scope, apply, now, Audited(name, name in known))
            _one(work, purges_after, tick)
            if apply:
                _remember(work, began)
            found.append(work.done)
        return found


def _one(work: Work, purges_after: int | None, tick: Tick) -> None:
    """All rows of one cluster."""
    total, still_open, submitted, work.done.before = trace.totals(work.db, work.scope)
    if work.done.known and submitted is not None:
        work.first = min((end for _, end in horizon.earliest(work.run, submitted, work.now)), default=horizon.NEVER)
    many, first, last = trace.old(work.db, work.scope, work.first)
    if work.apply and many:
        trace.flag_old(work.db, work.scope, work.first, work.run.options.budget)
    work.done.count("beyond", many, first, last)
    if work.first < horizon.NEVER and (strays := trace.strays(work.db, work.scope, work.first)):
        forget_answers(work)
        look_up(work, strays)
        judge_answers(work, strays)
    at, seen = max(work.first, 0), many
    while (found := trace.chunk(work.db, work.scope, at, work.run.options.budget)) is not None:
        at = found[1]
        _chunk(work, *found)
        seen = sum(work.done.counts.values()) + len(work.absent) + len(work.unsure)
        tick(seen, total, seen)
    if still_open:
        judge_open(work)
    if (work.absent or work.unsure) and submitted is not None:
        judge_absent(work, submitted, purges_after)
    tick(total, total, total)


def _chunk(work: Work, since: int, until: int) -> None:
    """The runs that ended in [since, until)."""
    forget_answers(work)
    stretch = Window(since, min(until, work.now))
    if stretch.width > 0:  # no run has an end in the future
        width = min(stretch.width, horizon.WIDEST)  # as many rows as the trace has there are a fitting answer
        ask_stretches(work.run, JOBS, [stretch], work.now, width)
        if work.run.options.steps:
            ask_steps(work, [stretch], width)
    confirmed, others = trace.compare(work.db, work.scope, since, until, work.apply)
    if confirmed:
        work.done.count("confirmed", confirmed, since, until - 1)
    look_up(work, [stored for said, stored in others if said == audit_verdict.ABSENT])
    judge_answers(work, [stored for _, stored in others])


def _remember(work: Work, began: float) -> None:
    """Write the fact that doctor looks for, a row of `load` and one of `action`."""
    counts = work.done.counts
    rows, changed = sum(counts.values()), counts["contradicted"]
    record_load(
        work.db, "audit", work.run.source.name, work.cluster, work.now, time.monotonic() - began,
        (rows, 0, changed, counts["unknown"], counts["beyond"] + counts["open"]),
    )  # fmt: skip
    said = {name: many for name, many in counts.items() if many}
    record_actions(work.db, [actions.act("trace audit", None, None, {}, cluster=work.cluster, runs=said)])
    text = ", ".join(f"{name} {many}" for name, many in said.items()) or "no rows"
    windows.set_fact(work.db, work.cluster, DONE, text, work.now)


@contextmanager
def _scratch(db: Path) -> Iterator[Path]:
    """A folder for slurmdbd's answers beside the trace, or in the temporary folder where that is read-only.

    Removes the folders of killed audits.
    """
    import tempfile

    beside = db.parent if os.access(db.parent, os.W_OK) else Path(tempfile.gettempdir())
    for old in beside.glob(f".{db.name}.audit.*"):
        pid = old.name.rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            remove_folder(old)
    folder = beside / f".{db.name}.audit.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise AdminkitError(
            f"couldn't make {folder}: {(error.strerror or '').lower()}", "move away what is in its place"
        ) from error
    try:
        yield folder
    finally:
        remove_folder(folder)
