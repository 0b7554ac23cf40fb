"""The machine of a run of the simulator: a Site as queues, classes of like nodes, QOS, settings, and outages of nodes.

Queues, QOS, types of GPU and features are numbers to the core: their places in the lists here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.simulate.core import NONE, Model, Request
from adminkit.simulate.jobs import Jobs, Unit
from adminkit.slurm.scheduler import settings_of
from adminkit.slurm.site import UNTYPED, Site, SiteNode, SiteQos, SiteQueue
from adminkit.stats.machine import Outage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]
    Mask = NDArray[np.bool_]

#: Bits of a mask.
MOST_BITS: Final = 63
_MIB: Final = 1 << 20
#: When a node that is still down comes back: after every job.
NEVER: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Machine:
    """What the core is given of a site. `nodes[k]` stands for the nodes `members[k]`, which are alike."""

    site: Site
    settings: Mapping[str, int]
    queues: Sequence[Mapping[str, int]] = ()
    nodes: Sequence[Mapping[str, int]] = ()
    members: Sequence[Sequence[str]] = ()
    down: Sequence[Mapping[str, int]] = ()
    qos: Sequence[Mapping[str, int]] = ()
    gpu_types: Sequence[str] = ()
    features: Sequence[str] = ()
    memory: bool = True  # whether it is handed out to jobs
    notes: Sequence[str] = field(default_factory=tuple)

    def units(self, unit: Unit) -> int:
        """How many CPUs or GPUs there are."""
        return sum(one["count"] * one[unit] for one in self.nodes)

    def place(self, queue: str) -> int | None:
        """The number of a queue; None where there is no such queue."""
        return next((number for number, one in enumerate(self.site.queues) if one.name == queue), None)


def pool(procs: int, **settings: int) -> Machine:
    """A machine for the plain models: one pool of units."""
    return Machine(Site("pool"), {"procs": procs, **settings})


def machine_of(site: Site, outages: Iterable[Outage] = ()) -> Machine:
    """A site as the core needs it. AdminkitError where it says too little, or has more queues than a mask has bits."""
    nodes, notes = _with_sizes(site)
    names = [queue.name for queue in site.queues]
    types = sorted({name for node in nodes for name in node.gpus if name != UNTYPED})
    features = sorted(frozenset().union(*(node.features for node in nodes)))
    for what, listed in (("queues", names), ("features of nodes", features)):
        if len(listed) > MOST_BITS:
            raise AdminkitError(
                f"the site has {len(listed)} {what}; the simulator accepts {MOST_BITS}",
                "leave out those that no job uses",
            )
    classes: dict[tuple[tuple[str, int], ...], list[str]] = defaultdict(list)
    for node in nodes:
        classes[tuple(_node(node, names, types, features).items())].append(node.name)
    members = list(classes.values())
    if mixed := [node.name for node in nodes if len(node.gpus) > 1]:
        notes.append(
            f"{len(mixed)} nodes have several types of GPU, and are counted with their most frequent type:"
            f" {mixed[0]}, …"
        )
    scheduler = site.scheduler
    return Machine(
        site,
        settings_of(scheduler),
        [_queue(queue, bool(scheduler.whole_nodes)) for queue in site.queues],
        [{**dict(kind), "count": len(inside)} for kind, inside in classes.items()],
        members,
        _down(outages, members),
        [_qos(one) for one in site.qos],
        types,
        features,
        scheduler.memory is not False,
        notes,
    )


def _with_sizes(site: Site) -> tuple[list[SiteNode], list[str]]:
    """The nodes; made of the queues' own sizes where the site names none. AdminkitError where these are unknown too."""
    if site.nodes:
        if unknown := [node.name for node in site.nodes if node.cpus is None]:
            raise AdminkitError(
                f"{len(unknown)} nodes have no CPUs in the site: {', '.join(map(quote, unknown[:3]))}",
                "write their cpus into the file of --site",
            )
        return list(site.nodes), []
    made = []
    for queue in site.queues:
        for number in range(queue.total_nodes or 0 if queue.node_cpus else 0):
            gpus = {min(queue.gpu_types or {UNTYPED}): queue.node_gpus} if queue.node_gpus else {}
            name = f"{queue.name}-{number + 1}"
            made.append(SiteNode(name, queue.node_cpus, queue.node_mem, gpus, frozenset(), frozenset({queue.name})))
    if not made:
        raise AdminkitError(
            "the nodes of the site are not known",
            "on the cluster: adminkit site --output site.toml; elsewhere: adminkit simulate site --output site.toml"
            " writes what the trace shows, to be corrected; then: --site site.toml",
        )
    return made, ["the nodes are made up from the sizes of the queues: no two queues share a node"]


def _queue(queue: SiteQueue, whole: bool) -> dict[str, int]:
    known = {
        "tier": queue.priority_tier,
        "factor": queue.priority_factor,
        "max_limit": queue.max_limit,
        "default_limit": queue.usual_limit,
        "min_nodes": queue.min_nodes,
        "max_nodes": queue.max_nodes,
        "whole": int(queue.whole or whole),
        "up": int(queue.up),
    }
    return {name: value for name, value in known.items() if value is not None}


def _node(node: SiteNode, queues: Sequence[str], types: Sequence[str], features: Sequence[str]) -> dict[str, int]:
    most = max(node.gpus, key=lambda name: node.gpus[name], default=UNTYPED)
    known: dict[str, int] = {
        "cpus": node.cpus or 1,
        "mem": (node.mem or 0) // _MIB,
        "gpus": sum(node.gpus.values()),
        "gpu_type": types.index(most) if most in types else NONE,
        "features": mask(features.index(name) for name in node.features),
        "queues": mask(place for place, name in enumerate(queues) if name in node.queues),
    }
    return known if node.weight is None else {**known, "weight": node.weight}


def mask(places: Iterable[int]) -> int:
    """The bits of some places."""
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits


def _qos(qos: SiteQos) -> dict[str, int]:
    known: dict[str, int | None] = {
        "priority": qos.priority,
        "max_user_cpus": qos.max_user_tres.get("cpu"),
        "max_user_gpus": qos.max_user_tres.get("gres/gpu"),
        "max_user_jobs": qos.max_user_jobs,
        "group_cpus": qos.group_tres.get("cpu"),
        "group_gpus": qos.group_tres.get("gres/gpu"),
        "group_jobs": qos.group_jobs,
    }
    return {name: value for name, value in known.items() if value is not None}


def _down(outages: Iterable[Outage], members: Sequence[Sequence[str]]) -> list[dict[str, int]]:
    """A line for each stretch in which a node was down; stretches of one node that meet are one."""
    kind = {name: number for number, inside in enumerate(members) for name in inside}
    of_node: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in outages:
        if one.node in kind:
            of_node[one.node].append((one.start, NEVER if one.end is None else one.end))
    lines = []
    for name, times in of_node.items():
        merged: list[list[int]] = []
        for start, end in sorted(times):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            elif end > start:
                merged.append([start, end])
        lines += [{"nodes": kind[name], "count": 1, "start": start, "end": end} for start, end in merged]
    return sorted(lines, key=lambda line: (line["start"], line["nodes"], line["end"]))


def placed(jobs: Jobs, machine: Machine) -> Jobs:
    """The jobs with the columns that number the site's things: queues, qos, gpu_type.

    Those of a queue or GPU that the site does not have are missing from then on.
    """
    import numpy as np

    known = {queue.name: place for place, queue in enumerate(machine.site.queues)}
    of_name = {name: mask(known[part] for part in name.split(",") if part in known) for name in jobs.names["queue"]}
    default = mask(place for place, queue in enumerate(machine.site.queues) if queue.is_default)
    queues = np.array([*of_name.values(), default], dtype=np.int64)[jobs.codes["queue"]]
    gone = sorted(name for name, bits in of_name.items() if not bits)
    types = _numbers(jobs, "gpu_type", machine.gpu_types, unknown=-2)
    types = np.where(jobs.columns["gpus"] > 0, types, NONE)
    mem = jobs.columns["mem"] if machine.memory else np.zeros(len(jobs), dtype=np.int64)
    qos = _numbers(jobs, "qos", [one.name for one in machine.site.qos], unknown=NONE)
    filled = jobs.with_columns(queues=queues, qos=qos, gpu_type=types, mem=mem)
    shown = ", ".join(quote(name) for name in gone[:5]) or "none named"
    filled = filled.take(queues != 0, f"in queues that the site does not have: {shown}", of_site=True)
    typed = filled.columns["gpu_type"] != -2
    filled = filled.take(typed, "on a type of GPU that the site does not have", of_site=True)
    if not len(filled):
        why = "; ".join(f"{one.jobs} job{'' if one.jobs == 1 else 's'} {one.reason}" for one in filled.missing)
        raise AdminkitError(f"no job of the trace can run on this site: {why}", "correct the --site file: docs/site.md")
    return filled


def _numbers(jobs: Jobs, name: str, listed: Sequence[str], unknown: int) -> Column:
    """The place in `listed` of each job's word; NONE without a word, `unknown` for one that is not in the list."""
    import numpy as np

    place = {word: number for number, word in enumerate(listed)}
    of_word = [place.get(word, NONE if word == UNTYPED else unknown) for word in jobs.names[name]]
    return np.array([*of_word, NONE], dtype=np.int64)[jobs.codes[name]]


#: The columns that the plain models read.
PLAIN: Final = ("id", "submit", "run", "limit", "procs", "plan", "priority")


def request(model: Model, jobs: Jobs, machine: Machine, settings: Mapping[str, int] | None = None) -> Request:
    """What the core is to run. For the slurm model the jobs are `placed` first. `settings` go before the machine's."""
    together = {**machine.settings, **(settings or {})}
    if model != "slurm":
        plain: dict[str, Any] = {name: jobs.columns[name] for name in PLAIN if name in jobs.columns}
        return Request(model, plain, {name: together[name] for name in ("procs", "order", "depth") if name in together})
    return Request(model, jobs.columns, together, machine.queues, machine.nodes, machine.down, machine.qos)
