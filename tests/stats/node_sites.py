"""Made sites with nodes that are bad, and with much else that makes runs fail: what bad_nodes.py is tried on.

Users have rates, names and sizes of their own. A name works or is broken for hours; a failed run is often tried again
at once, on the same nodes where these are free. File systems go away and every run fails. Some users fail always, some
run only at night, when their names fail more often. Runs take the first free nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from adminkit.stats.node_runs import Pairs, pairs_of
from adminkit.trace.columns import Texts

HOUR: Final = 3600
DAY: Final = 24 * HOUR


class Ran(NamedTuple):
    """One run; times in seconds."""

    user: int
    job_name: int
    start: int
    end: int
    nodes: tuple[int, ...]
    failed: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How to make a site. `bad`: node -> the probability that a run on it fails because of it."""

    nodes: int = 64
    users: int = 30
    days: int = 14
    runs: int = 6000  # about
    sizes: Sequence[int] = (1, 1, 1, 1, 1, 2, 4, 8)  # nodes of a name, drawn evenly
    bad: Mapping[int, float] = field(default_factory=dict)
    at_once: bool = False  # bad nodes fail runs within a minute, and so get many
    outages: int = 2
    night_node: int | None = None  # gets only the runs of night users
    scattered: bool = False  # runs take any free nodes, not the first ones


@dataclass(slots=True)
class _Name:
    """A user's job name."""

    user: int
    number: int
    nodes: int
    hours: float  # mean run time
    fails: float
    broken: list[tuple[float, float]]  # spells in which nearly all its runs fail
    night: bool


def site(plan: Plan, seed: int) -> list[Ran]:
    """The runs of a site, by end."""
    luck = np.random.default_rng(seed)
    names = [name for user in range(plan.users) for name in _names(plan, user, luck)]
    rates = luck.lognormal(0, 1, len(names)) * np.array([1 / name.nodes for name in names])
    submitted = _submissions(plan, names, rates / rates.sum(), luck)
    outages = np.sort(luck.uniform(0, plan.days * DAY, plan.outages))
    free = np.zeros(plan.nodes)
    found: list[Ran] = []
    heapq.heapify(submitted)
    while submitted:
        when, number = heapq.heappop(submitted)
        if when > plan.days * DAY:
            break
        run = _run(plan, names[number], when, free, outages, luck)
        found.append(run)
        if run.failed and luck.random() < 0.5:
            heapq.heappush(submitted, (run.end + luck.exponential(300), number))
    return sorted(found, key=lambda run: run.end)


def pairs(ran: Sequence[Ran]) -> tuple[Sequence[str], Pairs]:
    """The runs as bad_nodes.judged() takes them."""
    lists = {run.nodes: len(run.nodes) for run in ran}
    codes = {nodes: k for k, nodes in enumerate(lists)}
    text = [",".join(f"n{node}" for node in nodes) for nodes in lists]
    users = Texts(np.array([run.user for run in ran]), [f"u{k}" for k in range(1 + max(run.user for run in ran))])
    jobs = Texts(
        np.array([run.job_name for run in ran]), [chr(97 + k) for k in range(1 + max(r.job_name for r in ran))]
    )
    one = Texts(np.zeros(len(ran), np.int64), ["q"])
    state = Texts(np.array([int(run.failed) for run in ran]), ["COMPLETED", "FAILED"])
    start, end = (np.array([getattr(run, name) for run in ran]) for name in ("start", "end"))
    used = (end - start) * np.array([len(run.nodes) for run in ran])
    where = Texts(np.array([codes[run.nodes] for run in ran]), text)
    return pairs_of([users, jobs, one, state, where], [start, end, np.zeros(len(ran)), used])


def _names(plan: Plan, user: int, luck: np.random.Generator) -> list[_Name]:
    """User 0 fails always; every sixth one runs at night, and fails more."""
    night = user % 6 == 5
    made = []
    for _ in range(luck.integers(1, 4)):
        fails = 0.95 if user == 0 else min(luck.beta(0.5, 5) + 0.4 * night, 1.0)
        begins = np.cumsum(luck.exponential(4 * DAY, 20))
        broken = [(begin, begin + luck.exponential(8 * HOUR)) for begin in begins]
        made.append(
            _Name(
                user, int(luck.integers(1, 9)), int(luck.choice(plan.sizes)), luck.lognormal(0, 1), fails, broken, night
            )
        )
    return made


def _submissions(
    plan: Plan, names: Sequence[_Name], rates: np.ndarray, luck: np.random.Generator
) -> list[tuple[float, int]]:
    """Bursts of runs of one name: a loop over inputs, an array."""
    found = []
    while len(found) < plan.runs:
        number = int(luck.choice(len(names), p=rates))
        when = luck.uniform(0, plan.days) * DAY
        if names[number].night:
            when = when // DAY * DAY + luck.uniform(18, 24) * HOUR
        for _ in range(1 + luck.geometric(0.25)):
            found.append((when, number))
            when += luck.exponential(600)
    return found


def _run(plan: Plan, name: _Name, when: float, free: np.ndarray, outages: np.ndarray, luck: np.random.Generator) -> Ran:
    there = np.arange(plan.nodes)
    if plan.night_node is not None:
        there = np.array([plan.night_node]) if name.night and name.nodes == 1 else there[there != plan.night_node]
    start = max(when, float(np.sort(free[there])[name.nodes - 1]))
    there = there[free[there] <= start]
    nodes = luck.permutation(there)[: name.nodes] if plan.scattered else there[: name.nodes]
    elapsed = max(60.0, luck.exponential(name.hours * HOUR))
    broken = any(begin <= start < end for begin, end in name.broken)
    failed = bool(luck.random() < (0.9 if broken else name.fails))
    if failed:
        elapsed = max(10.0, elapsed * luck.random())
    blame = 1 - np.prod([1 - plan.bad.get(int(node), 0.0) for node in nodes])
    if luck.random() < blame:
        failed, elapsed = True, 30.0 if plan.at_once else max(30.0, elapsed * luck.random())
    away = outages[(outages > start) & (outages < start + elapsed)]
    if len(away) and luck.random() < 0.8:
        failed, elapsed = True, float(away[0] - start)
    free[nodes] = start + elapsed
    return Ran(name.user, name.number, int(start), int(start + elapsed), tuple(nodes.tolist()), failed)
