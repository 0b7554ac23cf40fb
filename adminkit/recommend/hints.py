"""The tables of hints and of needs: what the runs of each user's job names needed, both in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from adminkit.recommend.advice import Tried, on_menu, values
from adminkit.recommend.control import Control, Steered
from adminkit.recommend.menu import Offer
from adminkit.recommend.needs import ANY_NAME, Need, Outcomes, newest, quantiles
from adminkit.recommend.needs import LEVELS as NEED_LEVELS
from adminkit.recommend.online import online
from adminkit.recommend.predict import Rule, needed
from adminkit.stats.runs import Run

#: Exact first: the queue it is submitted to, then any.
LEVELS: Final = (("cluster", "user", "job_name", "queue"), ("cluster", "user", "job_name"))
DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Limits:
    """Which groups are worth a hint."""

    most: int = 50_000  # entries; Lua 5.1 refuses a table of about 262,000 constants
    recent: int = 90 * DAY  # a group without a submission since then is left out
    half_life: int = 30 * DAY  # after which an excess counts half
    batches: int = 5  # where the risk was measured on fewer, there is no hint
    risk: float = 0.20  # where the limit was too short more often, there is no hint


@dataclass(frozen=True, slots=True)
class Hint:
    """`job_name` "" stands for runs without a name, `queue` "" for every queue.

    `excess_gpu_seconds`: asked for above the longer of `limit` and the need, times GPUs (nodes where there are none);
    it halves with `half_life`.
    """

    cluster: str
    uid: int
    user: str
    job_name: str
    queue: str
    expected: int
    limit: int  # on the menu
    risk: float
    runs: int  # the risk is measured on
    excess_gpu_seconds: float


_Entry = TypeVar("_Entry", Hint, Need)


@dataclass(frozen=True, slots=True)
class Learnt:
    """The hints by excess, the largest first; the needs, the newest first."""

    hints: Sequence[Hint] = ()
    needs: Sequence[Need] = ()


class _Seen:
    """What is kept of one group besides its runs."""

    __slots__ = ("excess", "last", "queue", "several", "tried")

    def __init__(self, run: Run) -> None:
        self.tried = Tried()
        self.excess = 0.0
        self.last = run
        self.queue = run.kind.queue
        self.several = False

    def add(self, run: Run, limit: int | None, rule: Rule, half_life: int) -> None:
        self.excess *= 2.0 ** ((self.last.submit_time - run.submit_time) / half_life)
        self.last = run
        self.several = self.several or run.kind.queue != self.queue
        if limit is not None:
            self.tried.add(run, limit, rule)
            if run.kind.req_limit is not None:
                self.excess += max(run.kind.req_limit - max(limit, needed(run)), 0) * units(run)


class _Level:
    """The groups of one level, the one with the newest submission last."""

    def __init__(self, names: tuple[str, ...], rule: Rule, limits: Limits, control: Control | None) -> None:
        self.names = names
        self.rule = rule
        self.limits = limits
        self.control = control
        self.steered = Steered(rule, (names,))
        self.seen: dict[tuple[object, ...], _Seen] = {}

    def submitted(self, run: Run, menu: Sequence[int]) -> None:
        limit = on_menu(self.steered.submitted(run).safe, menu)
        key = values(self.names, run.kind)
        group = self.seen.pop(key, None) or _Seen(run)
        self.seen[key] = group
        group.add(run, limit, self.rule, self.limits.half_life)
        if len(self.seen) > self.rule.groups:
            del self.seen[next(iter(self.seen))]

    def hint(self, group: _Seen, now: int, menu: Sequence[int]) -> Hint | None:
        """The hint of a group; None where it has no limit, or none that meets `limits`."""
        limits, last, by_queue = self.limits, group.last, "queue" in self.names
        if last.uid is None or last.submit_time < now - limits.recent or not (by_queue or group.several):
            return None
        risk = group.tried.risk(self.rule)
        aim = self.control.risk(*last.kind[:2]) if self.control else None
        given = self.steered.next(last.kind, aim)
        limit = on_menu(given.safe, menu)
        if limit is None or given.expected is None or risk is None:
            return None
        tried, _, batches = group.tried.counts()
        excess = group.excess * 2.0 ** (min(last.submit_time - now, 0) / limits.half_life)
        if batches < limits.batches or risk > limits.risk or excess <= 0:
            return None
        cluster, user, job_name, queue = (word or "" for word in last.kind[:4])
        shown = queue if by_queue else ""
        return Hint(cluster, last.uid, user, job_name, shown, given.expected, limit, risk, tried, excess)

    def need(self, group: _Seen, now: int, outcomes: Outcomes) -> Need | None:
        """What jobs of a group needed; None where it has too little history, or none that is recent."""
        last, by_queue, of_all = group.last, "queue" in self.names, "job_name" not in self.names
        if last.uid is None or last.submit_time < now - self.limits.recent:
            return None
        if (not of_all and last.kind.job_name == ANY_NAME) or not (by_queue or of_all or group.several):
            return None
        curve = self.steered.predictor.curve(last.kind)
        seconds = None if curve is None else quantiles(curve)
        if seconds is None:
            return None
        cluster, user, job_name, queue = (word or "" for word in last.kind[:4])
        job_name = ANY_NAME if of_all else job_name
        outlived = outcomes.shares(*last.kind[:2])
        return Need(cluster, last.uid, user, job_name, queue if by_queue else "", seconds, last.submit_time, outlived)


def units(run: Run) -> int:
    """What a reserved second of the run counts as: its GPUs, else its nodes."""
    return run.kind.gpus or run.kind.nodes or 1


def hints(
    runs: Iterable[Run],
    now: int,
    offer: Offer,
    limits: Limits | None = None,
    control: Control | None = None,
) -> list[Hint]:
    """The hints of `learn`, without the needs."""
    return list(learn(runs, now, offer, limits, control).hints)


def learn(
    runs: Iterable[Run],
    now: int,
    offer: Offer,
    limits: Limits | None = None,
    control: Control | None = None,
) -> Learnt:
    """Hints and needs. `runs` come by submission; those without a uid give no entry.

    `control` is the site's now; without one only the outcomes of hints steer their risk.

    Each is made of one user's runs. A uid that passed to another user has entries of the present user only.
    """
    rule, menu, limits = Rule(risk=offer.risk), offer.menu, limits or Limits()
    levels = [_Level(level, rule, limits, control) for level in NEED_LEVELS]
    holder: dict[tuple[str, int | None], str] = {}
    outcomes = Outcomes()
    for has_ended, run in online(runs):
        if has_ended:
            outcomes.ended(run)
        else:
            holder[run.kind.cluster or "", run.uid] = run.kind.user or ""
            outcomes.submitted(run, _expected(levels, run))
        for level in levels:
            if has_ended:
                level.steered.ended(run)
            else:
                level.submitted(run, menu)
    exact = [level for level in levels if level.names in LEVELS]
    found = [hint for level in exact for group in level.seen.values() if (hint := level.hint(group, now, menu))]
    found.sort(key=lambda hint: (-hint.excess_gpu_seconds, hint.uid, hint.job_name, hint.queue))
    needs = [need for level in levels for group in level.seen.values() if (need := level.need(group, now, outcomes))]
    return Learnt(_own(found, holder)[: limits.most], _own(newest(needs, len(needs)), holder)[: limits.most])


def _expected(levels: Sequence[_Level], run: Run) -> tuple[int, ...] | None:
    """What was known of its need when it was submitted, by the first level that knows."""
    for level in levels:
        curve = level.steered.predictor.curve(run.kind)
        if curve is not None:
            return quantiles(curve)
    return None


def _own(found: Iterable[_Entry], holder: Mapping[tuple[str, int | None], str]) -> list[_Entry]:
    """The first of each cluster, uid, name and queue, of uids' present users. No name and an empty one are one."""
    unique: dict[tuple[str, int, str, str], _Entry] = {}
    for one in found:
        if holder[one.cluster, one.uid] == one.user:
            unique.setdefault((one.cluster, one.uid, one.job_name, one.queue), one)
    return list(unique.values())
