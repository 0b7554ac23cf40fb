"""The tiers: what they run, and that a part that did not run is never passed."""

from __future__ import annotations

import os
import pwd
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from tests.setup import audit, parts, run
from tests.setup.beside import Result
from tests.setup.guard import Verdict
from tests.support import bounds


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


def test_ci_does_without_what_asks_the_network() -> None:
    ci = {"CI": "true"}
    assert run.exit_code([Result("x", "not run", online=True)], ci) == 0
    assert run.exit_code([Result("x", "failed", online=True)], ci) == 1
    assert [part.name for part in parts.parts("check") if part.online] == ["known advisories"]


ONE = '{"name": "a", "version": "1", "vulns": []}'
BAD = '{"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1", "3"]}]}'
SKIPPED = '{"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited: c (1)"}'


@pytest.mark.parametrize(
    ("dependencies", "missed", "lines", "why"),
    [
        ([ONE], [], [], "nothing is known of it"),
        ([ONE, BAD], [], ["b 2: PYSEC-1, repaired in 2.1, 3"], "an advisory"),
        ([BAD.replace('"2.1", "3"', "")], [], ["b 2: PYSEC-1, repaired in no release"], "an advisory without a repair"),
        ([ONE, SKIPPED], ["c"], [], "pip-audit ends with 0, and says that nothing is known"),
    ],
)
def test_a_wheel_that_was_not_looked_up_is_no_safe_one(
    dependencies: list[str], missed: list[str], lines: list[str], why: str
) -> None:
    text = f'{{"dependencies": [{", ".join(dependencies)}], "fixes": []}}'
    assert (audit.skipped(text), audit.known(text)) == (missed, lines), why


def test_no_answer_is_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, expected in (("", audit.NO_ANSWER), (f'{{"dependencies": [{SKIPPED}]}}', audit.NO_ANSWER)):
        monkeypatch.setattr(audit, "answer", lambda path, text=text: text)
        assert audit.obstacle() == expected
    monkeypatch.setattr(audit, "answer", lambda path: f'{{"dependencies": [{ONE}]}}')
    assert audit.obstacle() is None


def test_a_missing_tool_is_an_obstacle_with_its_package() -> None:
    verdict = parts.needs("no-such-tool", "some-package")()
    assert verdict == Verdict("no no-such-tool", hint="apt-get install some-package")
    assert parts.needs("sh", "dash")() is None


@pytest.mark.parametrize(("folder", "goal"), [("spank", "all"), ("tests/spank", "check")])
def test_a_makefile_takes_slurms_headers_from_its_prefix(folder: str, goal: str, tmp_path: Path) -> None:
    words = ["make", "-n", "-C", str(parts.ROOT / folder), goal, "SLURM_PREFIX=/opt/slurm", f"OUT={tmp_path}"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    compiled = [line for line in said.splitlines() if " -c -o " in line]
    assert len(compiled) > 10
    assert [line for line in compiled if "-isystem /opt/slurm/include" not in line] == []


def test_the_test_tier_has_the_whole_check_tier_and_begins_with_what_waits_longest() -> None:
    check, test = parts.parts("check"), parts.parts("test")
    assert {part.name for part in check} < {part.name for part in test}
    assert [part.name for part in test[:2]] == ["Slurm", "unit tests"]
    assert [part.name for part in test if not part.gentle] == ["Slurm"], "the others give way to it"


def test_what_one_tier_leaves_out_another_has() -> None:
    left_out = {tier: set(parts.elsewhere(tier)) for tier in ("check", "test")}
    assert {path for paths in left_out.values() for path in paths if not (parts.ROOT / path).is_file()} == set()
    (asan,) = (part.command for part in parts.parts("test") if part.name == "C under ASan and UBSan")
    taken = asan[2].partition("pytest")[2].split()
    assert [path for path in left_out["test"] if path not in taken and Path(path).parent.as_posix() not in taken] == []
    for tier, paths in left_out.items():
        (unit,) = (part.command for part in parts.parts(tier) if part.name == "unit tests")
        assert {word.removeprefix("--ignore=") for word in unit if word.startswith("--ignore=")} == paths


def test_the_browser_has_every_file_once_and_begins_with_the_longest() -> None:
    (browser,) = parts.parts("web")
    files = [word for word in browser.command if word.endswith(".py")]
    assert sorted(files) == sorted(str(path.relative_to(parts.ROOT)) for path in parts.ROOT.glob("tests/web/test_*.py"))
    assert tuple(files[: len(parts.LONG_IN_BROWSERS)]) == parts.LONG_IN_BROWSERS


def test_every_part_that_could_hang_has_a_bound() -> None:
    assert {part.name: part.seconds for tier in ("check", "test", "web") for part in parts.parts(tier)} == {
        part.name: parts.LIMIT for tier in ("test", "web") for part in parts.parts(tier)
    }
    assert max(bounds.BOUNDS["cluster"], bounds.BOUNDS["web"]) + bounds.GRACE < parts.LIMIT, "the test is ended first"


SCRIPTS = sorted(path for folder in ("tests", "debian", "etc", "spank") for path in (parts.ROOT / folder).rglob("*.sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[str(path.relative_to(parts.ROOT)) for path in SCRIPTS])
def test_a_shell_script_can_be_read(script: Path) -> None:
    shell = "bash" if script.read_text().startswith("#!/bin/bash") else "sh"
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_parts_without_files_are_left_out(tmp_path: Path) -> None:
    assert not {"luacheck", "C tests"} & {part.name for part in parts.parts("check", tmp_path)}
    (tmp_path / "job_submit").mkdir()
    (tmp_path / "job_submit" / "job_submit.lua").touch()
    assert "luacheck" in {part.name for part in parts.parts("check", tmp_path)}


def takers(tier: str, marks: frozenset[str]) -> list[str]:
    """The parts of a tier that run a test with these marks. What `-m` takes is an expression of Python too."""
    asked = {part.name: part.command[part.command.index("-m", 3) + 1] for part in parts.parts(tier) if _runs(part)}
    known = {name: name in marks for name in MARKS}
    return [name for name, expression in asked.items() if eval(expression, {}, known)]


def _runs(part: parts.Part) -> bool:
    return part.command[1:3] == ("-m", "pytest")


MARKS = ("cluster", "hypothesis", "soak", "web")
#: A browser's test is no other part's.
MARKED = [frozenset(some) for n in range(3) for some in combinations(MARKS, n) if "web" not in some or n == 1]


@pytest.mark.parametrize("marks", MARKED, ids=sorted)
def test_a_test_is_run_by_one_part_and_a_long_proof_by_soak_only(marks: frozenset[str]) -> None:
    runs = [*takers("test", marks), *takers("web", marks)]
    assert len(runs) == (0 if "soak" in marks else 1)
    assert takers("check", marks) == (runs if not marks & {"cluster", "web"} else [])
    again = ["properties, on new examples"] if marks == {"hypothesis"} else []
    assert takers("soak", marks) == (["soak"] if "soak" in marks else again)


@pytest.mark.parametrize("path", sorted((parts.ROOT / "tests").rglob("test_*soak.py")), ids=lambda path: path.name)
def test_a_file_of_long_proofs_is_marked_as_one(path: Path) -> None:
    assert "pytest.mark.soak" in path.read_text()


@pytest.mark.parametrize("kind", ["cluster", "web"])
def test_tests_with_a_part_of_their_own_are_where_they_are_looked_for(kind: str) -> None:
    found = [path for path in (parts.ROOT / "tests").rglob("test_*.py") if f"pytest.mark.{kind}" in path.read_text()]
    assert {path.parent.name for path in found} == {kind}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o755, "which every user can enter"),
        (0o700, "which other users cannot enter: {top} has mode 0700"),
        (0o2750, "which other users cannot enter: {top} has mode 2750"),
    ],
)
def test_it_says_who_may_enter_the_folder(open_folder: Path, mode: int, expected: str) -> None:
    inner = open_folder / "home" / "clone"
    inner.mkdir(parents=True)
    inner.parent.chmod(mode)
    said = run.how("test", {"CI": "true"}, inner)
    assert said.startswith(f"make test as {pwd.getpwuid(os.geteuid()).pw_name} in {inner}, ")
    assert expected.format(top=inner.parent) in said
    assert said.endswith(", CI=true")


@pytest.mark.parametrize("words", [[], ["--help"], ["chek"], ["check", "test"]])
def test_unknown_words_run_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(words) == 2
    assert capsys.readouterr().err == "usage: python -m tests.setup.run check|test|web|soak\n"


def test_ci_runs_the_tests_and_the_web_tier_and_fails_where_either_does(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$1 $CI"\ntest "$1" != "$BAD"\n')
    make.chmod(0o755)
    for bad, code in (("", 0), ("test", 1), ("web", 1)):
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "BAD": bad}
        done = subprocess.run([parts.ROOT / ".ci/run"], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.split()) == (code, ["test", "true", "web", "true"]), bad
