"""What own runs are charged for an iteration, by number of GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.economy.schemes import load_schemes
from adminkit.economy.unit_cost import unit_costs
from adminkit.stats.progress import counted
from adminkit.trace.connect import reader
from tests.support.builders import MONDAY, job, make_trace

DAY = 86_400
NOW = MONDAY + DAY
#: Dearer for each GPU of two than for one.
SCHEMES = """version = 1
scheme = "dear"
[schemes.dear]
formula = "gpu_hours * (1 if gpus <= 1 else 3)"
unit = "points"
digits = 2
"""


def ran(number: int, gpus: int, iterations: int, **more: object) -> object:
    mine = {"user": "ada", "job_name": "train", "admin_comment": f"ck1:at=1 pf1:it={iterations}"}
    return job(number, gpus=gpus, elapsed=3600, uid=1001, **{**mine, **more})


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two GPUs do twice as much in an hour; one of another user, one without a count."""
    jobs = [ran(1, 1, 100), ran(2, 1, 100), ran(3, 2, 200), ran(4, 2, 50, user="eve"), ran(5, 2, 0)]
    return make_trace(tmp_path / "t.db", jobs)  # type: ignore[arg-type]


@pytest.fixture
def schemes(tmp_path: Path) -> Path:
    path = tmp_path / "charge.toml"
    path.write_text(SCHEMES)
    return path


def test_an_iteration_costs_what_its_jobs_are_charged(trace: Path, schemes: Path) -> None:
    scheme = load_schemes(schemes).schemes["dear"]
    with reader(trace) as db:
        found = counted(db, NOW, "ada", "train")
        assert sorted(found.values()) == [(1, 100), (1, 100), (2, 200)]
        assert unit_costs(db, scheme, found, NOW - DAY * 180) == {1: 1.0, 2: 3.0}
        assert unit_costs(db, scheme, {}, NOW - DAY * 180) == {}
        other = {(cluster, job + 100, at): (1, 1) for cluster, job, at in found}
        assert unit_costs(db, scheme, other, NOW - DAY * 180) == {}


def test_the_command_takes_the_hosts_scheme(
    trace: Path, schemes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from adminkit.cli.main import main

    asked = ["recommend", "gpus", "--db", str(trace), "-u", "ada", "--name", "train", "--as-of", "2026-01-06"]
    for path, cost in ((schemes, "3.000"), (schemes.with_name("none.toml"), "1.000")):
        monkeypatch.setattr("adminkit.economy.schemes.SYSTEM_SCHEMES", path)
        assert main(asked) == 0
        said = capsys.readouterr().out
        (two,) = (line.split() for line in said.splitlines() if line.strip().startswith("2 "))
        assert two[-1] == cost, said
        assert ("under the scheme dear of" in said) == (path == schemes)
