"""What a site or its trace has that is not modelled, and the share of jobs and of waits that it touches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.simulate.jobs import Jobs
from adminkit.slurm.site import Site

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Column = NDArray[np.int64]

#: Slurm's words, as sacct keeps the last one of a job, for waits that the model has: of nodes, of others in front, of
#: a moment, of another job (the job's eligible time has both).
MODELLED: Final = ("", "None", "Priority", "Resources", "BeginTime", "Dependency", "WaitingForScheduling")
#: The same where the site says which limits its QOS have.
_QOS: Final = re.compile(r"QOS(Max(Cpu|GRES|Jobs?)PerUser\w*|Grp(Cpu|GRES|Jobs?)\w*)")
#: The same where nodes are known to have been down.
_NODES: Final = re.compile(r"Nodes_?required|ReqNodeNotAvail\w*|NodeDown", re.IGNORECASE)
#: Reason -> what it is called here.
_GROUPS: Final = (
    (re.compile(r"Assoc\w*"), "association limits"),
    (re.compile(r"QOS\w*"), "QOS limits that are not modelled, or not in the site"),
    (re.compile(r"Reservation\w*"), "reservations"),
    (re.compile(r"JobArrayTaskLimit"), "arrays' %N"),
    (re.compile(r"JobHeld\w*"), "held jobs"),
    (re.compile(r"Licenses\w*"), "licences"),
)
_OTHER: Final = "other reasons of waiting"


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that is not modelled. `jobs` and `waits`: the shares of jobs and of waiting time that it touches.

    `waiting`: it is a reason for which jobs waited, as Slurm kept it.
    """

    what: str
    jobs: float
    waits: float
    waiting: bool = False


def unmodelled(jobs: Jobs, site: Site, wait: Column, *, priority: bool) -> list[Cause]:
    """What touches these jobs, the most waits first. `wait`: their real waits; `priority`: it is the trace's own."""
    import numpy as np

    total = max(int(wait.sum()), 1)

    def cause(what: str, which: Mask, waiting: bool = False) -> Cause:
        return Cause(what, float(which.mean()), float(wait[which].sum() / total), waiting)

    found = [cause(what, which, True) for what, which in _reasons(jobs, site)]
    found += [cause(what, which) for what, which in _jobs(jobs)]
    found += [cause(what, np.ones(len(jobs), dtype=bool)) for what in _of_site(site, priority)]
    return sorted((one for one in found if one.jobs > 0), key=lambda one: -one.waits)


def waits_unmodelled(jobs: Jobs, site: Site, wait: Column) -> float:
    """The share of waits whose reason is not modelled: of those who waited, or of their time, whichever is larger."""
    import numpy as np

    which = np.zeros(len(jobs), dtype=bool)
    for _, touched in _reasons(jobs, site):
        which |= touched
    waited = wait > 0
    if not waited.any():
        return 0.0
    return max(float(which[waited].mean()), float(wait[which].sum() / wait.sum()))


def _reasons(jobs: Jobs, site: Site) -> Iterator[tuple[str, Mask]]:
    """Each group of reasons that is not modelled, and its jobs."""
    import numpy as np

    limits = any(one.max_user_tres or one.group_tres or one.max_user_jobs or one.group_jobs for one in site.qos)
    groups: dict[str, list[int]] = {}
    for code, word in enumerate(jobs.names["reason"]):
        if word in MODELLED or (limits and _QOS.fullmatch(word)) or _NODES.fullmatch(word):
            continue
        what = next((name for pattern, name in _GROUPS if pattern.fullmatch(word)), _OTHER)
        groups.setdefault(what, []).append(code)
    for what, codes in groups.items():
        yield what, np.isin(jobs.codes["reason"], codes)


def _jobs(jobs: Jobs) -> Iterator[tuple[str, Mask]]:
    """Kinds of jobs."""
    import numpy as np

    states = [code for code, word in enumerate(jobs.names["state"]) if word in ("PREEMPTED", "REQUEUED")]
    yield "het jobs (their parts start separately)", jobs.real["het"] > 0
    yield "suspension (suspended jobs run without it)", jobs.real["suspended"] > 0
    yield "runs that ended because another job or a fault put them back", np.isin(jobs.codes["state"], states)


def _of_site(site: Site, priority: bool) -> Iterator[str]:
    """What the site's configuration has, for all jobs."""
    scheduler = site.scheduler
    if scheduler.priority_weight_fairshare and not priority:
        yield "fair-share"
    if scheduler.priority_weight_assoc and not priority:
        yield "priorities of associations"
    if scheduler.preemption:
        yield "preemption"
    if any(one.max_limit is not None for one in site.associations):
        yield "limits of associations"
    if scheduler.other:
        yield f"SchedulerParameters {', '.join(sorted(scheduler.other))}"
