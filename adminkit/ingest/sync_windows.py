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

from adminkit import journal
from adminkit.errors import AdminkitError
from adminkit.ingest.answer import CLAIMS, Asked, read
from adminkit.ingest.answer import OPEN as OPEN_PASS
from adminkit.ingest.helper import Counts
from adminkit.ingest.windows import DAY, HOUR, Width, Window, covered, cut, to_ask
from adminkit.quote import quote
from adminkit.slurm.open_jobs import admin_comments
from adminkit.slurm.process import end_all
from adminkit.slurm.release import OPEN
from adminkit.slurm.sacct import Answer, Query, SacctFailed, fetch
from adminkit.trace import altered, aside, runs, windows
from adminkit.trace.aside import ASIDE

#: How often a window is tried before the run gives up.
TRIES: Final = 6
#: slurmdbd starting anew puts this much of the past in doubt.
RESTART_DOUBT: Final = 2 * DAY
#: Runs changed after their end that are named.
TOLD: Final = 10
#: Later than any end.
FOREVER: Final = 1 << 40
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
    told: set[bytes] = field(default_factory=set)  # records set aside in this run, so that each is said once

    def __post_init__(self) -> None:
        self.summary = Summary(self.site.cluster)

    def fetch(self, window: Window, name: str, **query: object) -> Answer:
        """sacct's answer in a spool file. Raises SacctFailed.

        Of runs that ended it has those of [since, until): sacct counts both ends in.
        """
        spool = self.spool / f"{name}-{window.since}-{window.until}"
        last = window.until - 1 if query.get("states") == self.site.finished else window.until
        asked = Query(self.site.cluster, window.since, last, **query)  # type: ignore[arg-type]
        return fetch(asked, spool, self.options.timeout)

    def asked(self, which: str, window: Window, ended: bool = True) -> Asked:
        """What is asked for in a pass. Runs that are open may end while sacct looks at them."""
        site, until = self.site, window.until if ended else FOREVER
        return Asked(which, site.cluster, site.fields, self.options.record, window.since, until, ended)


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
    asked: deque[tuple[Window, Future[Answer | None]]] = deque()
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
                rows = import_window(run, which, window, fetched, now, sure)
                fitting.grew(window, rows)
                done, failures = done + window.width, 0
                run.tick(done, total, run.summary.closed.rows + run.summary.steps.steps_rows)
        except BaseException:
            end_all()  # or the pool would wait for what is running
            raise
        finally:
            for _, answer in asked:
                answer.cancel()


def _fetch_closed(run: Run, which: str, window: Window, width: Width) -> Answer | None:
    """The answer, None where the window was cut before an error showed it to be too wide.

    After an error the worker rests as long as the attempt took: the server may still be at work on the question.
    """
    if window.width > width.seconds:
        return None
    steps = which == windows.STEPS
    if steps:
        run.sleep(run.options.steps_pause)
    try:
        fields = run.asked(which, window).fields
        return run.fetch(window, which, states=run.site.finished, fields=fields, steps=steps)
    except SacctFailed as error:
        width.shrank(window)
        if not error.unreachable:
            run.sleep(max(1.0, error.seconds))
        raise


def import_window(run: Run, which: str, window: Window, answer: Answer, now: int, sure: bool) -> int:
    """Put a spooled answer into the trace, record the window, remove the spool. Returns its rows."""
    revoked = _revoked(answer) if which == windows.JOBS else 0
    counts = take_in(run, run.asked(which, window), answer, now)
    if which == windows.JOBS:
        _claims(run, window, now, states=run.site.finished)
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
        window.since, window.until, not sure, now, answer.seconds, counts.rows, new, changed, counts.rejected, revoked
    )
    windows.record(run.db, cluster, which, asked)
    summary.windows += 1
    summary.provisional += not sure
    return counts.rows


def take_in(run: Run, asked: Asked, answer: Answer, now: int) -> Counts:
    """An answer into the trace, what was set aside into the journal; the spool is removed."""
    counts = read(asked, answer, run.options.db, now)
    answer.path.unlink()
    if counts.rejected:
        for reason, raw in aside.seen(run.db, f"sacct {asked.cluster}", now):
            if raw not in run.told:
                journal.refused("records", *_what(asked, raw), reason)
            run.told.add(raw)
    return counts


def tell_altered(run: Run) -> None:
    """Say of which runs their owners changed something after the end: the first few by name."""
    found = altered.take(run.db, run.site.cluster)
    for one in found[:TOLD]:
        whose = f" of {quote(one.user)}" if one.user else ""
        run.talk(f"job {one.job_id_raw}{whose}: {one.column} was {one.before} at its end and is {one.after} now")
    if len(found) > TOLD:
        run.talk(f"and {len(found) - TOLD:,} more that were changed after their end")


def _what(asked: Asked, raw: bytes) -> tuple[str, str | None]:
    """(which job a record says it is, whose, where that is asked for); a guess, for it was refused."""
    cells = dict(zip(asked.fields, raw.decode("utf-8", "replace").split(ASIDE), strict=False))
    return f"job {quote(cells['JobID'], 20)}", cells.get("User") or None


def _revoked(answer: Answer) -> int:
    """How many runs of an answer are a federation's siblings that another cluster took."""
    mark = answer.marks.delimiter
    return answer.path.read_bytes().count(f"{mark}REVOKED{mark}".encode())


def _claims(run: Run, window: Window, now: int, **query: object) -> None:
    """What the policy recorded in a field that owners may write: in a question of its own."""
    if run.options.record == "admin_comment":
        return
    asked = run.asked(CLAIMS, window, ended=query.get("states") == run.site.finished)
    take_in(run, asked, run.fetch(window, CLAIMS, fields=asked.fields, **query), now)


def ask_open(run: Run, now: int) -> None:
    """Snapshot what is pending, running or suspended; look up what the last snapshot had and this one has not."""
    moment = int(run.clock())  # Trap: sacct leaves out what started in the last second of its window.
    window = Window(moment, moment + 1)
    asked = run.asked(OPEN_PASS, window, ended=False)
    run.summary.open += take_in(run, asked, run.fetch(window, "open", states=OPEN, fields=asked.fields), now)
    _claims(run, window, now, states=OPEN)
    if run.options.record == "admin_comment":  # the other fields are nobody's to overwrite, and sacct has them
        _keep_records(run)
    gone = runs.vanished(run.db, run.site.cluster, now - runs.LOST, now)
    for at in range(0, len(gone), IDS_PER_QUERY):
        _look_up(run, gone[at : at + IDS_PER_QUERY], now)
    run.summary.lost = runs.lost(run.db, run.site.cluster, now - runs.LOST)
    if run.options.steps and gone:
        hours = {end // HOUR * HOUR for end in runs.ends(run.db, run.site.cluster, gone)}
        over = [(hour, min(hour + HOUR, now)) for hour in hours if hour < now]
        ask_stretches(run, windows.STEPS, covered(over), now)


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
    asked = run.asked(windows.JOBS, window, ended=False)
    try:
        answer = run.fetch(window, "gone", states=(), fields=asked.fields, job_ids=ids)
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
    run.summary.closed += take_in(run, asked, answer, now)
    _claims(run, window, now, states=(), job_ids=ids)
    run.summary.looked_up += len(gone)


def ask_ids(run: Run, window: Window, states: Sequence[str], ids: Sequence[int], now: int) -> None:
    """Import runs of these ids (of every one for none) that are in these states during `window`, at one go."""
    asked = run.asked(windows.JOBS, window, ended=states == run.site.finished)
    take_in(run, asked, run.fetch(window, "ids", states=states, fields=asked.fields, job_ids=ids), now)


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
