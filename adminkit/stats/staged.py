"""How long similar runs waited for their data to be copied to the nodes."""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.runs import Kind
from adminkit.trace.plugin_words import STAGING
from adminkit.trace.staging_word import waited

#: Runs that are looked at, the last ones.
MANY: Final = 50
_COMMENTS: Final = f"""
SELECT admin_comment, start_time FROM run
WHERE user = :user AND instr(admin_comment, '{STAGING.prefix}:') > 0 AND end_time IS NOT NULL
    AND (:cluster IS NULL OR cluster = :cluster) AND (:job_name IS NULL OR job_name = :job_name)
ORDER BY end_time DESC LIMIT {MANY}
"""


def longest_copy(db: sqlite3.Connection, kind: Kind) -> int | None:
    """Seconds of the longest wait for data among the last runs of that user and name; None where none waited."""
    values = {"user": kind.user, "cluster": kind.cluster, "job_name": kind.job_name}
    spans = (waited(comment, start) for comment, start in db.execute(_COMMENTS, values))
    return max((span for span in spans if span is not None), default=None)
