"""The commands that only look, beside the cluster they speak of: what `try` foretells is what sbatch then says."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.cluster.harness.ruled import HEAD, Ruled, at_most, rule
from tests.cluster.test_policy_rules import RULES


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(RULES)


def asked(ruled: Ruled, *words: str, code: int = 0) -> list[dict[str, Any]]:
    """The rows of a listing."""
    done = ruled.adminkit("policy", *words, "--policy", ruled.policy, "-f", "json", code=code)
    return list(json.loads(done.stdout)["rows"])


@pytest.mark.parametrize(
    "words",
    [
        "-p gq -t 60", "-p gq -t 60:00:00", "-p gq -N 2 -t 36:00:00", "-p gq-short -t 03:00:00", "-t 05:00:00", "-t 60",
        "-p gq-middle -G 2 -t 12:00:00", "-p gq-middle -G 1 -t 60", "-p gq-long", "-p gq-long -t 60", "-p debug",
        "-p gq-long -t 5-0", "-p debug -t 2 -N 3", "-p free -t 2-0", "-p small -t 02:00:00",
        "-p gq,gq-short -t 04:00:00",
    ],
)  # fmt: skip
def test_what_try_foretells_happens(ruled: Ruled, words: str) -> None:
    (told,) = asked(ruled, "try", "--user", "games", "--account", "physics", *words.split())
    said = ruled.sbatch(*words.split())
    assert said.accepted == (told["verdict"] != "reject"), (told, said)
    foretold = (told["messages"] or "").splitlines()
    assert list(said.lines[: len(foretold)]) == foretold
    assert len(said.lines) == len(foretold) + 1, "and Slurm's own line"
    if said.accepted:
        job = ruled.job(said.job)
        assert job["AdminComment"] == told["record"]
        assert told["queue"] in (None, job["Partition"])


def test_a_policy_that_goes_with_the_cluster_is_checked_and_explained(ruled: Ruled) -> None:
    ruled.adminkit("policy", "check", "--policy", ruled.policy)
    said = ruled.adminkit("policy", "explain", "--policy", ruled.policy).stdout
    assert "2-00:00:00" in next(line for line in said.splitlines() if "gq-max" in line)
    ruled.policy.write_text(HEAD + rule("long", "gq-lnog", max_limit="1-00:00:00"))
    ruled.text = ""
    wrong = ruled.adminkit("policy", "check", "--policy", ruled.policy, code=1)
    assert re.search(r"gq-lnog.*gq-long", wrong.stdout + wrong.stderr, re.DOTALL), wrong


def test_diff_tells_the_file_from_what_is_installed(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    assert asked(ruled, "diff") == []
    ruled.policy.write_text(HEAD + at_most(6))
    ruled.text = ""
    (row,) = asked(ruled, "diff")
    assert ("05:00:00" in str(row["installed"]), "06:00:00" in str(row["file"])) == (True, True), row
