"""What is simulated: the jobs of one cluster and its machine, from a trace and the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.simulate.core import Model, Schedule
from adminkit.simulate.jobs import NAMED, Arrival, Jobs, Missing, Unit, jobs_of, usual_limits
from adminkit.simulate.machine import Machine, machine_of, placed, pool
from adminkit.slurm.site import Site
from adminkit.sqlite import sqlite3
from adminkit.stats.machine import Outage, known_site, stated_procs
from adminkit.stats.select import Filter
from adminkit.stats.workload import Runs, read_runs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

#: Why the core itself leaves a job out.
NEVER: Final = "can never start on this machine"
#: Models that plan with limits.
PLANNING: Final = ("easy", "easy-sjbf", "conservative", "slurm")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How jobs and machine are taken. None: as the trace or the site has it."""

    model: Model = "slurm"
    site: Site | None = None  # of --site
    procs: int | None = None  # of the pool of the plain models
    unit: Unit | None = None
    arrival: Arrival | None = None  # None: eligible for the slurm model, submit for the others
    priority: bool | None = None  # the trace's own; None: of the slurm model where the site has fair-share
    settings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """Jobs and their machine. `notes` are sentences on what was taken from where."""

    model: Model
    jobs: Jobs
    machine: Machine
    runs: Runs
    units: int  # of jobs.unit
    priority: bool = False  # the jobs have the trace's own
    notes: tuple[str, ...] = ()


def subject(
    db: sqlite3.Connection, chosen: Filter, wanted: Wanted, tick: Callable[[int], None] = lambda done: None
) -> Subject:
    """The jobs that `chosen`, of one cluster, takes. AdminkitError where too little is known of them or the machine."""
    cluster = "".join(chosen.clusters)
    site, outages = known_site(db, cluster)
    runs = read_runs(db, chosen, tick)
    return subject_of(runs, wanted.site or site, outages, wanted, stated_procs(db, cluster))


def subject_of(runs: Runs, site: Site, outages: Sequence[Outage], wanted: Wanted, stated: int | None = None) -> Subject:
    """The same of these runs, on this site. `stated`: the processors of a trace whose header names them."""
    arrival: Arrival = wanted.arrival or ("eligible" if wanted.model == "slurm" else "submit")
    own = wanted.priority
    if own is None:
        fair_share = wanted.model == "slurm" and bool(site.scheduler.priority_weight_fairshare)
        own = fair_share and bool((runs.numbers["priority"] > 0).any())
    jobs = jobs_of(runs, unit=wanted.unit, arrival=arrival, priority=own)
    notes = [_arrival_note(arrival)]
    if wanted.site and wanted.site.cluster != runs.cluster:
        named, cluster = quote(wanted.site.cluster), quote(runs.cluster)
        notes.append(f"the file of --site describes {named}, and the jobs are of {cluster}")
    if own:
        _need_priorities(jobs, wanted.model)
        notes.append("priorities are the trace's own: the last ones that the jobs had, used from the beginning")
    if wanted.model == "slurm":
        found = _on_site(wanted, site, outages, jobs, runs, notes)
    else:
        found = _on_pool(wanted, site, stated, jobs, runs, notes)
    return replace(found, priority=own)


def _arrival_note(arrival: Arrival) -> str:
    if arrival == "submit":
        return "jobs arrive when they were submitted"
    return "jobs arrive when they became eligible, so dependencies and begin times are as they were"


def _on_site(
    wanted: Wanted, site: Site, outages: Sequence[Outage], jobs: Jobs, runs: Runs, notes: list[str]
) -> Subject:
    if wanted.site and not site.queues:
        raise AdminkitError("the file of --site has no queues", "write its [[queues]] and [[nodes]]: docs/site.md")
    if not site.queues:
        raise AdminkitError(
            "the trace does not know the site's queues",
            "adminkit simulate site --output site.toml writes what it shows; correct it, then: --site site.toml",
        )
    machine = machine_of(site, outages)
    jobs = placed(jobs, machine)
    _refuse_without_limits(jobs, {queue.name: queue.usual_limit for queue in site.queues})
    notes += [*machine.notes, *_outages(machine)]
    return Subject(wanted.model, jobs, machine, runs, machine.units(jobs.unit), notes=tuple(notes))


def _on_pool(wanted: Wanted, site: Site, stated: int | None, jobs: Jobs, runs: Runs, notes: list[str]) -> Subject:
    what = "GPUs" if jobs.unit == "gpus" else "processors"
    procs = wanted.procs
    if procs is None:
        procs, where = _procs(site, stated, jobs)
        notes.append(f"{procs} {what}: {where}")
    limits = {queue.name: queue.usual_limit for queue in site.queues if queue.usual_limit}
    if wanted.model in PLANNING:
        jobs = usual_limits(jobs, limits)
    machine = pool(procs, **wanted.settings)
    if not (jobs.columns["procs"] <= procs).any():
        least = int(jobs.columns["procs"].min())
        raise AdminkitError(
            f"every job is larger than {procs} {what}: the smallest has {least}", "name the machine's size with --procs"
        )
    return Subject(wanted.model, jobs, machine, runs, procs, notes=(*notes, *jobs.notes))


def _procs(site: Site, stated: int | None, jobs: Jobs) -> tuple[int, str]:
    """How large the pool is, and from where that is known."""
    if site.nodes and (units := machine_of(site).units(jobs.unit)):
        return units, "the site's"
    if stated and jobs.unit != "gpus":
        return stated, "MaxProcs of the trace's header"
    return most_at_once(jobs), "the most that jobs held at once; --procs names another number"


def _refuse_without_limits(jobs: Jobs, limits: Mapping[str, int | None]) -> None:
    if not (jobs.columns["limit"] > 0).any() and not any(limits.values()):
        raise AdminkitError(
            "neither a job nor a queue has a time limit, and the scheduler plans with these",
            "write the queues' default_limit into the file of --site, or import a trace with limits",
        )


def _need_priorities(jobs: Jobs, model: Model) -> None:
    if not (jobs.columns["priority"] >= 0).any():
        slurm, plain = "leave out --priority: they are computed then", "leave out --order: jobs go by submission then"
        raise AdminkitError("no job of the trace has a priority", slurm if model == "slurm" else plain)


def _outages(machine: Machine) -> list[str]:
    if not machine.down:
        return ["no node is known to have been down: the trace has no events of nodes"]
    nodes = len({name for inside in machine.members for name in inside})
    return [f"{len(machine.down)} times in which one of {nodes} nodes was down are part of the machine"]


def left_out(subject: Subject, schedule: Schedule) -> list[Missing]:
    """Every job that did not run, by reason."""
    ids = subject.jobs.columns["id"][schedule.start < 0]
    never = [Missing(NEVER, len(ids), tuple(map(int, ids[:NAMED])), True)] if len(ids) else []
    return [*subject.jobs.missing, *never]


def most_at_once(jobs: Jobs) -> int:
    """The most units that jobs held at once, by their real starts; the largest job's where these are unknown."""
    import numpy as np

    known = (jobs.real["start"] >= 0) & (jobs.real["end"] > jobs.real["start"])
    size = jobs.columns["procs"]
    if not known.any():
        return int(size.max())
    return peak(jobs.real["start"][known], jobs.real["end"][known], size[known]) or int(np.max(size))


def peak(start: Column, end: Column, size: Column) -> int:
    """The largest sum of `size` of intervals [start, end) that overlap."""
    import numpy as np

    at = np.concatenate([start, end])
    change = np.concatenate([size, -size])
    order = np.lexsort((change, at))  # at the same time, ends come first
    return int(np.cumsum(change[order]).max(initial=0))
