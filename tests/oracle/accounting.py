"""Accounting of which the truth is known: what jobs did, and the text in which a Slurm would tell it.

A Run carries what a report may say of it. What its text withholds is None there: a report has to call it unknown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

GIB: Final = 1 << 30
HOUR: Final = 3600
#: 2026-01-05T00:00:00Z, a Monday.
BEGIN: Final = 1_767_571_200
CLUSTER: Final = "oak"

COLUMNS: Final = (
    "JobID", "JobIDRaw", "Cluster", "User", "UID", "Account", "Partition", "QOS", "Submit", "Eligible", "Start", "End",
    "ElapsedRaw", "State", "TimelimitRaw", "NNodes", "NCPUS", "ReqMem", "AllocTRES", "TotalCPU", "MaxRSS", "NTasks",
    "TRESUsageInTot", "ConsumedEnergyRaw", "NodeList", "JobName",
)  # fmt: skip
#: Those without which the text is that of an older collector.
OPTIONAL: Final = ("Eligible", "QOS", "NodeList")

#: AllocTRES of GPUs -> GPUs in whole ones, None where the text does not tell, and their kind.
GPUS: Final[tuple[tuple[str, float | None, str], ...]] = (
    ("", 0, ""),
    ("gres/gpu=1", 1, "whole"),
    ("gres/gpu:a100=4,gres/gpu=4", 4, "whole"),
    ("gres/gpu:v100=2,gres/gpu:k80=1,gres/gpu=3", 3, "whole"),
    ("gres/gpu:a100_3g.20gb=1,gres/gpu=1", 3 / 7, "slice"),
    ("gres/gpu:a100_1g.5gb=2,gres/gpu=2", 2 / 7, "slice"),
    ("gres/gpu:h100=1,gres/gpu:h100_2g.20gb=2,gres/gpu=3", 1 + 4 / 7, "mixed"),
    ("gres/mps=50", 0.5, "mps"),
    ("gres/shard=4", None, "shard"),  # four of how many a GPU has
)


@dataclass(frozen=True, slots=True)
class Step:
    """A step's row. `text` has the columns that say something of it."""

    name: str
    text: dict[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """One row of a job. Times in epoch seconds, memory in bytes, energy in joules; None: the text does not tell."""

    job: int
    submit: int
    state: str
    user: str = "ada"
    queue: str = "gq"
    eligible: int | None = None
    start: int | None = None
    end: int | None = None
    elapsed: int | None = None
    limit: int = 4 * HOUR
    nodes: int = 1
    cpus: int = 8
    gpu_words: str = ""
    gpus: float | None = 0
    gpu_kind: str = ""
    mem: int = 32 * GIB
    tasks: int = 1  # of an array, in one row while they wait
    brackets: str = ""
    steps: tuple[Step, ...] = ()
    mem_used: int | None = None
    cpu_seconds: int | None = None
    joules: int | None = None
    continued: bool = False  # the next row of this job goes on with it
    continues: bool = False
    nonsense: bool = False  # its run time contradicts itself, and no sum may have it
    cluster: str = CLUSTER
    extra: dict[str, str] = field(default_factory=dict)  # what the text says instead

    @property
    def ended(self) -> bool:
        return self.state not in ("PENDING", "RUNNING", "REVOKED")

    @property
    def ran(self) -> int | None:
        """Seconds that count."""
        return None if self.nonsense else self.elapsed


def any_accounting(seed: int) -> tuple[list[Run], str]:
    """Some days of a small cluster, and the text of a collector of it. The runs know no more than the text does."""
    rng = random.Random(seed)
    runs: list[Run] = []
    for number in range(1, 61):
        (kind,) = rng.choices(tuple(_KINDS), tuple(_KINDS.values()))
        runs += kind(100 * number, rng)
    left_out = {name for name in OPTIONAL if rng.random() < 0.2}
    if "Eligible" in left_out:
        runs = [replace(run, eligible=run.submit) for run in runs]  # as far as anybody can tell
    return runs, told(runs, left_out, rng)


def told(runs: Sequence[Run], left_out: set[str], rng: random.Random) -> str:
    """The rows as text. A second part, if there is one, has a header of its own with another order."""
    lines: list[str] = []
    cut = rng.randrange(1, len(runs)) if rng.random() < 0.5 else len(runs)
    for some in filter(None, (runs[:cut], runs[cut:])):
        columns = [name for name in COLUMNS if name not in left_out]
        rng.shuffle(columns)
        form = rng.choice((str, _zulu, _offset))
        rows = (row for run in some for row in _rows(run, form))
        lines += ["|".join(columns), *("|".join(row.get(name, "") for name in columns) for row in rows)]
    return "\n".join(lines) + "\n"


def _zulu(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _offset(at: int) -> str:
    return datetime.fromtimestamp(at, timezone(timedelta(hours=9))).strftime("%Y-%m-%dT%H:%M:%S+0900")


def _rows(run: Run, form: Callable[[int], str]) -> Iterator[dict[str, str]]:
    """The job's row, then those of its steps."""

    def time(at: int | None) -> str:
        return "Unknown" if at is None else form(at)

    tres = f"cpu={run.cpus},mem={run.mem >> 20}M,node={run.nodes}" + (f",{run.gpu_words}" if run.gpu_words else "")
    started = run.start is not None
    row = {
        "JobID": f"{run.job}{run.brackets}", "JobIDRaw": str(run.job), "Cluster": run.cluster, "User": run.user,
        "UID": "1001", "Account": "acc", "Partition": run.queue, "QOS": "normal", "Submit": time(run.submit),
        "Eligible": time(run.eligible), "Start": time(run.start), "End": time(run.end),
        "ElapsedRaw": str(run.elapsed or 0), "State": run.state, "TimelimitRaw": str(run.limit // 60),
        "NNodes": str(run.nodes), "NCPUS": str(run.cpus), "ReqMem": f"{run.mem >> 20}M",
        "AllocTRES": tres if started else "", "NodeList": f"n{run.job}" if started else "None assigned",
        "JobName": f"job{run.job}", **run.extra,
    }  # fmt: skip
    if run.cpu_seconds is not None:
        row["TotalCPU"] = _clock(run.cpu_seconds)
    yield row
    for step in run.steps:
        yield {
            **{name: row[name] for name in ("Cluster", "Submit", "Start", "End", "ElapsedRaw", "NNodes", "NCPUS")},
            "JobID": f"{row['JobID']}.{step.name}", "JobIDRaw": f"{run.job}.{step.name}", "State": "COMPLETED",
            "AllocTRES": tres.replace(f"node={run.nodes}", f"node={step.text.get('NNodes', run.nodes)}"),
            "JobName": step.name, **step.text,
        }  # fmt: skip


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _shape(rng: random.Random) -> dict[str, Any]:
    """What a job got: nodes, CPUs, GPUs."""
    words, gpus, kind = rng.choice(GPUS)
    nodes = rng.choice((1, 1, 1, 2)) if kind in ("", "whole") else 1
    return {
        "nodes": nodes, "cpus": 8 * nodes, "gpu_words": words, "gpus": gpus, "gpu_kind": kind,
        "user": rng.choice(("ada", "bob", "eve")), "queue": rng.choice(("gq", "cq")),
        "limit": 60 * rng.choice((60, 240, 4320)),
    }  # fmt: skip


def _ran(job: int, rng: random.Random, state: str, submit: int, shape: dict[str, Any]) -> Run:
    """One piece: it waited, ran, ended."""
    eligible = submit + rng.choice((0, 0, 121))
    start = eligible + rng.randrange(1, 20_000)
    elapsed = shape["limit"] if state == "TIMEOUT" else rng.randrange(1, shape["limit"])
    return Run(
        job,
        submit,
        state,
        eligible=eligible,
        start=start,
        end=start + elapsed,
        elapsed=elapsed,
        continued=False,
        **shape,
    )


def _plain(job: int, rng: random.Random) -> Iterator[Run]:
    state = rng.choice(
        ("COMPLETED", "COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY", "CANCELLED by 1001")
    )
    yield _measured(_ran(job, rng, state, _moment(rng), _shape(rng)), rng)


def _moment(rng: random.Random) -> int:
    return BEGIN + rng.randrange(20 * 86_400)


def _measured(run: Run, rng: random.Random) -> Run:
    """The run with steps that say in some way or other what it used."""
    assert run.elapsed is not None
    cpu_seconds = rng.randrange(1, run.elapsed * run.cpus + 1) if rng.random() < 0.8 else None
    peak = rng.randrange(GIB, 2 * GIB) >> 10 << 10  # of one task, whole KiB
    how = rng.choice(("batch", "total", "one task", "not told"))
    used, batch, zero = _memory(how, peak)
    if run.nodes > 1 and how != "total":
        used = None  # a step on one node says nothing of the others
    joules = rng.choice((None, run.elapsed * 300))
    if joules is not None:
        for text in (batch, zero) if zero else (batch,):  # each of them shows the node
            text["ConsumedEnergyRaw"] = str(joules)
    steps = (Step("batch", batch), Step("extern", {"ConsumedEnergyRaw": batch.get("ConsumedEnergyRaw", "")}))
    return replace(
        run, steps=(*steps, Step("0", zero)) if zero else steps, mem_used=used, cpu_seconds=cpu_seconds, joules=joules
    )


def _memory(how: str, peak: int) -> tuple[int | None, dict[str, str], dict[str, str]]:
    """Bytes that the run used, and what the batch step and step 0 say of it."""
    little = 20 << 20
    one = {"NTasks": "1", "NNodes": "1"}
    small = {"MaxRSS": f"{little >> 10}K", **one}
    told = f"{peak >> 10}K"
    if how == "batch":
        return peak, {"MaxRSS": told, **one}, {}
    if how == "one task":
        return peak + little, small, {"MaxRSS": told, **one}
    if how == "total":
        total = {"MaxRSS": told, "NTasks": "8", "TRESUsageInTot": f"cpu=00:00:00,energy=0,mem={8 * peak >> 10}K"}
        return 8 * peak + little, small, total
    return None, small, {"MaxRSS": told, "NTasks": "8"}  # the highest of eight: their sum is not told


def _chain(job: int, rng: random.Random) -> Iterator[Run]:
    """A job that was put back once or twice: by preemption, a failed node, an operator."""
    shape, submit = _shape(rng), _moment(rng)
    pieces = rng.randrange(1, 3)
    for nth in range(pieces):
        run = _ran(job, rng, rng.choice(("PREEMPTED", "NODE_FAIL", "REQUEUED")), submit, shape)
        yield replace(run, continued=True, continues=nth > 0)
        assert run.end is not None
        submit = run.end
    yield replace(_ran(job, rng, rng.choice(("COMPLETED", "TIMEOUT", "FAILED")), submit, shape), continues=True)


def _cut_short(job: int, rng: random.Random) -> Iterator[Run]:
    """Preempted or lost with its node, and not put back."""
    yield _ran(job, rng, rng.choice(("PREEMPTED", "NODE_FAIL")), _moment(rng), _shape(rng))


def _waiting(job: int, rng: random.Random) -> Iterator[Run]:
    """An array that waits in one row."""
    brackets, tasks = rng.choice(
        (("_[0-9]", 10), ("_[3,5,7-9]", 5), ("_[1-800%50]", 800), ("_[0-9:3%1]", 4), ("_[60-89,91-94,96-98]", 37))
    )
    submit = _moment(rng)
    yield Run(job, submit, "PENDING", eligible=submit, tasks=tasks, brackets=brackets, gpus=None)


def _sibling(job: int, rng: random.Random) -> Iterator[Run]:
    """A job of a federation, and the sibling that another cluster revoked when it started."""
    run = _ran(job, rng, "COMPLETED", _moment(rng), _shape(rng))
    yield run
    yield replace(run, state="REVOKED", cluster="elm", end=run.start, elapsed=0)


def _contradiction(job: int, rng: random.Random) -> Iterator[Run]:
    """Thirty years of run time between a start and an end of some hours."""
    run = _ran(job, rng, "COMPLETED", _moment(rng), _shape(rng))
    yield replace(run, nonsense=True, extra={"ElapsedRaw": "1000000000"})


_KINDS: Final[dict[Callable[[int, random.Random], Iterator[Run]], int]] = {
    _plain: 10, _chain: 3, _cut_short: 1, _waiting: 1, _sibling: 1, _contradiction: 1,
}  # fmt: skip
