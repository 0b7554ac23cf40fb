"""adminkit user: one user on one page."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from adminkit import config
from adminkit.cli.main import main
from tests.support.builders import HOUR, add_letters, job, letter, make_trace
from tests.support.own_slurm import OwnSlurm, queued

NOW = int(time.time())


@pytest.fixture(autouse=True)
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSlurm:
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")
    return OwnSlurm(tmp_path / "slurm", monkeypatch)


def ended(number: int, ago: int, **changes: Any) -> Any:
    end, elapsed = NOW - ago, changes.pop("elapsed", HOUR)
    times = {"submit_time": end - elapsed - 30, "eligible_time": end - elapsed - 30, "start_time": end - elapsed}
    return job(number, elapsed=elapsed, end_time=end, uid=4711, user="ada_", **times, **changes)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    day = 86_400
    jobs = [
        ended(1, day), ended(2, 2 * day, state="TIMEOUT", elapsed=4 * HOUR, gpus=2),
        ended(3, 20 * day, account="chem", gpus=0, cpus=4), ended(4, 40 * day, state="FAILED"), ended(5, 400 * day),
        job(6, user="bob"),
    ]  # fmt: skip
    path = make_trace(tmp_path / "t.db", jobs)
    return add_letters(path, [letter(4711, user="ada_", run="1@1"), letter(9, user="bob", run="2@2")])


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["user", *words, "-f", "json"]) == 0, capsys.readouterr().err
    return {name: part["rows"] for name, part in json.loads(capsys.readouterr().out).items()}


def test_use_by_period_and_account(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "ada_", "--db", str(trace))
    by_days = {row["days"]: row for row in found["use"]}
    assert {days: row["jobs"] for days, row in by_days.items()} == {7: 2, 30: 3, 90: 4, 365: 4}
    week = by_days[7]
    assert (week["gpu_hours"], week["cpu_hours"], week["unused_gpu_hours"]) == (9.0, 0.0, 3.0)
    assert (week["lost"], week["lost_gpu_hours"], week["accuracy"]) == (1, 8.0, 0.625)
    assert (by_days[30]["cpu_hours"], by_days[90]["failed"]) == (4.0, 1)
    assert [(row["account"], row["jobs"]) for row in found["accounts"]] == [("vision", 2), ("chem", 1)]
    assert [row["job_id"] for row in found["jobs"]] == ["1", "2", "3"]
    assert [row["kind"] for row in found["letters"]] == ["end"], "not bob's"


def test_hours_of_runs_of_unknown_size_are_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_trace(tmp_path / "u.db", [ended(1, HOUR, gpus=None)])
    week = shown(capsys, "ada_", "--db", str(path))["use"][0]
    assert (week["jobs"], week["unsized"], week["gpu_hours"], week["cpu_hours"]) == (1, 1, None, None)


def test_what_waits_is_asked_of_slurmctld(trace: Path, slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    slurm.queue = [queued(70, "PD", Reason="Priority", uid=4711, UserID=4711), queued(71, "PD")]
    slurm.write()
    assert [row["job_id"] for row in shown(capsys, "ada_", "--db", str(trace))["waiting"]] == ["70"]
    slurm.down = ["squeue"]
    slurm.write()
    assert main(["user", "ada_", "--db", str(trace)]) == 0
    out = capsys.readouterr().out
    assert "not known: couldn't run squeue" in out and "ada_'s last jobs on aaic" in out and "our last" not in out


def test_a_user_whom_nobody_knows(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("nobody-of-this-name", "x'; --", "\x1b[2J"):
        assert main(["user", name, "--db", str(trace)]) == 2
        err = capsys.readouterr().err
        assert "no user" in err and "\x1b" not in err
