"""A request in sbatch's words and units: -t 90 is minutes, --mem 4G, --gpus 2 or a100:2."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from typing import Final

from adminkit.errors import UsageError
from adminkit.quote import quote

#: sbatch's forms of a time limit.
_TIME: Final = re.compile(
    r"(?:(?P<days>\d{1,5})-)?(?P<first>\d{1,8})(?::(?P<second>\d{1,2}))?(?::(?P<third>\d{1,2}))?", re.ASCII
)
_MEMORY: Final = re.compile(r"(\d{1,9})([KMGT]?)B?", re.ASCII | re.IGNORECASE)
_GPUS: Final = re.compile(r"(?:([A-Za-z0-9][A-Za-z0-9_.-]{0,63}):)?(\d{1,5})", re.ASCII)
_SHARE: Final = re.compile(
    r"((?:shard|mps)(?::[A-Za-z0-9_.+-]{0,63}[A-Za-z_.+-][A-Za-z0-9_.+-]{0,63})?):(\d{1,6})", re.ASCII
)
#: Names of queues, accounts, QOS: what Slurm takes, and no control character, comma or blank.
_NAME: Final = re.compile(r"[A-Za-z0-9_.@+-]{1,100}", re.ASCII)
#: What --constraint and --licenses take. What it means is read elsewhere.
_FEATURES: Final = re.compile(r"[A-Za-z0-9_.=&|*()\[\]-]{1,300}", re.ASCII)
_LICENCES: Final = re.compile(r"[A-Za-z0-9_.@:,;|+-]{1,300}", re.ASCII)
#: What is more than any node has.
_MOST_CPUS: Final = 1_000_000
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of each node, and of how many. None: not asked for, so the queue's or Slurm's default counts.

    `cpus` are those of a task, `mem` and `gpus` those of a node. `time_limit` in seconds, whole minutes; `mem` and
    `mem_cpu` (a CPU) in bytes, whole MiB, 0 for all of the node's. `nodes` None: as many as `ntasks` need. `ntasks`
    are those of all nodes, None for one a node. `per_node`: tasks of each node, None where nodes may differ.
    """

    queue: str | None = None
    cpus: int = 1
    mem: int | None = None
    gpus: int = 0
    gpu_type: str | None = None
    time_limit: int | None = None
    account: str | None = None
    qos: str | None = None
    nodes: int | None = 1
    ntasks: int | None = None
    per_node: int | None = 1
    mem_cpu: int | None = None
    exclusive: bool = False
    features: str | None = None
    licences: str | None = None
    share: str | None = None  # shard, shard:TYPE, mps, mps:TYPE
    shares: int = 0  # of each node, of one GPU of it

    @property
    def tasks(self) -> int:
        """The tasks on all nodes together."""
        return self.ntasks if self.ntasks is not None else (self.nodes or 1) * (self.per_node or 1)

    def words(self) -> list[str]:
        """The options of sbatch; each is one word, so that no value can be taken for another option."""
        found = [] if self.nodes is None else [f"--nodes={self.nodes}"]
        found.append(f"--ntasks={self.tasks}")
        if self.per_node is not None and self.tasks != self.nodes:
            found.append(f"--ntasks-per-node={self.per_node}")
        found.append(f"--cpus-per-task={self.cpus}")
        if self.queue is not None:
            found.append(f"--partition={self.queue}")
        if self.mem is not None:
            found.append(f"--mem={self.mem // _MIB}M")
        if self.mem_cpu is not None:
            found.append(f"--mem-per-cpu={self.mem_cpu // _MIB}M")
        if self.gpus:
            found.append(f"--{'gpus' if self.nodes == 1 else 'gpus-per-node'}={self.gpu_words}")
        if self.shares:
            found.append(f"--gres={self.share}:{self.shares}")
        if self.time_limit is not None:
            found.append(f"--time={self.time_limit // 60}")
        if self.account is not None:
            found.append(f"--account={self.account}")
        if self.qos is not None:
            found.append(f"--qos={self.qos}")
        found += ["--exclusive"] if self.exclusive else []
        found += [f"--constraint={self.features}"] if self.features is not None else []
        found += [f"--licenses={self.licences}"] if self.licences is not None else []
        return found

    @property
    def gpu_words(self) -> str:
        return f"{self.gpu_type}:{self.gpus}" if self.gpu_type else str(self.gpus)

    def line(self) -> str:
        """The request as it is typed behind `adminkit fit` or sbatch."""
        parts = [f"-p {self.queue}"] if self.queue else []
        parts += [f"-N {self.nodes}"] if self.nodes not in (None, 1) else []
        if self.per_node is None:
            parts.append(f"-n {self.tasks}")
        elif self.per_node != 1:
            parts.append(f"--ntasks-per-node {self.per_node}")
        if self.gpus:
            parts.append(f"--{'gpus' if self.nodes == 1 else 'gpus-per-node'} {self.gpu_words}")
        parts += [f"--gres {self.share}:{self.shares}"] if self.shares else []
        parts.append(f"-c {self.cpus}")
        if self.mem is not None:
            parts.append(f"--mem {show_mem(self.mem)}")
        if self.mem_cpu is not None:
            parts.append(f"--mem-per-cpu {show_mem(self.mem_cpu)}")
        if self.time_limit is not None:
            parts.append(f"-t {self.time_limit // 60}")
        parts += [f"-A {self.account}"] if self.account else []
        parts += [f"-q {self.qos}"] if self.qos else []
        parts += ["--exclusive"] if self.exclusive else []
        parts += [f"-C {shlex.quote(self.features)}"] if self.features else []
        parts += [f"-L {self.licences}"] if self.licences else []
        return " ".join(parts)


def request(
    queue: str | None = None,
    cpus: int = 1,
    mem: str | None = None,
    gpus: str | None = None,
    time: str | None = None,
    account: str | None = None,
    qos: str | None = None,
    *,
    nodes: str | None = None,
    ntasks: int | None = None,
    ntasks_per_node: int | None = None,
    gpus_per_node: str | None = None,
    mem_per_cpu: str | None = None,
    exclusive: bool = False,
    features: str | None = None,
    licences: str | None = None,
    gres: str | None = None,
) -> Request:
    """Make a request; on one node where neither nodes nor tasks are named. UsageError for what sbatch would not
    take, and for what is not judged here."""
    if not 1 <= cpus <= _MOST_CPUS:
        raise UsageError(f"not a number of CPUs: {cpus}", "write 1 or more")
    if mem is not None and mem_per_cpu is not None:
        raise UsageError("--mem and --mem-per-cpu cannot be combined", "write one of them")
    many, tasks, each = _layout(nodes, ntasks, ntasks_per_node)
    if gpus is not None and (gpus_per_node is not None or many != 1):
        raise UsageError(
            "with --gpus for several nodes, Slurm chooses how many GPUs each node gets: adminkit cannot judge that",
            "write --gpus-per-node",
        )
    share, shares = parse_share(gres)
    if shares and (gpus is not None or gpus_per_node is not None):
        raise UsageError(
            "the job asks for whole GPUs and for parts of GPUs", "write --gpus, or --gres with shards or MPS"
        )
    kind, number = parse_gpus(gpus if gpus_per_node is None else gpus_per_node)
    return Request(
        queue=_name("queue", queue),
        cpus=cpus,
        mem=None if mem is None else parse_mem(mem),
        gpus=number,
        gpu_type=kind,
        time_limit=None if time is None else parse_time(time),
        account=_name("account", account),
        qos=_name("QOS", qos),
        nodes=many,
        ntasks=tasks,
        per_node=each,
        mem_cpu=None if mem_per_cpu is None else parse_mem(mem_per_cpu),
        exclusive=exclusive,
        features=_word("--constraint", _FEATURES, features),
        licences=_word("--licenses", _LICENCES, licences),
        share=share,
        shares=shares,
    )


def _layout(nodes: str | None, ntasks: int | None, per_node: int | None) -> tuple[int | None, int | None, int | None]:
    """Nodes, tasks in all, tasks of each node, as in Request."""
    if nodes is not None and not re.fullmatch(r"[1-9][0-9]{0,5}", nodes.strip(), re.ASCII):
        raise UsageError(
            f"not a number of nodes: {quote(nodes)}", "write one number; adminkit cannot judge a range of nodes"
        )
    for word in (ntasks, per_node):
        if word is not None and not 1 <= word <= _MOST_CPUS:
            raise UsageError(f"not a number of tasks: {word}", "write 1 or more")
    many = None if nodes is None else int(nodes)
    if ntasks is None:
        return many or 1, None, per_node or 1
    if per_node is not None and (many is None or ntasks != many * per_node):
        raise UsageError(
            "adminkit cannot judge -n together with --ntasks-per-node",
            "write -N with one of them; with both, -n is their product",
        )
    if many is not None and ntasks < many:
        raise UsageError(f"{ntasks} tasks are too few for {many} nodes", "ask for at least one task per node")
    if many is not None and (per_node is not None or ntasks == many or many == 1):
        return many, None, per_node or ntasks // many
    return (1, None, 1) if ntasks == 1 else (many, ntasks, None)


def parse_time(text: str) -> int:
    """90 (minutes), 90:00, 1:30:00, 1-12, 1-12:30, 1-12:30:00 -> seconds, up to the whole minute, as sbatch does."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"not a time limit: {quote(text)}", "write minutes (90), 1:30:00 or 1-12:00:00, as for sbatch")
    first, second, third = (None if match[name] is None else int(match[name]) for name in ("first", "second", "third"))
    assert first is not None
    if match["days"] is not None:
        seconds = int(match["days"]) * 86_400 + first * 3600 + (second or 0) * 60 + (third or 0)
    elif second is None:
        seconds = first * 60
    elif third is None:
        seconds = first * 60 + second
    else:
        seconds = first * 3600 + second * 60 + third
    if seconds == 0:
        raise UsageError("the time limit is 0", "sbatch reads 0 as unlimited; leave out -t for the queue's own")
    return math.ceil(seconds / 60) * 60


def parse_mem(text: str) -> int:
    """4G, 500 (MiB), 1T, 2048K -> bytes, up to the whole MiB; 0: all of the node's."""
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"not an amount of memory: {quote(text)}", "write 4G, 500M or 500 (MiB), as for sbatch")
    size = int(match[1]) * (1 << 10 * (1 + "KMGT".index(match[2].upper() or "M")))
    return math.ceil(size / _MIB) * _MIB


def parse_gpus(text: str | None) -> tuple[str | None, int]:
    """2 or a100:2 -> type, number."""
    if text is None:
        return None, 0
    match = _GPUS.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"not a number of GPUs: {quote(text)}", "write 2, or TYPE:2, as for sbatch")
    return match[1], int(match[2])


def parse_share(text: str | None) -> tuple[str | None, int]:
    """shard:2, shard:a100:2, mps:50 -> shard, shard:a100 or mps, and the number."""
    if text is None:
        return None, 0
    match = _SHARE.fullmatch(text.strip())
    if match is None or int(match[2]) == 0:
        raise UsageError(
            f"cannot read --gres {quote(text)}",
            "write shard:2, shard:TYPE:2 or mps:50; whole GPUs are --gpus or --gpus-per-node",
        )
    return match[1], int(match[2])


def show_mem(size: int) -> str:
    """Bytes as sbatch takes them: 4G, 500M."""
    mib = size // _MIB
    return f"{mib // 1024}G" if mib and mib % 1024 == 0 else f"{mib}M"


def _word(option: str, pattern: re.Pattern[str], text: str | None) -> str | None:
    if text is not None and not pattern.fullmatch(text):
        raise UsageError(f"cannot read {option} {quote(text)}", "write it as for sbatch")
    return text


def _name(kind: str, text: str | None) -> str | None:
    if text is not None and not _NAME.fullmatch(text):
        raise UsageError(f"no such {kind}: {quote(text)}", f"name one {kind}, as Slurm lists it")
    return text
