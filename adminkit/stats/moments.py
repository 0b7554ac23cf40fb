"""When something came that jobs may have changed by: rules, points, limits of queues, letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from adminkit.sqlite import sqlite3

#: What became of it: rules were installed or put back, points were installed, a trial began; a queue has other
#: limits; the first letter left.
Kind = Literal["rules", "points", "soft_limits", "limits", "letters"]
#: What the action log calls it -> its kind. A new table of the same rules (`policy refresh`) is not news.
ACTS: Final[dict[str, Kind]] = {
    "policy install": "rules",
    "policy rollback": "rules",
    "incentives install": "points",
    "soft-limits trial": "soft_limits",  # of releases whose trials were only of soft limits
    "trial": "rules",
}

#: An act that puts what is there already changes nothing; an act may put several tables. Trials count when they begin.
_ACTS: Final = f"""
SELECT DISTINCT at, what FROM action
WHERE what IN ({", ".join(map(repr, ACTS))}) AND at < :until AND json_valid(line)
    AND CASE WHEN what IN ('soft-limits trial', 'trial') THEN json_extract(line, '$.did') = 'trial begun'
        ELSE generation IS NOT json_extract(line, '$.before') END
ORDER BY at
"""
#: The first row of a queue is when adminkit first saw it.
_LIMITS: Final = """
SELECT since, cluster, queue, default_limit, max_limit, default_before, max_before FROM (
    SELECT since, cluster, queue, default_limit, max_limit,
        lag(default_limit) OVER one AS default_before, lag(max_limit) OVER one AS max_before,
        row_number() OVER one AS number
    FROM queue WHERE since < :until WINDOW one AS (PARTITION BY cluster, queue ORDER BY since)
) WHERE number > 1 AND (default_limit IS NOT default_before OR max_limit IS NOT max_before)
"""
_LETTERS: Final = "SELECT min(sent_at), cluster FROM outbox WHERE kind = 'end' AND sent_at < :until GROUP BY cluster"


@dataclass(frozen=True, slots=True)
class Limits:
    """A queue's limits in seconds, None for none: as they became, and as they had been."""

    queue: str
    default: int | None
    maximum: int | None
    default_before: int | None
    maximum_before: int | None


@dataclass(frozen=True, slots=True)
class Change:
    """Something that came, `at` epoch seconds. `what` is the act's word; cluster None: the acts' log does not say."""

    at: int
    kind: Kind
    cluster: str | None = None
    what: str = ""
    limits: Limits | None = None


def changes(
    db: sqlite3.Connection, since: int, until: int, clusters: Sequence[str] = (), queues: Sequence[str] = ()
) -> list[Change]:
    """Changes in [since, until), the oldest first; of limits, those of these clusters and queues, of all where none are
    named."""
    window = {"until": until}
    found = [Change(at, ACTS[what], what=what) for at, what in db.execute(_ACTS, window)]
    for at, cluster, queue, *limits in db.execute(_LIMITS, window):
        if (not clusters or cluster in clusters) and (not queues or queue in queues):
            found.append(Change(at, "limits", cluster, limits=Limits(queue, *limits)))
    found += [
        Change(at, "letters", cluster)
        for at, cluster in db.execute(_LETTERS, window)
        if at is not None and (not clusters or cluster in clusters)
    ]
    return sorted((one for one in found if one.at >= since), key=lambda one: one.at)
