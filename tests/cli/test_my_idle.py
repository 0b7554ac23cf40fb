"""The line of `adminkit my` about running jobs that hold GPUs without using them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from adminkit import config
from adminkit.cli.main import main
from adminkit.usage import http, prometheus
from tests.support.own_slurm import HOUR, OwnSlurm, queued

NOW = int(time.time())
START = NOW - 3 * HOUR


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "none.toml")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSlurm:
    return OwnSlurm(tmp_path / "slurm", monkeypatch)


def word(used_ago: int | None = None, gpus: int = 2, at: int = 0, to: int = NOW - 60) -> str:
    """What the plugin wrote of a job that began three hours ago; `used_ago`: seconds before NOW; None: never."""
    first = at or START + 30
    seconds = (to - first) * gpus
    last = "" if used_ago is None else f",last={NOW - used_ago}"
    busy, used = (0, 0) if used_ago is None else (seconds // 2, 1)
    return f"gu1:at={first},to={to},node=0,gpus={gpus},s={seconds},busy={busy},used={used}{last}"


def running(number: int, comment: str, gpus: int = 2, **cells: Any) -> dict[str, Any]:
    tres = f"cpu=8,mem=8G,node=1,gres/gpu={gpus}"
    given = {"StartTime": START, "NodeList": "n1", "tres-alloc": tres, "admin_comment": comment, **cells}
    return queued(number, **given)


def notes(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["my", *words, "--format", "json"]) == 0
    found: list[str] = json.loads(capsys.readouterr().out)["running"]["meta"]["notes"]
    return [one for one in found if "not used" in one]


@pytest.mark.parametrize(
    ("queue", "expected", "why"),
    [
        ([running(7, word())], ["job 7: 2 of 2 GPUs not used for 10 min or more; adminkit idle shows since when"],
         "never used"),
        ([running(7, word()), running(8, word(gpus=1), gpus=1)],
         ["jobs 7, 8: 3 of 3 GPUs not used for 10 min or more; adminkit idle shows since when"], "one line for all"),
        ([running(7, word(used_ago=90))], [], "in use a moment ago"),
        ([running(7, word(used_ago=HOUR))],
         ["job 7: 2 of 2 GPUs not used for 10 min or more; adminkit idle shows since when"], "an hour ago"),
        ([running(7, "")], [], "not measured is not idle"),
        ([running(7, word(gpus=1))], [], "half measured is not idle"),
        ([running(7, word(to=NOW - 2000))], [], "too old: the sampler is gone"),
        ([queued(7)], [], "it has no GPU"),
        ([running(7, word(), **{"JobArrayID": "5_2", "ArrayJobID": 5})],
         ["job 5_2: 2 of 2 GPUs not used for 10 min or more; adminkit idle shows since when"], "a task of an array"),
        ([running(number, word()) for number in range(1, 9)],
         ["jobs 1, 2, 3, 4, 5 and 3 more: 16 of 16 GPUs not used for 10 min or more; adminkit idle shows since when"],
         "still one line"),
    ],
)  # fmt: skip
def test_one_line_names_the_jobs_with_idle_gpus(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], queue: list[dict[str, Any]], expected: list[str], why: str
) -> None:
    slurm.queue = queue
    slurm.write()
    assert notes(capsys) == expected, why
    assert len(slurm.asked("squeue")) == 1, "one question to slurmctld"


def test_a_service_that_is_away_is_not_waited_for_and_says_nothing(
    slurm: OwnSlurm, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMINKIT_USAGE_PROMETHEUS", "http://127.0.0.1:9")
    waited = []
    post = http.post

    def noted(base: str, path: str, form: Any, seconds: float) -> str:
        waited.append(seconds)
        return post(base, path, form, seconds)

    monkeypatch.setattr(prometheus, "post", noted)
    slurm.queue = [running(7, "")]
    slurm.write()
    assert notes(capsys) == []
    assert waited and max(waited) <= 5


def test_jobs_of_another_cluster_are_not_measured(slurm: OwnSlurm, capsys: pytest.CaptureFixture[str]) -> None:
    """Node names and job numbers there may be those of others here."""
    slurm.clusters, slurm.queue = ["alpha", "beta"], [running(7, word())]
    slurm.write()
    assert notes(capsys, "-M", "beta") == []
