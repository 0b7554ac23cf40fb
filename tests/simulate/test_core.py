"""The program and what talks to it: the format, both ways, and what it refuses."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.installed import simulator_path
from adminkit.simulate.core import MODELS, Model, Request, simulate


def request(*jobs: tuple[int, int, int, int], procs: int = 4) -> Request:
    """Jobs of (submit, run, limit, procs) for fcfs."""
    names = ("submit", "run", "limit", "procs")
    columns = np.array(jobs, np.int64).reshape(-1, len(names)).T
    return Request("fcfs", dict(zip(names, columns, strict=True)), {"procs": procs})


@pytest.mark.parametrize(
    ("jobs", "start", "end", "outcome", "why"),
    [
        ([], [], [], [], "no jobs at all"),
        ([(5, 10, 60, 1)], [5], [15], [1], "an empty site"),
        ([(0, 10, 60, 4), (1, 10, 60, 1)], [0, 10], [10, 20], [1, 1], "the site is full"),
        ([(0, 10, 60, 3), (1, 10, 60, 4), (2, 1, 60, 1)], [0, 10, 20], [10, 20, 21], [1, 1, 1], "nobody passes"),
        ([(0, 90, 60, 1)], [0], [60], [2], "it runs to its limit and no longer"),
        ([(0, 90, -1, 1)], [0], [90], [1], "no limit"),
        ([(3, 10, 60, 4), (0, 10, 60, 4)], [10, 0], [20, 10], [1, 1], "by submit, whatever their order"),
        ([(2**53, 10, 60, 4), (-(2**53), 10, 60, 4)], [2**53, -(2**53)], [2**53 + 10, 10 - 2**53], [1, 1], "far"),
        ([(2**53, 2**31 - 1, -1, 4)] * 2, [2**53, 2**53 + 2**31 - 1], [2**53 + 2**31 - 1, 2**53 + 2**32 - 2], [1, 1],
         "and one behind it"),
        ([(0, 0, 60, 1), (0, 5, 60, 9), (0, 5, 60, 1)], [-1, -1, 0], [-1, -1, 5], [0, 0, 1], "no run, too large"),
        ([(0, 5, 0, 4), (0, 5, 60, 4)], [-1, 0], [-1, 5], [0, 1], "it may run for no second"),
    ],
)  # fmt: skip
def test_a_run_gives_each_job_its_start(
    jobs: list[tuple[int, int, int, int]], start: list[int], end: list[int], outcome: list[int], why: str
) -> None:
    said = simulate(request(*jobs))
    assert (said.start.tolist(), said.end.tolist(), said.outcome.tolist()) == (start, end, outcome), why


@pytest.mark.parametrize("model", [model for model in MODELS if model != "slurm"])
def test_no_time_within_bounds_overflows(model: Model) -> None:
    """The sanitizers run this, too."""
    jobs = request(*[(at, 2**31 - 1, 2**31 - 1, 3) for at in (-(2**53), 2**53) for _ in range(3)])
    said = simulate(replace(jobs, model=model))
    assert said.start.tolist() == [at + turn * (2**31 - 1) for at in (-(2**53), 2**53) for turn in range(3)]


def test_order_numbers_the_starts() -> None:
    said = simulate(request((9, 1, 9, 1), (0, 1, 9, 1), (0, 0, 9, 1)))
    assert said.order.tolist() == [1, 0, -1]
    assert said.facts["started"] == 2


HEAD = b"adminkit-simulate 1\nmodel fcfs\nset procs=4\n"
ONE = b"jobs 1\ncolumn submit\ncolumn run\ncolumn procs\ndata\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "line 1 of the input: the input ends before data"),
        (b"adminkit-simulate 2\n", "line 1 of the input: the format is not adminkit-simulate 1"),
        (b"adminkit-simulate 1\nmodel lifo\n", "line 2 of the input: no such model: lifo"),
        (HEAD + b"set bf_intervall=3\n", "line 4 of the input: no such field: bf_intervall"),
        (HEAD + b"set bf_interval=0\n", "line 4 of the input: bf_interval cannot be 0"),
        (HEAD + b"set bf_interval=9999999999999999999\n", "bf_interval cannot be 9999999999999999999"),
        (HEAD + b"set kill_wait=9007199254740993\n", "line 4 of the input: kill_wait cannot be 9007199254740993"),
        (HEAD + b"queue max_limit=9007199254740993\n", "max_limit cannot be 9007199254740993"),
        (HEAD + b"nodes mem=9007199254740993\n", "mem cannot be 9007199254740993"),
        (HEAD + b"down nodes=0 start=-9007199254740993\n", "start cannot be -9007199254740993"),
        (HEAD + b"down nodes=0 end=9223372036854775807\n", "end cannot be 9223372036854775807"),
        (HEAD + b"qos group_jobs=9007199254740993\n", "group_jobs cannot be 9007199254740993"),
        (HEAD + b"set bf_interval\n", "= is missing in bf_interval"),
        (HEAD + b"jobs -1\n", "not a number of jobs, or a second one: -1"),
        (HEAD + b"jobs 1\njobs 1\n", "not a number of jobs, or a second one: 1"),
        (HEAD + b"column run\n", "a column before jobs"),
        (HEAD + b"jobs 1\ncolumn name\n", "no such column: name"),
        (HEAD + b"jobs 1\ncolumn run\ncolumn run\n", "the column run twice"),
        (HEAD + b"data\n", "data before jobs"),
        (HEAD + b"x" * 5000, "longer than 4095 bytes, or without a newline"),
        (HEAD + b"jobs 0\ncolumn submit\ncolumn run\ndata\n", "no column procs"),
        (HEAD + ONE + bytes(23), "the column procs ends too early"),
        (HEAD + ONE + bytes(25), "more bytes than columns"),
        (HEAD + ONE + bytes(8) + b"\xff" * 7 + b"\x7f" + bytes(8), "run of job 0 cannot be 9223372036854775807"),
        (HEAD + ONE + b"\xff" * 7 + b"\x7f" + bytes(16), "submit of job 0 cannot be 9223372036854775807"),
        (HEAD + ONE + bytes(7) + b"\x80" + bytes(16), "submit of job 0 cannot be -9223372036854775808"),
        (HEAD + b"down nodes=0\n" + ONE + bytes(24), "down: no nodes of number 0"),
        (b"adminkit-simulate 1\n" + ONE + bytes(24), "no model"),
        (b"adminkit-simulate 1\nmodel fcfs\n" + ONE + bytes(24), "no procs"),
    ],
)
def test_what_it_cannot_take_is_said_and_nothing_is_written(text: bytes, said: str) -> None:
    done = subprocess.run([simulator_path()], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith("error: line ")
    assert done.stderr.decode().endswith(f"{said}\n")


def test_a_job_can_name_the_last_of_64_queues() -> None:
    """Its mask is the lowest number that there is."""
    queues = [{"tier": number} for number in range(64)]
    jobs = {name: np.full(1, value) for name, value in {"submit": 0, "run": 5, "queues": -(2**63)}.items()}
    assert simulate(Request("slurm", jobs, queues=queues, nodes=[{"queues": -(2**63)}])).outcome.tolist() == [1]


def test_a_refusal_reaches_the_caller() -> None:
    with pytest.raises(AdminkitError, match=r"adminkit-simulate: line .*: no such field: nonsense"):
        simulate(Request("fcfs", {"submit": np.zeros(1)}, {"nonsense": 1}))


def test_progress_ends_with_all_jobs() -> None:
    heard: list[int] = []
    simulate(request((0, 1, 1, 1), (0, 1, 1, 1)), heard.append)
    assert heard[-1] == 2
