"""The rows of an export: runs that a Filter takes, their steps, and what the trace knows of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, Selection, select
from adminkit.stats.states import ENDED_ONCE
from adminkit.trace.exchange import TABLES

_COUNTED: Final = "SELECT count(*), min(end_time), max(end_time) FROM run WHERE {where}"
_STEPS: Final = """(cluster, job_id_raw, submit_time) IN
    (SELECT cluster, job_id_raw, submit_time FROM run WHERE {where})"""
_NAMES: Final = "SELECT DISTINCT {column} FROM run WHERE {where} AND {column} IS NOT NULL ORDER BY 1"
#: What tells a run from others without a name: where it ran, what it asked for.
_SHAPE: Final = "cluster, queue, size_nodes, size_cpus, size_gpus, req_limit"
_RARE: Final = f"""
SELECT count(*), count(*) FILTER (WHERE users < :k), total(runs) FILTER (WHERE users < :k)
FROM (SELECT count(DISTINCT user) AS users, count(*) AS runs FROM run WHERE {{where}} GROUP BY {_SHAPE})
"""


@dataclass(frozen=True, slots=True)
class Rare:
    """How many combinations of queue, nodes, CPUs, GPUs and limit there are, how many of them are of fewer than `k`
    users, and how many runs these are of.
    """

    k: int
    shapes: int
    rare: int
    runs: int


def chosen_runs(chosen: Filter, ended: bool | None = None) -> Selection:
    """Which runs an export takes. `ended` True: only those with an end, or, of a trace without waits, with a run time
    but neither start nor end; False: only those without an end; None: all.
    """
    found = select(chosen, limits=False)
    if ended is None:
        return found
    end = f"(end_time IS NOT NULL OR {ENDED_ONCE})" if ended else "end_time IS NULL"
    return Selection(f"{found.within} AND {end}", found.rules, found.params)


def counted(db: sqlite3.Connection, which: Selection) -> tuple[int, int | None, int | None]:
    """How many runs, and the first and the last end of any, epoch seconds."""
    runs, first, last = db.execute(_COUNTED.format(where=which.where), which.params).fetchone()
    return int(runs), first, last


def submitted(db: sqlite3.Connection, which: Selection) -> Iterator[tuple[object, ...]]:
    """The runs of `which` in the order of submission; the columns are those of exchange.TABLES."""
    yield from db.execute(f"{_jobs(which)} ORDER BY submit_time, cluster, job_id_raw", which.params)


def rows(db: sqlite3.Connection, table: str, which: Selection, clusters: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The rows of that table, with the columns of exchange.TABLES: of runs and their steps those of `which`; of the
    other tables every row of `clusters`.
    """
    columns = _columns(table)
    if table == "job":
        yield from db.execute(_jobs(which), which.params)
    elif table == "step":
        yield from db.execute(f"SELECT {columns} FROM step WHERE {_STEPS.format(where=which.where)}", which.params)
    else:
        of = ", ".join("?" * len(clusters))
        yield from db.execute(f"SELECT {columns} FROM {table} WHERE cluster IN ({of})", tuple(clusters))


def _jobs(which: Selection) -> str:
    return f"SELECT {_columns('job')} FROM run WHERE {which.where}"


def _columns(table: str) -> str:
    return ", ".join(f'"{column}"' for column in TABLES[table].columns)


def names(db: sqlite3.Connection, column: str, which: Selection) -> list[str]:
    """The different values of a column of these runs, sorted."""
    found = db.execute(_NAMES.format(column=f'"{column}"', where=which.where), which.params)
    return [name for (name,) in found]


def machine_size(db: sqlite3.Connection, cluster: str) -> tuple[int | None, int | None]:
    """(nodes, CPUs) of a cluster as the trace knows it now; None where it knows no node."""
    found = db.execute(
        "SELECT count(*), total(cpus) FROM (SELECT present, cpus, max(since) FROM node WHERE cluster = ? GROUP BY node)"
        " WHERE present = 1",
        (cluster,),
    ).fetchone()
    return (int(found[0]), int(found[1])) if found[0] else (None, None)


def rare(db: sqlite3.Connection, chosen: Filter, k: int) -> Rare:
    """k-anonymity of shapes (Samarati and Sweeney 1998): anyone who knows one job of a rare shape knows all."""
    which = select(chosen, limits=False)
    shapes, few, runs = db.execute(_RARE.format(where=which.where), {**which.params, "k": k}).fetchone()
    return Rare(k, int(shapes), int(few), int(runs or 0))
