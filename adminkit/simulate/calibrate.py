"""How far the simulator is from what really happened, and what its answers are worth here: the verdict.

*trust*: the interval of the error of the mean wait lies within 15 %, no queue's lies wholly beyond, and the order of
starts agrees (tau-b of at least 0.9) in each queue. *no basis*: the interval reaches 50 %, or it does so in queues that
have more than a fifth of the jobs, whose errors may cancel in the whole; or more than a fifth of the waits have reasons
that are not modelled. Else *direction only*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.simulate.core import Schedule, simulate
from adminkit.simulate.jobs import Jobs, Missing, sized
from adminkit.simulate.machine import request
from adminkit.simulate.metrics import steady_part, used
from adminkit.simulate.subject import Subject, left_out
from adminkit.simulate.unmodelled import Cause, unmodelled, waits_unmodelled
from adminkit.stats.bootstrap import ratio_interval
from adminkit.stats.kendall import tau_b

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

Verdict = Literal["trust", "direction only", "no basis"]
VERDICTS: Final = get_args(Verdict)

#: The error of the mean wait up to which it is trusted, and above which nothing is known.
NEAR: Final = 0.15
FAR: Final = 0.50
#: The least agreement (Kendall's tau) of the order of starts.
LEAST_TAU: Final = 0.9
#: The share of waits whose reasons are not modelled, above which nothing is known.
MOST_UNMODELLED: Final = 0.20
#: The share of jobs in queues without a basis, above which the whole has none.
MOST_BASELESS: Final = 0.20
#: Queues that the reason names.
_NAMED: Final = 3
#: A mean wait below this counts as this long, in seconds: NEAR of it is 3 s, which the loops of a scheduler take.
SHORT_WAIT: Final = 20
#: A part with fewer jobs is not judged.
LEAST_JOBS: Final = 30
#: Starts that are closer than this, seconds, or than bf_interval, have no order: one pass starts many.
SAME_START: Final = 3
_BF_INTERVAL: Final = 30


class NoStarts(AdminkitError):
    """The trace does not say when jobs started."""


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of some jobs, seconds."""

    mean: float
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class Part:
    """A queue, a class, a size, or all jobs (`part` is all): real beside simulated.

    `error` is simulated mean wait / real mean wait - 1, `low` to `high` its interval; None for a part too small.
    """

    part: str
    value: str
    jobs: int
    real: Waits
    simulated: Waits
    error: float | None
    low: float | None
    high: float | None
    tau: float | None
    verdict: Verdict | None
    which: Mask = field(repr=False, compare=False)  # of the jobs compared


@dataclass(frozen=True, slots=True)
class Calibration:
    """What came of the current policy on the trace's own jobs. `waits` are (real, simulated) of the jobs compared."""

    verdict: Verdict
    why: str
    parts: Sequence[Part]
    causes: Sequence[Cause]
    unmodelled: float  # share of waits
    utilization: tuple[float, float]  # real, simulated; of the steady part
    compared: int
    waits: tuple[Column, Column]
    missing: Sequence[Missing] = ()  # jobs that did not run

    def waits_of(self, part: Part) -> tuple[Column, Column]:
        """(real, simulated) of a part."""
        return self.waits[0][part.which], self.waits[1][part.which]

    @property
    def sentence(self) -> str:
        """What every later answer repeats."""
        return f"calibration: {self.verdict}: {self.why}"


def calibrate(subject: Subject, progress: Callable[[int], None] | None = None) -> Calibration:
    """Run the current policy on the trace's own jobs.

    AdminkitError where the trace has no starts to compare with.
    """
    made = simulate(request(subject.model, subject.jobs, subject.machine), progress)
    return compare(subject, made)


def compare(subject: Subject, made: Schedule) -> Calibration:
    """Compare a schedule of the current policy with the real starts: of jobs that came in the steady part."""
    jobs, come = subject.jobs, subject.jobs.columns["submit"]
    known = (jobs.real["start"] >= come) & (made.start >= 0)
    if not known.any():
        raise NoStarts("the trace has no starts to compare with", "adminkit simulate run needs none")
    first, last = steady_part(come[known])
    taken = known & (come >= first)
    if not taken.any():
        taken = known
    real, simulated = jobs.real["start"] - come, made.start - come
    tied = max(subject.machine.settings.get("bf_interval", _BF_INTERVAL), SAME_START)
    sub = jobs.take(taken, "not compared")
    pairs = _Pairs(sub, real[taken], simulated[taken], made.start[taken])
    parts = [_part(part, value, which, pairs, tied) for part, value, which in _groups(sub) if which.any()]
    share = waits_unmodelled(sub, subject.machine.site, real[taken])
    verdict, why = _judge(parts, share)
    units = subject.units * max(last - first, 1)
    size = jobs.columns["procs"]
    busy = (
        used(jobs.real["start"][known], jobs.real["end"][known], size[known], first, last) / units,
        used(made.start[known], made.end[known], size[known], first, last) / units,
    )
    causes = unmodelled(sub, subject.machine.site, real[taken], priority=subject.priority)
    waits = real[taken], simulated[taken]
    return Calibration(verdict, why, parts, causes, share, busy, int(taken.sum()), waits, left_out(subject, made))


def _groups(jobs: Jobs) -> list[tuple[str, str, Mask]]:
    """All jobs, then each queue, class and size."""
    import numpy as np

    sizes, names = sized(jobs)
    groups: list[tuple[str, str, Mask]] = [("all", "all", np.ones(len(jobs), dtype=bool))]
    for part in ("queue", "class"):
        groups += [(part, name, jobs.codes[part] == code) for code, name in enumerate(jobs.names[part])]
    return groups + [("size", name, sizes == code) for code, name in enumerate(names)]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The jobs that are compared, by (submit, id), with both waits and the simulated starts."""

    jobs: Jobs
    real: Column
    simulated: Column
    start: Column


def _part(part: str, value: str, which: Mask, pairs: _Pairs, tied: int) -> Part:
    count = int(which.sum())
    before, after = pairs.real[which].astype(float), pairs.simulated[which].astype(float)
    waits = _waits(before), _waits(after)
    if count < LEAST_JOBS:
        return Part(part, value, count, *waits, None, None, None, None, None, which)
    # A short mean wait is compared as if all had waited a little longer: differences stay what they are.
    base = before + max(SHORT_WAIT - before.mean(), 0)
    low, high = (end - 1 for end in ratio_interval(base + after - before, base))
    error = float((after - before).mean() / base.mean())
    tau = tau_b(pairs.jobs.real["start"][which], pairs.start[which], tied)
    return Part(part, value, count, *waits, error, low, high, tau, _verdict(low, high, [tau]), which)


def _waits(seconds: Floats) -> Waits:
    import numpy as np

    return Waits(float(seconds.mean()), float(np.median(seconds)), float(np.quantile(seconds, 0.95)))


def _verdict(low: float, high: float, taus: Sequence[float | None]) -> Verdict:
    if low <= -FAR or high >= FAR:
        return "no basis"
    agree = all(tau is None or tau >= LEAST_TAU for tau in taus)
    return "trust" if low >= -NEAR and high <= NEAR and agree else "direction only"


def _judge(parts: Sequence[Part], share: float) -> tuple[Verdict, str]:
    """The verdict on all jobs, and the reason in a few words."""
    whole = parts[0]
    if whole.low is None or whole.high is None:
        return "no basis", f"{whole.jobs} jobs can be compared, and {LEAST_JOBS} are needed"
    queues = [part for part in parts if part.part == "queue" and part.tau is not None] or [whole]
    verdict = _verdict(whole.low, whole.high, [part.tau for part in queues])
    interval = f"the error of the mean wait is {whole.error:+.1%} ({whole.low:+.1%} to {whole.high:+.1%})"
    worst = min((part for part in queues if part.tau is not None), key=lambda part: part.tau or 0, default=whole)
    order = (
        ""
        if worst.tau is None
        else f", the order of starts in {quote(worst.value)} matches the real one with tau {worst.tau:.2f}"
    )
    if share > MOST_UNMODELLED:
        return "no basis", f"{share:.0%} of the waits have reasons that are not modelled; {interval}"
    baseless = sorted((part for part in queues if part.verdict == "no basis"), key=lambda part: -part.jobs)
    if verdict != "no basis" and baseless:
        many = sum(part.jobs for part in baseless) > MOST_BASELESS * whole.jobs
        return "no basis" if many else "direction only", f"{_without(baseless, queues)}; {interval}{order}"
    if verdict == "trust" and any(_beyond(part) for part in queues):
        verdict = "direction only"
    return verdict, interval + order


def _beyond(part: Part) -> bool:
    """Whether its error is larger than what is trusted, whatever chance did."""
    return part.low is not None and part.high is not None and (part.low > NEAR or part.high < -NEAR)


def _without(baseless: Sequence[Part], queues: Sequence[Part]) -> str:
    """Which queues have no basis, and how far off they are."""
    named = ", ".join(f"{quote(part.value)} ({part.error:+.0%})" for part in baseless[:_NAMED])
    more = f" and {len(baseless) - _NAMED} more" if len(baseless) > _NAMED else ""
    return f"there is no basis in {len(baseless)} of {len(queues)} queues: {named}{more}"


def refuse_without_basis(calibration: Calibration, force: bool) -> None:
    """AdminkitError where nothing can be said, unless it is forced."""
    if calibration.verdict == "no basis" and not force:
        raise AdminkitError(
            f"no basis for an answer: {calibration.why}",
            "adminkit simulate replay shows what differs; correct the site, or see the numbers with --force",
        )
