"""One round of `adminkit idle`, by a timer on slurmctld's host: who is warned, and what is done about whose job.

A round decides on one look at the jobs and at the sources. Before it acts it measures again the jobs that it would act
on; then it counts and records each act, does it, and records what came of it. An order to requeue stands in the job
itself, so that a later round carries on what an earlier one began.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from adminkit import actions
from adminkit.config import Config
from adminkit.deploy import idle_points
from adminkit.deploy.extend_state import alone_here
from adminkit.deploy.files import changing
from adminkit.deploy.idle_orders import REQUEUE, settle, with_requeue
from adminkit.deploy.idle_state import LOCK, State, read_state, write_state
from adminkit.deploy.in_force import rules_of, section
from adminkit.elastic import resize
from adminkit.elastic.plan import Look
from adminkit.errors import AdminkitError
from adminkit.messages import counted, translated
from adminkit.slurm import extending, idle_acts
from adminkit.slurm.elastic_jobs import open_job, open_jobs
from adminkit.slurm.gpu_jobs import GpuJob, gpu_jobs
from adminkit.units import show_duration
from adminkit.usage.held import Held
from adminkit.usage.ladder import Act, Past, look, plan
from adminkit.usage.settings import Settings, settings_of
from adminkit.usage.sources import measure
from adminkit.usage.steps import WHAT

#: Seconds between two rounds.
PERIOD: Final = 300
Measure = Callable[[Sequence[GpuJob], int], tuple[list[Held], list[str]]]


@dataclass(frozen=True, slots=True)
class Done:
    """An act and what came of it: `held` None where nothing was to be done; `said`: Slurm's words where it refused."""

    act: Act
    held: bool | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """`settled`: what became of orders of earlier rounds; `notes`: what could not be asked, one line each."""

    at: int
    enabled: bool
    done: Sequence[Done] = ()
    settled: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    idle: bool = False  # another host's slurmctld is at work, and its rounds decide

    @property
    def ok(self) -> bool:
        return all(one.held is not False for one in self.done) and all(one["held"] for one in self.settled)


def settings_in_force(folder: Path) -> Settings | None:
    """[idle] of the policy that slurmctld decides by; None where it is off."""
    value = section(folder, "idle")
    return None if value is None else settings_of(value)


def measures(config: Config) -> Measure:
    """Ask the sources of [usage]."""
    return lambda jobs, now: measure(config.usage, jobs, now)


def once(folder: Path, config: Config, now: int, group: int | None = None, others: Sequence[str] = ()) -> Round:
    """A whole round. AdminkitError when slurmctld is away, or nothing can be recorded: then nothing is done.

    `others`: slurmctld's other hosts, on which rounds may be at work while this one's slurmctld is not.
    """
    settings = settings_in_force(folder)
    kept = read_state(folder, now)
    if settings is None and not kept.orders and not kept.taken:
        return Round(now, False)
    with alone_here(folder, LOCK):
        if others and not extending.is_acting(others):
            return Round(now, settings is not None, idle=True)
        actions.check(config.acts)
        return _Work(folder, config, now, group, settings, measures(config)).run()


@dataclass(slots=True)
class _Work:
    """A round at work."""

    folder: Path
    config: Config
    now: int
    group: int | None
    settings: Settings | None
    ask: Measure

    def run(self) -> Round:
        state = read_state(self.folder, self.now)
        settled = self._settled(state)
        left = {job: until for job, until in state.orders.items() if job not in {one["job"] for one in settled}}
        if self.settings is None:
            state = replace(state, at=self.now, orders=left)
            self._keep(state)
            return Round(self.now, False, settled=[*settled, *self._points(state, ())])
        jobs = gpu_jobs()
        found, notes = self.ask(jobs, self.now)
        acts = plan(found, state.past, self.settings, self.now, bool(notes))
        past = {
            one.job.job_id: mine
            for one in found
            if (mine := state.past.get(one.job.job_id)) is not None and mine.start == one.job.start
        }
        past = idle_points.released(acts, self._forgotten(acts, past))
        state = State(self.now, past, left, state.taken)
        done = []
        for act in self._again(acts, state):
            if act.did == "nothing":
                done.append(Done(act))
                continue
            before, state = state, self._counted(act, state)
            self._keep(state)
            done.append(self._do(act))
            if act.did == "warned" and not done[-1].held:
                state = before  # nobody was warned, so nothing is done about the job until somebody is
        self._keep(state)
        return Round(self.now, True, done, [*settled, *self._points(state, found)], notes)

    def _points(self, state: State, found: Sequence[Held]) -> list[dict[str, Any]]:
        """Hold the points of users with a job on that step, and give back those of the others."""
        asked = self.settings is not None and idle_points.RUNG in self.settings.acts
        who = idle_points.holders(found, state.past) if asked else set()
        if not who and not state.taken:
            return []
        return idle_points.settle(who, state.taken, lambda taken: self._keep(replace(state, taken=taken)), self._record)

    def _settled(self, state: State) -> list[dict[str, Any]]:
        hold = self.settings is None or self.settings.hold
        lines = settle(state.orders, hold, self.now)
        for line in lines:
            self._record(line)
        if self.settings is not None and "shrink" in self.settings.acts:
            resize.settle(open_jobs(), self.now, self.config.elastic, self.config.acts, self._ruled())
        return lines

    def _forgotten(self, acts: Sequence[Act], past: dict[int, Past]) -> dict[int, Past]:
        """Without the warnings of jobs that used their GPUs again: they are warned again before anything is done."""
        busy = {act.held.job.job_id for act in acts if act.why == "busy"}
        return {job: replace(one, warned=None) if job in busy else one for job, one in past.items()}

    def _again(self, acts: Sequence[Act], state: State) -> list[Act]:
        """The acts, each of which still is right by a second look at the job and at the sources, taken just now."""
        assert self.settings is not None
        doing = [act for act in acts if act.did not in ("nothing", "warned")]
        if not doing:
            return list(acts)
        now = int(time.time()) if abs(time.time() - self.now) < PERIOD else self.now
        jobs = gpu_jobs([act.held.job.job_id for act in doing])
        found, notes = self.ask(jobs, now)
        again = {one.job.job_id: one for one in found}
        right = []
        for act in acts:
            one = again.get(act.held.job.job_id)
            if act.did in ("nothing", "warned"):
                right.append(act)
            elif one is None or notes:
                right.append(replace(act, did="nothing", why="away" if notes else "over"))
            else:
                right.append(look(one, state.past.get(one.job.job_id), self.settings, now))
        return right

    def _counted(self, act: Act, state: State) -> State:
        job = act.held.job
        before = state.past.get(job.job_id) or Past(job.start or 0)
        if act.did == "warned":
            return replace(state, past={**state.past, job.job_id: replace(before, warned=self.now)})
        orders = {**state.orders, job.job_id: self.now + REQUEUE} if act.did == "requeue" else state.orders
        return replace(state, past={**state.past, job.job_id: before.with_act(act.did, self.now)}, orders=orders)

    def _do(self, act: Act) -> Done:
        """Record it, do it, record what came of it."""
        line = _line(act)
        self._record(line)
        try:
            said = self._act(act)
        except AdminkitError as error:
            said = error.message
        self._record({**line, "held": not said, "said": said})
        return Done(act, not said, said)

    def _act(self, act: Act) -> str:
        """Slurm's words where it refused; "" where it was done. The job is looked at once more just before."""
        listed = act.held.job.listed
        now = idle_acts.now_of([listed.job_id]).get(listed.job_id)
        if now is None or now.state != "RUNNING" or now.start_time != listed.start_time:
            return "it is no longer that run"
        if act.did == "warned" or act.did == "points":
            idle_acts.notify(listed, self._text(act))
        elif act.did == "cancel":
            idle_acts.notify(listed, self._text(act))
            idle_acts.cancel(listed)
        elif act.did == "requeue":
            comment = with_requeue(now.admin_comment or "", self.now + REQUEUE)
            if comment is None:
                return "its AdminComment is full, or has an order"
            idle_acts.set_comment(listed, comment)
        else:
            return self._shrink(act)
        return ""

    def _shrink(self, act: Act) -> str:
        job = open_job(act.held.job.job_id)
        if job is None:
            return "it is over"
        wanted = Look(job, act.to, f"{act.idle} of its GPUs are not used")
        made = resize.order(wanted, self.config.elastic, self.now, self.config.acts, self._ruled())
        return "" if made.did == "ordered" else made.text

    def _ruled(self) -> resize.Ruled:
        return rules_of(self.folder, self.now).of_gpus

    def _text(self, act: Act) -> str:
        assert self.settings is not None
        return translated(line_of(act, self.settings), self.config.feedback.language)

    def _record(self, line: Mapping[str, Any]) -> None:
        actions.append(self.config.acts, actions.act(WHAT, None, None, {}, **line))

    def _keep(self, state: State) -> None:
        with changing(self.folder, self.group):
            write_state(self.folder, state)


def line_of(act: Act, settings: Settings) -> str:
    """The line in the job's log. Nothing of it is a user's text."""
    least = int(settings.warn * (settings.used_before if act.held.was_used else 1))
    since = act.held.idle_since(least)
    idle = show_duration(0 if since is None else max(0, max(use.until for use in act.held.uses) - since))
    gpus = act.held.job.gpus
    if act.did == "cancel":
        return counted(
            "adminkit: this job is cancelled: its GPU was not used for {idle}",
            "adminkit: this job is cancelled: its {number} GPUs were not used for {idle}",
            gpus, idle=idle,
        )  # fmt: skip
    if act.did == "points":
        return counted(
            "adminkit: your waiting jobs have no priority points while this job does not use its GPU, for {idle} now",
            "adminkit: your waiting jobs have no priority points while this job does not use {idle_gpus} of its"
            " {number} GPUs, for {idle} now",
            gpus, idle_gpus=act.idle, idle=idle,
        )  # fmt: skip
    if settings.acts:
        return counted(
            "adminkit: this job's GPU has not been used for {idle}; if it stays unused, the job may lose it",
            "adminkit: {idle_gpus} of this job's {number} GPUs have not been used for {idle}; if they stay unused, the"
            " job may lose them",
            gpus, idle_gpus=act.idle, idle=idle,
        )  # fmt: skip
    return counted(
        "adminkit: this job's GPU has not been used for {idle}; please end the job if it does not need it",
        "adminkit: {idle_gpus} of this job's {number} GPUs have not been used for {idle}; please end the job if it does"
        " not need them",
        gpus, idle_gpus=act.idle, idle=idle,
    )  # fmt: skip


def _line(act: Act) -> dict[str, Any]:
    """The act as it is recorded."""
    listed, held = act.held.job.listed, act.held
    return {
        "did": act.did,
        "job": listed.job_id,
        "uid": listed.uid,
        "user": listed.user or None,
        "queue": listed.queue,
        "account": listed.account,
        "gpus": held.job.gpus,
        "idle": act.idle,
        "to": act.to,
        "why": act.why,
        "source": held.source,
        "quiet": min((use.quiet for use in held.uses if use.quiet), default=None),
        "held": None,
    }
