"""An alias is taken wherever --cluster chooses jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adminkit.cli.main import main
from tests.support.builders import job, make_trace

COMMANDS = [
    ("report", "accuracy"),
    ("report", "wait"),
    ("report", "states"),
    ("report", "utilization"),
    ("recommend", "queues"),
    ("findings", "--severity", "info", "--since", "2025-12-01", "--as-of", "2026-01-06"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_alias_chooses_the_same_jobs_as_its_clusters(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = ("alpha", "beta", "gamma")
    jobs = [job(number, cluster=clusters[number % 3], user=f"u{number % 5}") for number in range(1, 90)]
    make_trace(tmp_path / "t.db", jobs)
    monkeypatch.setenv("ADMINKIT_REPORT_ALIASES", "fed=alpha+beta")
    answers = []
    for named in (["--cluster", "fed"], ["--cluster", "alpha", "--cluster", "beta"]):
        assert main([*command, *named, "--db", str(tmp_path / "t.db"), "-f", "json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["meta"]["clusters"] == ["alpha", "beta"]
