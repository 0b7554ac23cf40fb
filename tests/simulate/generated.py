"""Sites whose truth is known: a scheduler with causes that the trace does not show, and what the trace shows of it.

The truth is made with the core itself under the hidden causes. Calibration and answers know the visible site alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adminkit.simulate.core import Schedule, simulate
from adminkit.simulate.machine import request
from adminkit.simulate.subject import Subject, Wanted, subject_of
from adminkit.slurm.site import Site, SiteNode, SiteQos, SiteQueue, SiteScheduler
from adminkit.stats.machine import Outage
from adminkit.stats.workload import Runs

HOUR = 3600
DAY = 24 * HOUR
#: Where the traces begin, epoch seconds.
BEGIN = 1_767_571_200
QUEUES = ("short", "gq", "long")
CORES = 16


@dataclass(frozen=True)
class Place:
    """A site as it is, or as it is known."""

    site: Site
    outages: tuple[Outage, ...] = ()


#: A cause makes the real place of the one that is known.
Cause = Callable[[Place, np.random.Generator], Place]


@dataclass(frozen=True)
class Generated:
    """A trace of the real place, and the place that is known."""

    name: str
    runs: Runs
    real: Place
    known: Place

    def subject(self, place: Place) -> Subject:
        return subject_of(self.runs, place.site, place.outages, Wanted())


def generated(seed: int, causes: Sequence[Cause], jobs: int = 900) -> Generated:
    """A busy site of 12 to 40 nodes with three queues, and some weeks of its jobs."""
    rng = np.random.default_rng(seed)
    nodes, load = int(rng.integers(12, 41)), float(rng.uniform(0.75, 1.0))
    runs = _asked(rng, jobs, nodes, load)
    known = Place(_site(rng, nodes), _outages(rng, runs, nodes))
    real = known
    for cause in causes:
        real = cause(real, rng)
    name = f"seed {seed}, {' and '.join(cause.__name__ for cause in causes) or 'nothing hidden'}"
    blind = Generated(name, runs, real, known)
    return replace(blind, runs=happened(runs, *truth(blind, real)))


def truth(one: Generated, place: Place) -> tuple[Subject, Schedule]:
    """What the scheduler of a place makes of the jobs."""
    subject = one.subject(place)
    return subject, simulate(request("slurm", subject.jobs, subject.machine))


def _site(rng: np.random.Generator, nodes: int) -> Site:
    queues = (
        SiteQueue("short", HOUR, 4 * HOUR, priority_factor=2),
        SiteQueue("gq", 4 * HOUR, DAY, is_default=True),
        SiteQueue("long", DAY, 4 * DAY),
    )
    names = frozenset(QUEUES)
    listed = tuple(SiteNode(f"n{number}", CORES, 64 << 30, {}, frozenset(), names) for number in range(nodes))
    scheduler = SiteScheduler(
        release="24.11",
        bf_window=4 * DAY,
        bf_continue=True,
        kill_wait=30,
        priority_weight_age=int(rng.choice([500, 1000, 2000])),
        priority_weight_job_size=int(rng.choice([0, 500])),
        priority_weight_partition=300,
    )
    return Site("made", queues, nodes=listed, qos=(SiteQos("normal"),), scheduler=scheduler)


def _asked(rng: np.random.Generator, jobs: int, nodes: int, load: float) -> Runs:
    """Jobs by day and night, with limits that are round and far too long, as people type them."""
    queue = rng.choice(3, jobs, p=[0.35, 0.5, 0.15])
    most = np.array([4 * HOUR, DAY, 4 * DAY])[queue]
    run = np.minimum(np.exp(rng.normal(np.log([900, 4000, 30_000])[queue], 1.3)), most * 0.95).astype(np.int64) + 5
    menu = np.array([900, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY])
    fits = menu[np.minimum(np.searchsorted(menu, run * rng.uniform(1, 4, jobs)), len(menu) - 1)]
    limit = np.minimum(np.where(rng.random(jobs) < 0.3, most, fits), most)
    size = rng.choice([1, 1, 1, 2, 4], jobs)
    cpus = np.where(size > 1, size * CORES, rng.choice([1, 2, 4, 8, 16], jobs))
    span = int((run * cpus).sum() / (nodes * CORES * load))
    at = np.sort(rng.uniform(0, span, 4 * jobs))
    day = 1 + 0.8 * np.sin(2 * np.pi * at / DAY)
    submit = BEGIN + np.sort(rng.choice(at, jobs, replace=False, p=day / day.sum())).astype(np.int64)
    none = np.full(jobs, -1, dtype=np.int64)
    numbers = {
        "id": np.arange(1, jobs + 1), "submit": submit, "eligible": submit, "start": none, "end": none, "elapsed": run,
        "suspended": 0 * none, "limit": limit, "nodes": size, "cpus": cpus, "gpus": 0 * none, "mem": none,
        "priority": none, "array": none, "het": none,
    }  # fmt: skip
    same = np.zeros(jobs, dtype=np.int32)
    users = rng.integers(0, 12, jobs).astype(np.int32)
    codes = {
        "queue": queue.astype(np.int32), "class": (size > 1).astype(np.int32), "user": users, "account": same,
        "qos": same, "gpu_type": same - 1, "state": same, "reason": same, "limit_kind": same,
    }  # fmt: skip
    names = {
        "queue": QUEUES, "class": ("cpu", "multi-node"), "user": [f"user{one}" for one in range(12)],
        "account": ("physics",), "qos": ("normal",), "gpu_type": (), "state": ("COMPLETED",), "reason": ("None",),
        "limit_kind": ("finite",),
    }  # fmt: skip
    return Runs({name: column.astype(np.int64) for name, column in numbers.items()}, codes, names, "made", {}, (0, 0))


def _outages(rng: np.random.Generator, runs: Runs, nodes: int) -> tuple[Outage, ...]:
    """Some nodes are down for some hours."""
    first, last = int(runs.numbers["submit"].min()), int(runs.numbers["submit"].max())
    starts = rng.integers(first, last, 6)
    return tuple(
        Outage(f"n{rng.integers(nodes)}", int(start), int(start + rng.integers(HOUR, DAY))) for start in starts
    )


def happened(runs: Runs, subject: Subject, made: Schedule) -> Runs:
    """The runs as the trace has them afterwards."""
    assert subject.jobs.columns["id"].tolist() == runs.numbers["id"].tolist()
    ran = made.start >= 0
    assert ran.all(), f"{(~ran).sum()} jobs of {len(ran)} did not run"
    times = {"start": made.start, "end": made.end, "elapsed": made.end - made.start}
    return replace(runs, numbers={**runs.numbers, **times})


# hidden causes


def nodes_down(place: Place, rng: np.random.Generator) -> Place:
    """A tenth of the nodes is away for some days, and slurmdbd has no event of it."""
    return _away(place, rng, 0.1, int(rng.integers(1, 4)) * DAY)


def reservation(place: Place, rng: np.random.Generator) -> Place:
    """Half of the nodes are reserved for some hours."""
    return _away(place, rng, 0.5, int(rng.integers(4, 12)) * HOUR)


def _away(place: Place, rng: np.random.Generator, share: float, seconds: int) -> Place:
    start = BEGIN + int(rng.integers(1, 5)) * DAY
    names = [node.name for node in place.site.nodes]
    more = tuple(Outage(name, start, start + seconds) for name in names[: max(1, round(share * len(names)))])
    return replace(place, outages=place.outages + more)


def cap_of_users(place: Place, rng: np.random.Generator) -> Place:
    """A user's running jobs have at most a part of the CPUs, and no reason of it is kept."""
    cpus = len(place.site.nodes) * CORES
    cap = max(int(cpus * rng.uniform(0.12, 0.5)), 4 * CORES)
    return replace(place, site=replace(place.site, qos=(SiteQos("normal", max_user_tres={"cpu": cap}),)))


def cap_of_all(place: Place, rng: np.random.Generator) -> Place:
    """All running jobs together have at most a part of the CPUs."""
    cpus = len(place.site.nodes) * CORES
    cap = max(int(cpus * rng.uniform(0.7, 0.98)), 4 * CORES)
    return replace(place, site=replace(place.site, qos=(SiteQos("normal", group_tres={"cpu": cap}),)))


def tiers(place: Place, rng: np.random.Generator) -> Place:
    """One queue goes before the others."""
    first = rng.choice(QUEUES)
    queues = tuple(replace(queue, priority_tier=2 if queue.name == first else 1) for queue in place.site.queues)
    return replace(place, site=replace(place.site, queues=queues))


def loops(place: Place, rng: np.random.Generator) -> Place:
    """Backfill looks at few jobs, not far."""
    changed = replace(place.site.scheduler, bf_max_job_test=int(rng.integers(5, 40)), bf_window=DAY, bf_continue=None)
    return replace(place, site=replace(place.site, scheduler=changed))


def slow_epilog(place: Place, rng: np.random.Generator) -> Place:
    """Nodes are cleaned for a while after each job."""
    changed = replace(place.site.scheduler, epilog=int(rng.integers(5, 240)))
    return replace(place, site=replace(place.site, scheduler=changed))


def weights(place: Place, rng: np.random.Generator) -> Place:
    """Large jobs go first."""
    changed = replace(place.site.scheduler, priority_weight_job_size=20_000)
    return replace(place, site=replace(place.site, scheduler=changed))


def fewer_nodes(place: Place, rng: np.random.Generator) -> Place:
    """Some nodes that the site names were never there."""
    gone = [node.name for node in place.site.nodes][: int(rng.integers(1, 4))]
    return replace(place, outages=place.outages + tuple(Outage(name, 0, None) for name in gone))


CAUSES: tuple[Cause, ...] = (
    nodes_down, reservation, cap_of_users, cap_of_all, tiers, loops, slow_epilog, weights, fewer_nodes,
)  # fmt: skip


# changes that an operator may think of


def more_nodes(place: Place) -> Place:
    """A quarter more nodes."""
    nodes = place.site.nodes
    more = tuple(replace(node, name=f"new-{node.name}") for node in nodes[: max(1, len(nodes) // 4)])
    return replace(place, site=replace(place.site, nodes=nodes + more))


def less_nodes(place: Place) -> Place:
    """A tenth of the nodes less."""
    nodes = place.site.nodes
    return replace(place, site=replace(place.site, nodes=nodes[: len(nodes) - max(1, len(nodes) // 10)]))


def no_backfill(place: Place) -> Place:
    """The main loop alone."""
    scheduler = replace(place.site.scheduler, backfill=False)
    return replace(place, site=replace(place.site, scheduler=scheduler))


def short_first(place: Place) -> Place:
    """The short queue goes before the others."""
    queues = tuple(
        replace(one, priority_tier=9 if one.name == "short" else one.priority_tier) for one in place.site.queues
    )
    return replace(place, site=replace(place.site, queues=queues))


CHANGES = (more_nodes, less_nodes, no_backfill, short_first)


@dataclass(frozen=True)
class Effect:
    """The change of the mean wait, seconds, with its 95 % interval over shaken replicates."""

    mean: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return not self.low <= 0 <= self.high


def effect(one: Generated, before: Place, after: Place, replicates: int) -> Effect:
    """What a change does to the mean wait: paired, submissions moved by up to a minute, the same on both sides."""
    pair = one.subject(before), one.subject(after)
    found = np.array([_mean_wait(pair[1], seed) - _mean_wait(pair[0], seed) for seed in range(replicates)])
    # Student's t at 0.975 for 4 and 19 degrees of freedom.
    half = {5: 2.776, 20: 2.093}[replicates] * float(found.std(ddof=1)) / replicates**0.5
    return Effect(float(found.mean()), float(found.mean()) - half, float(found.mean()) + half)


def _mean_wait(subject: Subject, seed: int) -> float:
    moved = np.random.default_rng(seed).integers(0, 61, len(subject.jobs))
    jobs = subject.jobs.with_columns(submit=subject.jobs.columns["submit"] + moved)
    made = simulate(request("slurm", jobs, subject.machine))
    ran = made.start >= 0
    return float((made.start - jobs.columns["submit"])[ran].mean())
