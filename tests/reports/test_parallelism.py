"""What is not known of nodes and GPUs is said, and is not 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports.answer import answer
from adminkit.reports.parallelism import SPEC
from adminkit.reports.spec import ReportOptions
from tests.support.builders import MONDAY, job, make_trace

NODELESS: dict[str, Any] = {"nodes": None, "req_nodes": None, "node_list": None}
GPULESS: dict[str, Any] = {"gpus": None, "req_gpus": None}
AS_ON_ONE = "with an unknown number of nodes are classed as single-node jobs"
CASES: list[tuple[list[dict[str, Any]], dict[str, tuple[int | None, float | None]], list[str], str]] = [
    ([{"gpus": 1}, {"gpus": 1, "nodes": 2}], {"multi-node": (1, 0.5), "cpu": (0, 0.0)}, [], "all is known"),
    ([{"gpus": 1, **NODELESS}] * 2, {"multi-node": (None, None), "single-gpu": (2, 1.0)}, [f"2 jobs {AS_ON_ONE}"],
     "of no job the nodes are known"),
    ([{"gpus": 1, **NODELESS}, {"gpus": 1}], {"multi-node": (0, 0.0)},
     [f"1 job {AS_ON_ONE}: there may be more multi-node jobs than are shown"], "of some they are"),
    ([GPULESS | {"cpus": 4}] * 2, {"cpu": (None, None), "single-gpu": (None, None), "multi-core": (2, 1.0),
     "multi-node": (0, 0.0)}, [], "of no job the GPUs are known"),
    ([GPULESS, {"gpus": 0}], {"cpu": (1, 0.5), "multi-gpu": (0, 0.0), "unknown": (1, 0.5)}, [], "of some they are"),
]  # fmt: skip


@pytest.mark.parametrize(("jobs", "rows", "notes", "why"), CASES)
def test_what_is_not_known_is_not_zero(
    tmp_path: Path, jobs: list[dict[str, Any]], rows: dict[str, tuple[Any, Any]], notes: list[str], why: str
) -> None:
    path = make_trace(tmp_path / "t.db", [job(n, **changes) for n, changes in enumerate(jobs, 1)])
    report = answer(SPEC, ReportOptions(), path, Config(), MONDAY)
    told = {row["value"]: (row["jobs"], row["share"]) for row in report.records() if row["part"] == "class"}
    assert {kind: told[kind] for kind in rows} == rows, why
    assert [note for note in report.meta.notes if "nodes" in note] == notes, why
