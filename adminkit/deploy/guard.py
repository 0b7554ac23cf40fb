"""The guard of soft limits: one round of it, by a timer on slurmctld's host, a few times a minute.

A round writes the lease, without which the script gives no job a soft limit, takes soft limits from pending jobs where
they are no longer safe, and raises what Slurm lowered at a job's start. It touches only jobs that have our word in
AdminComment. What it does is recorded; what it did not reach, the next round does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from adminkit import actions
from adminkit.deploy.files import SUBFOLDER, changing, put_file, read_text, table_path
from adminkit.deploy.planning import Reason, lease, parameter, reasons, reserved_at, turns_on, unclear
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module
from adminkit.lua.runtime import Lua
from adminkit.slurm import planning
from adminkit.slurm.planning import PlannedJob, Planning

#: Below the folder of job_submit.lua. Neither is a table that an install puts, so neither counts among its checksums.
LEASE: Final = f"{SUBFOLDER}/soft_lease"
STATE: Final = f"{SUBFOLDER}/soft_state.json"
#: Periods of the timer for which a lease lasts.
PERIODS: Final = 3
PERIOD: Final = 30
#: In the log of acts.
WHAT: Final = "soft-limits guard"
_STATE_MODE: Final = 0o600
_STARTED: Final = ("RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "RESIZING", "SIGNALING")
_ENDING: Final = ("COMPLETING", "STAGE_OUT")
_COMMENT: Final = "Written by `adminkit soft-limits guard`, a few times a minute."


@dataclass(frozen=True, slots=True)
class Act:
    """Something the guard does to one job. Limits in seconds."""

    did: str  # cleared, raised
    job: int
    name: str  # what scontrol changes it by
    why: str
    was: int | None
    becomes: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """What a round found and did. `left`: acts that did not hold when they were read back."""

    now: int
    enabled: bool
    reasons: Sequence[Reason] = ()
    valid_until: int | None = None  # of the lease that it wrote; None: none
    planned: int = 0  # open jobs with a soft limit of ours
    acts: Sequence[Act] = ()
    left: Sequence[Act] = ()
    notes: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        return not self.left and (not self.enabled or self.valid_until is not None)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and the jobs whose start needs no second look afterwards."""

    acts: Sequence[Act] = ()
    started: frozenset[int] = frozenset()


class Records:
    """The records of jobs, read by the script's own module."""

    def __init__(self) -> None:
        self._lua = Lua()
        self._read = self._lua.module("record")[b"read"]

    def limits(self, comment: str) -> tuple[int | None, int | None]:
        """(the limit that was asked for, the soft limit) of a record that names both; (None, None) without."""
        there = self._lua.call(self._read, comment)
        record = None if there is None else self._lua.out(there)
        if not isinstance(record, dict) or not str(record.get("soft", "")).isdigit():
            return None, None
        asked = str(record["lim"])
        return (int(asked) if asked.isdigit() else None), int(record["soft"])


def ours(jobs: Iterable[PlannedJob], records: Records) -> list[tuple[PlannedJob, int | None]]:
    """The open jobs that have a TimeMin and our word for it, with the limit that was asked for."""
    found = []
    for job in jobs:
        if job.time_min is None or ",soft=" not in job.comment:
            continue
        asked, soft = records.limits(job.comment)
        if soft is not None:
            found.append((job, asked))
    return found


def plan(
    jobs: Sequence[tuple[PlannedJob, int | None]],
    started: frozenset[int] | None,
    given: Mapping[str, Any] | None,
    site: Planning,
    now: int,
    margin: int,
) -> Plan:
    """What a round does to `jobs`. `given` is the lease, None for none: then no pending job keeps a soft limit.

    A job that has a TimeMin of ours had, while pending, the limit that its record says: the script gives none to a job
    whose limit a rule changed, and takes it away in every update of a limit. So a lower limit is Slurm's doing where
    the job is seen for the first time since its start, and an operator's or the owner's later. `started` are those that
    were seen; None: nothing was kept, so nothing that started more than `margin` seconds ago is touched.
    """
    acts: list[Act] = []
    seen: set[int] = set()
    for job, asked in jobs:
        if job.state in _ENDING:
            continue
        if job.state not in _STARTED:
            is_low = asked is not None and job.time_limit is not None and job.time_limit < asked
            why = "no lease" if given is None else unclear(job, given, now)
            if why or is_low:
                becomes = asked if is_low else None  # Slurm may leave what waits of an array with the limit of a task
                acts.append(Act("cleared", job.job_id_raw, job.job_id, why or "lowered", job.time_min, becomes))
        elif (
            asked is None
            or job.time_limit is None
            or job.time_limit >= asked
            or _is_later(job, asked, started, site, now, margin)
        ):
            seen.add(job.job_id_raw)
        else:
            acts.append(Act("raised", job.job_id_raw, job.job_id, "lowered at its start", job.time_limit, asked))
    return Plan(acts, frozenset(seen))


def _is_later(
    job: PlannedJob, asked: int, started: frozenset[int] | None, site: Planning, now: int, margin: int
) -> bool:
    """Whether a limit below `asked` may have been lowered after the start, by a person."""
    if job.time_limit is None or job.time_limit < (job.time_min or 0):
        return True  # Slurm never goes below TimeMin
    if started is not None and job.job_id_raw in started:
        return True
    start = now if job.start_time is None else job.start_time
    if now - start <= margin:
        return False
    ahead = [at for queue in site.queues if queue.name in job.queues and (at := reserved_at(queue, site)) is not None]
    return started is None or min(ahead, default=start + asked) < start + asked


def once(folder: Path, now: int, period: int, log: Path, group: int | None = None) -> Round:
    """A whole round. AdminkitError when slurmctld is away: then the lease runs out by itself."""
    actions.check(log)
    found = _look(folder, now, period)
    is_there = read_text(folder / LEASE) is not None
    with changing(folder, group):
        _write_lease(folder, found.given, group)
    if is_there != (found.given is not None):
        why = "; ".join(one.why for one in found.against) or ("" if found.enabled else "soft limits are off")
        _record(log, {"did": "lease given" if found.given else "lease withdrawn", "why": why})
    acts = found.plan.acts
    notes = _do(acts)
    left = _held(acts) if acts else []
    for act in acts:
        _record(log, {**asdict(act), "held": act not in left})
    with changing(folder, group):
        _write_state(folder, found.plan.started | {act.job for act in acts if act.did == "raised" and act not in left})
    until = None if found.given is None else int(found.given["valid_until"])
    return Round(now, found.enabled, found.against, until, found.planned, acts, left, notes)


def look(folder: Path, now: int, period: int = PERIOD) -> Round:
    """What a round would do, with the lease that is there. Changes nothing."""
    found = _look(folder, now, period)
    there = read_lease(folder)
    until = int(there["valid_until"]) if there and int(there["valid_until"]) > now else None
    notes = [] if not found.enabled or found.against or until else ["the guard's timer did not run lately"]
    return Round(now, found.enabled, found.against, until, found.planned, found.plan.acts, (), notes)


@dataclass(frozen=True, slots=True)
class _Found:
    enabled: bool
    against: Sequence[Reason]
    given: Mapping[str, Any] | None
    planned: int
    plan: Plan


def _look(folder: Path, now: int, period: int) -> _Found:
    settings = _settings(folder)
    site, jobs = planning.planning(now), planning.open_jobs()
    against, margin = _against(site, settings), PERIODS * period
    given = None
    if settings is not None and not against:
        wide = int(settings.get("wide", 0))
        given = lease(site, jobs, bool(settings.get("preemptible")), wide, now, margin)
    mine = ours(jobs, Records())
    return _Found(
        settings is not None, against, given, len(mine), plan(mine, read_state(folder), given, site, now, margin)
    )


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


def read_state(folder: Path) -> frozenset[int] | None:
    """The jobs whose start earlier rounds looked at; None where nothing was kept, or it cannot be read."""
    try:
        return frozenset(int(job) for job in json.loads(read_text(folder / STATE) or ""))
    except (ValueError, TypeError):
        return None


def _settings(folder: Path) -> Mapping[str, Any] | None:
    """[soft_limits] of the policy that slurmctld decides by; None where they are off."""
    text = read_text(table_path(folder, "policy"))
    if text is None or not turns_on(text):
        return None
    lua = Lua()
    table = lua.out(lua.table(text.encode("utf-8", "surrogateescape"), "policy.lua"))
    value = table.get("soft_limits") if isinstance(table, dict) else None
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


def _write_state(folder: Path, started: Iterable[int]) -> None:
    put_file(folder / STATE, json.dumps(sorted(started)), mode=_STATE_MODE)


def _do(acts: Sequence[Act]) -> list[str]:
    """Slurm's words where it refused."""
    notes = []
    try:
        planning.clear([act.job for act in acts if act.did == "cleared" and act.becomes is None])
    except AdminkitError as error:
        notes.append(error.message)
    for act in acts:
        if act.becomes is None:
            continue
        try:
            (planning.set_limit if act.did == "raised" else planning.restore)(act.name, act.becomes)
        except AdminkitError as error:
            notes.append(error.message)
    return notes


def _held(acts: Sequence[Act]) -> list[Act]:
    """The acts that did not hold, by what slurmctld says now."""
    there = {job.job_id_raw: job for job, _ in ours(planning.open_jobs(), Records())}
    left = []
    for act in acts:
        job = there.get(act.job)
        if job is None:
            continue  # it has no TimeMin any more, or is gone
        if (act.did == "cleared" and job.state not in (*_STARTED, *_ENDING)) or (
            act.did == "raised" and job.time_limit is not None and job.time_limit < (act.becomes or 0)
        ):
            left.append(act)
    return left


def _record(log: Path, more: Mapping[str, Any]) -> None:
    actions.append(log, actions.act(WHAT, None, None, {}, **more))
