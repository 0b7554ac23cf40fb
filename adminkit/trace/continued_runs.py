"""Which run of a job continues another one, as SQL over the table `job`: the one home of this rule.

slurmctld ends the run with one of PUT_BACK before it puts the job back, and gives the next run a new submission, that
of the moment; a job that is resized gets a row more in the same way. sacct's Restarts (since 24.11) counts how often
that happened. docs/trace.md has what each release writes.

Traps: numbers are used again, by whomever. slurmdbd of 24.11 gives the rows of before its update a Restarts of 0. A job
of scrontab keeps its number for ever, and each of its runs looks as if it had been put back after it had completed.

What SQLite and DuckDB both take, as all of the view `run`.
"""

from __future__ import annotations

from typing import Final

#: States of a run that may be continued. Only the first says by itself that it is: the others end jobs as well.
REQUEUED: Final = "REQUEUED"
RESIZED: Final = "RESIZING"
PUT_BACK: Final = (REQUEUED, "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", RESIZED)
_MAY_CONTINUE: Final = f"state IN {PUT_BACK}"
#: SQL: other runs of this number may be pieces of the same job. Word for word the condition of the index job_requeued.
IN_PIECES: Final = f"({_MAY_CONTINUE} OR restarts > 0)"

#: The new submission is that of the moment in which the last node of the run was free. What comes more than two days
#: after its end is another job of the same number; seconds.
PUT_BACK_WITHIN: Final = 2 * 86_400
#: With a Restarts of 0 only what comes at once is the same job.
_AT_ONCE: Final = 60


def acting(table: str) -> str:
    """SQL: whether the row of `table` may have consequences for a person."""
    return (
        f"({table}.source IN ('slurmdbd', 'trusted') AND coalesce({table}.audited, '') <> 'beyond'"
        f" OR {table}.source = 'demo')"
    )


def _by_cron(table: str) -> str:
    """SQL: the run looks like one of scrontab: it has no command line, and waited for a whole minute. 1 or 0."""
    return (
        f"CASE WHEN {table}.submitted_by = 'scrontab' OR {table}.submitted_by IS NULL"
        f" AND {table}.eligible_time > {table}.submit_time AND {table}.eligible_time % 60 = 0 THEN 1 ELSE 0 END"
    )


def _numbered(other: str) -> str:
    """SQL: a row `other` of the number of the row of job."""
    return f"{other}.cluster = job.cluster AND {other}.job_id_raw = job.job_id_raw"


def _same(other: str) -> str:
    """SQL: … that counts for as much, so that it may say something about it."""
    return f"{_numbered(other)} AND ({acting(other)} OR NOT {acting('job')})"


def _continues(earlier: str, later: str) -> str:
    """SQL: of two rows of one number without another between them, the later one continues the earlier one."""
    end = f"coalesce({earlier}.end_time, {earlier}.start_time + {earlier}.elapsed)"
    return (
        f"({later}.restarts > 0 OR {earlier}.{_MAY_CONTINUE} AND ({later}.restarts IS NULL"
        f" OR {later}.submit_time BETWEEN {end} AND {end} + {_AT_ONCE}))"
        f" AND ({earlier}.user = {later}.user OR {earlier}.user IS NULL OR {later}.user IS NULL)"
        f" AND {later}.submit_time <= coalesce({end}, {later}.submit_time) + {PUT_BACK_WITHIN}"
        f" AND NOT ({earlier}.state = '{REQUEUED}' AND {_by_cron(earlier)} = 1 AND {_by_cron(later)} = 1)"
    )


def _before(which: str) -> str:
    """SQL: the submission of the run that the row of job continues, among the rows `earlier` that are `which`."""
    return f"""(SELECT CASE WHEN {_continues("earlier", "job")} THEN earlier.submit_time END FROM job AS earlier
        WHERE {which} AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1)"""


#: Whether some run of this number is such a one: for most runs this ends the matter.
_NUMBERED: Final = f"job_id_raw IN (SELECT job_id_raw FROM job AS put_back WHERE {IN_PIECES})"
#: 1 where the next run continues this one; NULL without a next run.
_AFTER: Final = f"""(SELECT CASE WHEN {_continues("job", "later")} THEN 1 ELSE 0 END FROM job AS later
        WHERE {_same("later")} AND later.submit_time > job.submit_time ORDER BY later.submit_time LIMIT 1)"""
_CRON_BEFORE: Final = f"""(SELECT {_by_cron("earlier")} = 1 AND earlier.state = '{REQUEUED}' FROM job AS earlier
        WHERE {_same("earlier")} AND earlier.submit_time < job.submit_time ORDER BY earlier.submit_time DESC LIMIT 1)"""
_CRON_AFTER: Final = f"""(SELECT {_by_cron("later")} FROM job AS later
        WHERE {_same("later")} AND later.submit_time > job.submit_time ORDER BY later.submit_time LIMIT 1)"""

_IT_CONTINUES: Final = f"""CASE WHEN restarts > 0
            THEN CASE WHEN {_by_cron("job")} = 1 AND {_CRON_BEFORE} THEN 0 ELSE 1 END
        WHEN {_before(_same("earlier"))} IS NOT NULL THEN 1 ELSE 0 END"""
_IT_IS_CONTINUED: Final = f"""CASE WHEN state = '{REQUEUED}' THEN
            CASE WHEN {_by_cron("job")} = 1 AND coalesce({_CRON_AFTER}, 1) = 1 THEN 0 ELSE 1 END
        ELSE coalesce({_AFTER}, 0) END"""

#: The submission of the run that this one continues, whatever it counts for; NULL for none in the trace.
PREVIOUS_SUBMIT: Final = f"CASE WHEN {_NUMBERED} THEN {_before(_numbered('earlier'))} END"
#: It continues a run that counts for as much, in the trace or not.
CONTINUES: Final = f"CASE WHEN {_NUMBERED} THEN {_IT_CONTINUES} ELSE 0 END"
#: Its job went back into the queue after it, or on in another size. Trap: slurmctld of 26.05 does not say so of a run
#: that had ended by itself, and was put back later; the Restarts of the next run does.
CONTINUED: Final = f"CASE WHEN {_NUMBERED} THEN {_IT_IS_CONTINUED} ELSE 0 END"
#: Either.
PIECE: Final = f"CASE WHEN {_NUMBERED} THEN CASE WHEN {_IT_CONTINUES} = 1 THEN 1 ELSE {_IT_IS_CONTINUED} END ELSE 0 END"
