"""Parts side by side: what each says stays whole, one that fails stops no other, and nothing is left of any."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.harness.processes import start_time, until
from tests.setup import beside
from tests.setup.guard import Verdict
from tests.setup.parts import ROOT, Part


def part(name: str, code: str, *words: object, seconds: float | None = 60.0) -> Part:
    """A part that runs Python."""
    return Part(name, (sys.executable, "-c", code, *map(str, words)), seconds=seconds)


@pytest.mark.parametrize(
    ("code", "state", "text"),
    [(0, "passed", "passed"), (1, "failed", "failed: exit 1"), (5, "failed", "failed: exit 5")],
)
def test_a_part_is_judged_by_its_exit_code(code: int, state: str, text: str) -> None:
    (result,) = beside.run([part("name", f"raise SystemExit({code})")])
    assert (result.state, text in str(result)) == (state, True)


def test_a_part_that_cannot_run_says_why_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    obstacle = Verdict("this host has a Slurm", "slurmctld is running (pid 4)", "use a container")
    (result,) = beside.run([Part("Slurm", ("false",), lambda: obstacle)])
    assert str(result).split() == ["Slurm", "not", "run:", "this", "host", "has", "a", "Slurm"]
    said = capsys.readouterr().out
    assert "\nSlurm part not run: this host has a Slurm\nslurmctld is running (pid 4)\nuse a container\n" in said


#: Says its name thrice, the last time once there is a file for each of the names.
TALK = """
import pathlib, sys, time
name, folder, *others = sys.argv[1:]
print(name, 1, flush=True)
pathlib.Path(folder, name).touch()
while not all(pathlib.Path(folder, other).exists() for other in others):
    time.sleep(0.01)
print(name, 2, flush=True)
print(name, 3, file=sys.stderr)
raise SystemExit(name == "bad")
"""


def test_two_run_at_the_same_time_and_what_each_says_stays_together(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each of the first two waits for the other; the third begins when one of them has ended."""
    parts = [part(name, TALK, name, tmp_path, *others) for name, others in (("bad", ["b"]), ("b", ["bad"]), ("c", []))]
    results = beside.run(parts)
    assert [(one.name, one.state) for one in results] == [("bad", "failed"), ("b", "passed"), ("c", "passed")]
    lines = capfd.readouterr().out.splitlines()
    for name in ("bad", "b", "c"):
        at = lines.index(f"{name} 1")
        assert lines[at : at + 3] == [f"{name} {number}" for number in (1, 2, 3)]
        assert lines[at - 1].startswith(f"== {name}: {'failed' if name == 'bad' else 'passed'} (")
        assert f"-- {name} begins" in lines[:at]
    assert lines.index("-- c begins") > lines.index("-- b begins")


def test_alone_a_part_says_at_once_what_it_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    beside.run([part("a", TALK, "a", tmp_path)], at_once=1)
    assert capfd.readouterr().out.splitlines() == ["", "== a", "a 1", "a 2"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("4185 passed, 3 skipped, 1 warning in 246.33s (0:04:06)", "3 skipped, named above with the reason"),
        ("== 1 passed in 0.10s ==", ""),
    ],
)
def test_tests_that_were_skipped_are_counted(text: str, reason: str) -> None:
    made = Part("unit tests", ("sh", "-c", f"echo '{text}'", "pytest"))
    (result,) = beside.run([made])
    assert (result.state, result.reason) == ("passed", reason)


def test_a_failed_part_names_its_tests_in_the_summary() -> None:
    text = "FAILED tests/a.py::test_b - assert 1\nERROR tests/c.py::test_d - OSError\n1 failed, 1 error in 2s"
    made = Part("unit tests", ("sh", "-c", f"echo '{text}'; exit 1", "pytest"))
    (result,) = beside.run([made])
    assert str(result).splitlines()[1:] == [f"    {line}" for line in text.splitlines()[:2]]


#: Starts a process in a session of its own that ignores the usual signals, writes down its pid, and goes on or ends.
LEAVE = """
import pathlib, subprocess, sys, time
script = "trap '' INT TERM HUP; echo $$ >$0; while :; do sleep 1; done"
subprocess.Popen(["sh", "-c", script, sys.argv[1]], start_new_session=True)
while not pathlib.Path(sys.argv[1]).exists() or not pathlib.Path(sys.argv[1]).read_text():
    time.sleep(0.01)
time.sleep(float(sys.argv[2]))
"""


def left_by(file: Path) -> int:
    until("the process to be there", lambda: file.exists() and file.read_text().strip(), 60)
    return int(file.read_text())


def gone(pid: int) -> bool:
    return start_time(pid) is None


def test_one_that_hangs_is_ended_at_its_bound_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "PATIENCE", 1.0)
    (result,) = beside.run([part("hangs", LEAVE, tmp_path / "pid", 600, seconds=3.0)])
    assert (result.state, result.reason) == ("failed", "no end within 3 s")
    written = tmp_path / "pid"
    assert not written.exists() or gone(left_by(written)), "a slow machine may not have come that far"


def test_what_a_part_leaves_behind_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "PATIENCE", 1.0)
    (result,) = beside.run([part("leaves", LEAVE, tmp_path / "pid", 0)])
    assert result.state == "passed"
    assert gone(left_by(tmp_path / "pid"))


def started_with(number: int, how: signal.Handlers) -> Callable[[], object]:
    """For a process of its own: whoever runs the tests may ignore a signal, as nohup and a shell's `&` do."""
    return lambda: signal.signal(number, how)


@pytest.mark.parametrize(
    ("number", "before", "code"),
    [
        (signal.SIGINT, signal.SIG_DFL, 130),
        (signal.SIGINT, signal.SIG_IGN, 130),
        (signal.SIGTERM, signal.SIG_DFL, 143),
        (signal.SIGHUP, signal.SIG_DFL, 129),
    ],
)
def test_interrupted_it_ends_everything_it_started(
    tmp_path: Path, number: int, before: signal.Handlers, code: int
) -> None:
    script = f"""
import sys
from tests.setup import beside, run
from tests.setup.parts import Part
beside.PATIENCE = 1.0
run.parts = lambda tier: [
    Part(name, (sys.executable, "-c", {LEAVE!r}, {str(tmp_path)!r} + "/" + name, "600")) for name in ("a", "b")
]
sys.exit(run.main(["check"]))
"""
    command, begin = [sys.executable, "-c", script], started_with(number, before)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=begin) as process:
        started = [left_by(tmp_path / name) for name in ("a", "b")]
        time.sleep(0.2)
        process.send_signal(number)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == code
    assert [pid for pid in started if not gone(pid)] == []
    assert "ending what was started" in said
    assert "summary" not in said


@pytest.mark.parametrize(
    ("number", "ignored", "why"),
    [
        (signal.SIGINT, False, "a part is interrupted so that it cleans up"),
        (signal.SIGHUP, True, "who said nohup means the parts too"),
    ],
)
def test_of_what_its_parent_ignores_a_part_ignores_nohup_alone(
    capfd: pytest.CaptureFixture[str], number: signal.Signals, ignored: bool, why: str
) -> None:
    code = f"import signal; print('ignored', signal.getsignal({int(number)}) is signal.SIG_IGN)"
    before = signal.signal(number, signal.SIG_IGN)
    try:
        beside.run([part("a", code)])
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
    assert f"ignored {ignored}" in capfd.readouterr().out.splitlines(), why


def test_a_part_is_marked_and_gives_way(capfd: pytest.CaptureFixture[str]) -> None:
    code = "import os; print(os.environ['ADMINKIT_PART'], os.nice(0), os.getpgid(0) == os.getpid())"
    parts = [part("a", code), Part("b", (sys.executable, "-c", code), gentle=False)]
    beside.run(parts)
    lines = [line.split() for line in capfd.readouterr().out.splitlines() if line.endswith("True")]
    assert sorted(int(line[1]) - os.nice(0) for line in lines) in ([0, 10], [0, 19 - os.nice(0)])
    assert len({line[0] for line in lines}) == 2
