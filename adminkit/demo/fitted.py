"""The jobs of a look-alike as sacct prints them, and how alike it is, as a Report."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from adminkit.demo.fit import CLUSTER, JOBS, TOGETHER, USERS, Merged, One, correlation, lag_one
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report

COLUMNS: Final = (
    "JobID", "JobIDRaw", "Cluster", "User", "Partition", "State", "Submit", "Eligible", "Start", "End", "ElapsedRaw",
    "TimelimitRaw", "ReqNodes", "ReqCPUS", "ReqTRES", "AllocNodes", "AllocCPUS", "AllocTRES",
)  # fmt: skip
_LIMITS: Final = {-1: "", -2: "UNLIMITED", -3: "Partition_Limit"}
FIELDS: Final = (
    Field("figure", help="what is compared"),
    Field("original", help="of the trace: a median, a sum, a share or a correlation"),
    Field("look_alike", help="the same for the look-alike"),
    Field("distance", "ratio", help="0: the same; see `measure`"),
    Field("measure", help="KS: Kolmogorov-Smirnov's D; TV: total variation; difference of the two"),
)


def sacct_text(jobs: Sequence[One], delimiter: str = "\x1f") -> Iterator[bytes]:
    """One line at a time, header first. Users are u001 …, by how many jobs they have."""
    yield (delimiter.join(COLUMNS) + "\n").encode()
    width = max(3, len(str(1 + max(one.user for one in jobs))))
    for number, one in enumerate(jobs, 1):
        yield (delimiter.join(map(str, _cells(number, one, width))) + "\n").encode()


def _cells(number: int, one: One, width: int) -> tuple[Cell, ...]:
    shape = one.shape
    start = one.submit_time + one.wait if one.wait >= 0 else -1
    sizes = ["" if size < 0 else size for size in (shape.nodes, shape.cpus)]
    tres = "" if shape.gpus < 0 else f"gres/gpu={shape.gpus}"  # without it, no TRES at all: else 0 GPUs are meant
    limit = _LIMITS[shape.req_limit] if shape.req_limit < 0 else shape.req_limit // 60
    end = start + one.elapsed if start >= 0 else "Unknown"
    return (
        number, number, CLUSTER, f"u{one.user + 1:0{width}}", shape.queue, one.state, one.submit_time, one.submit_time,
        start if start >= 0 else "Unknown", end, one.elapsed, limit, *sizes, tres, *sizes, tres,
    )  # fmt: skip


def report(past: Sequence[One], made: Sequence[One], merged: Merged, database: str) -> Report:
    """How alike the look-alike is, figure by figure."""
    kept = f"a value is kept if {JOBS} jobs of {USERS} users have it; each run time is a mean of {TOGETHER}"
    notes = [
        f"{kept}; merged: the limits of {plural(merged.limits, 'job')}, the sizes of {plural(merged.sizes, 'job')},"
        f" the queues of {plural(merged.queues, 'job')}; {plural(merged.users, 'job')} of users with fewer than"
        f" {JOBS} jobs",
        "users are active all the time, and waits do not depend on what else is running: the correlations below show"
        " how much is lost",
    ]
    meta = Meta("How alike the look-alike is", database, (None, None), [CLUSTER], {}, None, {}, notes)
    return Report(meta, FIELDS, [*_rows(past, made)])


def _rows(past: Sequence[One], made: Sequence[One]) -> Iterator[list[Cell]]:
    for name, of in _SPREADS:
        a, b = sorted(of(past)), sorted(of(made))
        if a and b:
            yield [name, f"{a[len(a) // 2]:,.4g}", f"{b[len(b) // 2]:,.4g}", ks(a, b), "KS"]
    for name, which in _SHARES:
        shares = [Counter(map(which, jobs)) for jobs in (past, made)]
        a_share, b_share = ({key: many / one.total() for key, many in one.items()} for one in shares)
        top = max(a_share, key=lambda key: a_share[key])
        apart = sum(abs(a_share.get(key, 0) - b_share.get(key, 0)) for key in a_share | b_share) / 2
        yield [name, f"{a_share[top]:.1%}", f"{b_share.get(top, 0):.1%}", apart, "TV"]
    for name, figure in _FIGURES:
        one, other = figure(past), figure(made)
        if one is not None and other is not None:
            yield [name, f"{one:,.3f}", f"{other:,.3f}", abs(one - other), "difference"]


def ks(a: Sequence[float], b: Sequence[float]) -> float:
    """The largest distance of two cumulative distributions; both are sorted."""
    return max(abs(bisect_right(a, at) / len(a) - bisect_right(b, at) / len(b)) for at in {*a, *b})


def _between(jobs: Sequence[One]) -> list[float]:
    submits = sorted(one.submit_time for one in jobs)
    return [b - a for a, b in itertools.pairwise(submits)]


def _dispersion(jobs: Sequence[One]) -> float | None:
    """Index of dispersion of submissions per hour: variance / mean; 1 for a Poisson process."""
    hours = Counter(one.submit_time // 3600 for one in jobs)
    many = max(hours) - min(hours) + 1
    mean = len(jobs) / many
    return (math.fsum(count * count for count in hours.values()) / many - mean * mean) / mean


def _by_user(jobs: Sequence[One]) -> list[list[One]]:
    found: defaultdict[int, list[One]] = defaultdict(list)
    for one in sorted(jobs, key=lambda one: one.submit_time):
        found[one.user].append(one)
    return list(found.values())


def _logs(jobs: Sequence[One]) -> list[tuple[float, float]]:
    return [(math.log(one.shape.req_limit), math.log(max(one.elapsed, 1))) for one in jobs if one.shape.req_limit > 0]


def _explained(jobs: Sequence[One]) -> float | None:
    """The share of the variance of log limits that is between users."""
    logs = [[math.log(one.shape.req_limit) for one in own if one.shape.req_limit > 0] for own in _by_user(jobs)]
    every = [value for own in logs for value in own]
    if not every:
        return None
    mean = math.fsum(every) / len(every)
    total = math.fsum((value - mean) ** 2 for value in every)
    between = math.fsum(len(own) * (math.fsum(own) / len(own) - mean) ** 2 for own in logs if own)
    return between / total if total else None


def _sizes(name: str) -> Callable[[Sequence[One]], list[float]]:
    return lambda jobs: [size for one in jobs if (size := getattr(one.shape, name)) >= 0]


_SPREADS: Final[Sequence[tuple[str, Callable[[Sequence[One]], list[float]]]]] = (
    ("run time (s)", lambda jobs: [one.elapsed for one in jobs]),
    ("limit (s)", lambda jobs: [one.shape.req_limit for one in jobs if one.shape.req_limit > 0]),
    ("accuracy", lambda jobs: [one.elapsed / one.shape.req_limit for one in jobs if one.shape.req_limit > 0]),
    ("wait (s)", lambda jobs: [one.wait for one in jobs if one.wait >= 0]),
    ("nodes", _sizes("nodes")),
    ("CPUs", _sizes("cpus")),
    ("GPUs", _sizes("gpus")),
    ("time between submissions (s)", _between),
    ("jobs per user", lambda jobs: list(Counter(one.user for one in jobs).values())),
)
_SHARES: Final[Sequence[tuple[str, Callable[[One], Hashable]]]] = (
    ("queues", lambda one: one.shape.queue),
    ("states", lambda one: one.state),
    ("hour of the week", lambda one: (one.submit_time - 345_600) % 604_800 // 3600),
)
_FIGURES: Final[Sequence[tuple[str, Callable[[Sequence[One]], float | None]]]] = (
    ("burstiness: variance / mean of jobs per hour", _dispersion),
    ("limit and run time: correlation of logs", lambda jobs: correlation(_logs(jobs))),
    ("a user's next run time: correlation of logs", lambda jobs: lag_one(_by_user(jobs))),
    ("limits: share of variance between users", _explained),
)
