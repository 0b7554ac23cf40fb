"""What jobs used of a cluster, for a site that is made of its trace: where each ran, with what, under which limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.trace.run_view import UNEXTENDED

_RUNS: Final = f"""
SELECT queue, start_time, end_time, size_nodes, size_cpus, size_gpus, coalesce(mem, req_mem), gpu_type, node_list,
    {UNEXTENDED}, limit_source = 'default' OR limit_kind = 'partition'
FROM run WHERE cluster = ? AND start_time IS NOT NULL AND end_time > start_time AND size_cpus > 0
"""


class Use(NamedTuple):
    """One run that ran. Times are epoch seconds, the limit seconds, `mem` bytes of the whole job; None for unknown."""

    queue: str | None
    start_time: int
    end_time: int
    nodes: int | None
    cpus: int
    gpus: int | None
    mem: int | None
    gpu_type: str | None
    node_list: str | None
    time_limit: int | None  # without what was given while it ran
    defaulted: int | None  # 0, 1: nobody typed the limit


def uses(db: sqlite3.Connection, cluster: str) -> Iterator[Use]:
    """The runs of a cluster, in no order."""
    yield from map(Use._make, db.execute(_RUNS, (cluster,)))
