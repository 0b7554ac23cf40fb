"""The passes of a sync: slurmdbd's jobs into the trace, window by window.

Closed runs come by the window in which they ended, open ones by a snapshot, steps in a pass of their own. Each
window is recorded after its rows are in; asking again for one that was lost in between changes nothing, for rows are
upserted.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.ingest.fields import JOB_FIELDS, RECORD_FIELDS, STEP_FIELDS, columns_for, job_values, step_values
from adminkit.ingest.run import Counts, Statement, ingest
from adminkit.ingest.spec import outputs
from adminkit.ingest.windows import DAY, HOUR, Width, Window, covered, cut, to_ask
from adminkit.slurm.open_jobs import admin_comments
from adminkit.slurm.release import OPEN
from adminkit.slurm.run import end_all
from adminkit.slurm.sacct import DELIMITER, Query, SacctFailed, fetch
from adminkit.trace import runs, windows
from adminkit.trace.upsert import REJECT

#: Who tells us of every row of these passes.
SOURCE: Final = "slurmdbd"
#: How often a window is tried before the run gives up.
TRIES: Final = 6
#: A snapshot's runs are looked up this long after they vanished from it; then they are counted as lost.
LOOK_UP: Final = 35 * DAY
#: slurmdbd starting anew puts this much of the past in doubt.
RESTART_DOUBT: Final = 2 * DAY
#: Job ids per look-up: long lists make slurmdbd scan.
IDS_PER_QUERY: Final = 200

#: (seconds of time asked for so far, seconds in all, jobs read)
Tick = Callable[[float, float | None, int], None]


@dataclass(frozen=True, slots=True)
class Site:
    """What Slurm says of itself at the start of a run."""

    cluster: str
    fields: frozenset[str]
    finished: Sequence[str]  # states that end a run, this release's
    backlog: Callable[[], int | None]  # records slurmctld still holds for slurmdbd; None where it cannot be asked
    dbd_started: int | None  # epoch seconds


@dataclass(frozen=True, slots=True)
class Options:
    """How to ask."""

    db: Path
    since: int | None = None  # where a first run begins
    overlap: int = 2 * HOUR
    budget: int = 50_000
    jobs: int = 1
    steps: bool = True
    steps_pause: float = 0.5
    timeout: float = 300.0
    submit_line: bool = True
    acts: Path | None = None  # this host's log of acts, collected where there is one
    record: str = "admin_comment"  # where the policy's decision is, as policy.toml names it


@dataclass(slots=True)
class Summary:
    """What one run did for one cluster."""

    cluster: str
    closed: Counts = field(default_factory=Counts)
    open: Counts = field(default_factory=Counts)
    steps: Counts = field(default_factory=Counts)
    windows: int = 0
    provisional: int = 0
    revoked: int = 0
    looked_up: int = 0
    lost: int = 0
    rebuilt: int = 0
    reconciled: int = 0


@dataclass(slots=True)
class Run:
    """One run for one cluster: the trace's connection, the spool, the summary."""

    db: Connection
    site: Site
    options: Options
    spool: Path
    talk: Callable[[str], None]
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    tick: Tick = lambda done, total, jobs: None
    summary: Summary = field(init=False)

    def __post_init__(self) -> None:
        self.summary = Summary(self.site.cluster)

    def fetch(self, window: Window, name: str, **query: object) -> tuple[Path, float]:
        """sacct's answer in a spool file, and how many seconds it took. Raises SacctFailed."""
        spool = self.spool / f"{name}-{window.since}-{window.until}"
        asked = Query(self.site.cluster, window.since, window.until, **query)  # type: ignore[arg-type]
        return spool, fetch(asked, spool, self.options.timeout)


def ask_windows(run: Run, which: str, first: int, now: int) -> None:
    """Ask for everything since `first` that is not settled yet."""
    known = windows.asked(run.db, run.site.cluster, which)
    settled = [(w.since, w.until) for w in known if not w.provisional]
    provisional = [(w.since, w.until) for w in known if w.provisional]
    stretches = to_ask(settled, provisional, first, now, run.options.overlap)
    ask_stretches(run, which, stretches, now)


def ask_stretches(run: Run, which: str, stretches: Sequence[Window], now: int, width: int = HOUR) -> None:
    """Ask for these stretches of time in windows of a fitting width, `jobs` at once, and import them in order.

    The first is of `width` seconds.

    Raises SacctFailed when slurmdbd cannot be reached, or when the narrowest window still gets no answer.
    """
    # All windows end by `now`: what slurmctld owes slurmdbd from this moment on ended after them.
    sure = run.site.backlog() == 0
    fitting = Width(run.options.budget, width)
    todo = deque(stretches)
    total, done, failures = sum(stretch.width for stretch in todo), 0, 0
    asked: deque[tuple[Window, Future[tuple[Path, float] | None]]] = deque()
    with ThreadPoolExecutor(run.options.jobs) as pool:
        try:
            while todo or asked:
                while todo and len(asked) <= run.options.jobs:
                    stretch = todo.popleft()
                    window = cut(stretch, stretch.since, fitting)
                    if window.until < stretch.until:
                        todo.appendleft(Window(window.until, stretch.until))
                    asked.append((window, pool.submit(_fetch_closed, run, which, window, fitting)))
                window, answer = asked.popleft()
                try:
                    fetched = answer.result()
                except SacctFailed as error:
                    failures += 1
                    if error.unreachable or failures >= TRIES or window.width <= fitting.least:
                        raise
                    run.talk(f"{error.message}; asking for less")
                    fetched = None
                if fetched is None:
                    todo.appendleft(window)
                    continue
                rows = import_window(run, which, window, *fetched, now, sure)
                fitting.grew(window, rows)
                done, failures = done + window.width, 0
                run.tick(done, total, run.summary.closed.rows + run.summary.steps.steps_rows)
        except BaseException:
            end_all()  # or the pool would wait for what is running
            raise
        finally:
            for _, answer in asked:
                answer.cancel()


def _fetch_closed(run: Run, which: str, window: Window, width: Width) -> tuple[Path, float] | None:
    """The answer, None where the window was cut before an error showed it to be too wide.

    After an error the worker rests as long as the attempt took: the server may still be at work on the question.
    """
    if window.width > width.seconds:
        return None
    steps = which == windows.STEPS
    if steps:
        run.sleep(run.options.steps_pause)
    try:
        return run.fetch(window, which, states=run.site.finished, fields=_fields(run, which), steps=steps)
    except SacctFailed as error:
        width.shrank(window)
        if not error.unreachable:
            run.sleep(max(1.0, error.seconds))
        raise


def import_window(run: Run, which: str, window: Window, spool: Path, seconds: float, now: int, sure: bool) -> int:
    """Put a spooled answer into the trace, record the window, remove the spool. Returns its rows."""
    revoked = spool.read_bytes().count(f"{DELIMITER}REVOKED{DELIMITER}".encode()) if which == windows.JOBS else 0
    counts = _import(run, which, spool, now)
    spool.unlink()
    cluster, summary = run.site.cluster, run.summary
    if which == windows.JOBS:
        counts = replace(counts, unchanged=max(0, counts.unchanged - revoked), skipped=counts.skipped + revoked)
        summary.closed += counts
        summary.revoked += revoked
    else:
        summary.steps += counts
        runs.fill_from_steps(run.db, cluster, window.since, window.until)
    new, changed = (counts.new, counts.changed) if which == windows.JOBS else (counts.steps_new, counts.steps_changed)
    asked = windows.Asked(
        window.since, window.until, not sure, now, seconds, counts.rows, new, changed, counts.rejected, revoked
    )
    windows.record(run.db, cluster, which, asked)
    summary.windows += 1
    summary.provisional += not sure
    return counts.rows


def ask_open(run: Run, now: int) -> None:
    """Snapshot what is pending, running or suspended; look up what the last snapshot had and this one has not."""
    moment = int(run.clock())  # Trap: sacct leaves out what started in the last second of its window.
    spool, _ = run.fetch(Window(moment, moment + 1), "open", states=OPEN, fields=_fields(run, windows.JOBS))
    run.summary.open += _import(run, "open", spool, now)
    spool.unlink()
    if run.options.record == "admin_comment":  # the other fields are nobody's to overwrite, and sacct has them
        _keep_records(run)
    gone = runs.vanished(run.db, run.site.cluster, now - LOOK_UP, now)
    for at in range(0, len(gone), IDS_PER_QUERY):
        _look_up(run, gone[at : at + IDS_PER_QUERY], now)
    run.summary.lost = runs.lost(run.db, run.site.cluster, now - LOOK_UP)
    if run.options.steps and gone:
        hours = [end // HOUR * HOUR for end in runs.ends(run.db, run.site.cluster, gone)]
        ask_stretches(run, windows.STEPS, covered((hour, hour + HOUR) for hour in hours), now)


def _keep_records(run: Run) -> None:
    """slurmctld may be away: what was recorded is then seen at the end, or by the next run."""
    try:
        found = admin_comments(run.site.cluster)
    except AdminkitError as error:
        run.talk(f"{error.message}: what the policy recorded in open jobs is read by the next run")
        return
    runs.keep_records(run.db, run.site.cluster, found)


def _look_up(run: Run, gone: Sequence[tuple[int, int]], now: int) -> None:
    """Ask for runs by (JobIDRaw, Submit); for fewer at once after an error, and for none where one is too many."""
    window = Window(min(submit for _, submit in gone), now)
    ids = [job_id for job_id, _ in gone]
    try:
        spool, _ = run.fetch(window, "gone", states=(), fields=_fields(run, windows.JOBS), job_ids=ids)
    except SacctFailed as error:
        if error.unreachable:
            raise
        if len(gone) == 1:
            run.talk(f"{error.message}; job {ids[0]} is looked up by the next run again")
            return
        half = len(gone) // 2
        _look_up(run, gone[:half], now)
        _look_up(run, gone[half:], now)
        return
    run.summary.closed += _import(run, windows.JOBS, spool, now)
    run.summary.looked_up += len(gone)
    spool.unlink()


def ask_ids(run: Run, window: Window, states: Sequence[str], ids: Sequence[int], now: int) -> None:
    """Import runs of these ids (of every one for none) that are in these states during `window`, at one go."""
    spool, _ = run.fetch(window, "ids", states=states, fields=_fields(run, windows.JOBS), job_ids=ids)
    _import(run, windows.JOBS, spool, now)
    spool.unlink()


def _import(run: Run, which: str, spool: Path, now: int) -> Counts:
    columns = columns_for(_fields(run, windows.STEPS if which == windows.STEPS else windows.JOBS))
    bind = (f"sacct {run.site.cluster}", str(now), run.site.cluster)
    cluster = f"?{outputs(columns) + len(bind)}"
    reading = Statement(columns, DELIMITER, reject_sql=REJECT, bind=bind, ends=True, timezone="UTC", gentle=True)
    if which == windows.STEPS:
        reading = reading.storing_steps(step_values(columns, cluster), SOURCE)
    else:
        values = job_values(columns, cluster, run.options.record)
        if which == "open":
            seen = f"CAST(?{outputs(columns) + 2} AS INTEGER)"
            values["seen_open"] = f"CASE WHEN {values['end_time']} IS NULL THEN {seen} END"
        reading = reading.storing_jobs(values, SOURCE, f"{values['state']} IS NOT 'REVOKED'", again=which != "open")
    with spool.open("rb", buffering=0) as source:
        return ingest(reading, run.options.db, source)


def _fields(run: Run, which: str) -> list[str]:
    wanted = STEP_FIELDS if which == windows.STEPS else JOB_FIELDS
    field = RECORD_FIELDS[run.options.record]
    if which != windows.STEPS and field not in wanted:
        wanted = (*wanted, field)
    return [f for f in wanted if f in run.site.fields and (run.options.submit_line or f != "SubmitLine")]


def doubt_after_restart(run: Run, now: int) -> None:
    """slurmdbd was started anew since the last run: what it had not written then may have come since."""
    if run.site.dbd_started is None:
        return
    last = windows.note(run.db, run.site.cluster, "dbd_started")
    if last and last[0] != str(run.site.dbd_started):
        for which in (windows.JOBS, windows.STEPS):
            windows.doubt(run.db, run.site.cluster, which, last[1] - RESTART_DOUBT)
        run.talk("slurmdbd was restarted since the last run: asking for its last two days again")
    windows.set_note(run.db, run.site.cluster, "dbd_started", str(run.site.dbd_started), now)


def notice_rebuilt(run: Run, mark: tuple[int, int], now: int) -> None:
    """Say that slurmdbd numbers its rows from the start again; `mark` is the trace's watermark before this run."""
    shared = runs.same_db_index(run.db, run.site.cluster, mark)
    if shared:
        run.summary.rebuilt += shared
        windows.set_note(run.db, run.site.cluster, "rebuilt", str(shared), now)
