"""How parallel jobs are: by class, multi-GPU jobs by GPUs, multi-node jobs by nodes, others by cores. A het job is one.

Beside that, what the steps of multi-GPU and multi-node runs tell of whether they worked together (bundles.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adminkit.gres import KINDS
from adminkit.job import CLASSES
from adminkit.sqlite import sqlite3
from adminkit.stats.bundles import LOOK, LOOK_WITHOUT_STEPS, LOOKS, MIN_CPU_USE
from adminkit.stats.grouped import grouped
from adminkit.stats.select import Filter, Selection, clusters, left_out, select, snapshot, span
from adminkit.stats.taken import Alike, Ask, alikes, total
from adminkit.trace.gpu_words import is_cut_or_untracked
from adminkit.trace.months.edges import has_steps
from adminkit.trace.run_view import class_sql

#: Classes of jobs on one node (or an unknown number) of a cluster that says nothing of GPUs.
CORE_CLASSES: Final = ("single-core", "multi-core")

#: SQL: the cores of a run that is in no class of GPUs.
_CORES: Final = "CASE WHEN coalesce({gpus}, 0) = 0 AND coalesce({nodes}, 1) <= 1 THEN {cpus} END"
#: A plain job's cluster, class, GPUs, nodes and cores.
PLAIN_SIZE: Final = f"""cluster, class, size_gpus, size_nodes,
    {_CORES.format(gpus="size_gpus", nodes="size_nodes", cpus="size_cpus")}"""
#: The look of a record of a multi-GPU or multi-node job: one with more than one of either.
_LOOKING: Final = "CASE WHEN (size_gpus > 1 OR size_nodes > 1) AND het_job IS NULL THEN {look} END"
#: Its size, and whether it is a plain job.
_NUMBERS: Final = ("size_gpus", "size_nodes", "size_cpus", "CASE WHEN het_job IS NULL THEN 1 ELSE 0 END")
#: The class and the cores of a job of a size.
_CLASSED: Final = f"SELECT {class_sql(':nodes', ':gpus')}, {_CORES.format(gpus=':gpus', nodes=':nodes', cpus=':cpus')}"

#: Het jobs. The n-th record of each component belongs to the n-th run of the whole job, which a requeue starts again;
#: submission times do not tell the runs apart, since components are submitted one after the other.
HET: Final = f"""
SELECT cluster, {class_sql("nodes", "gpus")}, gpus, nodes, {_CORES.format(gpus="gpus", nodes="nodes", cpus="cpus")},
    count(*), sum(components) FROM (
    SELECT cluster, sum(size_nodes) AS nodes, sum(size_gpus) AS gpus, sum(size_cpus) AS cpus, count(*) AS components
    FROM (
        SELECT *, {{reason}} AS rule,
            row_number() OVER (PARTITION BY cluster, het_job, het_offset ORDER BY submit_time) AS run
        FROM run WHERE het_job IS NOT NULL AND {{within}}
    ) WHERE rule = 0 GROUP BY cluster, het_job, run
) GROUP BY 1, 2, 3, 4, 5
"""

_KINDS: Final = "SELECT gpu_kind, count(*) FROM run WHERE gpu_kind IS NOT NULL AND {where} GROUP BY 1"
_CONTAINERS: Final = "SELECT class, container, count(*) FROM run WHERE {where} GROUP BY 1, 2"


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Numbers of jobs. `classes` has every class, CORE_CLASSES where a cluster says nothing of GPUs, and None for jobs
    of unknown GPUs (or cores), both only where there are some.

    `gpus` counts multi-GPU jobs by their GPUs, `nodes` multi-node jobs by their nodes, `cpus` the jobs without GPUs on
    one node by their cores, all ascending. `looks`: multi-GPU and multi-node jobs by LOOKS, het jobs left out.
    """

    classes: Mapping[str | None, int]
    gpus: Mapping[float, int]
    nodes: Mapping[int, int]
    excluded: Mapping[str, int]  # counts records: a het job has one per component
    het_jobs: int
    het_components: int
    clusters: Sequence[str]
    span: tuple[int | None, int | None]
    cpus: Mapping[int, int] = field(default_factory=dict)
    looks: Mapping[str, int] = field(default_factory=dict)
    no_nodes: int = 0  # jobs of an unknown number of nodes, which may be multi-node
    no_gpus: int = 0  # jobs of an unknown number of GPUs
    kinds: Mapping[str, int] = field(default_factory=dict)  # jobs with GPUs by gres.KINDS, where not all are whole

    @property
    def jobs(self) -> int:
        return sum(self.classes.values())


@dataclass(frozen=True, slots=True)
class Containers:
    """Class (None for unknown) -> container (None: none is known) -> jobs. Components of a het job count one by one."""

    classes: Mapping[str | None, Mapping[str | None, int]]
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]

    @property
    def all(self) -> Mapping[str | None, int]:
        """The jobs of all classes."""
        return sum((Counter(one) for one in self.classes.values()), Counter[str | None]())


def parallelism(db: sqlite3.Connection, chosen: Filter) -> Parallelism:
    """Count the jobs that `chosen` takes, whatever their time limit."""
    selection = select(chosen, limits=False)
    classes: Counter[str | None] = Counter(dict.fromkeys(CLASSES, 0))
    by_gpus: Counter[float] = Counter()
    by_nodes: Counter[int] = Counter()
    by_cores: Counter[int] = Counter()
    het_jobs = het_components = 0
    with snapshot(db):
        look = _LOOKING.format(look=LOOK if has_steps(db) else LOOK_WITHOUT_STEPS)
        records, looking = alikes(
            db, selection, (Ask(("cluster",), _NUMBERS), Ask((look,), ())), {"min_cpu_use": MIN_CPU_USE}
        )
        looks = {name: jobs for (name,), jobs in _counted(looking)}
        rows: list[Any] = []
        het = False
        for (cluster, gpus, nodes, cpus, plain), jobs in _counted(records):
            if plain:
                kind, cores = db.execute(_CLASSED, {"gpus": gpus, "nodes": nodes, "cpus": cpus}).fetchone()
                rows.append((cluster, kind, gpus, nodes, cores, jobs, 0))
            else:
                het = True
        if het:
            rows += db.execute(HET.format(reason=selection.reason, within=selection.within), selection.params)
        no_gpus, no_nodes = (sum(row[5] for row in rows if row[size] is None) for size in (2, 3))
        for kind, gpus, nodes, cores, jobs, components in _classed(rows):
            classes[kind] += jobs
            if kind == "multi-gpu":
                by_gpus[gpus if isinstance(gpus, int) or gpus % 1 else int(gpus)] += jobs
            elif kind == "multi-node":
                by_nodes[nodes] += jobs
            elif cores and kind in ("cpu", *CORE_CLASSES):
                by_cores[cores] += jobs
            if components:
                het_jobs, het_components = het_jobs + jobs, het_components + components
        return Parallelism(
            dict(classes),
            dict(sorted(by_gpus.items())),
            dict(sorted(by_nodes.items())),
            records.excluded,
            het_jobs,
            het_components,
            tuple(chosen.clusters) or tuple(clusters(db)),
            span(db),
            dict(sorted(by_cores.items())),
            {name: looks[name] for name in LOOKS if name in looks},
            no_nodes,
            no_gpus,
            _kinds(db, selection),
        )


def _counted(jobs: Alike) -> Iterator[tuple[tuple[Any, ...], int]]:
    """What jobs are alike in, and how many they are."""
    number, keys = grouped(*jobs.texts, *jobs.numbers)
    return zip(keys, total(number, len(keys), jobs.many).tolist(), strict=True)


def _kinds(db: sqlite3.Connection, selection: Selection) -> dict[str, int]:
    """Records with GPUs by how these are cut; none where all are whole."""
    if not is_cut_or_untracked(db):
        return {}
    found = dict(db.execute(_KINDS.format(where=selection.where), selection.params).fetchall())
    return {kind: found[kind] for kind in KINDS if kind in found} if set(found) - {"whole"} else {}


Row = tuple[str | None, int, int, int | None, int, int]


def _classed(rows: Iterable[tuple[str, str | None, int, int, int | None, int, int]]) -> Iterator[Row]:
    """The rows without their cluster. Where no job of a cluster says its GPUs, jobs get a class by their cores."""
    rows = list(rows)
    with_gpus = {cluster for cluster, _, gpus, *_ in rows if gpus is not None}
    for cluster, kind, gpus, nodes, cores, jobs, components in rows:
        if kind is None and cluster not in with_gpus and cores:
            kind = CORE_CLASSES[cores > 1]
        yield kind, gpus, nodes, cores, jobs, components


def containers(db: sqlite3.Connection, chosen: Filter) -> Containers:
    """Count the jobs that `chosen` takes by class and container."""
    selection = select(chosen, limits=False)
    found: dict[str | None, dict[str | None, int]] = {}
    with snapshot(db):
        for kind, container, many in db.execute(_CONTAINERS.format(where=selection.where), selection.params):
            found.setdefault(kind, {})[container] = many
        jobs = sum(sum(one.values()) for one in found.values())
        kinds: tuple[str | None, ...] = (*CLASSES, None)
        ordered = {kind: found[kind] for kind in kinds if kind in found}
        names = tuple(chosen.clusters) or tuple(clusters(db))
        return Containers(ordered, left_out(db, selection, jobs), names, span(db))
