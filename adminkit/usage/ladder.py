"""What a round does about a job that holds idle GPUs: a warning, then one act of those that the policy allows. Pure.

The first reason against it counts, so that each job has one word (docs/idle.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from adminkit.elastic.words import range_of
from adminkit.job import SERVER_NAME
from adminkit.usage.held import Held
from adminkit.usage.settings import Settings

Did = Literal["warned", "points", "shrink", "requeue", "cancel", "nothing"]
#: This many jobs of one source, or more, that are all idle are not believed.
_ALL_IDLE: Final = 5


@dataclass(frozen=True, slots=True)
class Past:
    """What was done about this run. Epoch seconds; `tried`: how often each act was begun."""

    start: int
    warned: int | None = None
    acted: int | None = None
    tried: Mapping[str, int] = field(default_factory=dict)

    def with_act(self, rung: str, now: int) -> Past:
        return replace(self, acted=now, tried={**self.tried, rung: self.tried.get(rung, 0) + 1})


@dataclass(frozen=True, slots=True)
class Act:
    """What is done about a job. `why`: one word, of docs/idle.md; `idle`: GPUs it is about; `to`: of a shrunk job."""

    did: Did
    held: Held
    why: str
    idle: int = 0
    to: int | None = None


def plan(
    all_held: Sequence[Held], past: Mapping[int, Past], settings: Settings, now: int, is_away: bool = False
) -> list[Act]:
    """An act for each job, those that do something first; `most` acts beside warnings. `past` is by job id; `is_away`:
    a source could not be asked, so that nothing is known of what it would have said, and nothing is done.
    """
    disbelieved = _disbelieved(all_held, settings)
    acts = []
    for one in all_held:
        if is_away and one.measured:
            acts.append(Act("nothing", one, "away"))
        elif one.source in disbelieved and one.measured:
            acts.append(Act("nothing", one, "all"))
        else:
            acts.append(look(one, _of_run(past.get(one.job.job_id), one), settings, now))
    acts.sort(key=lambda act: (act.did == "nothing", -(act.held.idle_hours(settings.warn) or 0), act.held.job.job_id))
    done = 0
    for at, act in enumerate(acts):
        if act.did in ("nothing", "warned"):
            continue
        done += 1
        if done > settings.most:
            acts[at] = replace(act, did="nothing", why="most")
    return acts


def look(held: Held, past: Past | None, settings: Settings, now: int) -> Act:
    """What is done about one job; `past` is of this run."""
    warn, act = (int(each * (settings.used_before if held.was_used else 1)) for each in (settings.warn, settings.act))
    idle = held.idle(warn)
    if why := _left_alone(held, settings, now):
        return Act("nothing", held, why, idle)
    if idle == 0:
        return Act("nothing", held, "busy")
    if past is None or past.warned is None:
        return Act("warned", held, "idle" if idle == held.job.gpus else "some", idle)
    acting = held.idle(act)
    if acting == 0 or now - past.warned < settings.notice:
        return Act("nothing", held, "notice", idle)
    if not settings.is_working(now):
        return Act("nothing", held, "hours", idle)
    return _act(held, past, settings, acting, now)


def _act(held: Held, past: Past, settings: Settings, acting: int, now: int) -> Act:
    """The first act of the policy's that fits the job and was not begun too often."""
    if past.acted is not None and now - past.acted < settings.notice:
        return Act("nothing", held, "acted", acting)
    why = "acts"
    for rung in settings.acts:
        to = _fits(rung, held, acting)
        if to is None:
            continue
        if past.tried.get(rung, 0) >= (1 if rung == "points" else settings.times):  # they are held until it is over
            why = "times"
            continue
        return Act(_DID[rung], held, "idle" if acting == held.job.gpus else "some", acting, to or None)
    return Act("nothing", held, why, acting)


_DID: Final[Mapping[str, Did]] = {"points": "points", "shrink": "shrink", "requeue": "requeue", "cancel": "cancel"}


def _fits(rung: str, held: Held, acting: int) -> int | None:
    """The GPUs that the job has afterwards, 0 for none or as many; None: the act is not for this job."""
    listed, all_idle = held.job.listed, acting == held.job.gpus
    if rung == "points":
        return 0 if listed.uid is not None else None
    if rung == "shrink":
        least, most = range_of(held.job.comment) or (0, 0)
        to = max(held.job.gpus - acting, least)
        return to if most and to < held.job.gpus and not all_idle else None
    if not all_idle:
        return None
    if rung == "requeue":
        one_node = len(held.job.nodes) == 1
        return 0 if listed.batch and one_node and not listed.het_id and not listed.tasks else None
    return 0


def _left_alone(held: Held, settings: Settings, now: int) -> str:
    """Why nothing is done about the job, whatever its GPUs do; "" where something may be."""
    listed = held.job.listed
    if settings.queues is not None and listed.queue not in settings.queues:
        return "queue"
    if {listed.user, listed.uid} & settings.users_off or (listed.account or "").lower() in settings.accounts_off:
        return "off"
    if (listed.qos or "").lower() in settings.qos_off:
        return "off"
    if not settings.interactive and (listed.batch is not True or listed.job_name == SERVER_NAME):
        return "interactive"
    if not held.measured:
        return held.why
    if held.job.start is None or now - held.job.start < settings.grace:
        return "grace"
    return ""


def _of_run(past: Past | None, held: Held) -> Past | None:
    """None where it is of an earlier run of the job."""
    return past if past is not None and past.start == held.job.start else None


def _disbelieved(all_held: Sequence[Held], settings: Settings) -> set[str | None]:
    """Sources that see nobody use a GPU. One that is broken says so of everybody; of a few jobs it may be true."""
    busy: dict[str | None, list[bool]] = {}
    for one in all_held:
        if one.measured:
            busy.setdefault(one.source, []).append(one.idle(settings.warn) < one.job.gpus)
    return {source for source, jobs in busy.items() if len(jobs) >= _ALL_IDLE and not any(jobs)}
