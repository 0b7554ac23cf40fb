"""One piece of work in random shapes: held, put back, resized, cut up, moved to another QOS, queue, GPU or account.

`Run` is one run as it was; `rows` are what a trace has of it at some moment; `price` is what it costs by plain
arithmetic, without adminkit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from adminkit.job import Job
from tests.support.builders import job
from tests.support.charges import at

DAY: Final = 86_400
FIRST: Final = at("2026-01-01T00:00")
#: The month -> when it is over.
MONTHS: Final = {
    f"{2026 + month // 12}-{month % 12 + 1:02}": at(f"{2026 + (month + 1) // 12}-{(month + 1) % 12 + 1:02}-01T00:00")
    for month in range(24)
}
#: Weights by QOS, queue, type of GPU; "*" is any other.
WEIGHTS: Final = {
    "qos": {"high": Fraction(2), "low": Fraction(1, 10), "*": Fraction(1)},
    "queue": {"cheap": Fraction(1, 5), "*": Fraction(1)},
    "gpu_type": {"h100": Fraction(5, 2), "old": Fraction(1, 4), "*": Fraction(1)},
}
FORMULAS: Final = {
    "hours": "node_hours",
    "weighted": "(gpu_hours if gpus > 0 else cpu_hours / 20) * weight",
    "estimate": "nodes * weight * (0.7 * max(elapsed, 300) + 0.1 * requested) / 3600",
}
FREE: Final = "NODE_FAIL"


@dataclass(frozen=True)
class Run:
    """One run; `resized`: the one before it is another size of the same. `begin` None: it never begins."""

    user: str
    number: int
    submit: int
    begin: int | None
    end: int
    state: str
    account: str
    qos: str | None
    queue: str
    gpu_type: str
    gpus: int
    nodes: int
    limit: int
    restarts: int = 0
    resized: bool = False
    late: int = 0  # seconds after its end until the trace has it as ended
    array: int | None = None

    def row(self, now: int) -> Job | None:
        """What the trace has of it at `now`."""
        if now < self.submit:
            return None
        given = {
            "submit_time": self.submit, "user": self.user, "account": self.account, "qos": self.qos,
            "queue": self.queue, "gpu_type": self.gpu_type if self.gpus else None, "gpus": self.gpus,
            "nodes": self.nodes, "cpus": 8 * self.nodes, "time_limit": self.limit, "restarts": self.restarts,
            "mem": 1 << 30, "array_job": self.array, "array_task": None if self.array is None else self.number,
        }  # fmt: skip
        if self.begin is None or now < self.begin:
            return job(self.number, elapsed=None, start_time=None, end_time=None, state="PENDING", **given)
        if now < self.end + self.late:
            return job(self.number, elapsed=None, start_time=self.begin, end_time=None, state="RUNNING", **given)
        times = {"start_time": self.begin, "end_time": self.end, "elapsed": self.end - self.begin}
        return job(self.number, state=self.state, **times, **given)


def work(luck: random.Random, user: str, number: int) -> list[Run]:
    """The runs of one piece of work, in one to four jobs, one after the other or side by side."""
    found = list[Run]()
    moment = FIRST + luck.randrange(120 * DAY)
    if luck.random() < 0.3:
        moment = luck.choice([*MONTHS.values()][:5]) - luck.randrange(1, 5000)  # across the end of a month
    array = number if luck.random() < 0.2 else None
    for place in range(luck.choice((1, 1, 2, 4))):
        reused = found and array is None and luck.random() < 0.2
        runs = [*_job(luck, user, number if reused else number + place, moment, array)]
        found += runs
        moment = max(run.end for run in runs) + 3 * DAY if reused or luck.random() < 0.5 else moment
    return found


def _job(luck: random.Random, user: str, number: int, moment: int, array: int | None) -> Iterator[Run]:
    """The runs of one job, from its submission at `moment`."""
    size = luck.choice((1, 1, 2, 8))
    run = Run(
        user, number, moment, None, moment, "COMPLETED", luck.choice("abc"),
        luck.choice(("high", "low", "normal", None)),
        luck.choice(("gq", "cheap")), luck.choice(("h100", "old", "a100")), luck.choice((0, 1, 4)) * size, size,
        luck.choice((3600, 4 * 3600, 5 * DAY)), array=array,
    )  # fmt: skip
    many = luck.choice((1, 1, 2, 3, 6))
    for left in reversed(range(many)):
        begin = run.submit if run.resized else run.submit + luck.choice((0, 60, 3600, 10 * DAY))
        seconds = luck.choice((0, 1, 17, 59, 700, 3600, 40_000, 9 * DAY))
        state = luck.choice(("REQUEUED", "REQUEUED", "PREEMPTED", "NODE_FAIL", "RESIZING"))
        if not left:
            state = luck.choice(("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY"))
        run = replace(run, begin=begin, end=begin + seconds, state=state, late=luck.choice((0, 0, 0, 30 * DAY)))
        yield run
        run = _changed(luck, run)
    if many > 1 and luck.random() < 0.4:  # the last line of the script: scontrol requeuehold
        yield replace(run, begin=None, end=run.submit, state="PENDING", restarts=run.restarts + 1)


def _changed(luck: random.Random, run: Run) -> Run:
    """The next run of the same job: another size while it runs, or put back with whatever may be changed."""
    put_back = {"submit": max(run.end, run.submit + 1), "resized": run.state == "RESIZING"}
    if run.state == "RESIZING":
        nodes = luck.choice((1, run.nodes, run.nodes, 2 * run.nodes))
        return replace(run, nodes=nodes, gpus=run.gpus // run.nodes * nodes, **put_back)
    changes = {
        "account": luck.choice("abc"), "qos": luck.choice(("low", "high", None)), "queue": luck.choice(("gq", "cheap")),
        "gpu_type": luck.choice(("old", "h100")), "gpus": luck.choice((0, 1, 4)), "nodes": luck.choice((1, 2)),
        "limit": luck.choice((60, 3600, 5 * DAY)),
    }  # fmt: skip
    some = {key: value for key, value in changes.items() if luck.random() < 0.4}
    return replace(run, restarts=run.restarts + 1, **put_back, **some)


def price(formula: str, runs: list[Run]) -> dict[str, Fraction]:
    """What these runs of one job cost each account, by hand; of a resized run the dearest limit counts once."""
    found: dict[str, Fraction] = {}
    for at_once in _sizes(runs):
        asked = [(_asked(run, run.limit), _asked(run, _used(run))) for run in at_once]
        most = max((limit for limit, _ in asked), default=Fraction(0))
        extra = min((limit - used for limit, used in asked if limit == most), default=Fraction(0))
        for run in at_once:
            found[run.account] = found.get(run.account, Fraction(0)) + _alone(formula, run)
        if at_once and formula == "estimate":
            found[at_once[0].account] += extra
    return found


def _sizes(runs: list[Run]) -> Iterator[list[Run]]:
    """Runs that are charged, those of one resized run together."""
    some = list[Run]()
    for run in runs:
        if not run.resized:
            yield some
            some = []
        if run.begin is not None and run.end > run.begin and run.state != FREE:
            some.append(run)
    yield some


def _weight(run: Run) -> Fraction:
    words = {"qos": run.qos, "queue": run.queue, "gpu_type": run.gpu_type if run.gpus else None}
    found = Fraction(1)
    for kind, word in words.items():
        if kind != "gpu_type" or run.gpus:
            found *= WEIGHTS[kind].get(word or "*", WEIGHTS[kind]["*"])
    return found


def _used(run: Run) -> int:
    """How much of its limit it ran."""
    return min(run.end - (run.begin or 0), run.limit)


def _asked(run: Run, seconds: int) -> Fraction:
    return run.nodes * _weight(run) * Fraction(seconds, 36_000)


def _alone(formula: str, run: Run) -> Fraction:
    """A run by itself; by `estimate` as if it had asked for what it ran."""
    seconds = run.end - (run.begin or 0)
    if formula == "hours":
        return Fraction(run.nodes * seconds, 3600)
    if formula == "weighted":
        return _weight(run) * (
            Fraction(run.gpus * seconds, 3600) if run.gpus else Fraction(8 * run.nodes * seconds, 72_000)
        )
    return run.nodes * _weight(run) * Fraction(7 * max(seconds, 300), 36_000) + _asked(run, _used(run))
