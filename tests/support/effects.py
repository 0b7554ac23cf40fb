"""Users whose limits letters changed by a known amount, or did not; for stats/effect.py and its report."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from adminkit.findings.effect import REPORT
from adminkit.job import Job
from adminkit.stats.effect import Design, Effect, effect
from adminkit.stats.select import Filter
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace

DAY = 86_400
LETTER = MONDAY + 40 * DAY
NOW = LETTER + 60 * DAY
CHOSEN = Filter(["aaic"], checkpoint_code=85)


def nobody(uid: int) -> bool:
    return False


def user_runs(
    uid: int, before: list[float], after: list[float], limit: int = 10 * HOUR, cluster: str = "aaic"
) -> Iterator[Job]:
    """Runs of one user before and after LETTER, each using this share of its limit."""
    for side, shares in ((-1, before), (1, after)):
        for number, share in enumerate(shares):
            submit = LETTER + side * (3 + number % 20) * DAY + number * 60
            elapsed = round(share * limit)
            yield job(
                uid * 1000 + number + (500 if side > 0 else 0), cluster=cluster, uid=uid, user=f"u{uid}",
                submit_time=submit, start_time=submit, end_time=submit + elapsed, elapsed=elapsed, time_limit=limit,
                gpus=2,
            )  # fmt: skip


Letters = dict[int, int]


def lettered(path: Path, jobs: list[Job], letters: Letters | dict[str, Letters]) -> Path:
    """A trace in which these users, of one cluster or of several, got a first letter then."""
    by_cluster: Any = letters if any(isinstance(one, dict) for one in letters.values()) else {"aaic": letters}
    make_trace(path, jobs)
    sent = [(name, uid, at) for name, mine in by_cluster.items() for uid, at in mine.items()]
    return add_letters(path, [letter(uid, cluster=name, sent_at=at) for name, uid, at in sent])


def of(
    path: Path, cluster: str = "aaic", held: Callable[[int], bool] = nobody, now: int = NOW, **chosen: Any
) -> Effect:
    with closing(sqlite3.connect(path)) as db:
        return effect(db, Filter([cluster], checkpoint_code=85, **chosen), now, Design(), held, REPORT.others)


def measured(
    path: Path, jobs: list[Job], letters: Letters, held: Callable[[int], bool] = nobody, now: int = NOW
) -> Effect:
    return of(lettered(path, jobs, letters), "aaic", held, now)


HELD = set(range(1, 120, 3))


def sample(seed: int, gain: float, cluster: str = "aaic") -> tuple[list[Job], Letters]:
    """Users with a level of their own and luck, good or bad, in each month; below 0.4 they get a letter, but for HELD.

    A letter lifts them by `gain`. No share comes near 0 or 1, so that it does so fully.
    """
    luck = random.Random(seed)
    jobs: list[Job] = []
    letters: Letters = {}
    for uid in range(120):
        level = luck.uniform(0.35, 0.55)
        before, after = luck.gauss(level, 0.07), luck.gauss(level, 0.07)
        if before < 0.4 and uid not in HELD:
            letters[uid] = LETTER
            after += gain
        jobs += user_runs(uid, [before] * 3, [after] * 3, cluster=cluster)
    return jobs, letters
