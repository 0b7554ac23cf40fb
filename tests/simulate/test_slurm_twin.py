"""The model `slurm` in C and its twin in Python: the same starts, ends, outcomes, order, promises and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from adminkit.simulate.core import Request, Schedule, simulate
from tests.simulate.slurm_workloads import requests
from tests.simulate.twin_slurm import twin


def differences(program: Schedule, python: Schedule) -> str:
    """One line for each value of a job and each count that differ; empty where none does."""
    lines = []
    more = [name for name in ("promised", "last_limit", "raises") if getattr(python, name) is not None]
    for name in ("start", "end", "outcome", "order", *more):
        pairs = zip(getattr(program, name).tolist(), getattr(python, name).tolist(), strict=True)
        lines += [f"job {i}: {name} {a} in C, {b} in Python" for i, (a, b) in enumerate(pairs) if a != b]
    for name, count in python.facts.items():
        if program.facts.get(name) != count:
            lines.append(f"{name}: {program.facts.get(name)} in C, {count} in Python")
    return "\n".join(lines)


def same(request: Request) -> None:
    """With what backfill promises: none of the promises changes the schedule."""
    request = replace(request, settings={**request.settings, "promises": 1})
    text = differences(simulate(request), twin(request))
    assert not text, f"{text}\n{request}"


@given(requests())
@settings(max_examples=250, derandomize=True)
def test_the_program_and_its_twin_start_the_same_jobs_in_the_same_seconds(request: Request) -> None:
    same(request)


@pytest.mark.soak
@given(requests(jobs=40))
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
def test_thousands_of_workloads(request: Request) -> None:
    same(request)


@pytest.mark.parametrize(
    ("jobs", "given", "why"),
    [
        (
            {"submit": [0], "run": [60], "limit": [120], "plan": [30]},
            {
                "settings": {"bf_max_time": 0},
                "queues": [{"max_limit": 60}],
                "nodes": [{"count": 1}],
                "down": [{"count": 1, "start": 0, "end": 100}, {"count": 1, "start": 0, "end": 1000}],
            },
            "the run is not over before a line ends that found no node left to take",
        ),
        (
            {"submit": [-1234, -1134], "run": [100, 1]},
            {
                "settings": {"complete_wait": 3, "epilog": 10},
                "nodes": [{"count": 2}],
                "down": [{"count": 0, "start": -1234, "end": -1174}],
            },
            "backfill comes in the second in which complete_wait is over",
        ),
        (
            {"submit": [60, 0], "run": [1, 1]},
            {"down": [{"count": 0, "start": -5, "end": 60}]},
            "a pass of backfill with nothing waiting sets when the next one is",
        ),
        (
            {"submit": [150, 0], "run": [1, 1]},
            {
                "settings": {"sched_interval": 2},
                "down": [{"count": 2, "start": 0, "end": 11}, {"count": 2, "start": 1, "end": 100}],
            },
            "so does a full pass",
        ),
        (
            {"submit": [1, 0, 0], "run": [1, 500, 1], "nodes": [1, 2, 2]},
            {"settings": {"bf_window": 60, "bf_resolution": 300}, "nodes": [{"queues": 2}, {"count": 3}]},
            "a pass of backfill whose window is over tests nothing; a later one does",
        ),
        (
            {"submit": [1, 0, 1], "run": [1, 60, 1], "queues": [3, 3, 1], "nodes": [3, 1, 1], "plan": [-1, -1, 300]},
            {
                "settings": {"bf_yield_interval": 1, "test_micros": 1000},
                "queues": [{"max_limit": 60}, {}],
                "nodes": [{"count": 3, "queues": 15}],
            },
            "a job that backfill may not start in a queue takes no time there",
        ),
        (
            {"submit": [0], "run": [60], "limit": [120], "plan": [0]},
            {"settings": {"release": 2411}, "queues": [{"max_limit": 60}]},
            "one that backfill starts with a plan of 0 ends after its start",
        ),
        (
            {"submit": [0, 0, 0], "run": [60, 60, 60], "limit": [-1, -1, 0]},
            {"queues": [{"default_limit": 0}], "settings": {"batch_sched_delay": 0, "sched_min_interval": 0}},
            "so does one with a queue's default limit of 0; one whose own limit is 0 does not run",
        ),
    ],
)
def test_what_once_differed_does_not(jobs: Mapping[str, Sequence[int]], given: Mapping[str, Any], why: str) -> None:
    columns = {name: np.array(values, np.int64) for name, values in jobs.items()}
    site: dict[str, Any] = {"queues": [{}], "nodes": [{}], **given}
    assert not differences(simulate(request := Request("slurm", columns, **site)), twin(request)), why
