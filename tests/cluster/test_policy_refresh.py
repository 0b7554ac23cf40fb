"""An operator passes every rule, and whoever ceases to be one is held by them after the next refresh."""

from __future__ import annotations

import pwd
from collections.abc import Iterator

import pytest

from tests.cluster.harness.ruled import Ruled, at_most

GAMES = pwd.getpwnam("games").pw_uid
TOO_LONG = ("-p", "gq", "-t", "71:00:00")


@pytest.fixture
def operator(ruled: Ruled) -> Iterator[Ruled]:
    """games is an operator, and the rules in force know it."""
    level(ruled, "Operator")
    ruled.rules(at_most(20), "--folder", ruled.folder)  # an option, so that it is done whatever is in force
    yield ruled
    level(ruled, "None")
    ruled.text = ""


def level(ruled: Ruled, name: str) -> None:
    ruled.cluster.ask("sacctmgr", "-i", "modify", "user", "games", "set", f"adminlevel={name}")


def test_a_former_operator_is_held_after_the_next_refresh(operator: Ruled) -> None:
    assert operator.sbatch(*TOO_LONG).accepted
    level(operator, "None")
    assert operator.sbatch(*TOO_LONG).accepted, "what was installed knows an operator still"
    preview = operator.adminkit("policy", "refresh", "--format", "csv").stdout
    assert f"{GAMES},games,no longer exempt" in preview
    assert operator.sbatch(*TOO_LONG).accepted, "a preview changes nothing"
    done = operator.adminkit("policy", "refresh", "--apply")
    assert "games no longer exempt" in done.stdout
    assert "confirmed" in done.stdout
    assert not operator.sbatch(*TOO_LONG).accepted
    assert operator.most() == 20, "the rules themselves are the same"
    again = operator.adminkit("policy", "refresh", "--apply").stdout
    assert "passes" not in again.partition("\n")[2], "nothing is left to do"
    operator.adminkit("policy", "status")


def test_a_new_operator_passes_after_the_next_refresh(operator: Ruled) -> None:
    level(operator, "None")
    operator.adminkit("policy", "refresh", "--apply")
    assert not operator.sbatch(*TOO_LONG).accepted
    level(operator, "Operator")
    operator.adminkit("policy", "refresh", "--apply")
    assert operator.sbatch(*TOO_LONG).accepted


def test_with_slurmdbd_away_nobody_loses_anything(operator: Ruled) -> None:
    operator.cluster.stop_dbd()
    try:
        done = operator.adminkit("policy", "refresh", "--apply", code=None)
    finally:
        operator.cluster.start_dbd()
    assert done.returncode == 1, done.stdout
    assert operator.sbatch(*TOO_LONG).accepted
