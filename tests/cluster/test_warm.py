"""A command of the warm process says and does what one that was started as a program does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster.harness import warm
from tests.cluster.harness.machine import plain_env

#: words, exit code, why
COMMANDS = [
    (["--version"], 0, "standard output"),
    (["nonsense"], 2, "a usage error, on standard error"),
    (["policy", "check", "--policy", "none.toml"], 1, "an error"),
]


@pytest.mark.parametrize(("words", "code", "why"), COMMANDS)
def test_a_warm_command_is_as_a_program(
    words: list[str], code: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = warm.run(words, plain_env())
    cold = subprocess.run([warm.ADMINKIT, *words], env=plain_env(), capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (cold.returncode, cold.stdout, cold.stderr), why
    assert told.returncode == code and told.stdout + told.stderr


def test_a_warm_command_has_its_own_environment_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = warm.run(["doctor"], {**plain_env(), "ADMINKIT_DB": "named.db", "ADMINKIT_CONFIG": ""}).stdout
    assert "named.db" in found
    assert "named.db" not in warm.run(["doctor"], {**plain_env(), "ADMINKIT_CONFIG": ""}).stdout
    Path("bad.toml").write_text("nonsense = 1\n")
    assert "nonsense" in warm.run(["sync"], {**plain_env(), "ADMINKIT_CONFIG": "bad.toml"}).stderr, "read where it is"


def test_a_command_in_another_locale_is_started_as_a_program() -> None:
    for env, is_cold in (
        ({}, False),
        ({"TZ": "Asia/Tokyo"}, True),
        ({"LANG": "tr_TR.UTF-8"}, True),
        ({"A": ""}, False),
    ):
        assert warm.is_cold({**plain_env(), **env}) == is_cold, env
