"""Users: their jobs, hours and accuracy, how active they are, and whether their accuracy changed in the last month.

A user's runs, days and weeks are not independent observations: the same program comes back for weeks. So months are
compared: the last one with what a further month is expected to be like, by the user's months before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.grouped import grouped
from adminkit.stats.select import LIMITED, Filter, clusters, select, snapshot, span
from adminkit.stats.student import quantile
from adminkit.stats.taken import Alike, alike, total
from adminkit.stats.whole import RATIO, in_seconds, month, months, ratios, seconds, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Seconds: a twelfth of 365.25 days.
MONTH: Final = 2_629_800
#: The study's active users have at least this number of jobs a month on average.
ACTIVE_JOBS: Final = 10
#: A month with fewer jobs says nothing; a change has an interval where this number of earlier months say something.
LEAST_JOBS: Final = 5
LEAST_MONTHS: Final = 3
#: The confidence level of the interval, both ends together.
LEVEL: Final = 0.95

#: Bits: the number of GPUs is unknown, that of CPUs; the job has a limit.
_FLAGS: Final = f"""{unknown("size_gpus", 1)} + {unknown("size_cpus", 2)} + CASE WHEN {LIMITED} THEN 4 ELSE 0 END"""
_SUMS: Final = (seconds("size_gpus"), seconds("size_cpus"), "elapsed", "req_limit", *RATIO)


class Month(NamedTuple):
    """The jobs with a limit that ended in one month."""

    jobs: int = 0
    ratios: float = 0.0  # the sum of elapsed / limit

    @property
    def accuracy(self) -> float | None:
        return self.ratios / self.jobs if self.jobs else None


class Change(NamedTuple):
    """Accuracy in the last month against the months before."""

    now: Month
    before: Sequence[float]  # the accuracies of the months before that have enough jobs

    @property
    def expected(self) -> float | None:
        """The mean of the months before."""
        return math.fsum(self.before) / len(self.before) if self.before else None

    @property
    def change(self) -> float | None:
        """None where the last month, or every month before, has few jobs."""
        if self.expected is None or self.now.jobs < LEAST_JOBS:
            return None
        return self.now.ratios / self.now.jobs - self.expected

    @property
    def interval(self) -> tuple[float, float] | None:
        """The change, give or take what one more month would differ by: Student's prediction interval. None where few
        months came before."""
        many = len(self.before)
        if self.change is None or self.expected is None or many < LEAST_MONTHS:
            return None
        spread = math.sqrt(math.fsum((one - self.expected) ** 2 for one in self.before) / (many - 1))
        reach = _t(many - 1) * spread * math.sqrt(1 + 1 / many)
        return self.change - reach, self.change + reach


@dataclass(slots=True)
class User:
    """One user of one cluster; both None for all together."""

    user: str | None
    cluster: str | None
    jobs: int = 0
    last_end: int | None = None  # epoch seconds
    gpu_seconds: float = 0.0
    cpu_seconds: float = 0.0
    gpus_unknown: int = 0  # jobs
    cpus_unknown: int = 0
    limited: int = 0  # jobs with a finite limit that are not checkpoint runs: accuracy is theirs
    ratios: float = 0.0
    used: float = 0.0  # seconds
    reserved: float = 0.0  # seconds
    months: dict[str, Month] = field(default_factory=dict)  # "2026-01", of UTC

    @property
    def accuracy(self) -> float | None:
        return self.ratios / self.limited if self.limited else None

    @property
    def used_fraction(self) -> float | None:
        return self.used / self.reserved if self.reserved else None

    def change(self, month: str) -> Change:
        """That month against those before it."""
        before = [one.ratios / one.jobs for name, one in self.months.items() if name < month and one.jobs >= LEAST_JOBS]
        return Change(self.months.get(month, Month()), before)

    def add(self, month: str | None, jobs: int, last: int | None, sums: Sequence[float]) -> None:
        """Some runs of one month; `sums` are the fields from `gpu_seconds` to `reserved`."""
        self.jobs += jobs
        self.last_end = max((end for end in (self.last_end, last) if end is not None), default=None)
        for name, value in zip(_SUMMED, sums, strict=True):
            old = getattr(self, name)
            setattr(self, name, old + type(old)(value))
        if month is not None:
            known = self.months.get(month, Month())
            self.months[month] = Month(known.jobs + int(sums[4]), known.ratios + sums[5])


_SUMMED: Final = (
    "gpu_seconds", "cpu_seconds", "gpus_unknown", "cpus_unknown", "limited", "ratios", "used", "reserved",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Users:
    """`users` by number of jobs, most first. `month` is the last one, that of the window's end: "2026-01", of UTC."""

    users: Sequence[User]
    overall: User
    months: float  # how long the window is, one at least
    month: str | None
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]

    def active(self, user: User) -> bool:
        return user.jobs >= ACTIVE_JOBS * self.months


def users(db: sqlite3.Connection, chosen: Filter) -> Users:
    """Measure the users of the jobs that `chosen` takes, whatever their limits; accuracy is of those that have one."""
    selection = select(chosen, limits=False)
    found: dict[tuple[str, str | None], User] = {}
    overall = User(None, None)
    with snapshot(db):
        ends = span(db)
        jobs = alike(
            db, selection, ("cluster", "user"), (month("end_time"), _FLAGS), sums=_SUMS, most=("end_time",),
            given={"checkpoint_code": chosen.checkpoint_code}, once=True,
        )  # fmt: skip
        names = tuple(chosen.clusters) or tuple(clusters(db))
    for cluster, name, when, *rest in _summed(jobs):
        for one in (found.setdefault((cluster, name), User(name, cluster)), overall):
            one.add(when, *rest)
    ordered = sorted(found.values(), key=lambda one: (-one.jobs, one.cluster or "", one.user or ""))
    return Users(ordered, overall, *window(chosen, ends), jobs.excluded, names, ends)


def _summed(jobs: Alike) -> Iterator[tuple[Any, ...]]:
    """Cluster, user and month of UTC, and of its jobs their number, the last end and what User.add() adds."""
    import numpy as np

    ended, flags = jobs.numbers
    number, keys = grouped(*jobs.texts, months(ended))
    last = np.full(len(keys), -np.inf)
    np.maximum.at(last, number, np.nan_to_num(jobs.most[0].astype(np.float64), nan=-np.inf))
    no_gpus, no_cpus, limited = ((flags.astype(np.int64) & bit) > 0 for bit in (1, 2, 4))

    def summed(column: NDArray[Any], some: NDArray[Any] | None = None) -> NDArray[Any]:
        return total(number, len(keys), column if some is None else column * some)

    *sizes, used, reserved, whole, parts = jobs.sums
    ratio = ratios(summed(whole, limited), summed(parts, limited))
    columns = [
        summed(jobs.many), in_seconds("size_gpus", summed(sizes[0])), summed(sizes[1]),
         *(summed(jobs.many, some) for some in (no_gpus, no_cpus, limited)),
        np.array(ratio), summed(used, limited), summed(reserved, limited),
    ]  # fmt: skip
    for key, at, many, *sums in zip(keys, last.tolist(), *(one.tolist() for one in columns), strict=True):
        yield *key, many, None if at == -math.inf else int(at), sums


def window(chosen: Filter, ends: tuple[int | None, int | None]) -> tuple[float, str | None]:
    """Its length in months, one at least, and its last month, when the ends in the trace are from and to `ends`."""
    begin, end = _window(chosen, ends)
    length = 0 if begin is None or end is None else end - begin
    month = None if end is None else datetime.fromtimestamp(end, UTC).strftime("%Y-%m")
    return max(length / MONTH, 1.0), month


def _window(chosen: Filter, ends: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """The first and the last moment of the window of which the trace has anything."""
    first, last = ends
    if first is None or last is None:
        return None, None
    begin = first if chosen.since is None else max(chosen.since, first)
    end = last if chosen.until is None else min(chosen.until - 1, last)
    return begin, max(begin, end)


@cache
def _t(freedom: int) -> float:
    return quantile((1 + LEVEL) / 2, freedom)
