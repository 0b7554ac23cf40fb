"""What similar jobs of each user needed, for a line at submission: per job name and queue, and per user."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from adminkit.recommend.groups import Features
from adminkit.recommend.predict import Recommendation, Settings
from adminkit.recommend.replay import Replay
from adminkit.stats.select import Filter
from adminkit.stats.similar import Ended, ended

#: A limit is advised only where its risk was measured on so many runs of the group, and is at most so large.
MIN_TRIED: Final = 5
MOST_RISK: Final = 0.25


class Learnt(NamedTuple):
    """What one user's jobs of a name in a queue needed; empty names stand for any."""

    uid: int
    job_name: str
    queue: str
    expected: int  # seconds
    safe: int  # seconds, before it is rounded to a menu
    risk_percent: int  # of the limit rounded
    runs: int
    wasted: float  # GPU-seconds reserved and not used


def hints(
    db: sqlite3.Connection,
    cluster: str,
    window: tuple[int, int],
    menu: Sequence[int],
    cpus_per_gpu: float,
    settings: Settings = Settings(),  # noqa: B008
) -> Iterator[Learnt]:
    """From the runs that ended in the window, [since, until), user by user. A user without a uid has none."""
    chosen = Filter(clusters=(cluster,), since=window[0], until=window[1])
    for user, mine in groupby(ended(db, chosen), key=lambda one: one.user):
        yield from _of_user(user, mine, menu, cpus_per_gpu, settings, window[1])


def _of_user(
    user: str, runs: Iterator[Ended], menu: Sequence[int], cpus_per_gpu: float, settings: Settings, now: int
) -> Iterator[Learnt]:
    by_name, by_user = Replay(settings, menu, _named), Replay(settings, menu, _user_alone)
    uid = None
    wasted: dict[tuple[str, str], float] = {}
    for one in runs:
        by_name.submit(one)
        by_user.submit(one)
        uid = one.uid if one.uid is not None else uid
        if one.job_name and one.queue:
            place = one.job_name, one.queue
            wasted[place] = wasted.get(place, 0.0) + waste(one, cpus_per_gpu)
    by_name.until(now)
    by_user.until(now)
    if uid is None or uid < 0:
        return
    for (name, queue), seconds in sorted(wasted.items()):
        found = by_name.predictor.predict(Features(user, name, queue), now)
        yield from _learnt(uid, name, queue, found, seconds)
    yield from _learnt(uid, "", "", by_user.predictor.predict(Features(user), now), sum(wasted.values()))


def _named(one: Ended) -> Features:
    """A hint is looked up by these, before anybody knows the size."""
    return Features(one.user, one.job_name, one.queue)


def _user_alone(one: Ended) -> Features:
    return Features(one.user)


def waste(one: Ended, cpus_per_gpu: float) -> float:
    """GPU-seconds that a run had reserved and did not use; CPUs count by how many go with a GPU."""
    size = one.gpus if one.gpus else (one.cpus or 0) / cpus_per_gpu
    return max((one.time_limit or 0) - one.elapsed, 0) * size


def _learnt(uid: int, name: str, queue: str, found: Recommendation | None, wasted: float) -> Iterator[Learnt]:
    """One row, where there is a limit whose risk is known and small."""
    if found is None or found.safe is None or found.risk is None or (name and found.group == "user"):
        return
    if found.tried >= MIN_TRIED and found.risk <= MOST_RISK:
        risk = -int(-100 * found.risk // 1)
        yield Learnt(uid, name, queue, round(found.expected), -int(-found.safe // 1), risk, found.runs, wasted)
