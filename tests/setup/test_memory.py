"""A part's /tmp in memory: its own, and only where it can be had and hides nothing that the part needs."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.setup import beside, memory, parts

COMMAND = ("sh", "-c", "stat -f -c %T /tmp; stat -c %a /tmp; ls -A /tmp; touch /tmp/of-the-part")


@pytest.fixture
def wrapped() -> tuple[str, ...]:
    found = memory.with_tmp(COMMAND, 0, ())
    if found == COMMAND:
        pytest.skip("not run: this user may mount nothing here")
    return found


def test_the_part_has_an_empty_tmp_of_its_own(wrapped: tuple[str, ...]) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp"):
        said = subprocess.run(wrapped, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["tmpfs", "1777"]
    assert not Path("/tmp/of-the-part").exists()


def test_words_and_exit_code_are_those_of_the_command(wrapped: tuple[str, ...]) -> None:
    words = [*wrapped[: -len(COMMAND)], "sh", "-c", 'printf %s "$1"; exit 5', "sh", "a b'$x"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("a b'$x", 5)


@pytest.mark.parametrize(
    ("room", "needed", "why"),
    [
        (1 << 60, (), "too little memory"),
        (0, (Path("/usr"), Path("/tmp/clone/.venv")), "the clone would be hidden"),
        (0, (Path("/tmp"),), "so would be what is there"),
    ],
)
def test_where_it_would_harm_the_command_stays_as_it_is(room: int, needed: tuple[Path, ...], why: str) -> None:
    assert memory.with_tmp(COMMAND, room, needed) == COMMAND, why


def test_a_host_where_nothing_may_be_mounted_uses_its_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert memory.with_tmp(COMMAND, 0, ()) == COMMAND
    monkeypatch.setenv("PATH", "")
    assert memory.with_tmp(COMMAND, 0, ()) == COMMAND


@pytest.mark.parametrize("tier", ["check", "test"])
def test_the_unit_tests_have_it(tier: str) -> None:
    """No other part: where a Slurm part is killed, its daemons' folders have to be seen from outside."""
    assert [part.name for part in parts.parts(tier) if part.in_memory] == ["unit tests"]


def test_a_part_with_it_runs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "with_tmp", lambda command: ("sh", "-c", "exit 7", *command))
    several = [parts.Part("in memory", ("true",), in_memory=True), parts.Part("on disk", ("true",))]
    assert [result.reason for result in beside.run(several)] == ["exit 7", ""]
