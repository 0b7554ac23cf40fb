"""The memory that a run used: the one home of it for reports, findings, letters, recommendations and `my`.

Slurm samples tasks. For a step it keeps the largest peak of any task (MaxRSS) and, since 18.08, the peaks of all tasks
added up (mem of TRESUsageInTot). Two questions have two answers:

- memory(): what all tasks used together. Without the sum, MaxRSS is that of a step of one task only.
- node_memory(): the most that the fullest node can have held, which is what --mem has to be: never more than all tasks
  together, nor than MaxRSS × the tasks of a node, which Slurm spreads evenly unless it is told otherwise.

Both add up steps that ran at one time. They are unknown (None) where one step says nothing, and where no step is known
on some node of the run: programs that ssh started there are invisible to Slurm. The step `extern` is what ssh brought
in: it counts where it says something, and says nothing of the other nodes' programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.run_view import step_of

#: SQL: whether a step belongs to the run in this row of the view.
_OF_RUN: Final = step_of("run")
#: The step of processes that no step started.
EXTERN: Final = "extern"
#: Steps that run on the first node of their job.
FIRST_NODE: Final = ("batch", "interactive")
#: SQL over a row of step: the sum that Slurm made of its tasks, bytes, and a bound of it. 0 is what Slurm keeps where
#: nothing was sampled.
_SUM: Final = "nullif(step.mem_used, 0)"
_BOUND: Final = "nullif(step.max_rss * step.tasks, 0)"
#: What all its tasks used, and at most.
_ALL_TASKS: Final = f"coalesce({_SUM}, CASE WHEN step.tasks = 1 THEN {_BOUND} END)"
_AT_MOST: Final = f"coalesce(min({_SUM}, {_BOUND}), {_SUM}, {_BOUND})"


def _sql(function: str, of_step: str) -> str:
    """SQL over a row of the view run, where memory_functions() was called. One step on one node needs no sweep."""
    given = "cluster, job_id_raw, submit_time, size_nodes"
    one = f"(SELECT CASE WHEN step.step <> '{EXTERN}' THEN {of_step} END FROM step WHERE {_OF_RUN})"
    return f"""CASE WHEN EXISTS (SELECT 1 FROM step) AND EXISTS (SELECT 1 FROM step WHERE {_OF_RUN})
    THEN CASE WHEN coalesce(size_nodes, 1) <= 1 AND (SELECT count(*) FROM step WHERE {_OF_RUN}) = 1 THEN {one}
        ELSE {function}({given}) END END"""


#: SQL: memory() of the steps of a run, and node_memory().
MEM_USED: Final = _sql("memory_of_steps", _ALL_TASKS)
NODE_MEM_USED: Final = _sql("memory_of_node", _AT_MOST)
_STEPS: Final = f"""
SELECT step.step, step.nodes, step.tasks, step.start_time, step.end_time, step.mem_used, step.max_rss,
    step.gpus_used, step.elapsed
FROM run JOIN step ON {_OF_RUN}
WHERE run.cluster = ? AND run.job_id_raw = ? AND run.submit_time = ?
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step tells of its run's use."""

    step: str
    nodes: int | None
    tasks: int | None
    start_time: int | None
    end_time: int | None
    mem_used: int | None  # bytes, the peaks of all its tasks
    max_rss: int | None  # bytes, the largest peak of any task
    gpus_used: float | None
    elapsed: int | None


def memory(steps: Sequence[Step], nodes: int | None) -> int | None:
    """The most that all tasks of a run on `nodes` used together, bytes; None where it is unknown."""
    return _most_at_one_time(_known(steps, nodes, _all_tasks))


def node_memory(steps: Sequence[Step], nodes: int | None) -> int | None:
    """The most that the fullest node can have held, bytes; None where nothing bounds it."""
    return _most_at_one_time(_known(steps, nodes, _fullest_node))


def memory_functions(db: sqlite3.Connection, of_all: str = "") -> None:
    """Let SQL of this connection compute MEM_USED and NODE_MEM_USED. `of_all`: as in_sqlite has it."""
    last = lru_cache(1)(lambda cluster, number, at: steps_of(db, cluster, number, at, of_all))  # asked for twice
    for name, measure in (("memory_of_steps", memory), ("memory_of_node", node_memory)):
        db.create_function(name, 4, lambda *given, measure=measure: measure(last(*given[:3]), given[3]))


def steps_of(db: sqlite3.Connection, cluster: str, job_id_raw: int, submit_time: int, of_all: str = "") -> list[Step]:
    """The steps of one run."""
    return [Step(*row) for row in db.execute(of_all + _STEPS, (cluster, job_id_raw, submit_time))]


def _known(steps: Sequence[Step], nodes: int | None, of_step: Callable[[Step], int | None]) -> list[tuple[Step, int]]:
    """Each step with its memory; none where that of the run does not follow from these."""
    found = [(one, of_step(one)) for one in steps]
    if any(used is None for one, used in found if one.step != EXTERN):
        return []
    if _covered([one for one in steps if one.step != EXTERN], nodes or 1) < (nodes or 1):
        return []
    return [(one, used) for one, used in found if used is not None]


def _covered(steps: Sequence[Step], nodes: int) -> int:
    """The nodes of a run that its steps may have seen. The batch and the interactive step are on the first one, where
    others may be as well."""
    least = 0 if nodes > 1 else 1
    other = sum(max(one.nodes or 0, least) for one in steps if one.step not in FIRST_NODE)
    return max(other, int(any(one.step in FIRST_NODE for one in steps)))


def _most_at_one_time(known: Iterable[tuple[Step, int]]) -> int | None:
    """A step without a start or an end counts as if it had lasted as long as the run. None without a step."""
    changes: list[tuple[float, int]] = []
    for one, used in known:
        start = -math.inf if one.start_time is None else one.start_time
        changes.append((start, used))
        if one.start_time is not None and one.end_time is not None:
            changes.append((max(one.end_time, one.start_time + 1), -used))
    most = now = 0
    for _, change in sorted(changes):  # at one moment ends come before starts
        now += change
        most = max(most, now)
    return most if changes else None


def _all_tasks(one: Step) -> int | None:
    if one.mem_used:
        return one.mem_used
    return one.max_rss or None if one.tasks == 1 else None


def _fullest_node(one: Step) -> int | None:
    bounds = [one.mem_used] if one.mem_used else []
    if one.max_rss and one.tasks:
        bounds.append(one.max_rss * -(-one.tasks // max(one.nodes or 1, 1)))
    return min(bounds, default=None)
