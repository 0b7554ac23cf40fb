"""What a user sees of their own jobs: the last ones, a limit for each name, what runs, and why the others wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.quote import clean
from adminkit.recommend.advice import Advice, History, levels_of
from adminkit.recommend.control import trace_control
from adminkit.recommend.menu import Offer
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.slurm.own_queue import Queued
from adminkit.slurm.reasons import meaning
from adminkit.sqlite import sqlite3
from adminkit.stats.own import Owner, OwnName, OwnRun, counted, last_runs, lost, names, ran_over
from adminkit.stats.runs import Kind, runs
from adminkit.stats.select import clusters
from adminkit.stats.weeks import Reserved
from adminkit.units import show_duration, show_short, show_time
from adminkit.usage.held import IDLE, Held

_LAST: Final = "{} last jobs on {}"
_LINES: Final = "A limit for the next job of each name"
#: Names that a limit is shown for.
NAMES: Final = 10
#: Jobs with idle GPUs that are named.
_MOST_IDLE: Final = 5

JOBS: Final = (
    Field("job_id", help="the job's number as Slurm prints it"),
    Field("job_name", help="the job's name"),
    Field("queue", help="Slurm's partition"),
    Field("state", help="how the job ended"),
    Field("end_time", "time", "when the job ended"),
    Field("elapsed", "duration", "how long the job ran"),
    Field("limit", "duration", "the time that the job asked for"),
    Field("accuracy", "ratio", "elapsed / limit"),
    Field("cpus", "count", "the number of CPUs that the job had"),
    Field("cpu", "share", "the share of the CPUs' time that was used"),
    Field("mem", "bytes", "the memory that the job had"),
    Field("mem_used", "bytes", "the most memory that all tasks of the job used together"),
    Field("mem_share", "share", "mem_used / mem"),
    Field("gpus", "count", "the number of GPUs that the job had"),
    Field("gpu", "share", "the share of the GPUs' time that was used, if it was measured"),
)
LIMITS: Final = (
    Field("job_name", help="the job's name"),
    Field("runs", "count", "the number of runs with that name that ended"),
    Field("accuracy", "ratio", "mean of elapsed / limit"),
    Field("longest", "duration", "the run time of the longest of these runs"),
    Field("limit", "duration", "the safe limit"),
    Field("risk", "share", "the share of earlier runs for which a limit computed in this way was too short"),
    Field("line", help="the line to paste into the batch script"),
)
RUNNING: Final = (
    Field("job_id", help="the job's number as Slurm prints it"),
    Field("job_name", help="the job's name"),
    Field("queue", help="Slurm's partition"),
    Field("state", help="Slurm's short name of the state, such as R"),
    Field("elapsed", "duration", "how long the job has run"),
    Field("limit", "duration", "the time that the job asked for"),
    Field("left", "duration", "limit minus elapsed"),
    Field("safe", "duration", "a time that is long enough for all runs of this name except a share of `risk`"),
    Field("warning", help="set if the job's limit looks too short"),
)
WAITING: Final = (
    Field("job_id", help="the job's number as Slurm prints it"),
    Field("job_name", help="the job's name"),
    Field("queue", help="Slurm's partition"),
    Field("submit_time", "time", "when the job was submitted"),
    Field("limit", "duration", "the time that the job asks for"),
    Field("start_time", "time", "when Slurm expects the job to start; unknown if Slurm has not planned a start"),
    Field("reason", help="Slurm's name for the reason"),
    Field("meaning", help="what the reason means, and what you can do"),
    Field(
        "tasks",
        "count",
        "how many tasks of an array are waiting; 1 for other jobs; unknown if Slurm truncated the list of tasks",
    ),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asks of their jobs, and what is said above the answer."""

    owner: Owner
    days: int
    most: int
    now: int
    code: int  # the site's exit code of a run that has more to do
    where: str  # whose word it is: "sacct at 2026-01-31T12:00:00"
    first: int = 0  # epoch seconds: what ended before is not known
    whose: str = "your"  # or "ada's"

    @property
    def theirs(self) -> str:
        """At the beginning of a sentence."""
        return self.whose[:1].upper() + self.whose[1:] if self.whose == "your" else self.whose

    @property
    def since(self) -> int:
        return max(self.now - self.days * 86_400, self.first)


@dataclass(frozen=True, slots=True)
class Mine:
    """The measures."""

    runs: Sequence[OwnRun]
    count: int
    lost: tuple[int, Reserved]  # runs that lost their work, and what they had reserved
    over: tuple[int, int, int]  # runs that were given more time and needed it, the seconds of it, those that completed
    names: Sequence[OwnName]
    advice: Mapping[str, Advice]  # by name, of the names above and of open jobs


def measure(db: sqlite3.Connection, asked: Asked, offer: Offer, queue: Sequence[Queued]) -> Mine:
    """All that is read of the trace."""
    since, owner = asked.since, asked.owner
    mine = last_runs(db, owner, since, asked.most)
    listed = names(db, owner, since, NAMES)
    every = names(db, owner, 0, -1)
    user = every[0].user if every and every[0].user is not None else owner.user  # the last that is known
    # A name without runs has no limit of its own; each that is looked up takes a moment, and thousands may be open.
    known = {one.job_name for one in every}
    wanted = {one.job_name for one in listed} | (known & {one.job_name for one in queue if not one.waits})
    kinds = {name: Kind(user=user, job_name=name) for name in wanted}
    steered = trace_control(db, clusters(db), offer.risk, checkpoint_code=asked.code)
    found, levels = runs(db, [user], [], checkpoint_code=asked.code), levels_of(Kind(user=user, job_name=""))
    history = History(found, offer, levels, steered.risk(None, user))
    advice = {name: history.advice(kind) for name, kind in sorted(kinds.items())}
    return Mine(mine, counted(db, owner, since)[0], lost(db, owner, since), ran_over(db, owner, since), listed, advice)


def sections(
    asked: Asked,
    mine: Mine | None,
    queue: Sequence[Queued],
    offer: Offer,
    away: str | None = None,
    held: Sequence[Held] = (),
) -> dict[str, Report]:
    """The reports in their order. `away`: why slurmctld said nothing of open jobs; `held`: running jobs with GPUs.

    `mine` None: what ended is not known, and `asked.where` says why.
    """
    running = [one for one in queue if not one.waits]
    waiting = [one for one in queue if one.waits]
    return {
        "jobs": _unknown(asked, _LAST.format(asked.theirs, asked.owner.cluster), JOBS)
        if mine is None
        else _jobs(asked, mine),
        "limits": _unknown(asked, _LINES, LIMITS) if mine is None else _limits(asked, mine, offer),
        "running": _running(asked, mine, running, away, held),
        "waiting": _waiting(asked, waiting, away),
    }


def tint(field: str, value: Cell) -> str | None:
    """The colour of a cell."""
    if field == "state" and isinstance(value, str):
        return {"COMPLETED": "good", "R": "good", "CANCELLED": "fair", "PREEMPTED": "fair"}.get(
            value, "bad" if value.isupper() and len(value) > 2 else None
        )
    if field in ("accuracy", "cpu", "gpu") and isinstance(value, float):
        return "good" if value >= 0.7 else "fair" if value >= 0.3 else "bad"
    if field == "mem_share" and isinstance(value, float):
        return "bad" if value > 0.95 or value < 0.1 else "fair" if value < 0.5 else "good"
    if field == "line" and value is not None:
        return "bold"
    return "bad" if field == "warning" and value is not None else None


def _unknown(asked: Asked, title: str, fields: Sequence[Field]) -> Report:
    return _report(asked, title, fields, [], [f"not known: {asked.where}"])


def _jobs(asked: Asked, mine: Mine) -> Report:
    rows: list[list[Cell]] = [
        [
            one.job_id, one.job_name, one.queue, one.state, one.end_time, one.elapsed, one.req_limit, one.accuracy,
            one.cpus, one.used.cpu, one.mem, one.used.mem_used, one.used.mem, one.gpus, one.used.gpu,
        ]
        for one in mine.runs
    ]  # fmt: skip
    period = f"the last {plural(round((asked.now - asked.since) / 86_400), 'day')}"
    if not mine.count:
        notes = [f"none of {asked.whose} jobs ended in {period} on {asked.owner.cluster}"]
    elif mine.count > len(rows):
        notes = [f"the last {len(rows)} of {plural(mine.count, 'job')} that ended in {period}; -n shows more"]
    else:
        notes = [f"{plural(mine.count, 'job')} ended in {period}"]
    notes += _lost(*mine.lost) + _over(*mine.over)
    return _report(asked, _LAST.format(asked.theirs, asked.owner.cluster), JOBS, rows, [*notes, f"from {asked.where}"])


def _lost(runs: int, reserved: Reserved) -> list[str]:
    if not runs:
        return []
    hours = [(reserved.gpu_seconds, "GPU-hours"), (reserved.cpu_seconds, "CPU-hours")]
    said = " and ".join(f"{seconds / 3600:,.1f} {unit}" for seconds, unit in hours if seconds)
    return [
        f"{plural(runs, 'job')} ended at the limit, for lack of memory or because a node failed:"
        f" {said} lost, unless the program saved its work"
    ]


def _over(runs: int, seconds: int, completed: int) -> list[str]:
    if not runs:
        return []
    return [
        f"{plural(runs, 'job')} ran past the limit that you asked for, by {show_short(seconds / runs)} on average,"
        f" because nobody waited for the nodes; {completed} completed. Ask for more next time: such jobs earn no points"
    ]


def _limits(asked: Asked, mine: Mine, offer: Offer) -> Report:
    rows: list[list[Cell]] = []
    for one in mine.names:
        given = mine.advice[one.job_name]
        own = "job_name" in given.given.level
        limit = given.limit if own else None
        line = None if limit is None else f"#SBATCH --time={show_duration(limit)}"
        rows.append([one.job_name, one.runs, one.accuracy, one.longest, limit, given.risk if own else None, line])
    notes = (
        [
            f"each limit is too short for about {percent(offer.risk, 0)} of such runs; names with too few known runs"
            " get no limit"
        ]
        if rows
        else []
    )
    return _report(asked, _LINES, LIMITS, rows, notes)


def _running(
    asked: Asked, mine: Mine | None, queue: Sequence[Queued], away: str | None, held: Sequence[Held]
) -> Report:
    rows: list[list[Cell]] = []
    for one in queue:
        advice = None if mine is None else mine.advice.get(one.job_name or "")
        safe = advice.given.safe if advice is not None and "job_name" in advice.given.level else None
        left = one.time_limit - one.elapsed if one.time_limit is not None and one.elapsed is not None else None
        rows.append(
            [
                one.job_id,
                one.job_name,
                one.queue,
                one.state,
                one.elapsed,
                one.time_limit,
                left,
                safe,
                _warning(one, safe),
            ]
        )
    short = sum(row[-1] is not None for row in rows)
    notes = (
        [f"of {plural(short, 'job')} the limit looks too short; only an administrator can raise it"] if short else []
    )
    notes += [*_idle(held), *_none(rows, f"none of {asked.whose} jobs is running", away)]
    return _report(asked, "Running jobs", RUNNING, rows, notes)


def _idle(held: Sequence[Held]) -> list[str]:
    """One line about jobs that hold GPUs without using them; none where nothing measured them."""
    idle = sorted((one for one in held if one.idle(IDLE)), key=lambda one: -(one.idle_hours(IDLE) or 0))
    if not idle:
        return []
    ids = ", ".join(clean(one.job.listed.listed_id) for one in idle[:_MOST_IDLE])
    more = f" and {len(idle) - _MOST_IDLE} more" if len(idle) > _MOST_IDLE else ""
    gpus, unused = sum(one.job.gpus for one in idle), sum(one.idle(IDLE) for one in idle)
    jobs = "job" if len(idle) == 1 else "jobs"
    return [
        f"{jobs} {ids}{more}: {unused} of {plural(gpus, 'GPU')} not used for {show_short(IDLE)} or more;"
        " adminkit idle shows since when"
    ]


def _warning(one: Queued, safe: int | None) -> str | None:
    if safe is None or one.time_limit is None or safe <= one.time_limit:
        return None
    return f"may be cut off: runs of this name need up to {show_duration(safe)}"


def _waiting(asked: Asked, queue: Sequence[Queued], away: str | None) -> Report:
    rows: list[list[Cell]] = [
        [
            one.job_id, one.job_name, one.queue, one.submit_time, one.time_limit, one.start_time, one.reason,
            None if one.reason is None else meaning(one.reason), one.tasks,
        ]
        for one in queue
    ]  # fmt: skip
    notes = _none(rows, f"none of {asked.whose} jobs is waiting", away)
    many = sum(one.tasks or 1 for one in queue)
    if many > len(rows):
        some = "at least " if any(one.tasks is None for one in queue) else ""
        notes.append(f"{some}{plural(many, 'job')} wait: each array task counts as one")
    return _report(asked, "Waiting jobs", WAITING, rows, notes)


def _none(rows: Sequence[object], said: str, away: str | None) -> list[str]:
    if away is not None:
        return [f"not known: {away}"]
    return [] if rows else [said]


def _report(asked: Asked, title: str, fields: Sequence[Field], rows: list[list[Cell]], notes: Sequence[str]) -> Report:
    meta = Meta(title, asked.where, (asked.since, asked.now), [asked.owner.cluster], {}, len(rows), {}, notes)
    return Report(meta, fields, rows)


def source(asked_at: int, now: int) -> str:
    """Whose word the runs are, and how old."""
    age = now - asked_at
    old = "" if age < 120 else f", {show_duration(age)} ago"
    return f"sacct at {show_time(asked_at)}{old}"
