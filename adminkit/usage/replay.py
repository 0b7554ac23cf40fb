"""What rules of [idle] would have done to recorded jobs: GPU-hours regained, against jobs that were stopped though they
would have used a GPU again. Pure.

Each round decides by ladder.look(), as on slurmctld's host. An act is of the kind that ends a run, on a job none of
whose GPUs is used. A false alarm is an act on a job that used a GPU later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.slurm.squeue import QueuedJob
from adminkit.usage.held import Held
from adminkit.usage.ladder import Past, look
from adminkit.usage.recorded import Recorded, Span
from adminkit.usage.settings import Settings
from adminkit.usage.usage import GpuUse

#: Seconds between two rounds.
ROUND: Final = 300
#: The thresholds that are compared: seconds without use until an act.
ACTS: Final = (1800, 2700, 3600, 5400, 7200, 10_800, 14_400, 21_600, 43_200)
#: And how many times as long a job has that used its GPUs before.
USED_BEFORE: Final = (1.0, 2.0, 4.0)
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Point:
    """A rule and what it would have done. Hours are GPU-hours."""

    act: int
    used_before: float
    warned: int  # jobs
    acted: int
    false: int
    regained: float  # after acts that were right, until the end of the job
    harmed: float  # after false alarms, in which GPUs were used

    @property
    def false_share(self) -> float | None:
        """The share of acts that were false alarms; None without an act."""
        return self.false / self.acted if self.acted else None


@dataclass(frozen=True, slots=True)
class Frontier:
    """`idle`: GPU-hours in which no GPU of the job was used; `last`: of these, those after the last use."""

    jobs: int
    hours: float
    idle: float
    last: float
    points: Sequence[Point]

    def best(self, most: float) -> Point | None:
        """The point that regains most with at most that share of false alarms; of equal ones the most patient."""
        fit = [one for one in self.points if one.acted and one.false <= most * one.acted]
        return max(fit, key=lambda one: (round(one.regained, 6), one.act * one.used_before), default=None)


def frontier(
    jobs: Sequence[Recorded], settings: Settings, acts: Sequence[int] = ACTS, used_before: Sequence[float] = USED_BEFORE
) -> Frontier:
    """`settings`: those of the policy, for all but the thresholds that are compared."""
    stretches = [list(_all_idle(one)) for one in jobs]
    hours = sum((one.end - one.start) * one.gpus for one in jobs) / _HOUR
    idle = sum((until - since) * one.gpus for one, found in zip(jobs, stretches, strict=True) for since, until in found)
    last = sum(
        (one.end - found[-1][0]) * one.gpus
        for one, found in zip(jobs, stretches, strict=True)
        if found and found[-1][1] == one.end
    )
    points = [_point(jobs, stretches, rule_of(settings, act, times)) for times in used_before for act in acts]
    return Frontier(len(jobs), hours, idle / _HOUR, last / _HOUR, points)


def rule_of(settings: Settings, act: int, used_before: float) -> Settings:
    """The same rules with that threshold: the warning comes after half of it, with its notice in the other half."""
    warn = max(act // 2, 1)
    return replace(
        settings, warn=warn, act=act, notice=min(settings.notice, act - warn), used_before=used_before,
        acts=("cancel",), times=1, queues=None, hours=(0, 1440), days=frozenset(range(7)),
    )  # fmt: skip


def _point(jobs: Sequence[Recorded], stretches: Sequence[Sequence[Span]], rule: Settings) -> Point:
    warned = acted = false = 0
    regained = harmed = 0.0
    for one, idle in zip(jobs, stretches, strict=True):
        was_warned, at = outcome(one, idle, rule)
        warned += was_warned
        if at is None:
            continue
        acted += 1
        later = sum(max(0, until - max(since, at)) for gpu in one.used for since, until in gpu)
        if later:
            false += 1
            harmed += later / _HOUR
        else:
            regained += (one.end - at) * one.gpus / _HOUR
    return Point(rule.act, rule.used_before, warned, acted, false, regained, harmed)


def outcome(one: Recorded, idle: Sequence[Span], rule: Settings) -> tuple[bool, int | None]:
    """Whether the job would have been warned, and when something would have been done about it; None: never.

    `idle`: when none of its GPUs was used. Rounds outside these times do nothing but forget an earlier warning, and
    within one the first round after each threshold decides: between them, nothing that look() goes by changes.
    """
    was_warned = False
    for since, until in idle:
        past: Past | None = None
        due = _rounds(one, since, rule)
        while due and due[0] <= until:
            now = due.pop(0)
            act = look(_held(one, now), past, rule, now)
            if act.did == "warned":
                was_warned, past = True, Past(one.start, now)
                due = sorted({*due, _round_after(now + rule.notice)})
            elif act.did != "nothing":
                return was_warned, now
    return was_warned, None


def _rounds(one: Recorded, since: int, rule: Settings) -> list[int]:
    """The first round after each threshold of a job that is idle since then."""
    spans = {int(each * times) for each in (rule.warn, rule.act) for times in (1, rule.used_before)}
    found = {_round_after(since + span) for span in spans} | {_round_after(one.start + rule.grace)}
    return sorted(at for at in found if at >= since + rule.warn)


def _round_after(at: int) -> int:
    return -(-at // ROUND) * ROUND


def _held(one: Recorded, now: int) -> Held:
    """What a source would have measured until then."""
    listed = QueuedJob(submit_time=one.start, job_id=1, state="RUNNING", start_time=one.start, batch=True, uid=1,
                       nodes=("n",))  # fmt: skip
    uses = tuple(
        GpuUse(node="n", gpu=str(nth), since=one.start, until=now, measured=float(now - one.start), busy=0.0,
               last_used=_last_used(used, now))
        for nth, used in enumerate(one.used)
    )  # fmt: skip
    return Held(GpuJob(listed, one.gpus, "whole"), "recorded", uses, "")


def _last_used(used: Sequence[Span], now: int) -> int | None:
    place = bisect_right(used, now, key=lambda span: span[0])
    return min(used[place - 1][1], now) if place else None


def _all_idle(one: Recorded) -> Iterator[Span]:
    """The times in which none of its GPUs was used."""
    at = one.start
    for since, until in sorted(span for used in one.used for span in used):
        if since > at:
            yield at, since
        at = max(at, until)
    if one.end > at:
        yield at, one.end
