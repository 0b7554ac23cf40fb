"""One round of `adminkit extend`, by a timer on slurmctld's host: who is given more time, from whom it is taken back.

A round decides on one snapshot. What it is about to do is counted and recorded, then done, one update a job, and read
back. A round that was cut off is completed by the next: it finds in the state what was under way, and in the jobs
whether it was done.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from adminkit import actions
from adminkit.deploy.extend_bounds import SlurmBounds
from adminkit.deploy.extend_state import State, alone_here, read_state, write_state
from adminkit.deploy.files import changing
from adminkit.deploy.in_force import section
from adminkit.errors import AdminkitError
from adminkit.extend.plan import REQUEUED, Act, Open, chosen, is_near, plan
from adminkit.extend.rule import outlook
from adminkit.extend.settings import Settings, settings_of
from adminkit.extend.words import given_of, with_given
from adminkit.slurm import extending
from adminkit.slurm.extending import Queue
from adminkit.slurm.squeue import QueuedJob

#: In the action log.
WHAT: Final = "extend"
#: Seconds between two rounds, and how many of them may be missed before this host counts as not at work.
PERIOD: Final = 30
_PERIODS: Final = 4
#: Seconds after which a snapshot decides nothing more: half of the shortest lead, within which nothing is taken back.
_OLD: Final = 60.0


@dataclass(frozen=True, slots=True)
class Done:
    """An act and what came of it: `held` None where it was not done, `said` Slurm's words where it refused, `over`
    where the job ended or was put back meanwhile, or its limit was changed again, which is nobody's failure.
    """

    act: Act
    held: bool | None = None
    said: str = ""
    over: bool = False
    counts: bool = False  # its user has what was given, or gave up what was taken


@dataclass(frozen=True, slots=True)
class Round:
    """`opted_in`: open jobs that are to be extended; `holding`: those that were given time."""

    at: int
    enabled: bool
    done: Sequence[Done] = ()
    opted_in: int = 0
    holding: int = 0
    notes: Sequence[str] = ()
    idle: bool = False  # another host's slurmctld is at work, and its rounds decide

    @property
    def ok(self) -> bool:
        return not self.notes and all(one.held is not False or one.over for one in self.done)


def settings_in_force(folder: Path) -> Settings | None:
    """[extend] of the policy that slurmctld decides by; None where it is off."""
    value = section(folder, "extend")
    return None if value is None else settings_of(value)


def look(folder: Path, now: int, alone: bool = True) -> Round:
    """What a round would do. Changes nothing."""
    settings = settings_in_force(folder)
    if settings is None:
        return Round(now, False)
    queue = extending.queue(now)
    jobs = chosen(queue.jobs, queue.listed)
    state = read_state(folder, now, alone, _PERIODS * PERIOD)
    acts = _decide(folder, queue, jobs, settings, state)
    return Round(now, True, [Done(act) for act in acts], len(jobs), _holding(jobs))


def once(folder: Path, now: int, log: Path, group: int | None = None, others: Sequence[str] = ()) -> Round:
    """A whole round. AdminkitError when slurmctld is away, or nothing can be recorded: then nothing is done.

    `others`: slurmctld's other hosts, on which rounds may be at work while this one's slurmctld is not.
    """
    settings = settings_in_force(folder)
    if settings is None and not read_state(folder, now, not others, _PERIODS * PERIOD).under_way:
        return Round(now, False)
    with alone_here(folder):
        return _once(folder, now, log, group, others, settings)


def _once(
    folder: Path, now: int, log: Path, group: int | None, others: Sequence[str], settings: Settings | None
) -> Round:
    state = read_state(folder, now, not others, _PERIODS * PERIOD)
    if others and not extending.is_acting(others):
        return Round(now, settings is not None, idle=True)
    actions.check(log)
    begun = time.monotonic()
    queue = extending.queue(now)
    jobs = chosen(queue.jobs, queue.listed)
    state = _settle(state, queue, log)
    acts = [] if settings is None else _decide(folder, queue, jobs, settings, state)
    cluster = queue.config.get("ClusterName", "")
    state = _refuse(acts, jobs, state, cluster, log)
    doing = [act for act in acts if act.becomes is not None]
    lines = [_line(act, cluster) for act in doing]
    state = replace(state, at=now)
    with changing(folder, group):
        write_state(folder, replace(state, given=_counted(lines, state.given), under_way=tuple(lines)))
    done = _do(doing, lines, log, begun)
    if doing and all(one.held is not None for one in done):
        counts = [line for line, one in zip(lines, done, strict=True) if one.counts]
        with changing(folder, group):
            write_state(folder, replace(state, given=_counted(counts, state.given)))
    refused = [Done(act) for act in acts if act.becomes is None]
    notes = [one.said for one in done if one.said]
    return Round(now, settings is not None, [*done, *refused], len(jobs), _holding(jobs), notes)


def _holding(jobs: Sequence[Open]) -> int:
    return sum(job.given is not None and job.given.times > 0 for job in jobs)


def _decide(folder: Path, queue: Queue, jobs: Sequence[Open], settings: Settings, state: State) -> list[Act]:
    """The acts of this moment. Nodes are asked about only where somebody is near the end, or holds extra time."""
    mine = [job for job in jobs if is_near(job, settings, queue.at) or (job.given is not None and job.given.times)]
    if not mine:
        return []
    names = {name for job in mine for name in job.room.nodes}
    names |= {name for one in queue.jobs if one.state == "PENDING" and names & set(one.nodes) for name in one.nodes}
    room, limits = extending.room_around(queue, names)
    bounds = SlurmBounds(folder, room, limits, queue.config, settings, state)
    return plan(mine, settings, outlook(room, bounds.above()), bounds, queue.at)


def _settle(state: State, queue: Queue, log: Path) -> State:
    """Record what became of the acts that a round before could not read back."""
    if not state.under_way:
        return state
    there, failed, known = {one.job_id: one for one in queue.listed}, [], _recorded(log, state.at)
    for line in state.under_way:
        job = there.get(line["job"])
        held = _key(line) in known or _held(line, job)
        if _key(line) not in known:
            _record(log, {**line, "held": held})
        # Whether a job that is gone had the time is not known: what was given counts.
        counts = held or _stands(line, job) or (job is None and line["becomes"] > line["was"])
        failed += [] if counts else [{**line, "was": line["becomes"], "becomes": line["was"]}]
    return replace(state, given=_counted(failed, state.given), under_way=())


def _recorded(log: Path, since: int) -> set[tuple[object, ...]]:
    """The acts since then that are recorded as held, so that none is recorded as that twice. Trap: one that did not
    hold may be an act on the same job by the round before, recorded in the same second.
    """
    acts = (one for one in actions.read(log) if one.get("what") == WHAT and one["at"] >= since)
    return {_key(one) for one in acts if one.get("held") is True}


def _key(line: Mapping[str, Any]) -> tuple[object, ...]:
    """What tells the acts of two rounds in a row apart."""
    return str(line.get("job")), str(line.get("did")), str(line.get("becomes"))


def _held(line: Mapping[str, Any], job: QueuedJob | None) -> bool:
    """Whether the job has the limit and the word of an act."""
    return job is not None and job.time_limit == line["becomes"] and _stands(line, job)


def _stands(line: Mapping[str, Any], job: QueuedJob | None) -> bool:
    """Whether the job has the word of an act. Trap: its user may lower a limit that was raised, by a minute, before it
    is read back. They have the rest of what was given, so it counts.
    """
    word = None if job is None else given_of(job.admin_comment or "")
    return word is not None and word.limit == line["becomes"]


def _refuse(acts: Sequence[Act], jobs: Sequence[Open], state: State, cluster: str, log: Path) -> State:
    """Record refusals, each once for a job and a why; forget those of jobs that are gone."""
    there = {job.room.job_id for job in jobs}
    refused = {job: whys for job, whys in state.refused.items() if job in there}
    for act in acts:
        whys = refused.get(act.job.room.job_id, ())
        if act.becomes is None and act.why not in whys:
            _record(log, _line(act, cluster))
            refused[act.job.room.job_id] = (*whys, act.why)
    return replace(state, refused=refused)


def _counted(lines: Sequence[Mapping[str, Any]], before: Mapping[int, int]) -> dict[int, int]:
    """What users were given with these acts; what is taken back counts no longer, unless its run is over."""
    given = dict(before)
    for line in lines:
        if line["uid"] is not None and line.get("why") != REQUEUED:
            given[line["uid"]] = max(0, given.get(line["uid"], 0) + line["becomes"] - line["was"])
    return given


def _line(act: Act, cluster: str) -> dict[str, Any]:
    """The act as it is recorded."""
    listed = act.job.listed
    return {
        "cluster": cluster,
        "did": act.did,
        "job": listed.job_id,
        "uid": listed.uid,
        "user": listed.user or None,
        "queue": listed.queue,
        "account": listed.account,
        "asked": act.job.asked,
        "was": act.was,
        "becomes": act.becomes,
        "why": act.why,
        "text": str(act.text),
        "behind": None if act.behind is None else act.behind.job_id,
        "starts": None if act.behind is None else act.behind.starts,
        "held": None,
    }


def _record(log: Path, line: Mapping[str, Any]) -> None:
    actions.append(log, actions.act(WHAT, None, None, {}, **line))


def is_outcome(line: Mapping[str, Any]) -> bool:
    """Whether a recorded act is more than the intention, which comes again with what became of it."""
    return line.get("did") == "refused" or line.get("held") is not None


def _do(acts: Sequence[Act], lines: Sequence[Mapping[str, Any]], log: Path, begun: float) -> list[Done]:
    """Look at each job again, record its act, do it, and read all back, as long as what was decided by is not old.
    `held` stays None for acts of which slurmctld could not be asked.
    """
    if not acts:
        return []
    ids = [act.job.listed.job_id for act in acts]
    said = []
    for act, line in zip(acts, lines, strict=True):
        now = extending.again([line["job"]]).get(line["job"])
        _record(log, line)
        old = time.monotonic() - begun > _OLD
        late = f"job {line['job']}: slurmctld took too long; the next round decides again"
        said.append(late if old else _one(act, now))
    try:
        after = extending.again(ids)
        if _noted_again(acts, said, after):
            after = extending.again(ids)
    except AdminkitError as error:
        return [Done(act, None, words or error.message) for act, words in zip(acts, said, strict=True)]
    done = []
    for act, line, words in zip(acts, lines, said, strict=True):
        there = after.get(act.job.listed.job_id)
        held = _held(line, there)
        _record(log, {**line, "held": held})
        stands = _stands(line, there)
        is_changed = stands and there is not None and there.time_limit not in (act.was, act.becomes)
        is_over = there is None or there.state != act.job.listed.state or is_changed
        done.append(Done(act, held, "" if is_over else words, is_over, stands))
    return done


def _noted_again(acts: Sequence[Act], said: Sequence[str], after: Mapping[int, QueuedJob]) -> bool:
    """Write words again that the plugin overwrote, which had read the comment just before; whether there were any. The
    limits are those that were set, or what their users made of them since: without its word one would be taken for
    asked.
    """
    any_lost = False
    for act, words in zip(acts, said, strict=True):
        now = after.get(act.job.listed.job_id)
        if words or now is None or act.given is None or now.time_limit == act.was:
            continue
        comment = with_given(now.admin_comment or "", act.given)
        if comment is not None and comment != now.admin_comment:
            extending.set_comment(act.job.listed, comment)
            any_lost = True
    return any_lost


def _one(act: Act, now: QueuedJob | None) -> str:
    """Slurm's words where it refused the update, or why it is not made; "" where it was.

    Trap: the plugin writes words of its own into the same comment, so the one that is there just before counts.
    """
    listed = act.job.listed
    assert act.becomes is not None and act.was is not None and act.given is not None
    if now is None or now.state != listed.state:
        return f"job {listed.job_id}: it is no longer {listed.state}"
    if now.time_limit != act.was or given_of(now.admin_comment or "") != act.job.given:
        return f"job {listed.job_id}: its limit was changed meanwhile"
    comment = with_given(now.admin_comment or "", act.given)
    if comment is None:
        return f"job {listed.job_id}: its AdminComment is full"
    try:
        extending.move_limit(listed, act.becomes - act.was, comment)
    except AdminkitError as error:
        return f"job {listed.job_id}: {error.message}"
    return ""
