"""Jobs that were given more time while they ran: how much, what became of them, and who else was touched by it.

The trace says what was given, by the view's `more_given` and `more_used`. What was refused or taken back, and for which
waiting job, only the log of acts says, as far as a sync has read it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.grouped import grouped
from adminkit.stats.select import CARRIED_ON, Filter, Selection, clusters, select, snapshot, span
from adminkit.stats.taken import alike, rows, taken, total
from adminkit.stats.weeks import Reserved
from adminkit.stats.whole import in_seconds, seconds

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {"queue": "queue", "user": "user", "account": "account"}
#: The rule that leaves out what was given nothing, or has not ended.
RULE: Final = "not_extended"
#: `what` of its acts.
ACT: Final = "extend"

_GPUS: Final = "coalesce(size_gpus, 0)"
_CPUS: Final = f"CASE WHEN {_GPUS} = 0 THEN coalesce(size_units, 0) ELSE 0 END"
#: SQL: at the limit that was asked for, its work would have been lost: it completed later, and has nothing by which
#: it could have continued in another run.
_SAVED: Final = f"(more_used > 0 AND state = 'COMPLETED' AND NOT ({CARRIED_ON} OR coalesce(ckpt_asked, 0)))"
#: SQL over an extended run, in the order of Group.add().
_EXTENDED: Final = (
    "more_given", "more_used", f"CASE WHEN {_SAVED} THEN 1 ELSE 0 END",
    f"CASE WHEN {_SAVED} THEN ext_asked * {_GPUS} END", f"CASE WHEN {_SAVED} THEN ext_asked * {_CPUS} END",
    f"more_used * {_GPUS}", f"more_used * ({_CPUS})",
)  # fmt: skip
_ACTS: Final = f"SELECT at, line FROM action WHERE what = '{ACT}' ORDER BY at"
#: The runs of jobs that acts name.
_NAMED: Final = """
SELECT cluster, job_id_raw, {part}, submit_time, end_time FROM run
WHERE cluster IN (SELECT value FROM json_each(:known)) AND job_id_raw IN (SELECT value FROM json_each(:ids)) AND {where}
"""
_STARTS: Final = """
SELECT cluster, job_id_raw, submit_time, start_time FROM run
WHERE cluster IN (SELECT value FROM json_each(:known)) AND job_id_raw IN (SELECT value FROM json_each(:ids))
    AND start_time IS NOT NULL
"""
#: Runs with a limit by user, and what they ran over: users with none that did are left out.
#: Runs past their limit, seconds past it, the limits of these runs, GPU- and CPU-seconds past it.
_OVER: Final = (
    "CASE WHEN more_used > 0 THEN 1 ELSE 0 END",
    "more_used",
    "CASE WHEN more_used > 0 THEN ext_asked END",
    seconds("size_gpus", "more_used"),
    f"CASE WHEN coalesce(size_gpus, 0) = 0 THEN {seconds('size_units', 'more_used')} ELSE 0 END",
)


class _Act(NamedTuple):
    """A line of the log: what was done to a running job, for the sake of which waiting one. Times are epoch seconds."""

    at: int
    did: str
    why: str
    job: int
    cluster: str | None
    behind: int | None
    starts: int | None


class _Named(NamedTuple):
    """A run that an act may be about."""

    cluster: str
    value: str | None
    submit_time: int
    end_time: int | None


@dataclass(slots=True)
class Group:
    """The extended jobs with one value of a part (PARTS); None for unknown. Seconds, of GPUs and CPUs where named."""

    value: str | None
    cluster: str | None
    jobs: int = 0
    given: int = 0
    used: int = 0
    unneeded: int = 0  # ended within the limit that was asked for
    finished: int = 0  # completed past it
    at_limit: int = 0  # ended at the last limit
    saved: int = 0  # of the finished ones, jobs whose work would have been lost
    saved_gpu: float = 0  # until the limit that was asked for, by these
    saved_cpu: float = 0
    used_gpu: float = 0  # past it, by all
    used_cpu: float = 0
    refused: set[tuple[str, int, int]] = field(default_factory=set)  # runs: cluster, number, submission
    raises: int = 0
    taken_back: int = 0
    delays: dict[tuple[str, int], int] = field(default_factory=dict)  # a waiting job -> how much later it started

    def add(self, row: Sequence[Any]) -> None:
        """One extended run: its state, and the columns of _EXTENDED."""
        state, given, used, saved, saved_gpu, saved_cpu, used_gpu, used_cpu = row
        self.jobs += 1
        self.given += given
        self.used += used or 0
        self.unneeded += used == 0
        self.finished += bool(used) and state == "COMPLETED"
        self.at_limit += state == "TIMEOUT"
        self.saved += bool(saved)
        self.saved_gpu += saved_gpu or 0
        self.saved_cpu += saved_cpu or 0
        self.used_gpu += used_gpu or 0
        self.used_cpu += used_cpu or 0


@dataclass(frozen=True, slots=True)
class Extensions:
    """`groups` by number of jobs, most first. `acts_since`: the first act that is known; None: none is."""

    groups: Sequence[Group]
    overall: Group
    whys: Mapping[str, int]  # why more time was refused -> jobs
    acts_since: int | None
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


class RanOver(NamedTuple):
    """One user's runs with a limit, and those of them that ran past it because they were given more time. Seconds."""

    cluster: str
    user: str
    runs: int
    over: int
    more: float  # used past their limits
    req_limit: float  # the limits of these
    gpu_seconds: float  # of `more`
    cpu_seconds: float

    @property
    def reserved(self) -> Reserved:
        return Reserved(self.gpu_seconds, self.cpu_seconds)


def extensions(db: sqlite3.Connection, chosen: Filter, part: str = "queue") -> Extensions:
    """Measure the jobs that were given more time, of those that `chosen` takes; `part` is one of PARTS."""
    plain = select(chosen, limits=False)
    selection = _extended(plain)
    found: dict[tuple[str | None, str | None], Group] = {}
    overall = Group(None, None)

    def of(cluster: str, value: str | None) -> tuple[Group, Group]:
        return found.setdefault((cluster, value), Group(value, cluster)), overall

    with snapshot(db):
        jobs = taken(
            db, selection, ("cluster", PARTS[part], "state"), _EXTENDED, {"checkpoint_code": chosen.checkpoint_code}
        )
        for cluster, value, *row in rows(jobs):
            for group in of(cluster, value):
                group.add(row)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
        acts = [*_acts(db)]
        whys = Counter[str]()
        starts = _starts(db, names, [act.behind for act in acts if act.behind is not None])
        runs = _named(db, plain, PARTS[part], names, acts)
        for act in acts:
            mine = _run_of(act, runs)
            if mine is None:
                continue
            for group in of(mine.cluster, mine.value):
                _count(group, act, mine, starts, whys if group is overall else None)
    ordered = sorted(found.values(), key=lambda one: (-one.jobs, one.cluster or "", one.value or ""))
    since = acts[0].at if acts else None
    ordered_whys = dict(sorted(whys.items(), key=lambda item: (-item[1], item[0])))
    return Extensions(ordered, overall, ordered_whys, since, jobs.excluded, names, ends)


def ran_over(db: sqlite3.Connection, chosen: Filter) -> list[RanOver]:
    """The users whose runs ran past their limits, of the runs with a limit that `chosen` takes."""
    runs = alike(db, select(chosen, limits=True), ("cluster", "user"), (), sums=_OVER)
    number, keys = grouped(*runs.texts)
    *counts, gpus, cpus = (total(number, len(keys), one) for one in (runs.many, *runs.sums))
    columns = [one.tolist() for one in (*counts, in_seconds("size_gpus", gpus), cpus)]
    found = (RanOver(*key, *row) for key, *row in zip(keys, *columns, strict=True))
    return sorted((one for one in found if one.over and one.user is not None), key=lambda one: (one.cluster, one.user))


def _extended(chosen: Selection) -> Selection:
    """`chosen`, and a last rule: it was given more time, and ended."""
    holds = "more_given > 0 AND end_time IS NOT NULL"
    return replace(chosen, rules={**chosen.rules, RULE: holds})


def _acts(db: sqlite3.Connection) -> Iterator[_Act]:
    """The acts that held, and the refusals. Lines of another form are passed over: other hosts write them."""
    for at, line in db.execute(_ACTS):
        told = json.loads(line)
        did, held = told.get("did"), told.get("held")
        if did not in ("given", "taken back", "refused") or (did != "refused" and held is not True):
            continue
        job, behind, starts = (_whole(told.get(key)) for key in ("job", "behind", "starts"))
        if job is not None:
            yield _Act(at, did, str(told.get("why")), job, _text(told.get("cluster")), behind, starts)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _named(
    db: sqlite3.Connection, chosen: Selection, part: str, known: Sequence[str], acts: Sequence[_Act]
) -> Mapping[int, Sequence[_Named]]:
    found: dict[int, list[_Named]] = defaultdict(list)
    query = _NAMED.format(part=part, where=chosen.where)
    values = {"known": json.dumps([*known]), "ids": json.dumps(sorted({act.job for act in acts}))}
    for cluster, number, *row in db.execute(query, {**chosen.params, **values}) if acts else ():
        found[number].append(_Named(cluster, *row))
    return found


def _starts(
    db: sqlite3.Connection, known: Sequence[str], jobs: Sequence[int]
) -> Mapping[int, Sequence[tuple[str, int, int]]]:
    """Number -> (cluster, submission, start) of its runs that started."""
    found: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    values = {"known": json.dumps([*known]), "ids": json.dumps(sorted(set(jobs)))}
    for cluster, number, submit, start in db.execute(_STARTS, values) if jobs else ():
        found[number].append((cluster, submit, start))
    return found


def _run_of(act: _Act, runs: Mapping[int, Sequence[_Named]]) -> _Named | None:
    """The run that an act was on; None where none of them is, or one on each of several clusters."""
    there = [
        run
        for run in runs.get(act.job, ())
        if act.cluster in (None, run.cluster) and run.submit_time <= act.at <= (run.end_time or act.at)
    ]
    return there[0] if len(there) == 1 else None


def _count(
    group: Group,
    act: _Act,
    run: _Named,
    starts: Mapping[int, Sequence[tuple[str, int, int]]],
    whys: Counter[str] | None,
) -> None:
    """One act on a run of the group. `whys` counts each run and reason once, as the log has them."""
    if act.did == "refused":
        group.refused.add((run.cluster, act.job, run.submit_time))
        if whys is not None:
            whys[act.why] += 1
        return
    group.raises += act.did == "given"
    group.taken_back += act.did == "taken back"
    if act.behind is None or act.starts is None:
        return
    began = [start for cluster, submit, start in starts.get(act.behind, ()) if cluster == run.cluster and
             submit <= act.at <= start]  # fmt: skip
    if began:
        key = run.cluster, act.behind
        group.delays[key] = max(group.delays.get(key, 0), min(began) - act.starts)
