"""How runs ended, and which of them the study counts: numbers by queue, user, account, class, month or node.

A run has one end (ENDS) and one place in the study's selection (STUDY). docs/reports/states.md has what Slurm's states
and exit codes tell, and what they do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.bad_nodes import Node
from adminkit.stats.grouped import grouped
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Alike, alike, total
from adminkit.stats.whole import in_seconds, month, months, seconds, unknown
from adminkit.trace.run_view import STARTED, STUDY_STATES, TOO_LONG

#: What a row may be about -> SQL over the view run. Months are UTC's. A run counts in the row of each of its nodes,
#: with its part of the hours.
PARTS: Final[Mapping[str, str]] = {
    "queue": "queue",
    "user": "user",
    "account": "account",
    "class": "class",
    "month": "strftime('%Y-%m', end_time, 'unixepoch')",
    "node": "node_list",
}
#: Every way to end. Slurm's state decides, and for CANCELLED whose uid asked for it; "other" is any other state.
ENDS: Final = (
    "success", "cancelled_by_user", "cancelled_by_others", "cancelled", "timeout", "failed", "node_failure",
    "out_of_memory", "preempted", "requeued", "deadline", "other",
)  # fmt: skip
#: The study's selection. The first two are what it counts, and what other reports count by default.
STUDY: Final = ("normal", "out_of_time", "short", "wrong_parameters", "system_failure", "other_ends")

#: A run without an end is open in these states; one without a state is, too, unless its run time is known and its
#: start is not: Slurm has no such run, a job table or an SWF trace without waits has, and of runs that ended.
_OPEN_STATES: Final = ("PENDING", "RUNNING", "SUSPENDED", "RESIZING")
ENDED_ONCE: Final = (
    f"end_time IS NULL AND start_time IS NULL AND elapsed >= 0 AND coalesce(state, '') NOT IN {_OPEN_STATES}"
)
ENDED: Final = f"end_time IS NOT NULL OR state NOT IN {_OPEN_STATES} OR {ENDED_ONCE}"
#: Slurm's state -> the end, where nothing else decides.
END_OF: Final[Mapping[str | None, str]] = {
    "COMPLETED": "success", "CANCELLED": "cancelled", "TIMEOUT": "timeout", "FAILED": "failed",
    "NODE_FAIL": "node_failure", "BOOT_FAIL": "node_failure", "OUT_OF_MEMORY": "out_of_memory",
    "PREEMPTED": "preempted", "REQUEUED": "requeued", "DEADLINE": "deadline",
}  # fmt: skip
END: Final = f"""CASE WHEN state = 'CANCELLED' AND cancelled_by = uid THEN 'cancelled_by_user'
    WHEN state = 'CANCELLED' AND cancelled_by <> uid THEN 'cancelled_by_others'
    {" ".join(f"WHEN state = '{state}' THEN '{end}'" for state, end in END_OF.items())} ELSE 'other' END"""

#: Exit codes: 2 is the custom of programs for wrong arguments; a shell's 126 and 127 mean not executable, not found.
_USAGE: Final = (2, 126, 127)
#: slurmstepd ends a batch script that it could not begin with an error number of Slurm's, whose lowest seven bits
#: sacct shows as a signal: 4020 (no such interpreter) is 52, 4021 (no output file) 53, 4022 (prolog) 54.
_NOT_BEGUN: Final = (52, 53)
_PROLOG: Final = 54
#: Reasons of Slurm's that are about the node or Slurm itself …
_SYSTEM_REASONS: Final = ("JobLaunchFailure", "NodeDown", "SystemFailure", "Prolog")
#: … and those for which a pending job waits in vain: it asked for what it cannot get.
_VAIN_REASONS: Final = (
    "BadConstraints", "PartitionNodeLimit", "PartitionTimeLimit", "InvalidAccount", "InvalidQOS", "AccountNotAllowed",
    "QOSNotAllowed", "ReservationInvalid", "MaxMemPerLimit",
)  # fmt: skip
_ELAPSED: Final = f"CASE WHEN elapsed >= 0 AND elapsed < {TOO_LONG} THEN elapsed END"
#: Trap: SQLite computes both sides of an AND whose value it needs; of a CASE it does not.
_NEVER: Final = f"""CASE WHEN elapsed > 0 AND elapsed < {TOO_LONG} THEN 0
    WHEN ({STARTED}) IS NOT TRUE THEN 1 ELSE 0 END"""
#: The place in the study of a run in another state than the study's: only these runs need what decides.
_PLACES: Final = ("other_ends", "wrong_parameters", "system_failure")
_PLACE: Final = f"""CASE WHEN state IN {STUDY_STATES} THEN 0
    WHEN state IN ('NODE_FAIL', 'BOOT_FAIL', 'LAUNCH_FAILED', 'RECONFIG_FAIL')
        OR state = 'FAILED' AND (exit_signal = {_PROLOG} OR reason IN {_SYSTEM_REASONS}) THEN 2
    WHEN state = 'FAILED' AND {_ELAPSED} <= :short AND (exit_code IN {_USAGE} OR exit_signal IN {_NOT_BEGUN})
        OR state IN ('FAILED', 'CANCELLED', 'DEADLINE') AND {_NEVER} = 1
            AND (reason IN {_VAIN_REASONS} OR reason GLOB '*Max*PerJob*') THEN 1
    ELSE 0 END"""
#: Who cancelled it.
_CANCELLED: Final = ("cancelled", "cancelled_by_user", "cancelled_by_others")
_CANCELLED_BY: Final = """CASE WHEN state <> 'CANCELLED' THEN 0 WHEN cancelled_by = uid THEN 1
    WHEN cancelled_by <> uid THEN 2 ELSE 0 END"""

#: What runs have in common: the class of their run time (0 unknown, 1 none, 2 short, 3 longer); bits (the run never
#: started, a step of it failed, the number of GPUs is unknown, that of CPUs); and the two above.
_NUMBERS: Final = (
    f"""CASE WHEN elapsed >= 0 AND elapsed < {TOO_LONG}
        THEN CASE WHEN elapsed > :short THEN 3 WHEN elapsed > 0 THEN 2 ELSE 1 END ELSE 0 END""",
    f"""{_NEVER} + CASE WHEN derived_exit_code > 0 THEN 2 ELSE 0 END + {unknown("size_gpus", 4)}
        + {unknown("size_cpus", 8)}""",
    _PLACE,
    _CANCELLED_BY,
)
_SUMS: Final = (seconds("size_gpus"), seconds("size_cpus"))


@dataclass(slots=True)
class Hours:
    """GPU-seconds or CPU-seconds of some runs; those of which the number of GPUs or CPUs is unknown are counted."""

    seconds: float = 0
    unsuccessful: float = 0  # of these, of runs that ended otherwise than in success
    ran: int = 0  # runs with run time
    unknown: int = 0  # of these, of unknown GPUs or CPUs

    @property
    def known(self) -> bool:
        """Whether the sums say anything: not where no run that ran says its size."""
        return not self.ran or self.unknown < self.ran

    def add(self, success: bool, seconds: float, ran: float, unknown: float) -> None:
        self.seconds += seconds
        self.unsuccessful += 0 if success else seconds
        self.ran += int(ran)
        self.unknown += int(unknown)


@dataclass(slots=True)
class Group:
    """The runs with one value of a part (PARTS); None for unknown."""

    value: str | None
    cluster: str | None
    ends: Counter[str] = field(default_factory=Counter)  # of ENDS
    study: Counter[str] = field(default_factory=Counter)  # of STUDY
    never_started: int = 0
    gpu: Hours = field(default_factory=Hours)
    cpu: Hours = field(default_factory=Hours)

    @property
    def jobs(self) -> int:
        return self.ends.total()


@dataclass(frozen=True, slots=True)
class States:
    """`groups` by number of jobs, most first; months in their order."""

    groups: Sequence[Group]
    overall: Group
    others: Mapping[str | None, int]  # states that are none of ENDS -> jobs, most first
    failed_steps: int  # successes of which a step ended with an exit code other than 0
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]
    unknown: Collection[str] = ()  # of ENDS, STUDY and "never_started": what was not counted
    judged: Sequence[Node] = ()  # by node, the evidence against each that can be compared with others


def states(db: sqlite3.Connection, chosen: Filter, part: str, short: int) -> States:
    """Count the ended runs that `chosen` takes. `short`: the study leaves out runs of at most these seconds."""
    selection = select(replace(chosen, min_elapsed=None), limits=False)
    selection = replace(selection, rules={"open": ENDED, **selection.rules})
    groups: dict[tuple[str, str | None], Group] = {}
    overall = Group(None, None)
    others: Counter[str | None] = Counter()
    failed_steps = 0
    with snapshot(db):
        of, when = ((), (month("end_time"),)) if part == "month" else ((PARTS[part],), ())
        jobs = alike(db, selection, ("cluster", "state", *of), (*_NUMBERS, *when), sums=_SUMS, given={"short": short})
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    for (cluster, value, end, place, state), many, never, hidden, gpu, cpu in _summed(jobs):
        values: Sequence[str | None] = [value] if part != "node" else hosts(value or "") or [None]
        rows = [groups.setdefault((cluster, one), Group(one, cluster)) for one in dict.fromkeys(values)]
        for group in (*rows, overall):
            shared = 1 if group is overall else len(rows)
            group.ends[end] += many
            group.study[place] += many
            group.never_started += never
            group.gpu.add(end == "success", gpu[0] / shared, *gpu[1:])
            group.cpu.add(end == "success", cpu[0] / shared, *cpu[1:])
        if end == "other":
            others[state] += many
        failed_steps += hidden
    return States(
        ordered(groups.values(), part), overall, dict(others.most_common()), failed_steps, jobs.excluded, names, ends
    )


def _summed(jobs: Alike) -> Iterator[tuple[Any, ...]]:
    """What runs have in common, and of these: their number, those that never started, those with a failed step; and
    for GPUs and CPUs the seconds, the runs with run time, and those of them of unknown size."""

    (cluster, state, *part), (time, bits, apart, by, *ended) = jobs.texts, jobs.numbers
    value = part[0] if part else months(ended[0])
    number, keys = grouped(cluster, value, state, time, bits, apart, by)
    many_of, gpus, cpus = (total(number, len(keys), one) for one in (jobs.many, *jobs.sums))
    columns = [one.tolist() for one in (many_of, in_seconds("size_gpus", gpus), cpus)]
    for (*of, name, ran_for, flags, other, who), many, *sums in zip(keys, *columns, strict=True):
        end = _CANCELLED[who] if name == "CANCELLED" else END_OF.get(name, "other")
        place = _place(name, ran_for) if name in STUDY_STATES else _PLACES[other]
        ran = many if ran_for > 1 else 0
        gpu, cpu = ((took, ran, ran if flags & bit else 0) for took, bit in zip(sums, (4, 8), strict=True))
        stepped = many if flags & 2 and end == "success" else 0
        yield (*of, end, place, name), many, many if flags & 1 else 0, stepped, gpu, cpu


def _place(state: str, ran_for: int) -> str:
    """The class of STUDY for a run in one of STUDY_STATES."""
    return ("other_ends", "short", "short", "out_of_time" if state == "TIMEOUT" else "normal")[ran_for]


def ordered(groups: Iterable[Group], part: str) -> list[Group]:
    if part == "month":
        return sorted(groups, key=lambda one: (one.value is None, one.value or "", one.cluster or ""))
    return sorted(groups, key=lambda one: (-one.jobs, one.cluster or "", one.value or ""))
