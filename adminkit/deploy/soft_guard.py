"""The guard of soft limits: one round of it, by a timer on slurmctld's host, a few times a minute.

A round writes the lease, without which the script gives no job a soft limit, takes soft limits from pending jobs where
they are no longer safe, and raises what Slurm lowered at a job's start. It touches only jobs that have our word in
AdminComment. What it does is recorded; what it did not reach, the next round does. A file that it cannot read or write
ends the lease, and never keeps it from the jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from adminkit import actions
from adminkit.deploy.files import SUBFOLDER, changing, put_file, read_text
from adminkit.deploy.guard_state import State, read_state, write_state
from adminkit.deploy.in_force import rules_of, section
from adminkit.deploy.planning import Reason, lease, parameter, reasons
from adminkit.deploy.soft_guard_plan import ENDING, STARTED, Act, Plan, Records, Ruled, ours, plan, unread
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module
from adminkit.lua.runtime import Lua
from adminkit.slurm import planning
from adminkit.slurm.planning import PlannedJob, Planning

#: Below the folder of job_submit.lua. An install does not put it there, so its checksums leave it out.
LEASE: Final = f"{SUBFOLDER}/soft_lease"
#: Periods of the timer for which a lease lasts.
PERIODS: Final = 3
PERIOD: Final = 30
#: In the action log.
WHAT: Final = "soft-limits guard"
_COMMENT: Final = "Written by `adminkit soft-limits guard`, a few times a minute."


@dataclass(frozen=True, slots=True)
class Round:
    """What a round found and did. `left`: acts that did not hold when they were read back."""

    now: int
    enabled: bool
    reasons: Sequence[Reason] = ()
    valid_until: int | None = None  # of the lease that it wrote; None: none
    planned: int = 0  # open jobs with adminkit's soft limit
    acts: Sequence[Act] = ()
    left: Sequence[Act] = ()
    notes: Sequence[str] = ()
    odd: bool = False  # jobs were left alone, of which nobody knows what they have; `notes` names them

    @property
    def ok(self) -> bool:
        return not self.left and not self.odd and (not self.enabled or self.valid_until is not None)


def once(folder: Path, now: int, period: int, log: Path, group: int | None = None, alone: bool = True) -> Round:
    """A whole round. AdminkitError when slurmctld is away: then the lease runs out by itself.

    `alone`: slurmctld has no other host, on which another guard may have been at work while this one was not.
    """
    found = _look(folder, now, period, alone, _unrecorded(log))
    notes = [*found.unread]
    was_there, is_written = (folder / LEASE).exists(), False
    with _noted(notes), changing(folder, group):
        _write_lease(folder, found.given, group)
        is_written = True
    acts = found.plan.acts
    notes += _do(acts)
    left: Sequence[Act] = acts  # as long as nobody has seen that they hold
    with _noted(notes):
        left = _held(acts) if acts else []
    with _noted(notes):
        if is_written and was_there != (found.given is not None):
            _record(log, {"did": "lease given" if found.given else "lease withdrawn", "why": found.why})
        for act in acts:
            _record(log, {**asdict(act), "held": act not in left})
    raised = {act.job for act in acts if act.did == "raised" and act not in left}
    seen = {job.job_id_raw: job.restarts for job in found.jobs if job.job_id_raw in raised}
    with _noted(notes), changing(folder, group):
        write_state(folder, State(now, {**found.plan.started, **seen}))
    until = int(found.given["valid_until"]) if found.given is not None and is_written else None
    return Round(now, found.enabled, found.against, until, len(found.jobs), acts, left, notes, bool(found.unread))


@contextmanager
def _noted(notes: list[str]) -> Iterator[None]:
    """What cannot be written is said; jobs come first."""
    try:
        yield
    except AdminkitError as error:
        notes.append(error.message)


def _unrecorded(log: Path) -> list[Reason]:
    """Why acts cannot be recorded: then nobody is given a soft limit, and jobs that have one lose it."""
    try:
        actions.check(log)
    except AdminkitError as error:
        return [Reason("acts", error.message, error.hint or "")]
    return []


def look(folder: Path, now: int, period: int = PERIOD, alone: bool = True) -> Round:
    """What a round would do, with the lease that is there. Changes nothing."""
    found = _look(folder, now, period, alone, [])
    there = read_lease(folder)
    until = int(there["valid_until"]) if there and int(there["valid_until"]) > now else None
    late = found.enabled and not found.against and until is None
    notes = [*found.unread, *(["the guard's timer did not run lately"] if late else [])]
    return Round(
        now,
        found.enabled,
        found.against,
        until,
        len(found.jobs),
        found.plan.acts,
        (),
        notes,
        bool(found.unread),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    enabled: bool
    against: Sequence[Reason]
    given: Mapping[str, Any] | None
    jobs: Sequence[PlannedJob]  # with adminkit's soft limit
    plan: Plan
    unread: Sequence[str]  # jobs that may have adminkit's soft limit, or not

    @property
    def why(self) -> str:
        """Why there is no lease, in words for the record; "" where there is one."""
        words = "; ".join(one.why for one in self.against)
        return words or ("" if self.enabled else "soft limits are off")


def _look(folder: Path, now: int, period: int, alone: bool, against: list[Reason]) -> _Found:
    settings: Mapping[str, Any] | None = None
    try:
        settings = section(folder, "soft_limits")
        is_on = settings is not None
    except AdminkitError as error:
        against, is_on = [*against, Reason("policy", error.message, error.hint or "")], True
    site, jobs = planning.planning(now), planning.open_jobs()
    margin, given = PERIODS * period, None
    against = [*against, *_against(site, settings)] if is_on else []
    if settings is not None and not against:
        given = lease(site, jobs, bool(settings.get("preemptible")), int(settings.get("wide", 0)), now, margin)
    mine, state = ours(jobs, Records()), read_state(folder)
    if state is not None and not alone and now - state.at > margin:
        state = None
    started = None if state is None else state.started
    done = plan(mine, started, given, site, now, margin, "no lease", _asked_once(folder, now))
    return _Found(is_on, against, given, [job for job, _ in mine], done, unread(jobs))


def _asked_once(folder: Path, now: int) -> Ruled:
    """The rules in force, which are loaded where there is a job to ask them about."""
    rules = cache(lambda: rules_of(folder, now))
    return lambda job, limit: rules().of_limit(job, limit)


def read_lease(folder: Path) -> dict[str, Any] | None:
    """The lease that is there; None without one, and for one that is damaged."""
    text = read_text(folder / LEASE)
    if text is None:
        return None
    lua = Lua()
    try:
        value = lua.out(lua.table(text.encode("utf-8", "surrogateescape"), "soft_lease"))
    except AdminkitError:
        return None
    return value if isinstance(value, dict) else None


def _against(site: Planning, settings: Mapping[str, Any] | None) -> list[Reason]:
    if settings is None:
        return []
    missing = parameter(site)
    return [*reasons(site), *([missing] if missing else [])]


def _write_lease(folder: Path, given: Mapping[str, Any] | None, group: int | None) -> None:
    path = folder / LEASE
    if given is None:
        path.unlink(missing_ok=True)
    else:
        put_file(path, module(given, _COMMENT), group)


def _do(acts: Sequence[Act]) -> list[str]:
    """Slurm's words where it refused. Jobs that run come first: their time is short."""
    notes: list[str] = []
    for act in sorted(acts, key=lambda act: act.did != "raised"):
        if act.becomes is not None:
            with _noted(notes):
                (planning.set_limit if act.did == "raised" else planning.restore)(act.name, act.becomes)
    with _noted(notes):
        planning.clear([act.job for act in acts if act.did == "cleared" and act.becomes is None])
    return notes


def _held(acts: Sequence[Act]) -> list[Act]:
    """The acts that did not hold, by what slurmctld says now."""
    there = {job.job_id_raw: job for job, _ in ours(planning.open_jobs(), Records())}
    left = []
    for act in acts:
        job = there.get(act.job)
        if job is None:
            continue  # it has no TimeMin any more, or is gone
        if (act.did == "cleared" and job.state not in (*STARTED, *ENDING)) or (
            act.did == "raised" and job.time_limit is not None and job.time_limit < (act.becomes or 0)
        ):
            left.append(act)
    return left


def _record(log: Path, more: Mapping[str, Any]) -> None:
    actions.append(log, actions.act(WHAT, None, None, {}, **more))
