"""Every number in a report is right by the truth behind its accounting, or is said to be unknown."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from adminkit.cli.main import main
from tests.oracle.accounting import CLUSTER, Run, any_accounting

Row = Mapping[str, Any]
#: Every run that ended after some run time, whatever its end.
EVERY = ("--states", "all", "--min-elapsed", "0")
STUDY = ("COMPLETED", "TIMEOUT")
ENDS = {
    "success": "COMPLETED", "timeout": "TIMEOUT", "failed": "FAILED", "node_failure": "NODE_FAIL",
    "out_of_memory": "OUT_OF_MEMORY", "preempted": "PREEMPTED", "requeued": "REQUEUED",
    "cancelled_by_user": "CANCELLED by 1001",
}  # fmt: skip


def hours(runs: Iterable[Run], size: Callable[[Run], float | None], *, of_all_unknown: float | None = None) -> Any:
    """Sum of run time times size; runs of unknown size add nothing, and where no size is known nothing is."""
    ran = [run for run in runs if run.ran]
    known = [(run.ran or 0) * one for run in ran if (one := size(run)) is not None]
    return sum(known) / 3600 if known or not ran else of_all_unknown


def gpus(run: Run) -> float | None:
    return run.gpus


def cpus(run: Run) -> float | None:
    return run.cpus


def states(runs: list[Run]) -> Row:
    missed = [run for run in runs if run.state != "COMPLETED"]
    known = {
        "jobs": len(runs),
        **{end: sum(run.state == state for run in runs) for end, state in ENDS.items()},
        "success_share": sum(run.state == "COMPLETED" for run in runs) / len(runs),
        "normal": sum(run.state == "COMPLETED" and (run.ran or 0) > 60 for run in runs),
        "out_of_time": sum(run.state == "TIMEOUT" and (run.ran or 0) > 60 for run in runs),
    }
    for name, size in (("gpu_hours", gpus), ("cpu_hours", cpus)):
        known[name] = hours(runs, size)
        known[f"{name}_unsuccessful"] = hours(missed, size, of_all_unknown=0.0) if known[name] is not None else None
    return known


def wait(runs: list[Run]) -> Row:
    waits = [run.start - run.eligible for run in runs if run.start is not None and run.eligible is not None]
    return {
        "jobs": len(waits),
        "median": round(median(waits)),
        "max": max(waits),
        "mean": round(sum(waits) / len(waits)),
    }


def efficiency(runs: list[Run]) -> Row:
    def share(used: Callable[[Run], float | None], of: Callable[[Run], int], where: list[Run]) -> float | None:
        told = [run for run in where if run.ran and used(run) is not None]
        weight = sum((run.ran or 0) * of(run) for run in told)
        return sum((used(run) or 0) * (run.ran or 0) for run in told) / weight if weight else None

    return {
        "jobs": len(runs),
        "cpu_jobs": sum(run.cpu_seconds is not None for run in runs if run.ran),
        "cpu": share(lambda run: run.cpu_seconds and run.cpu_seconds / (run.ran or 1), lambda run: run.cpus, runs),
        "mem_jobs": sum(run.mem_used is not None for run in runs if run.ran),
        "mem": share(lambda run: run.mem_used, lambda run: run.mem, runs),
    }


def energy(runs: list[Run]) -> Row:
    told = [run.joules for run in runs if run.joules]
    return {"jobs": len(runs), "measured": len(told), "energy_joules": sum(told) if told else None}


def restarts(runs: list[Run]) -> Row:
    pieces = [run for run in runs if run.continued or run.continues]
    put_back = [run for run in pieces if run.continued]
    jobs = {run.job for run in pieces}
    waited = sum(run.start - run.submit for run in pieces if run.continues and run.start is not None)
    return {
        "jobs": len(jobs), "restarted": len(jobs), "runs": len(pieces),
        "ran_hours": sum(run.elapsed or 0 for run in pieces) / 3600, "wait_hours": waited / 3600,
        "unsaved_hours": sum(run.elapsed or 0 for run in put_back) / 3600,
    }  # fmt: skip


def accuracy(runs: list[Run]) -> Row:
    shares = [(run.ran or 0) / run.limit for run in runs]
    return {
        "jobs": len(shares), "mean": sum(shares) / len(shares), "min": min(shares), "max": max(shares),
        "median": median(shares), "used_fraction": sum(run.ran or 0 for run in runs) / sum(run.limit for run in runs),
        "over_limit": sum(share > 1 for share in shares),
    }  # fmt: skip


def classed(run: Run) -> str | None:
    if run.nodes > 1:
        return "multi-node"
    if run.gpus is None:
        return "unknown"
    return "multi-gpu" if run.gpus > 1 else "single-gpu" if run.gpus else "cpu"


def used_hours(runs: list[Run]) -> Row:
    return {"jobs": len(runs), "gpu_hours": hours(runs, gpus), "cpu_hours": hours(runs, cpus)}


def submitted(runs: list[Run]) -> Row:
    return {"submissions": len(runs), "jobs": sum(run.tasks for run in runs)}


@dataclass(frozen=True, slots=True)
class Asked:
    """A report, the runs that it counts, and what their truth says. `part`: what a row is about, of a Run too."""

    counted: Callable[[Run], bool]
    truth: Callable[[list[Run]], Row]
    options: tuple[str, ...] = ()
    part: str = "queue"


REPORTS: Mapping[str, Asked] = {
    "states": Asked(lambda run: run.ended, states),
    "wait": Asked(lambda run: run.start is not None and run.state != "REVOKED", wait),
    "efficiency": Asked(lambda run: run.ended and bool(run.ran), efficiency, EVERY),
    "energy": Asked(lambda run: run.ended and not run.nonsense, energy),
    "restarts": Asked(lambda run: run.continued or run.continues, restarts),
    "accuracy": Asked(lambda run: run.state in STUDY and (run.ran or 0) > 60 and not run.continues, accuracy),
    "users": Asked(lambda run: run.ended and bool(run.ran), used_hours, EVERY, "user"),
    "utilization": Asked(lambda run: bool(run.ran), used_hours, part="month"),
    "arrivals": Asked(lambda run: run.state != "REVOKED" and not run.continues, submitted, ("--by", "queue")),
}


def reported(path: Path, capsys: pytest.CaptureFixture[str], name: str, *options: str) -> list[dict[str, Any]]:
    assert main(["report", name, "--db", str(path), "--format", "json", *options]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


def assert_right(name: str, row: Row, known: Row) -> None:
    for column, truth in known.items():
        found = row[column]
        right = found == truth or (
            None not in (found, truth) and math.isclose(found, truth, rel_tol=1e-9, abs_tol=1e-9)
        )
        assert right, f"report {name}: {column} is {found}, the truth {truth}"


def check(seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, text = any_accounting(seed)
    source, path = folder / f"{seed}.txt", folder / f"{seed}.db"
    source.write_text(text)
    assert main(["import", str(source), "--db", str(path)]) == 0
    assert "rejected 0" in capsys.readouterr().out
    for name, asked in REPORTS.items():
        mine = [run for run in runs if asked.counted(run)]
        if not mine:
            continue
        rows = {row[asked.part]: row for row in reported(path, capsys, name, "-M", CLUSTER, *asked.options)}
        assert_right(name, rows["(all)"], asked.truth(mine))
        for value in {getattr(run, asked.part, None) for run in mine} - {None}:
            part = [run for run in mine if getattr(run, asked.part) == value]
            assert_right(f"{name}, {value}", rows[value], asked.truth(part))
    rows = {row["value"]: row for row in reported(path, capsys, "parallelism", *EVERY) if row["part"] == "class"}
    for value, jobs in Counter(classed(run) for run in runs if run.ended and run.ran).items():
        assert rows[value]["jobs"] == jobs, value


@pytest.mark.parametrize("seed", range(20))
def test_each_number_is_the_truth_or_unknown(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(seed, tmp_path, capsys)


@pytest.mark.soak
def test_each_number_of_two_thousand_traces_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(20, 2020):
        check(seed, tmp_path, capsys)
