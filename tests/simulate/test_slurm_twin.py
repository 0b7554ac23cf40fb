"""The model `slurm` in C and its twin in Python, start by start."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings

from adminkit.simulate.core import Request, Schedule, simulate
from tests.simulate.slurm_workloads import requests
from tests.simulate.twin_slurm import twin

FACTS = os.environ.get("TWIN_FACTS", "").split()


def differences(mine: Schedule, theirs: Schedule) -> str:
    """One line for each job and each count that differ; empty where none does."""
    lines = []
    for name in ("start", "end", "outcome", "order"):
        pairs = zip(getattr(mine, name).tolist(), getattr(theirs, name).tolist(), strict=True)
        lines += [f"job {i}: {name} {a} in C, {b} in Python" for i, (a, b) in enumerate(pairs) if a != b]
    for name, count in theirs.facts.items():
        if name in FACTS and mine.facts.get(name) != count:
            lines.append(f"{name}: {mine.facts.get(name)} in C, {count} in Python")
    return "\n".join(lines)


def same(request: Request) -> None:
    assert not (text := differences(simulate(request), twin(request))), f"{text}\n{request}"


@given(requests())
@settings(max_examples=300, derandomize=True)
def test_the_model_and_its_twin_start_the_same_jobs_in_the_same_seconds(request: Request) -> None:
    same(request)


@pytest.mark.soak
@given(requests(jobs=30))
@settings(max_examples=int(os.environ.get("ADMINKIT_TWIN", "5000")))
def test_thousands_of_workloads(request: Request) -> None:
    same(request)
