"""Workloads made by hand: columns, facts and names of a Case."""

from __future__ import annotations

from typing import Any

import numpy as np

from adminkit.simulate.case import Case
from adminkit.simulate.core import NONE, Model, Request


def case(
    submit: list[int],
    run: list[int],
    limit: list[int],
    procs: list[int],
    *,
    users: list[int] | None = None,
    model: Model = "fcfs",
    machine: int = 4,
    queues: list[int] | None = None,
    names: tuple[str, ...] = ("gq",),
    **parts: Any,
) -> Case:
    """A workload on a pool of `machine` processors, or on `nodes`; `queues` are masks."""
    many = len(submit)
    columns = {"id": list(range(1, many + 1)), "submit": submit, "run": run, "limit": limit, "procs": procs}
    columns |= {"queues": queues or [1] * many, **parts.pop("columns", {})}
    people = users or [0] * many
    facts = {
        "origin": list(range(many)), "piece": [0] * many, "user": people, "account": people, "class": [0] * many,
        "needs": np.minimum(run, limit).tolist(), "defaulted": [NONE] * many, "follows": [NONE] * many,
    }  # fmt: skip
    if site := parts.pop("site", None):
        parts |= {"queues": site[0], "nodes": site[1]}
    persons = [f"user{one}" for one in range(max(people, default=0) + 1)]
    return Case(
        Request(model, _arrays(columns), parts.pop("settings", {"procs": machine}), **parts),
        _arrays({**facts}),
        {"users": persons, "accounts": persons, "classes": ["cpu"], "queues": list(names)},
    )


def many(jobs: int = 300, seed: int = 1, **parts: Any) -> Case:
    """A busy machine: jobs of ten users, ten minutes to two hours, with limits far above what they need."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.integers(0, 600, jobs)).tolist()
    run = rng.integers(600, 7200, jobs).tolist()
    limit = rng.choice([7200, 14400, 86400], jobs).tolist()
    given = {"users": rng.integers(0, 10, jobs).tolist(), **parts}
    return case(submit, run, limit, rng.integers(1, 4, jobs).tolist(), **given)


def _arrays(columns: dict[str, list[int]]) -> dict[str, Any]:
    return {name: np.array(values, np.int64) for name, values in columns.items()}
