"""The tiers: what they run, and that a part that did not run is never passed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup import run
from tests.setup.guard import Verdict
from tests.setup.run import Part, Result


@pytest.mark.parametrize(
    ("code", "state", "text"),
    [(0, "passed", "passed"), (1, "failed", "failed: exit 1"), (5, "failed", "failed: exit 5")],
)
def test_a_part_is_judged_by_its_exit_code(code: int, state: str, text: str) -> None:
    result = run.run(Part("name", (sys.executable, "-c", f"raise SystemExit({code})")))
    assert (result.state, text in str(result)) == (state, True)


def test_a_part_that_cannot_run_says_why_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    obstacle = Verdict("this host has a Slurm", "slurmctld is running (pid 4)", "use a container")
    result = run.run(Part("Slurm", ("false",), lambda: obstacle))
    assert str(result).split() == ["Slurm", "not", "run:", "this", "host", "has", "a", "Slurm"]
    said = capsys.readouterr().out
    assert "\nSlurm part not run: this host has a Slurm\nslurmctld is running (pid 4)\nuse a container\n" in said


@pytest.mark.parametrize(
    ("states", "env", "code", "why"),
    [
        (["passed"], {}, 0, "all is well"),
        (["passed", "failed"], {}, 1, "one failed"),
        (["passed", "not run"], {}, 0, "said, and no failure by hand"),
        (["passed", "not run"], {"CI": "true"}, 1, "nobody reads what CI did not run"),
        (["passed", "not run"], {"CI": "false"}, 0, "CI is off"),
        (["passed"], {"CI": "true"}, 0, "all is well in CI"),
    ],
)
def test_ci_counts_what_did_not_run_as_failed(states: list[str], env: dict[str, str], code: int, why: str) -> None:
    assert run.exit_code([Result("x", state) for state in states], env) == code, why


def test_a_missing_tool_is_an_obstacle_with_its_package() -> None:
    verdict = run.needs("no-such-tool", "some-package")()
    assert verdict == Verdict("no no-such-tool", hint="apt-get install some-package")
    assert run.needs("sh", "dash")() is None


@pytest.mark.parametrize(("folder", "goal"), [("spank", "all"), ("tests/spank", "check")])
def test_a_makefile_takes_slurms_headers_from_its_prefix(folder: str, goal: str, tmp_path: Path) -> None:
    words = ["make", "-n", "-C", str(run.ROOT / folder), goal, "SLURM_PREFIX=/opt/slurm", f"OUT={tmp_path}"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    compiled = [line for line in said.splitlines() if " -c -o " in line]
    assert len(compiled) > 10
    assert [line for line in compiled if "-isystem /opt/slurm/include" not in line] == []


def test_the_test_tier_begins_with_the_whole_check_tier() -> None:
    check, test = run.parts("check"), run.parts("test")
    assert [part.name for part in test[: len(check)]] == [part.name for part in check]
    assert test[-1].name == "Slurm"


SCRIPTS = sorted(path for folder in ("tests", "debian", "etc") for path in (run.ROOT / folder).rglob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[str(path.relative_to(run.ROOT)) for path in SCRIPTS])
def test_a_shell_script_can_be_read(script: Path) -> None:
    done = subprocess.run(["sh", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_parts_without_files_are_left_out(tmp_path: Path) -> None:
    assert not {"luacheck", "C tests"} & {part.name for part in run.parts("check", tmp_path)}
    (tmp_path / "job_submit").mkdir()
    (tmp_path / "job_submit" / "job_submit.lua").touch()
    assert "luacheck" in {part.name for part in run.parts("check", tmp_path)}


def collected(tier: str) -> set[str]:
    """The tests on a real Slurm that a tier runs, asked of pytest: a marker may come from a file or a fixture."""
    found = set()
    for part in run.parts(tier):
        if "pytest" in part.command:
            command = [*part.command, "--collect-only", "-q", "tests/cluster"]
            done = subprocess.run(command, cwd=run.ROOT, capture_output=True, text=True, check=False)
            found |= {line for line in done.stdout.splitlines() if "::" in line}
    return found


def test_long_proofs_run_in_the_soak_tier_alone() -> None:
    long, short = collected("soak"), collected("test")
    assert {line for line in long | short if "test_soak.py" in line} <= long
    assert len(long) > 2 and len(short) > 50
    assert long & (short | collected("check")) == set()


@pytest.mark.parametrize("words", [[], ["--help"], ["chek"], ["check", "test"]])
def test_unknown_words_run_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(words) == 2
    assert capsys.readouterr().err == "usage: python -m tests.setup.run check|test|soak\n"
