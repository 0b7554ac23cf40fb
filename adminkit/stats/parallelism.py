"""How parallel jobs are: by class, multi-GPU jobs by GPUs, multi-node jobs by nodes. A het job is one job."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.job import CLASSES
from adminkit.stats.select import Filter, clusters, left_out, select, snapshot, span
from adminkit.trace.run_view import class_sql

#: Plain jobs. One row per class, GPUs and nodes.
PLAIN: Final = """
SELECT class, size_gpus, size_nodes, count(*), 0
FROM run WHERE het_job IS NULL AND {where} GROUP BY 1, 2, 3
"""

#: Het jobs. The n-th record of each component belongs to the n-th run of the whole job, which a requeue starts again;
#: submission times do not tell the runs apart, since components are submitted one after the other.
HET: Final = f"""
SELECT {class_sql("nodes", "gpus")}, gpus, nodes, count(*), sum(components) FROM (
    SELECT sum(size_nodes) AS nodes, sum(size_gpus) AS gpus, count(*) AS components FROM (
        SELECT *, {{reason}} AS rule,
            row_number() OVER (PARTITION BY cluster, het_job, het_offset ORDER BY submit_time) AS run
        FROM run WHERE het_job IS NOT NULL AND {{within}}
    ) WHERE rule = 0 GROUP BY cluster, het_job, run
) GROUP BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Numbers of jobs. `classes` has every class, None for jobs whose GPUs are unknown, only where there are some.

    `gpus` counts multi-GPU jobs by their GPUs, `nodes` multi-node jobs by their nodes, both ascending.
    """

    classes: Mapping[str | None, int]
    gpus: Mapping[int, int]
    nodes: Mapping[int, int]
    excluded: Mapping[str, int]  # counts records: a het job has one per component
    het_jobs: int
    het_components: int
    clusters: Sequence[str]
    span: tuple[int | None, int | None]

    @property
    def jobs(self) -> int:
        return sum(self.classes.values())


def parallelism(db: sqlite3.Connection, chosen: Filter) -> Parallelism:
    """Count the jobs that `chosen` takes, whatever their time limit."""
    selection = select(chosen, limits=False)
    classes: Counter[str | None] = Counter(dict.fromkeys(CLASSES, 0))
    by_gpus: Counter[int] = Counter()
    by_nodes: Counter[int] = Counter()
    het_jobs = het_components = 0
    with snapshot(db):
        plain = PLAIN.format(where=selection.where)
        het = HET.format(reason=selection.reason, within=selection.within)
        for statement in (plain, het):
            for kind, gpus, nodes, jobs, components in db.execute(statement, selection.params):
                classes[kind] += jobs
                if kind == "multi-gpu":
                    by_gpus[gpus] += jobs
                elif kind == "multi-node":
                    by_nodes[nodes] += jobs
                if components:
                    het_jobs, het_components = het_jobs + jobs, het_components + components
        records = sum(classes.values()) - het_jobs + het_components
        return Parallelism(
            dict(classes),
            dict(sorted(by_gpus.items())),
            dict(sorted(by_nodes.items())),
            left_out(db, selection, records),
            het_jobs,
            het_components,
            tuple(chosen.clusters) or tuple(clusters(db)),
            span(db),
        )
