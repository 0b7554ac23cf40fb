"""Today's case: the jobs of a trace and the request of the current policy, with what scenarios need to know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from adminkit.simulate.case import Case, Column
from adminkit.simulate.core import NONE, Request
from adminkit.simulate.jobs import Jobs
from adminkit.slurm.site import SiteQueue

if TYPE_CHECKING:
    pass

#: Queues that a mask names.
_MOST: Final = 62


def today(jobs: Jobs, request: Request, queues: Sequence[SiteQueue]) -> Case:
    """`request` is of `jobs`, row by row; `queues` are the site's, in the order of its masks.

    The plain models have no queues: theirs are the trace's, for scenarios and for the rows of the answer.
    """
    import numpy as np

    count = len(jobs)
    run, limit = request.jobs["run"], request.jobs.get("limit", np.full(count, NONE, np.int64))
    facts = {
        "origin": np.arange(count, dtype=np.int64),
        "piece": np.zeros(count, np.int64),
        "user": _codes(jobs, "user"),
        "account": _codes(jobs, "account"),
        "class": _codes(jobs, "class"),
        "needs": np.where(limit > 0, np.minimum(run, limit), run),
        "defaulted": _defaulted(jobs),
        "follows": np.full(count, NONE, np.int64),
    }
    names = {
        "users": jobs.names["user"],
        "accounts": jobs.names["account"],
        "classes": jobs.names["class"],
        "queues": [one.name for one in queues],
    }
    if "queues" not in request.jobs:
        names["queues"] = list(jobs.names["queue"])[:_MOST]
        request = replace(request, jobs={**request.jobs, "queues": _masks(jobs, len(names["queues"]))})
    return Case(request, facts, names)


def keys_of(jobs: Jobs) -> Mapping[str, Column]:
    """What the trace knows today's jobs by."""
    return {"job_id_raw": jobs.columns["id"], "submit_time": jobs.real["submit"]}


def window_of(case: Case) -> tuple[int, int]:
    """The window from the submission after the first hundredth of the jobs to the last one."""
    from adminkit.simulate.metrics import steady_part

    return steady_part(case.column("submit"))


def _codes(jobs: Jobs, name: str) -> Column:
    import numpy as np

    return jobs.codes[name].astype(np.int64)


def _masks(jobs: Jobs, many: int) -> Column:
    """A bit for each job's queue; 0 for a queue that is unknown or one too many."""
    import numpy as np

    codes = _codes(jobs, "queue")
    return np.where((codes >= 0) & (codes < many), np.left_shift(np.int64(1), np.clip(codes, 0, _MOST)), 0)


def _defaulted(jobs: Jobs) -> Column:
    """1 where the limit is the queue's default, 0 where it was typed."""
    import numpy as np

    meaning = {"default": 1, "explicit": 0, "stated": 0}
    values = np.array([*(meaning.get(name, NONE) for name in jobs.names["limit_source"]), NONE], np.int64)
    return values[_codes(jobs, "limit_source")]
