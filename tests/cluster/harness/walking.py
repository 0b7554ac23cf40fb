"""Walks through the doors of job_submit, from a seed: a job is submitted, changed, run, requeued, changed, run again.
And the rules that each run has to keep, judged by what Slurm gave. Nothing here talks to Slurm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.cluster.harness import spelling
from tests.cluster.harness.ruled import rule
from tests.cluster.harness.spelling import MOST, NODES, RAW, UPDATES, Given

#: queue -> the most CPUs, and MiB, for each GPU
CPUS_PER_GPU: Final = {"gq-middle": 2}
MEM_PER_GPU: Final = {"gq-short": 4096}
#: What the site gives a job that names no memory, MiB for each CPU; as in config.py.
DEFAULT_MEM: Final = 500
WATTS: Final = 250
BUDGET: Final = WATTS * spelling.NODES * spelling.GPUS

WITHOUT_BUDGET: Final = (
    spelling.RULES
    + "".join(rule(f"{queue}-cpus-per-gpu", queue, cpus_per_gpu=most) for queue, most in CPUS_PER_GPU.items())
    + "".join(rule(f"{queue}-mem-per-gpu", queue, mem_per_gpu=most) for queue, most in MEM_PER_GPU.items())
)
RULES: Final = WITHOUT_BUDGET + f"[power]\nbudget_w = {BUDGET}\ngpu_w = {WATTS}\n"


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to the job: submit, update (with these fields), run, requeue."""

    what: str
    fields: Mapping[str, str] = field(default_factory=dict)


def wrong(given: Given) -> list[str]:
    """The rules that a job which ran did not keep; "class" where it has a better one's points; "watts" it lacks."""
    found = spelling.broken(given)
    if given.gpus and given.cpus > CPUS_PER_GPU.get(given.queue, 10**9) * given.gpus:
        found.append("cpus_per_gpu")
    most = max(MEM_PER_GPU.get(given.queue, 10**9) * given.gpus, DEFAULT_MEM * given.cpus)
    if given.gpus and given.mem > most + 1:
        found.append("mem_per_gpu")
    if given.points > spelling.CLASS_POINTS[given.kind]:
        found.append("class")
    if watts(given.licences) < WATTS * given.gpus:
        found.append("watts")
    return found


def watts(licences: str) -> int:
    """The watts among the licences of a job."""
    return sum(int(item.partition(":")[2] or 1) for item in licences.split(",") if item.partition(":")[0] == "watts")


#: What takes part in no walk: `shared` is an operator's to change, the others end slurmctld 24.11 in some company.
_NEVER: Final = {"bitflags", "overcommit", "ntasks_per_socket"}
_MORE: Final = ("NumNodes", "memory of a node", "memory of a CPU", "CPUs", "GPUs", "queue", "QOS", "limit", "licences")


def _fields(random: Random, *more: str) -> dict[str, str]:
    return {name: value for name, value in spelling.raw_fields(random, *more).items() if name not in _NEVER}


def _gpus(random: Random) -> dict[str, str]:
    """GPUs as anybody would write them."""
    prefix, number = random.choice(["gres:", "gres/"]), random.choice([1, 1, 2, 2, 4, 8])
    return {random.choice(["tres_per_job", "tres_per_node", "tres_per_node", "tres_per_task"]): f"{prefix}gpu:{number}"}


def _change(random: Random) -> dict[str, str]:
    """One change, of one kind or of two."""
    kind = random.choice([*_MORE, *_MORE, *UPDATES])
    least = random.choice([1, 1, 2, 3, 4])
    if kind == "NumNodes":
        return {"min_nodes": str(least), **random.choice([{}, {"max_nodes": str(random.choice([least, NODES]))}])}
    if kind == "memory of a node":
        return {"pn_min_memory": str(random.choice([0, 100, 4000, 60000]))}
    if kind == "memory of a CPU":
        return {"pn_min_memory": str(2**63 + random.choice([0, 100, 4000, 30000]))}
    if kind == "CPUs":
        return {"min_cpus": str(random.choice([1, 2, 8, 9, 32]))}
    if kind == "GPUs":
        return _gpus(random)
    if kind == "queue":
        return {"partition": random.choice(sorted(MOST))}
    if kind == "QOS":
        return {"qos": random.choice(["brief", "normal"])}
    if kind == "limit":
        return {"time_limit": str(random.choice([1, 5, 60, 90, 120]))}
    if kind == "licences":
        return {"licenses": random.choice(["", "watts:1", "watts:9999", "watts:250,watts:250"])}
    return {name: value for name, value in _fields(random, *UPDATES[kind]).items() if name != "shared"}


#: What Slurm refuses in an update, each at another place: what stands before it has been taken over by then.
_REFUSED: Final = (
    {"min_cpus": "0"}, {"num_tasks": "0"}, {"shared": "0"}, {"core_spec": "1"}, {"features": "nonsense"},
    {"site_factor": "2147483700"}, {"max_nodes": "1", "min_nodes": "2"}, {"licenses": "nonsense:1"},
)  # fmt: skip


def _submission(random: Random) -> dict[str, str]:
    """Small or plain more often than not, so that most are accepted; held, so that it can be changed before it runs."""
    queue = random.choice([*sorted(MOST), "free", "free"])
    fields = {"time_limit": random.choice(["1", "5", "60"]), "partition": queue, "priority": "0", "num_tasks": "1"}
    if random.random() < 0.3:
        fields |= _fields(random, *RAW[random.choice(sorted(RAW))])
    else:
        fields |= random.choice([{}, _gpus(random), _gpus(random)])
        fields |= random.choice([{}, {}, {"num_tasks": str(random.choice([2, 4, 32]))}])
        fields |= random.choice([{}, {}, {"min_nodes": "1", "max_nodes": str(random.choice([1, 2, 4]))}])
    if any(name in fields for name in spelling.GPU_LISTS) and random.random() < 0.3:
        fields["mem_per_tres"] = "gres:gpu:900"
    if "tres_per_socket" in fields:
        fields.setdefault("sockets_per_node", "1")
    return {**fields, "min_cpus": fields.get("min_cpus", fields["num_tasks"]), "priority": "0"}


def walk(random: Random) -> Iterator[Step]:
    """The steps of one job."""
    yield Step("submit", _submission(random))
    for again in range(random.choice([1, 1, 2, 3])):
        if again:
            yield Step("requeue")
        for _ in range(random.choice([0, 1, 1, 2, 3, 4])):
            change = _change(random)
            if random.random() < 0.25:
                change |= _change(random)
            if random.random() < 0.2:
                change |= random.choice(_REFUSED)
            yield Step("update", change)
        yield Step("run")


def walks(seed: int) -> Iterator[list[Step]]:
    """One after another, each of a seed of its own."""
    number = 0
    while True:
        yield list(walk(Random(f"{seed} {number}")))
        number += 1
