"""kind = "nodes": more or fewer nodes, or nodes with another number of GPUs. docs/simulate/nodes.md."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.simulate.case import Case, with_site
from adminkit.simulate.change import Change, Count, Factors, Given, Kind, Sources
from adminkit.simulate.luck import Luck


class Nodes(Change):
    """The keys."""

    swept: ClassVar[str] = "factor"

    kind: Literal["nodes"]
    factor: Factors = (1.0,)  # times as many nodes as today; of the plain models, processors
    gpus: Count | None = None  # of each node that has some
    queue: str | None = None  # only the nodes of this queue

    @model_validator(mode="after")
    def _something(self) -> Nodes:
        if self.factor == (1.0,) and self.gpus is None:
            raise ValueError("give it a factor other than 1, or gpus")
        return self


def prepare(keys: Nodes, sources: Sources) -> Given:
    """Refuses what today's site does not have."""
    request, queues = sources.case.request, sources.case.names["queues"]
    if keys.queue is not None and keys.queue not in queues:
        raise AdminkitError(
            f"scenario {quote(keys.name)}: no such queue: {quote(keys.queue)}",
            unknown_word("queue", keys.queue, queues).hint,
        )
    if not request.nodes and (keys.queue is not None or keys.gpus is not None):
        raise AdminkitError(
            f"scenario {quote(keys.name)}: the {request.model} model has one pool of processors, no nodes",
            "leave out queue and gpus, or use --model slurm",
        )
    for value in keys.factor:
        if value != 1 and keys.gpus is None and _same(sources.case, keys, value):
            many = sum(one.get("count", 1) for one in request.nodes) or request.settings.get("procs", 0)
            what = "nodes" if request.nodes else "processors"
            raise AdminkitError(
                f"scenario {quote(keys.name)}: {value:g} times {many} {what} are {many}: nothing changes",
                "choose a factor that makes a whole node of difference",
            )
    return {}


def _same(case: Case, keys: Nodes, value: float) -> bool:
    """Whether there are as many nodes and processors as today."""
    other = apply(case, keys, value, {}, Luck(0)).request
    count = [[one.get("count", 1) for one in request.nodes] for request in (case.request, other)]
    return count[0] == count[1] and other.settings.get("procs") == case.request.settings.get("procs")


def apply(case: Case, keys: Nodes, value: Any, given: Given, luck: Luck) -> Case:
    """Classes of nodes get `value` times as many nodes, rounded; the pool of the plain models as many processors."""
    request = case.request
    place = None if keys.queue is None else case.queue(keys.queue)
    nodes = []
    for one in request.nodes:
        if place is not None and not one.get("queues", 1) >> place & 1:
            nodes.append(one)
            continue
        more = {"count": round(one.get("count", 1) * value)}
        if keys.gpus is not None and one.get("gpus", 0) > 0:
            more["gpus"] = keys.gpus
        nodes.append({**one, **more})
    settings = dict(request.settings)
    if "procs" in settings:
        settings["procs"] = max(1, round(settings["procs"] * value))
    down = [
        {**one, "count": min(one.get("count", 1), nodes[one.get("nodes", 0)].get("count", 1))} for one in request.down
    ]
    return with_site(case, nodes=nodes, settings=settings, down=[one for one in down if one["count"] > 0])


KIND = Kind("nodes", Nodes, apply, prepare)
