"""`adminkit fit` where a job_submit rule refuses: as a real slurmctld with adminkit's policy says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.fit import ask
from tests.cluster.harness.requests import idle
from tests.cluster.harness.ruled import Ruled, rule

USER = "games"
RULES = (
    rule("gq-account", "gq", require_account=True)
    + rule("short-cpus", "gq-short", cpus_per_gpu=2)
    + rule("long-few", "gq-long", gpus="-4")
)


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled, monkeypatch: pytest.MonkeyPatch) -> None:
    ruled.rules(RULES)
    idle(ruled.cluster)
    monkeypatch.setenv("SLURM_CONF", str(ruled.cluster.home / "slurm.conf"))


def fit(ruled: Ruled, *words: str) -> dict[str, Any]:
    ask.forget()
    file = ruled.cluster.work / "fit.json"
    assert main(["fit", "--user", USER, "-f", "json", "--output", str(file), *words]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    found: dict[str, Any] = row
    return found


#: what is asked, the verdict, a word of why, what sbatch says of the same
ASKED = [
    (("-p", "gq-short", "--gpus", "1", "-t", "30"), "now", None),
    (("-p", "gq-short", "--gpus", "1", "-c", "8", "-t", "30"), "never", "--cpus-per-gpu=2"),
    (("-p", "gq-long", "--gpus", "8", "-t", "30"), "never", "The number of GPUs must be 0-4 for a job in gq-long"),
    (("-p", "gq", "--gpus", "1", "-t", "30"), "never", "Type: --account=NAME"),
]


@pytest.mark.parametrize(("words", "verdict", "said"), ASKED, ids=[" ".join(case[0]) for case in ASKED])
def test_what_a_rule_refuses_never_starts_and_its_words_are_shown(
    ruled: Ruled, words: tuple[str, ...], verdict: str, said: str | None
) -> None:
    row = fit(ruled, *words)
    assert row["verdict"] == verdict, row
    submitted = ruled.sbatch(*words, "-N1")
    assert submitted.accepted is (said is None), submitted
    if said is not None:
        assert row["why"] == "rule" and said in json.dumps(row, ensure_ascii=False), row
        assert said in submitted.text
