"""kind = "multi-node": a growing share of jobs on several nodes. docs/simulate/multi-node.md."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.simulate.case import Case, Mask, with_columns
from adminkit.simulate.change import Change, Given, Kind, Shares, Sources
from adminkit.simulate.luck import Luck, whole


class MultiNode(Change):
    """The keys."""

    swept: ClassVar[str] = "share"

    kind: Literal["multi-node"]
    share: Shares  # of all jobs
    nodes: Annotated[int, Field(ge=2, strict=True)] | None = None  # None: as many as today's jobs on several nodes
    work: Literal["same", "more"] = "same"  # whether a job on more GPUs runs for a shorter time


def prepare(keys: MultiNode, sources: Sources) -> Given:
    """Refuses a workload that cannot say how its jobs would look on several nodes."""
    if sources.case.request.model != "slurm":
        raise AdminkitError(
            f"scenario {quote(keys.name)}: the {sources.case.request.model} model has one pool of processors, no nodes",
            "use --model slurm",
        )
    if keys.nodes is None and not _several(sources.case).any():
        raise AdminkitError(
            f"scenario {quote(keys.name)}: no job is on several nodes, so none shows what such jobs ask for",
            "say how many nodes: nodes = 2",
        )
    return {}


def apply(case: Case, keys: MultiNode, value: float, given: Given, luck: Luck) -> Case:
    """Jobs on one node are drawn until `value` of all are on several.

    Each gets the nodes, CPUs and GPUs of a job on several nodes, drawn too; or `nodes` times its own.
    """
    import numpy as np

    several = _several(case)
    lacking = round(value * case.count) - int(several.sum())
    single = np.flatnonzero(~several & (case.column("nodes", 1) == 1))
    if lacking <= 0 or not len(single):
        return case
    order = np.argsort(luck.ranks("multi-node", len(single)), kind="stable")
    chosen = single[order[:lacking]]
    names = ("nodes", "most_nodes", "cpus", "gpus", "mem", "gpu_type", "whole")
    columns = {
        name: case.column(name, usual).copy() for name, usual in zip(names, (1, -1, 1, 0, 0, -1, 0), strict=True)
    }
    before = _size(columns)[chosen]
    if keys.nodes is None:
        like = luck.draw("like").choice(np.flatnonzero(several), len(order))[: len(chosen)]
        for column in columns.values():
            column[chosen] = column[like]
    else:
        for name in ("nodes", "cpus", "gpus"):
            columns[name][chosen] *= keys.nodes
        columns["most_nodes"][chosen] = columns["nodes"][chosen]
    run = case.column("run").copy()
    if keys.work == "same":
        run[chosen] = np.maximum(whole(run[chosen] * before / np.maximum(_size(columns)[chosen], 1)), 1)
    return with_columns(case, run=run, **columns)


def _several(case: Case) -> Mask:
    several: Mask = case.column("nodes", 1) > 1
    return several


def _size(columns: Any) -> Any:
    """GPUs, CPUs of a job without GPUs."""
    import numpy as np

    return np.where(columns["gpus"] > 0, columns["gpus"], np.maximum(columns["cpus"], 1))


KIND = Kind("multi-node", MultiNode, apply, prepare)
