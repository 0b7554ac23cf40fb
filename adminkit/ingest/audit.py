"""adminkit trace audit: every row that slurmdbd is said to have told is asked of it once more.

One reader: the same windows go through sync's own passes into a scratch trace, and SQL compares the two, a window of
the trace at a time. A row is `unknown` where slurmdbd holds runs from before it and after it, by submission and by end
(horizon.py). Where it does not, the row is `beyond` what it can say: purged, of a database that was made anew, or of a
cluster that is gone.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from adminkit import actions, journal
from adminkit.errors import AdminkitError
from adminkit.ingest import horizon, sync_windows
from adminkit.ingest.audited import Audited
from adminkit.ingest.sync import site_of
from adminkit.ingest.sync_windows import IDS_PER_QUERY, Options, Run, Tick
from adminkit.ingest.windows import DAY, HOUR, Window, covered
from adminkit.slurm import cluster as slurm
from adminkit.slurm.release import OPEN
from adminkit.trace import answers, connect, runs, verdict, windows
from adminkit.trace import audit as trace
from adminkit.trace.actions import record_acts
from adminkit.trace.audit import Asked, Told
from adminkit.trace.load_log import record_intake
from adminkit.trace.lock import only_one

#: The note that says that a cluster was audited, and what came of it.
DONE: Final = "audited"
#: Rows set aside in one transaction.
AT_ONCE: Final = 500


@dataclass(slots=True)
class _Work:
    """One audit of one cluster: the trace, and a sync's run whose trace is the scratch one."""

    db: Connection
    run: Run
    asked: Asked
    apply: bool
    now: int
    done: Audited
    first: int = horizon.NEVER  # the first end that slurmdbd holds
    absent: list[Told] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)  # runs about which slurmdbd said something that could not be read
    steps_unread: bool = False  # and so of some steps of these answers
    tasks: dict[int, int] = field(default_factory=dict)  # array -> tasks that are left of it, of those with letters
    unsure: list[Told] = field(default_factory=list)  # neither confirmed nor denied

    @property
    def cluster(self) -> str:
        return self.asked.cluster


def audit(
    options: Options,
    wanted: Sequence[str],
    talk: Callable[[str], None],
    tick: Tick = lambda *_: None,
    *,
    apply: bool = False,
    again: bool = False,
    purge: int | None = None,
) -> list[Audited]:
    """Ask slurmdbd about these clusters' rows, all for none; with `apply` set aside what it contradicts or denies.

    `purge`: after how many seconds slurmdbd purges jobs, where the operator says so.

    What is confirmed is written down as it comes, so that an audit that was cut off goes on from there. Nothing is
    set aside for being unknown before all answers are in: where slurmdbd is away on the way, nothing is.
    """
    with ExitStack() as stack:
        if apply:
            connect.prepare(options.db)
            stack.enter_context(only_one(options.db, "adminkit trace audit"))
        db = stack.enter_context((connect.writer if apply else connect.reader)(options.db))
        # Trap: as root, programs are from here on started as the user who owns the trace.
        if not slurm.shows_every_job():
            raise AdminkitError(
                "slurmdbd shows this user own jobs only: others' would look as if it did not have them",
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
        found = []
        for name in wanted or there:
            now, began = int(time.time()), time.monotonic()
            site = site_of(name)
            run = Run(scratch, site, replace(options, db=folder / "trace.db"), folder, talk)
            asked = Asked(name, again)
            work = _Work(db, run, asked, apply, now, Audited(name, name in known))
            _one(work, purges_after, tick)
            if apply:
                _remember(work, began)
            found.append(work.done)
        return found


def _one(work: _Work, purges_after: int | None, tick: Tick) -> None:
    """All rows of one cluster."""
    total, still_open, submitted, work.done.before = trace.totals(work.db, work.asked)
    if work.done.known and submitted is not None:
        work.first = min((end for _, end in horizon.earliest(work.run, submitted, work.now)), default=horizon.NEVER)
    many, first, last = trace.old(work.db, work.asked, work.first)
    if work.apply and many:
        trace.flag_old(work.db, work.asked, work.first, work.run.options.budget)
    work.done.count("beyond", many, first, last)
    if work.first < horizon.NEVER and (strays := trace.strays(work.db, work.asked, work.first)):
        _forget(work)
        _look_up(work, strays)
        _sort(work, strays)
    at, seen = max(work.first, 0), many
    while (found := trace.chunk(work.db, work.asked, at, work.run.options.budget)) is not None:
        at = found[1]
        _chunk(work, *found)
        seen = sum(work.done.counts.values()) + len(work.absent) + len(work.unsure)
        tick(seen, total, seen)
    if still_open:
        _ask_open(work)
    if (work.absent or work.unsure) and submitted is not None:
        _judge(work, submitted, purges_after)
    tick(total, total, total)


def _chunk(work: _Work, since: int, until: int) -> None:
    """The runs that ended in [since, until)."""
    _forget(work)
    stretch = Window(since, min(until, work.now))
    if stretch.width > 0:  # an end that is still to come is nobody's
        width = min(stretch.width, horizon.WIDEST)  # as many rows as the trace has there are a fitting answer
        sync_windows.ask_stretches(work.run, windows.JOBS, [stretch], work.now, width)
        if work.run.options.steps:
            _ask_steps(work, [stretch], width)
    confirmed, others = trace.compare(work.db, work.asked, since, until, work.apply)
    if confirmed:
        work.done.count("confirmed", confirmed, since, until - 1)
    _look_up(work, [told for said, told in others if said == verdict.ABSENT])
    _sort(work, [told for _, told in others])


def _look_up(work: _Work, gone: Sequence[Told]) -> None:
    """Their answers by id: one whose end is another is in another window."""
    for place in range(0, len(gone), IDS_PER_QUERY):
        some = gone[place : place + IDS_PER_QUERY]
        window = Window(max(min(told.submit for told in some), horizon.FLOOR), work.now)
        ids = [told.job_id_raw for told in some if 0 <= told.job_id_raw < 2**32]
        if not ids or window.width <= 0:
            continue
        _ask_ids(work, window, some, ids)
        if work.run.options.steps:
            ends = runs.ends(work.run.db, work.cluster, [(told.job_id_raw, told.submit) for told in some])
            hours = {end // HOUR * HOUR for end in ends}
            over = [(hour, min(hour + HOUR, work.now)) for hour in hours if hour < work.now]
            _ask_steps(work, covered(over), HOUR)


def _ask_ids(work: _Work, window: Window, some: Sequence[Told], ids: Sequence[int]) -> None:
    """Runs by id. Where something in the answer could not be read, fewer at once: then it shows whose that is."""
    answers.forget_unread(work.run.db)
    sync_windows.ask_ids(work.run, window, work.run.site.finished, ids, work.now)
    sync_windows.ask_ids(work.run, Window(work.now, work.now + 1), OPEN, ids, work.now)
    if not answers.unread(work.run.db):
        return
    if len(set(ids)) == 1:
        work.unread |= {told.run for told in some if told.job_id_raw == ids[0]}
        return
    half = sorted(set(ids))[: len(set(ids)) // 2]
    for part in (half, sorted(set(ids) - set(half))):
        _ask_ids(work, window, some, part)


def _ask_steps(work: _Work, stretches: Sequence[Window], width: int) -> None:
    answers.forget_unread(work.run.db)
    sync_windows.ask_stretches(work.run, windows.STEPS, stretches, work.now, width)
    work.steps_unread = work.steps_unread or answers.unread(work.run.db)


def _forget(work: _Work) -> None:
    """The answers so far."""
    answers.empty(work.run.db)
    work.steps_unread = False


def _sort(work: _Work, others: Sequence[Told]) -> None:
    """What the answers say of runs that the windows did not confirm."""
    confirmed, contradicted = [], []
    for told in others:
        found = trace.verdict(work.db, work.asked, told)
        if found == verdict.CONFIRMED:
            confirmed.append(told)
        elif found == verdict.CONTRADICTED and not (work.steps_unread and _only_steps(work, told)):
            contradicted.append(told)
        elif found == verdict.ABSENT and told.run not in work.unread:
            work.absent.append(told)
        else:
            work.unsure.append(told)
    for told in confirmed:
        work.done.count("confirmed", 1, told.end, told.end)
    for told in contradicted:
        work.done.add("contradicted", told, trace.differing(work.db, work.cluster, told))
        _letters(work, told)
    if work.apply:
        trace.flag(work.db, work.cluster, confirmed, "confirmed")
        _replace(work, contradicted)


def _replace(work: _Work, contradicted: Sequence[Told]) -> None:
    """By slurmdbd's own rows."""
    for place in range(0, len(contradicted), AT_ONCE):
        trace.replace(work.db, work.cluster, contradicted[place : place + AT_ONCE], work.now)
    for told in contradicted:
        _tell(told, "slurmdbd has something else; its own row is in the place")


def _only_steps(work: _Work, told: Told) -> bool:
    """Whether nothing but what the steps say contradicts a run."""
    return verdict.OF_STEPS.issuperset(trace.differing(work.db, work.cluster, told))


def _ask_open(work: _Work) -> None:
    """Runs without an end. One that slurmdbd does not show may be held: it is counted, and earns nothing until it ends.

    None is confirmed before it ends: what changes until then is sync's to learn. One that has what no sync takes back
    is replaced.
    """
    pending = trace.still_open(work.db, work.asked)
    _forget(work)
    if work.done.known:
        _look_up(work, pending)
    forged, old = [], []
    for told in pending:
        there = trace.verdict(work.db, work.asked, told) not in (verdict.ABSENT, verdict.SHELL)
        if there and (differs := trace.lasting(work.db, work.cluster, told)):
            forged.append(told)
            work.done.add("contradicted", told, differs)
        elif not there and told.submit < work.first:
            old.append(told)
            work.done.add("beyond", told)
        else:
            work.done.count("open", 1, None, None)
    if work.apply:
        _replace(work, forged)
        trace.flag(work.db, work.cluster, old, "beyond")


def _judge(work: _Work, submitted: int, purges_after: int | None) -> None:
    """The runs that slurmdbd denies: unknown, or beyond. It may have purged since the first question: asked afresh."""
    first = horizon.earliest(work.run, submitted, work.now)
    ends = [(told, told.end if told.end is not None else told.submit) for told in work.absent]
    last = horizon.latest(work.run, [(told.submit, end) for told, end in ends], work.now)
    kept_from = horizon.NEVER if purges_after is None else work.now - purges_after
    unknown: list[Told] = []
    beyond = work.unsure
    for told, end in ends:
        precedes = horizon.precedes(first, (told.submit, end))
        before = precedes and told.submit >= kept_from
        ahead = work.now <= end <= work.now + DAY  # by a slurmctld whose clock is ahead: not asked about yet
        after = end > work.now + DAY or (not ahead and horizon.follows(last, (told.submit, end)))
        (unknown if before and after else beyond).append(told)
        work.done.purge_unsaid += precedes and after and purges_after is None
    for told in unknown:
        work.done.add("unknown", told)
        _letters(work, told)
    for told in beyond:
        work.done.add("beyond", told)
    if work.apply:
        trace.flag(work.db, work.cluster, beyond, "beyond")
        for place in range(0, len(unknown), AT_ONCE):
            trace.set_aside(work.db, work.cluster, unknown[place : place + AT_ONCE], "unknown", work.now)
        for told in unknown:
            _tell(told, "slurmdbd holds earlier and later runs, and not this one; set aside")


def _letters(work: _Work, told: Told) -> None:
    letters, array = trace.letters(work.db, work.cluster, told), told.array_job
    if array is not None and any(letter.array for letter in letters):
        left = work.tasks[array] if array in work.tasks else trace.tasks(work.db, work.cluster, array)
        work.tasks[array] = left - 1
    for letter in letters:
        if letter.state == "due":
            work.done.due += not (letter.array and array is not None and work.tasks[array])
        elif letter.state in ("sent", "claimed") and letter not in work.done.sent:
            work.done.sent.append(letter)


def _tell(told: Told, why: str) -> None:
    journal.refused("runs", f"job {told.job_id or told.job_id_raw}", told.user or told.uid, why)


def _remember(work: _Work, began: float) -> None:
    """The note that doctor looks for, a line of history, and one of the ledger."""
    counts = work.done.counts
    rows, changed = sum(counts.values()), counts["contradicted"]
    record_intake(
        work.db, "audit", "sacct", work.cluster, work.now, time.monotonic() - began,
        (rows, 0, changed, counts["unknown"], counts["beyond"] + counts["open"]),
    )  # fmt: skip
    said = {name: many for name, many in counts.items() if many}
    record_acts(work.db, [actions.act("trace audit", None, None, {}, cluster=work.cluster, runs=said)])
    text = ", ".join(f"{name} {many}" for name, many in said.items()) or "no rows"
    windows.set_note(work.db, work.cluster, DONE, text, work.now)


@contextmanager
def _scratch(db: Path) -> Iterator[Path]:
    """A folder for slurmdbd's answers: beside the trace, where there is room for such, else where temporary files go.

    Those that killed audits left are removed.
    """
    import tempfile

    beside = db.parent if os.access(db.parent, os.W_OK) else Path(tempfile.gettempdir())
    for old in beside.glob(f".{db.name}.audit.*"):
        pid = old.name.rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = beside / f".{db.name}.audit.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise AdminkitError(
            f"couldn't make {folder}: {(error.strerror or '').lower()}", "remove what is in its place"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
