"""Requests in every spelling that changes nodes, tasks, CPUs, memory, GPUs, limit, queue or QOS, from a seed; and the
rules they have to keep, judged by what Slurm gave. Nothing here talks to Slurm."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.cluster.harness.ruled import HEAD, rule

#: Nodes, and what each has; as in config.py.
NODES, CPUS, GPUS = 4, 8, 8
HOUR: Final = 60

#: queue -> the most of each number that a job there may have been given
MOST: Final[Mapping[str, Mapping[str, int]]] = {
    "gq": {"gpus": 2},
    "gq-short": {"nodes": 2},
    "gq-middle": {"cpus": 8},
    "gq-long": {"gpus_per_node": 2},
    "debug": {"nodes": 2, "gpus": 4, "cpus": 12},
    "whole": {"gpus": 8},
    "free": {},
}
#: class -> minutes that its jobs may ask for in the queue free
CLASS_MOST: Final = {"multi-node": 1 * HOUR, "multi-gpu": 2 * HOUR}
#: QOS -> the same
QOS_MOST: Final = {"brief": 1 * HOUR}

#: Each class has points of its own, so that one sees which were given.
CLASS_POINTS: Final = {"multi-node": 4, "multi-gpu": 3, "single-gpu": 2, "cpu": 1}

RULES: Final = (
    HEAD
    + '[exempt]\nusers = ["www-data"]\n\n[routing]\naction = "off"\n\n'
    + "".join(rule(f"{queue}-{what}", queue, **{what: f"-{most}"}) for queue, all_ in MOST.items()
              for what, most in all_.items())
    + "".join(rule(f"free-{name}", "free", classes=[name], max_limit=f"{most // HOUR:02d}:00:00")
              for name, most in CLASS_MOST.items())
    + "".join(rule(f"free-{name}", "free", qos=[name], max_limit=f"{most // HOUR:02d}:00:00")
              for name, most in QOS_MOST.items())
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Given:
    """What a job that started was given."""

    queue: str
    qos: str
    minutes: int
    nodes: int
    cpus: int
    gpus: int
    points: int
    mem: float = 0.0  # MiB
    licences: str = ""

    @property
    def kind(self) -> str:
        """Its class, as docs/policy-spec.md has it."""
        if self.nodes > 1:
            return "multi-node"
        return "cpu" if self.gpus < 1 else "multi-gpu" if self.gpus > 1 else "single-gpu"

    @property
    def overpaid(self) -> bool:
        """Whether it got points for a class that it is not of."""
        return self.points not in (0, CLASS_POINTS[self.kind])


@dataclass(frozen=True, slots=True)
class Case:
    """One request: fields of job_desc for the raw client, or words and variables for one of Slurm's programs.

    `update`: what is asked of the job once it waits. `within`: a plain one that any reader of the rules would let pass.
    """

    kind: str
    program: str  # raw, salloc, sbatch, srun
    queue: str
    fields: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    update: Mapping[str, str] = field(default_factory=dict)
    within: bool = False


def broken(given: Given) -> list[str]:
    """The rules that a started job does not keep."""
    per_node = -(-given.gpus // given.nodes)
    numbers = {"nodes": given.nodes, "cpus": given.cpus, "gpus": given.gpus, "gpus_per_node": per_node}
    most = MOST[given.queue]
    found = [f"{given.queue}-{what}" for what in most if numbers[what] > most[what]]
    if given.queue == "free":
        if given.minutes > CLASS_MOST.get(given.kind, 10**9):
            found.append(f"free-{given.kind}")
        found += [f"free-{name}" for name in [given.qos] if given.minutes > QOS_MOST.get(name, 10**9)]
    return found


GPU_LISTS: Final = ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")
#: A list of GPUs that everybody reads alike: one entry, a number or a type and a number.
_READABLE: Final = re.compile(r"(?:gres[:/])?gpu(?::[a-z]+)?:[1-9]\d*")
_LISTS: Final = ("tres_per_job", "tres_per_node", "cpus_per_tres", "mem_per_tres")
#: Options that stand for what docs/policy/numbers.md says is not known, and its name for it.
_DOUBTFUL: Final = {
    "--overcommit": "tasks that share a CPU", "--gpus-per-socket": "GPUs of sockets",
    "--gpus-per-task": "GPUs of tasks", "--ntasks-per-gpu": "GPUs of tasks", "--tres-per-task": "GPUs of tasks",
    "--exclusive": "a class", "--gpus": "GPUs of the job on a node",
}  # fmt: skip


def doubts(case: Case) -> set[str]:
    """What docs/policy/numbers.md lists as not known of this request: why it may be refused although Slurm would have
    run it within the rule."""
    found = set()
    fields = {**case.fields, **case.update}
    if "max_nodes" in fields and fields["max_nodes"] != fields.get("min_nodes"):
        found.add("a range of nodes")
    if "num_tasks" in fields and fields.get("min_cpus", "1") < fields["num_tasks"]:
        found.add("tasks that share a CPU")
    if "overcommit" in fields:
        found.add("tasks that share a CPU")
    if "max_cpus" in fields:
        found.add("a most of CPUs")
    if fields.get("shared") in ("4", "5"):
        found.add("a way of sharing")
    if "," in fields.get("qos", ""):
        found.add("a list of QOS")
    if {"tres_per_socket"} & {*fields}:
        found.add("GPUs of sockets")
    if {"tres_per_task", "ntasks_per_tres"} & {*fields}:
        found.add("GPUs of tasks")
    if any(not _READABLE.fullmatch(fields[name]) for name in _LISTS if name in fields):
        found.add("GPUs in an odd spelling")
    if "tres_per_job" in fields:
        found.add("GPUs of the job on a node")
    if case.update:
        found.add("an update")
    if case.queue == "free":
        found.add("a class")
    typed = {name: value for name, _, value in (word.partition("=") for word in case.words)}
    typed |= {name: case.env[key] for name, last in VARIABLES.items() for key in case.env if key.endswith("_" + last)}
    found |= {_DOUBTFUL[name] for name in typed if name in _DOUBTFUL}
    if "-" in typed.get("--nodes", ""):
        found.add("a range of nodes")
    if any(not typed[name].isdecimal() for name in ("--gpus", "--gpus-per-node", "--cpus-per-gpu") if name in typed):
        found.add("GPUs in an odd spelling")
    if not _READABLE.fullmatch(typed.get("--gres", "gpu:1")):
        found.add("GPUs in an odd spelling")
    if "{" in typed.get("--nodelist", ""):
        found.add("nodes by switch or block")
    return found


# how a number can be written


def _plain(random: Random, number: int) -> str:
    return str(number)


def _odd(random: Random, number: int) -> str:
    """What strtoull or a client of Slurm's may take for the number, or not."""
    return random.choice(
        [f"+{number}", f" {number}", f"0{number}", f"\t{number}", f"+0{number}", f"{number} ", f"{2**64 - number}",
         f"-{2**64 - number}", f"-{number}", f"{2**32 + number}", f"{2**64 + number}", f"{number}k", f"{number}.0",
         f"0x{number}", f"{number}b", f"{number}(S:0)", f"{number}/1"]
    )  # fmt: skip


def _small(random: Random) -> int:
    return random.choice([0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 8, 9])


def _gres(random: Random, prefix: str, number: int, write: Callable[[Random, int], str]) -> str:
    """A list of GPUs, of one entry or several."""
    one = f"{prefix}gpu:{write(random, number)}"
    return random.choice([
        one, one, one, one,
        f"{one},{one}",
        f"{one},{prefix}gpu:1",
        f"{prefix}gpu:1,{one}",
        f"{prefix}gpu:0,{one}",
        f"{prefix}gpu,{one}",
        f"{prefix}gpu",
        f"{prefix}gpu={number}",
        f"{prefix}gpu:a:{number}",
        f"{prefix}gpu:{number},gpu:{number}",
        f"{prefix}gpu:gpu:{number}",
        f",{one},",
    ])  # fmt: skip


def _limit(random: Random) -> int:
    return random.choice([1, 4, 5, 30, 60, 61, 90, 120, 121, 170])


# the kinds


def _nodes(random: Random) -> dict[str, str]:
    least = random.choice([0, 1, 1, 2, 3, 4])
    most = random.choice([None, None, least, least, random.choice([1, 2, 4])])
    fields = {} if random.random() < 0.4 else {"min_nodes": str(least)}
    return fields if most is None else {**fields, "max_nodes": str(most)}


def raw_fields(random: Random, *more: str) -> dict[str, str]:
    """Any fields that say how large the job is, and those of `more` for sure."""
    numbers: dict[str, Callable[[], object]] = {
        "num_tasks": lambda: random.choice([1, 2, 3, 4, 8, 9, 16, 32]),
        "min_cpus": lambda: random.choice([1, 2, 4, 8, 9, 32]),
        "max_cpus": lambda: random.choice([1, 4, 16, 32, 0xFFFFFFFE]),
        "cpus_per_task": lambda: random.choice([1, 2, 4, 8, 0xFFFE]),
        "ntasks_per_node": lambda: random.choice([1, 2, 4, 8]),
        "ntasks_per_socket": lambda: random.choice([1, 2]),
        "ntasks_per_core": lambda: random.choice([1, 2]),
        "ntasks_per_tres": lambda: random.choice([1, 2, 4]),
        "pn_min_cpus": lambda: random.choice([1, 4, 8]),
        "pn_min_memory": lambda: random.choice([0, 100, 60000, 2**63 + 100, 2**63 + 20000, 2**63 + 60000]),
        "shared": lambda: random.choice([0, 0, 1, 2, 3, 4, 5, 0xFFFE]),
        "overcommit": lambda: random.choice([0, 1]),
        "contiguous": lambda: 1,
        "sockets_per_node": lambda: random.choice([1, 2, 8]),
        "cores_per_socket": lambda: random.choice([1, 2, 8]),
        "threads_per_core": lambda: 1,
        "core_spec": lambda: random.choice([0, 1, 2]),
        "bitflags": lambda: random.choice([0, 256, 512, 768, 2**20, 2**27]),
        "plane_size": lambda: 2,
        "req_nodes": lambda: random.choice(["n1", "n1,n2", "n[1-4]", "n1,n1", "n[1-2],n1", "n9", "n[2-3],"]),
        "exc_nodes": lambda: random.choice(["n1", "n[1-3]"]),
        "tres_per_job": lambda: _gres(random, random.choice(PREFIXES), _small(random), random.choice(WRITERS)),
        "tres_per_node": lambda: _gres(random, random.choice(PREFIXES), _small(random), random.choice(WRITERS)),
        "tres_per_socket": lambda: _gres(random, random.choice(PREFIXES), _small(random), random.choice(WRITERS)),
        "tres_per_task": lambda: random.choice(
            [_gres(random, random.choice(PREFIXES), _small(random), random.choice(WRITERS)), "cpu:4", "cpu=8",
             "cpu:2,gres/gpu:1"]),
        "cpus_per_tres": lambda: _gres(
            random, random.choice(PREFIXES), random.choice([1, 4, 8]), random.choice(WRITERS)),
        "mem_per_tres": lambda: "gres:gpu:100",
    }  # fmt: skip
    chosen = {*more, *random.sample(sorted(numbers), random.choice([0, 0, 1, 2, 3]))}
    if "tres_per_job" in chosen:
        chosen.discard("bitflags")  # Trap: GPUs of the job with --spread-job seemed to end slurmctld of 24.11.5,
    if "ntasks_per_socket" in chosen:
        chosen.add("num_tasks")  # as did tasks of a socket whose number nobody gives
    return {**_nodes(random), **{name: str(numbers[name]()) for name in sorted(chosen)}}


PREFIXES: Final = ("gres:", "gres:", "gres:", "gres/", "gres/", "", " gres:", "xgres:", "gres: ")
WRITERS: Final = (_plain, _plain, _odd)

#: Kind -> the field of job_desc that it is about.
RAW: Final = {
    "tasks": ("num_tasks",),
    "tasks and CPUs": ("num_tasks", "cpus_per_task"),
    "least CPUs": ("min_cpus",),
    "most CPUs": ("max_cpus",),
    "tasks of a node": ("ntasks_per_node", "num_tasks"),
    "tasks of a socket": ("ntasks_per_socket",),
    "tasks of a GPU": ("ntasks_per_tres", "num_tasks"),
    "CPUs of a node": ("pn_min_cpus",),
    "memory": ("pn_min_memory", "num_tasks"),
    "sharing": ("shared",),
    "whole nodes, several tasks": ("shared", "num_tasks"),
    "overcommit": ("overcommit", "num_tasks"),
    "sockets": ("sockets_per_node", "cores_per_socket"),
    "specialised cores": ("core_spec",),
    "flags": ("bitflags", "num_tasks"),
    "planes": ("plane_size", "num_tasks"),
    "named nodes": ("req_nodes",),
    "named nodes, GPUs": ("req_nodes", "tres_per_node"),
    "nodes left out": ("exc_nodes",),
    "GPUs of the job": ("tres_per_job",),
    "GPUs of nodes": ("tres_per_node",),
    "GPUs of nodes, tasks": ("tres_per_node", "num_tasks"),
    "GPUs of sockets": ("tres_per_socket", "sockets_per_node"),
    "GPUs of tasks": ("tres_per_task", "num_tasks"),
    "GPUs of job and nodes": ("tres_per_job", "tres_per_node"),
    "CPUs of GPUs": ("cpus_per_tres", "tres_per_node"),
    "memory of GPUs": ("mem_per_tres", "tres_per_job"),
    "anything": (),
}


def raw(random: Random, queue: str, kind: str) -> Case:
    fields = {"time_limit": str(_limit(random)), **raw_fields(random, *RAW[kind]), "partition": queue}
    return Case(f"raw: {kind}", "raw", queue, fields)


def plain(random: Random, queue: str) -> Case:
    """What anybody would type, every number said once; whether it is within the rules is plain to see."""
    nodes, tasks = random.choice([1, 1, 2, 3, 4]), random.choice([1, 2, 4])
    cpus, gpus, minutes = random.choice([1, 2]), random.choice([0, 0, 1, 2, 4, 8]), random.choice([1, 60, 120])
    minutes = 5 if queue == "debug" else minutes
    words = [f"-N{nodes}", f"--ntasks={tasks * nodes}", f"--ntasks-per-node={tasks}", f"-c{cpus}", f"-t{minutes}"]
    words += [random.choice([f"--gres=gpu:{gpus}", f"--gpus-per-node={gpus}"])] * (gpus > 0)
    per_node = GPUS if queue == "whole" else gpus
    given = Given(
        queue, "", minutes, nodes, CPUS * nodes if queue == "whole" else nodes * tasks * cpus, nodes * per_node, 0
    )
    return Case("plain", "salloc", queue, words=(*words, "-p", queue), within=not broken(given))


def _write(random: Random, number: int) -> str:
    return random.choice(WRITERS)(random, number)


#: Option -> what may stand behind it.
OPTIONS: Final[Mapping[str, Callable[[Random], str]]] = {
    "--nodes": lambda r: r.choice([_write(r, r.choice([1, 2, 4])), "1-4", "2-1", "1-", "-2", "+1-+4", "1-0x4", "1k"]),
    "--ntasks": lambda r: _write(r, r.choice([1, 2, 4, 8, 32])),
    "--cpus-per-task": lambda r: _write(r, r.choice([1, 2, 8])),
    "--ntasks-per-node": lambda r: _write(r, r.choice([1, 2, 8])),
    "--ntasks-per-socket": lambda r: _write(r, 1),
    "--ntasks-per-core": lambda r: "1",
    "--ntasks-per-gpu": lambda r: _write(r, r.choice([1, 2])),
    "--gres": lambda r: _gres(r, r.choice(["", "", "", "gres:", "gres/"]), _small(r), r.choice(WRITERS)),
    "--gpus": lambda r: r.choice([_write(r, _small(r)), f"{_small(r)},{_small(r)}", f"a:{_small(r)}", "1,1", "gpu:8"]),
    "--gpus-per-node": lambda r: r.choice([_write(r, _small(r)), "1,1", "1,8"]),
    "--gpus-per-task": lambda r: _write(r, r.choice([1, 2, 8])),
    "--gpus-per-socket": lambda r: _write(r, r.choice([1, 8])),
    "--sockets-per-node": lambda r: "1",
    "--cpus-per-gpu": lambda r: _write(r, r.choice([1, 4, 8])),
    "--mem": lambda r: r.choice(["100", "0", "60G", "+100", "60000K", " 100"]),
    "--mem-per-cpu": lambda r: r.choice(["100", "60G", "20G", "+60000", "0"]),
    "--mem-per-gpu": lambda r: r.choice(["100", "30G"]),
    "--mincpus": lambda r: _write(r, r.choice([1, 8])),
    "--nodelist": lambda r: r.choice(["n1", "n1,n2", "n[1-4]", "n1,n1", "switch{s1}", "block{b1}", "n[1-2],n[2-3]"]),
    "--exclude": lambda r: r.choice(["n1", "n[1-2]"]),
    "--exclusive": lambda r: r.choice(["", "", "user", "mcs", "topo"]),
    "--oversubscribe": lambda r: "",
    "--overcommit": lambda r: "",
    "--spread-job": lambda r: "",
    "--use-min-nodes": lambda r: "",
    "--contiguous": lambda r: "",
    "--core-spec": lambda r: "1",
    "--thread-spec": lambda r: "1",
    "--hint": lambda r: r.choice(["nomultithread", "compute_bound", "memory_bound"]),
    "--extra-node-info": lambda r: r.choice(["1:8", "1:1:1", "1"]),
    "--distribution": lambda r: r.choice(["cyclic", "plane=2", "block"]),
    "--tres-per-task": lambda r: r.choice(["cpu:2", "gres/gpu:2", "cpu:4,gres/gpu:1", "gres/gpu:+8", "cpu=+8"]),
    "--time-min": lambda r: r.choice(["1", "60", "170"]),
    "--segment": lambda r: r.choice(["1", "2"]),
}  # fmt: skip
#: Option -> its variable, of the three programs: SALLOC_, SBATCH_ and SLURM_ go before it.
VARIABLES: Final = {
    "--gres": "GRES", "--gpus": "GPUS", "--gpus-per-node": "GPUS_PER_NODE", "--gpus-per-task": "GPUS_PER_TASK",
    "--cpus-per-gpu": "CPUS_PER_GPU", "--exclusive": "EXCLUSIVE", "--overcommit": "OVERCOMMIT",
    "--spread-job": "SPREAD_JOB", "--mem-per-cpu": "MEM_PER_CPU", "--core-spec": "CORE_SPEC",
    "--use-min-nodes": "USE_MIN_NODES", "--mem": "MEM_PER_NODE", "--hint": "HINT",
}  # fmt: skip
_FLAGS: Final = {"--exclusive", "--oversubscribe", "--overcommit", "--spread-job", "--use-min-nodes", "--contiguous"}
_BEFORE: Final = {"salloc": "SALLOC_", "sbatch": "SBATCH_", "srun": "SLURM_"}


def typed(random: Random, queue: str, option: str, by_variable: bool = False) -> Case:
    """One option in any spelling, with up to three others, for a program of Slurm's."""
    program = random.choice(["salloc"] * 4 + ["sbatch", "srun"])
    others = random.sample(sorted(OPTIONS), random.choice([0, 1, 1, 2, 3]))
    if option == "--spread-job" or "--spread-job" in others:
        others = [name for name in others if name != "--gpus"]  # as in raw_fields
    if option == "--gpus":
        others = [name for name in others if name != "--spread-job"]
    if "--ntasks-per-socket" in (option, *others) and option != "--ntasks":
        others.append("--ntasks")
    words, env = [f"-t{_limit(random)}", "-p", queue], {}
    for name in dict.fromkeys([option, *others]):
        value = OPTIONS[name](random)
        if by_variable and name == option:
            env[_BEFORE[program] + VARIABLES[name]] = value or "1"
        else:
            words.append(name if name in _FLAGS and not value else f"{name}={value}")
    kind = f"variable: {option}" if by_variable else f"typed: {option}"
    return Case(kind, program, queue, words=tuple(words), env=env)


#: What is asked of a job that waits.
UPDATES: Final = {
    "tasks": ("num_tasks",),
    "tasks and CPUs": ("num_tasks", "min_cpus"),
    "CPUs of a task": ("cpus_per_task",),
    "GPUs of the job": ("tres_per_job",),
    "GPUs of nodes": ("tres_per_node",),
    "GPUs of tasks": ("tres_per_task", "num_tasks"),
    "GPUs of sockets": ("tres_per_socket", "sockets_per_node"),
    "named nodes": ("req_nodes",),
    "CPUs of a node": ("pn_min_cpus",),
    "most CPUs": ("max_cpus",),
    "sharing": ("shared",),
    "memory": ("pn_min_memory",),
    "anything": (),
}


def updated(random: Random, queue: str, kind: str) -> Case:
    """A small job that waits, here or in another queue, and an update that makes it larger or moves it."""
    first = random.choice([queue, "free"])
    fields = {"time_limit": str(random.choice([1, 5])), "partition": first, "priority": "0", "num_tasks": "1"}
    if first != queue:
        fields |= random.choice([{}, {"shared": "0"}, {"tres_per_node": "gres:gpu:8"}, {"num_tasks": "8"}])
        fields["time_limit"] = "1"
    change = {
        name: value
        for name, value in raw_fields(random, *UPDATES[kind]).items()
        if name not in ("bitflags", "overcommit")
    }
    if first != queue:
        change["partition"] = queue
    return Case(f"update: {kind}", "raw", queue, fields, update=change)


def by_qos(random: Random, several: bool) -> Case:
    """A list of QOS is one from 24.11 on."""
    qos = random.choice(["brief,normal", "normal,brief", "brief,brief", " brief", "brief,", "Brief,normal"] if several
                        else ["brief", "normal", "BRIEF", "brief "])  # fmt: skip
    fields = {"partition": "free", "qos": qos, "time_limit": str(random.choice([30, 60, 90])), "num_tasks": "1"}
    return Case("raw: several QOS" if several else "raw: QOS", "raw", "free", fields)


def kinds() -> list[str]:
    """Every kind of spelling there is."""
    return [
        "plain", "raw: QOS", "raw: several QOS", *(f"raw: {name}" for name in RAW),
        *(f"typed: {name}" for name in OPTIONS), *(f"variable: {name}" for name in VARIABLES),
        *(f"update: {name}" for name in UPDATES),
    ]  # fmt: skip


#: How often a kind comes, by its first word: programs cost more than the raw client.
SHARE: Final = {"plain": 12, "raw": 9, "typed": 2, "variable": 2, "update": 3}


def cases(seed: int, count: int) -> list[Case]:
    """So many requests, each kind in its turn."""
    random = Random(seed)
    turns = [kind for kind in kinds() for _ in range(SHARE[kind.partition(":")[0]])]
    found: list[Case] = []
    while len(found) < count:
        random.shuffle(turns)
        found += [one(random, kind) for kind in turns]
    return found[:count]


def one(random: Random, kind: str) -> Case:
    queue = random.choice(sorted(MOST))
    family, _, name = kind.partition(": ")
    if family == "plain":
        return plain(random, queue)
    if family == "typed":
        return typed(random, queue, name)
    if family == "variable":
        return typed(random, queue, name, by_variable=True)
    if family == "update":
        return updated(random, queue, name)
    if "QOS" in name:
        return by_qos(random, "several" in name)
    return raw(random, queue, name)
