"""The runs before a day: as sacct's text, and the soft limits that the commands should make of them."""

from __future__ import annotations

import math
import pwd
from collections.abc import Sequence
from typing import Final

from adminkit.recommend.hints import learn
from adminkit.recommend.menu import Offer
from adminkit.recommend.needs import QUANTILES
from adminkit.stats.runs import Kind, Run
from tests.soft_real.workloads import SHAPE, Day, Past

CLUSTER: Final = "alpha"
#: Of the settings `open`: who waits beside a wide job keeps their soft limit, and nobody's is made longer.
QUANTILE: Final = 75
#: The seconds are those of a day that is so much faster.
LEAST: Final = 60
GAP: Final = 60
_ON: Final = """[soft_limits]
enabled = true
least = "00:01:00"
gap = "00:01:00"
"""
#: [soft_limits] of the runs by their settings; what `default` leaves out is adminkit's own default.
POLICY: Final = {"open": f"{_ON}quantile = {QUANTILE}\nwide = 0\noutlived = 100\n", "default": _ON}
#: What both have: a script that decides, and nothing else that moves jobs.
QUIET: Final = """[hints]
enabled = false

[incentives]
accuracy_hours = 0
multi_node_hours = 0
multi_gpu_hours = 0

"""
_FIELDS: Final = (
    "Cluster", "JobID", "JobIDRaw", "JobName", "User", "UID", "Account", "Partition", "Submit", "Eligible", "Start",
    "End", "ElapsedRaw", "State", "ExitCode", "TimelimitRaw", "NNodes", "ReqNodes", "NCPUS", "ReqCPUS", "AllocTRES",
    "ReqTRES",
)  # fmt: skip


def sacct(past: Sequence[Past], now: int, ids: int = 0) -> str:
    """What sacct would have printed at `now`, times in epoch seconds; job ids above `ids`."""
    lines = (_line(number, one, now) for number, one in enumerate(past, ids + 1))
    return "\n".join(["|".join(_FIELDS), *lines]) + "\n"


def _line(number: int, past: Past, now: int) -> str:
    habit, submit = past.habit, now - past.ago
    cpus = habit.nodes * SHAPE.nodes[0].cpus if habit.nodes > 1 else habit.gpus
    tres = f"billing={cpus},cpu={cpus},gres/gpu={habit.nodes * habit.gpus},node={habit.nodes}"
    cells = {
        "Cluster": CLUSTER,
        "JobID": number,
        "JobIDRaw": number,
        "JobName": habit.name,
        "User": habit.user,
        "UID": pwd.getpwnam(habit.user).pw_uid,
        "Account": "physics",
        "Partition": habit.queue,
        "Submit": submit,
        "Eligible": submit,
        "Start": submit + 1,
        "End": submit + 1 + past.elapsed,
        "ElapsedRaw": past.elapsed,
        "State": "COMPLETED",
        "ExitCode": "0:0",
        "TimelimitRaw": habit.limit // 60,
        "NNodes": habit.nodes,
        "ReqNodes": habit.nodes,
        "NCPUS": cpus,
        "ReqCPUS": cpus,
        "AllocTRES": tres,
        "ReqTRES": tres,
    }
    return "|".join(str(cells[field]) for field in _FIELDS)


def soft_limits(day: Day, quantile: int = QUANTILE) -> list[int | None]:
    """The soft limit that each job of the day should get, seconds: what the script has to say of the same history."""
    now = 2_000_000_000
    runs = [_run(number, one, now) for number, one in enumerate(day.past, 1)]
    place = QUANTILES.index(quantile)
    needs = {
        (one.user, one.job_name, one.queue): one.seconds[place] for one in learn(runs, now, Offer()).needs if one.queue
    }
    found = []
    for job, name in zip(day.workload.jobs, day.names, strict=True):
        need = needs.get((job.user, name, job.queues[0]))
        planned = None if need is None else max(math.ceil(need / 60) * 60, LEAST)
        found.append(None if planned is None or job.limit - planned < GAP else planned)
    return found


def _run(number: int, past: Past, now: int) -> Run:
    habit, submit = past.habit, now - past.ago
    cpus = habit.nodes * SHAPE.nodes[0].cpus if habit.nodes > 1 else habit.gpus
    kind = Kind(CLUSTER, habit.user, habit.name, habit.queue, habit.nodes, cpus, habit.nodes * habit.gpus, habit.limit)
    uid = pwd.getpwnam(habit.user).pw_uid
    return Run(kind, uid, None, submit, submit + 1 + past.elapsed, past.elapsed, "COMPLETED", number)
