"""One user's question: what limit should my next job have?"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from adminkit.recommend.groups import Features
from adminkit.recommend.predict import MENU, Recommendation, Settings
from adminkit.recommend.replay import Replay, features_of
from adminkit.stats.select import Filter, snapshot, span
from adminkit.stats.similar import Ended, ended


@dataclass(frozen=True, slots=True)
class Answer:
    """`found` is None where too few runs are like it; `runs` counts all of the user's that were looked at."""

    asked: Features
    found: Recommendation | None
    runs: int
    span: tuple[int | None, int | None]


def walltime(
    db: sqlite3.Connection,
    chosen: Filter,
    asked: Features,
    now: int,
    settings: Settings = Settings(),  # noqa: B008
    menu: Sequence[int] = MENU,
) -> Answer:
    """What the runs that `chosen` takes, of one user, say by `now`.

    They are compared by what the question names, so that the risk is that of such an answer.
    """

    def named(one: Ended) -> Features:
        known = features_of(one)
        return Features(
            known.user,
            known.job_name if asked.job_name is not None else None,
            known.queue if asked.queue is not None else None,
            known.size if asked.size is not None else None,
            known.request if asked.request is not None else None,
        )

    replay, runs = Replay(settings, menu, named), 0
    with snapshot(db):
        for one in ended(db, chosen):
            if one.submit_time <= now:
                replay.submit(one)
                runs += 1
        ends = span(db)
    replay.until(now)
    return Answer(asked, replay.predictor.predict(asked, now), runs, ends)
