"""The values of the letter about a run, or an array, that was ended before it was done: lost.*.j2."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Any, Final

from adminkit.feedback import format
from adminkit.feedback.letter import JobLetter
from adminkit.feedback.letter_data import Known
from adminkit.feedback.template_values import OUTCOMES, Broken, Lost, MoreMemory, MoreTime, Recommended, recommended
from adminkit.findings.estimate import LETTERS
from adminkit.recommend.again import MIB, next_limit, next_memory, show_memory
from adminkit.recommend.menu import round_up
from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.due import Ended
from adminkit.stats.lost import LostRun, lost_run, lost_tasks, memory_had, put_back
from adminkit.stats.runs import Kind
from adminkit.stats.weeks import Reserved
from adminkit.trace.step_memory import memory, steps_of
from adminkit.units import show_bytes, show_duration

#: Earlier runs of the same name that are asked how much memory was enough.
ALIKE: Final = 100
#: Ranges of tasks to type, at most.
_RANGES: Final = 12
#: A task is named that lost at least this many times the mean.
_MORE: Final = 1.2
#: Names that may be pasted into a shell.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


def is_lost(run: Ended, least: float) -> bool:
    """Whether the letter about it is about what it lost.

    An array's is where that is at least `least` GPU-seconds (16 CPU-seconds for one without GPUs), and more than its
    tasks left unused.
    """
    if not run.is_array or run.lost == 0:
        return run.lost > 0
    mostly = run.completed == 0 or 2 * run.completed < run.tasks
    return run.lost_weight >= least and (mostly or run.lost_units > run.reserved - run.used)


def why_not(run: Ended, least: float, min_elapsed: int) -> str | None:
    """Why no letter is due about what a run lost; None where one is. The first reason counts."""
    if run.open:
        return "open"
    if not is_lost(run, least):
        return "state"
    if run.interactive:
        return "interactive"
    if run.lost_weight < least or run.lost_units == 0:
        return "lost"
    return "short" if run.lost_elapsed < min_elapsed else None


def lost_runs(
    db: sqlite3.Connection, cluster: str, job: int, submit: int, until: int, *, is_array: bool
) -> list[LostRun]:
    """The runs of a job, or an array, that a letter is about, the costliest first."""
    if is_array:
        return lost_tasks(db, cluster, job, submit, until)
    one = lost_run(db, cluster, job, submit)
    return [] if one is None else [one]


def values(db: sqlite3.Connection, due: JobLetter, known: Known, runs: Sequence[LostRun], kind: Kind) -> dict[str, Any]:
    """The values of lost.*.j2 besides those of end.*.j2; `kind` is of the first of `runs`."""
    worst = runs[0]
    outcome = OUTCOMES[worst.state]
    more_time, advice = _more_time(known, kind, worst) if outcome == "timeout" else (None, None)
    return {
        "lost": _lost(db, due, known, runs),
        "advice": advice,
        "more_time": more_time,
        "more_memory": _more_memory(db, due, known, kind, worst) if outcome == "memory" else None,
        "broken": _broken(db, due, known, worst) if outcome == "node" else None,
    }


def _lost(db: sqlite3.Connection, due: JobLetter, known: Known, runs: Sequence[LostRun]) -> Lost:
    worst = runs[0]
    unsaved = [one for one in runs if not one.saved]
    gpu, cpu = (sum(part) for part in zip(*(one.reserved for one in unsaved), strict=True)) if unsaved else (0, 0)
    seconds = sum(one.elapsed for one in unsaved)
    lead = None if worst.ckpt_at is None or worst.end_time is None else max(worst.end_time - worst.ckpt_at, 0)
    return Lost(
        outcome=OUTCOMES[worst.state],
        elapsed=seconds if unsaved else None,
        reserved=Reserved(gpu, cpu),
        outcomes=Counter(OUTCOMES[one.state] for one in runs).most_common(),
        worst=format.harmless(worst.job_id) if worst.elapsed > _MORE * seconds / max(len(unsaved), 1) else "",
        worst_elapsed=worst.elapsed,
        again=_again(db, due, runs) if due.is_array else "",
        warned=worst.saved,
        unheard=worst.ckpt_at is not None and not worst.saved,
        lead=lead,
        code=known.checkpoint_code,
        plugin=known.site.has_plugin(due.cluster),
    )  # fmt: skip


def _again(db: sqlite3.Connection, due: JobLetter, runs: Sequence[LostRun]) -> str:
    """The tasks that ended as the costliest one and that Slurm has not put back, as --array takes them."""
    tasks = sorted(
        {
            one.array_task
            for one in runs
            if one.state == runs[0].state and one.array_task is not None and put_back(db, due.cluster, one) is None
        }
    )
    ranges: list[list[int]] = []
    for task in tasks:
        if ranges and task == ranges[-1][1] + 1:
            ranges[-1][1] = task
        else:
            ranges.append([task, task])
    if len(ranges) > _RANGES:
        return ""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _more_time(known: Known, kind: Kind, worst: LostRun) -> tuple[MoreTime, Recommended | None]:
    """A longer limit: from history, else the next of the menu; of another queue where this one allows none."""
    limit, most = max(kind.req_limit or worst.elapsed, worst.last_limit or 0), known.maximum(kind)
    # Runs with the same limit were cut off with this one; those with another one tell how long it takes.
    for alike in (kind, kind._replace(req_limit=None)):
        given = known.advice(alike)
        advice, _ = recommended(given, alike, "hit_limit")
        if advice is not None and advice.limit > limit:
            return _time(advice.limit), advice
        usual, _ = recommended(given, alike, "overestimated")
        if usual is not None and usual.risk is not None and usual.alike and usual.limit <= LETTERS.worth * limit:
            return _time(None, usual=usual.limit), None
    if (step := next_limit(limit, known.menu, most)) is not None:
        return _time(step), None
    safe = given.given.safe or 0
    wanted = round_up(max(safe, limit + 1), known.menu)
    queue, own = known.site.longer_queue(kind, wanted, known.runs(kind.cluster or "", kind.user or ""))
    if not _PLAIN.fullmatch(queue):
        return _time(None, most=most), None
    return _time(wanted, queue=queue, known_queue=own, most=most, enough=safe > limit), None


def _time(
    limit: int | None,
    usual: int | None = None,
    queue: str = "",
    most: int | None = None,
    *,
    known_queue: bool = False,
    enough: bool = False,
) -> MoreTime:
    paste = "" if limit is None else show_duration(limit)
    return MoreTime(
        limit=limit, paste=paste, enough=enough, usual=usual, queue=queue, known_queue=known_queue, most=most
    )


def _more_memory(db: sqlite3.Connection, due: JobLetter, known: Known, kind: Kind, worst: LostRun) -> MoreMemory:
    nodes = max(worst.nodes or 1, 1)
    had = worst.mem // nodes if worst.mem else None
    steps = steps_of(db, due.cluster, worst.job_id_raw, worst.submit_time)
    # On one of several nodes it is the largest task's that is sure.
    reached = max(filter(None, (worst.max_rss, memory(steps, nodes) if nodes == 1 else None)), default=None)
    alike = [one for one in known.runs(due.cluster, due.user) if one.kind.job_name == kind.job_name]
    keys = [(one.job_id_raw, one.submit_time) for one in alike[-ALIKE:] if one.job_id_raw is not None]
    most = known.site.node_memory(kind)
    safe = known.sizes.for_kind(kind)
    if had is not None and safe.limit is not None and safe.risk is not None and had < safe.limit * MIB <= (most or inf):
        return MoreMemory(
            had=show_bytes(had), reached=show_bytes(reached) if reached else None, limit=show_bytes(safe.limit * MIB),
            paste=show_memory(safe.limit * MIB), why="safe", runs=safe.tried, nodes=nodes, risk=safe.risk,
        )  # fmt: skip
    further = None if had is None else next_memory(had, memory_had(db, due.cluster, keys), most)
    return MoreMemory(
        had=show_bytes(had) if had else None,
        reached=show_bytes(reached) if reached else None,
        limit=show_bytes(further.limit) if further and further.limit else None,
        paste=show_memory(further.limit) if further and further.limit else "",
        why=further.why if further else "unknown",
        runs=further.runs if further else 0,
        nodes=nodes,
    )


def _broken(db: sqlite3.Connection, due: JobLetter, known: Known, worst: LostRun) -> Broken:
    names = hosts(worst.node_list or "")
    failures = known.site.node_failures(due.cluster)
    again = [name for name in names if failures.get(name, 0) >= 2 and _PLAIN.fullmatch(name)]
    return Broken(
        node=format.harmless(names[0]) if len(names) == 1 else "",
        put_back=put_back(db, due.cluster, worst) or "",
        failures=max((failures[name] for name in again), default=0),
        exclude=",".join(again),
    )
