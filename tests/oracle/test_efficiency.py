"""`report efficiency`, computed once more from its page."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.config import Config
from adminkit.job import Job, Step
from adminkit.reports import efficiency
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job
from tests.support.uses import GIB, make_used, step_of

JOBS = """SELECT {part} AS part, cluster || '/' || job_id_raw || '/' || submit_time AS id, elapsed, cpu_time,
    coalesce(cpus, req_cpus) AS cpus, coalesce(mem, req_mem) AS mem, coalesce(nodes, req_nodes) AS nodes,
    coalesce(gpus, req_gpus) AS gpus, source
FROM job WHERE state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60 AND elapsed < 2147483647"""
STEPS = """SELECT cluster || '/' || job_id_raw || '/' || submit_time AS id, source, start_time, end_time, elapsed,
    nullif(mem_used, 0) AS total, nullif(max_rss, 0) AS peak, tasks, nodes, step, gpus_used FROM step"""


def of_all_tasks(step: dict[str, Any]) -> int | None:
    return step["total"] or (step["peak"] if step["tasks"] == 1 else None)


def peak(steps: list[dict[str, Any]], nodes: int | None) -> int | None:
    """The most at any of the moments at which a step starts; unknown as "Memory" of the page says."""
    steps = [{**one, "mem": of_all_tasks(one)} for one in steps]
    own = [one for one in steps if one["step"] != "extern"]
    on = sum(one["nodes"] or 0 for one in own) if nodes is not None and nodes > 1 else len(own)
    if not own or any(one["mem"] is None for one in own) or on < (nodes or 1):
        return None
    lasting = [
        (
            -np.inf if one["start_time"] is None else one["start_time"],
            np.inf if None in (one["start_time"], one["end_time"]) else max(one["end_time"], one["start_time"] + 1),
            one["mem"],
        )
        for one in steps
        if one["mem"] is not None
    ]
    return max((sum(mem for a, b, mem in lasting if a <= at < b) for at, _, _ in lasting), default=None)


def recomputed(path: Path, part: str) -> dict[Any, dict[str, Any]]:
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        jobs = [dict(row) for row in db.execute(JOBS.format(part=part))]
        steps = defaultdict(list)
        for row in db.execute(STEPS):
            steps[row["id"], row["source"]].append(dict(row))
    shares: dict[Any, dict[str, list[tuple[float, float]]]] = {}
    counts: dict[Any, int] = defaultdict(int)
    for one in jobs:
        counts[one["part"]] += 1
        found = shares.setdefault(one["part"], {"cpu": [], "mem": [], "gpu": []})
        own = steps[one["id"], one["source"]]
        if one["cpu_time"] is not None and one["cpus"]:
            weight = one["elapsed"] * one["cpus"]
            found["cpu"].append((one["cpu_time"] / weight, weight))
        if one["mem"] and (most := peak(own, one["nodes"])) is not None:
            found["mem"].append((most / one["mem"], one["elapsed"] * one["mem"]))
        busy = [step["gpus_used"] * (step["elapsed"] or 0) for step in own if step["gpus_used"] is not None]
        if one["gpus"] and busy:
            weight = one["elapsed"] * one["gpus"]
            found["gpu"].append((sum(busy) / weight, weight))
    told = {}
    for value, found in shares.items():
        told[value] = row = {"jobs": counts[value]}
        for name, pairs in found.items():
            share, weight = np.array(pairs).reshape(-1, 2).T
            row |= {f"{name}_jobs": len(share), name: None, f"{name}_median": None}
            if len(share):
                row |= {name: np.average(share, weights=weight), f"{name}_median": np.median(share)}
            if name != "mem":
                row[f"{name}_hours_unused"] = ((1 - share) * weight).sum() / 3600 if len(share) else None
            if name == "gpu":
                row["gpu_idle"] = (share < 0.01).sum() if len(share) else None
                row["gpu_hours_idle"] = weight[share < 0.01].sum() / 3600 if len(share) else None
    return told


def assert_agree(path: Path, part: str) -> None:
    query = Query(Filter(checkpoint_code=85), 0, str(path), Config(), part)
    with reader(path) as db:
        report = efficiency.SPEC.view(efficiency.SPEC.measure(db, query), query)
    wanted = recomputed(path, part)
    rows = {row[part]: row for row in report.records()[:-1]}
    assert set(rows) == set(wanted)
    for value, columns in wanted.items():
        for name, one in columns.items():
            assert rows[value][name] == (None if one is None else pytest.approx(one, rel=1e-9, abs=1e-6)), (value, name)


@pytest.mark.parametrize(
    ("name", "part"),
    [("lookalike", "queue"), ("lookalike", "user"), ("pozidriv", "queue"), ("kth", "user"),
     pytest.param("ricc", "user", marks=pytest.mark.soak)],
)  # fmt: skip
def test_the_page_alone_gives_the_same_numbers(traces: Callable[[str], Path], name: str, part: str) -> None:
    assert_agree(traces(name), part)


def test_so_it_does_where_anything_is_unknown(tmp_path: Path) -> None:
    rng = random.Random(18)
    jobs: list[Job] = []
    steps: list[Step] = []
    for number in range(1, 1001):
        one = job(
            number, queue=rng.choice(("gq", "cpu", None)), elapsed=rng.choice((None, 0, 61, 5000, 2**31)),
            state=rng.choice(("COMPLETED", "TIMEOUT", "FAILED")), cpu_time=rng.choice((None, 0.0, 700.0, 1e6)),
            cpus=rng.choice((None, 0, 4)), req_cpus=rng.choice((None, 8)), mem=rng.choice((None, 0, 8 * GIB)),
            req_mem=rng.choice((None, GIB)), nodes=rng.choice((None, 1, 1, 3)),
            gpus=rng.choice((None, 0, 1, 8)), req_gpus=rng.choice((None, 2)),
        )  # fmt: skip
        jobs.append(one)
        for nth in range(rng.randint(0, 4)):
            start = rng.choice((None, MONDAY + rng.randint(0, HOUR)))
            steps.append(step_of(
                one, rng.choice(("extern", "batch", "0")) if nth == 0 else str(nth), nodes=rng.choice((None, 1, 2, 3)),
                tasks=rng.choice((1, 1, 1, 4, None)), start_time=start,
                end_time=None if start is None or rng.random() < 0.2 else start + rng.randint(0, HOUR),
                elapsed=rng.choice((None, 0, 300)), mem_used=rng.choice((None, 0, GIB, GIB, 3 * GIB)),
                max_rss=rng.choice((None, GIB, GIB)), gpus_used=rng.choice((None, 0.0, 0.5, 2.0)),
            ))  # fmt: skip
    assert_agree(make_used(tmp_path / "t.db", jobs, steps), "queue")
