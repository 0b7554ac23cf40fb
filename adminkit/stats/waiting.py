"""When jobs waited in a queue, and whose they were: during how much of a run did jobs of others wait?

A job waits from the moment it is eligible until it starts, or until it ends or `now` where it never did. Held jobs and
those that wait for another job are not eligible and do not count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.clip import overlap

#: Two rows, joining and leaving, for each job that waited in a queue at some time in [since, until).
#: SQLite sorts them in temporary files. Trap: the first part is found by the index on end_time, the second by the one
#: on jobs that have not ended; one WHERE for both would read the whole table.
_MOMENTS: Final = """
WITH waited (cluster, queue, user, joined, left) AS (
    SELECT cluster, queue, user, eligible_time, coalesce(start_time, end_time) FROM run
    WHERE end_time >= :since AND acting AND eligible_time < :until AND coalesce(start_time, end_time) > :since
    UNION ALL
    SELECT cluster, queue, user, eligible_time, coalesce(start_time, :until) FROM run
    WHERE end_time IS NULL AND acting AND eligible_time < :until AND coalesce(start_time, :until) > :since
)
SELECT cluster, queue, joined AS at, 1, coalesce(user, '?') FROM waited WHERE left > joined
UNION ALL
SELECT cluster, queue, left, -1, coalesce(user, '?') FROM waited WHERE left > joined
ORDER BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True)
class Line:
    """Who waited in one queue: from `at[i]` to `at[i + 1]` only jobs of `alone[i]`; "": several users'; None: no job.

    A job without a user's name counts as somebody else's.
    """

    at: list[int]
    alone: list[str | None]

    def others(self, user: str, since: int, until: int) -> int:
        """The seconds of [since, until) in which a job of anybody but `user` waited."""
        seconds, place = 0, max(bisect_right(self.at, since) - 1, 0)
        while place < len(self.at) and self.at[place] < until:
            after = self.at[place + 1] if place + 1 < len(self.at) else until
            if self.alone[place] not in (None, user):
                seconds += overlap(self.at[place], after, since, until)
            place += 1
        return seconds


def waiting(db: sqlite3.Connection, since: int, until: int) -> dict[tuple[str, str | None], Line]:
    """The line of every (cluster, queue) in which a job waited in [since, until)."""
    moments = db.execute(_MOMENTS, {"since": since, "until": until})
    return {queue: _line(of_one) for queue, of_one in groupby(moments, key=itemgetter(0, 1))}


def _line(moments: Iterable[tuple[str, str | None, int, int, str]]) -> Line:
    line = Line([], [])
    jobs: dict[str, int] = defaultdict(int)
    for at, together in groupby(moments, key=itemgetter(2)):
        for *_, change, user in together:
            jobs[user] += change
            if not jobs[user]:
                del jobs[user]
        alone = None if not jobs else next(iter(jobs)) if len(jobs) == 1 else ""
        if not line.alone or line.alone[-1] != alone:
            line.at.append(at)
            line.alone.append(alone)
    return line
