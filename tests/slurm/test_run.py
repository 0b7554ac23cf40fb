"""Slurm's programs are started in one way, and every way of failing is said with what to do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm import process
from tests.support.fakes import Programs


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


def test_arguments_arrive_one_by_one_and_no_shell_looks_at_them(programs: Programs) -> None:
    programs.add("sacct", 'for word in "$@"; do printf "<%s>" "$word"; done')
    assert process.ask(["sacct", "a b", "$(id)", "--delimiter=\x1f", "*"]) == "<a b><$(id)><--delimiter=\x1f><*>"


def test_times_are_epochs_in_utc_and_words_english(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    programs.add("sacct", 'echo "$TZ $SLURM_TIME_FORMAT $LC_ALL $SLURM_CONF"')
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("SLURM_CONF", "/srv/slurm.conf")
    assert process.ask(["sacct"]) == "UTC %s C /srv/slurm.conf\n"


def test_variables_that_would_change_the_question_do_not_reach_the_program(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.add("sacct", "env")
    for name in (
        "SLURM_CLUSTERS",
        "SACCT_FORMAT",
        "SACCT_FEDERATION",
        "SACCT_LOCAL",
        "SQUEUE_STATES",
        "SQUEUE_PARTITION",
    ):
        monkeypatch.setenv(name, "trap")
    assert "trap" not in process.ask(["sacct"])


def test_the_program_has_no_input_to_wait_for(programs: Programs) -> None:
    programs.add("sacctmgr", "cat; echo done")
    assert process.ask(["sacctmgr"], timeout=20) == "done\n"


def test_bytes_that_are_no_text_come_through(programs: Programs) -> None:
    programs.add("sacct", r"printf 'a\377b'")
    assert process.ask(["sacct"]) == "a\ufffdb"


def test_a_slurm_under_a_prefix_of_its_own_counts_before_path(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.add("sacct", "echo on PATH")
    programs.add("rsync", "echo no program of Slurm")
    for folder, name in (("bin", "sacct"), ("sbin", "slurmctld")):
        (tmp_path / "opt" / folder).mkdir(parents=True)
        (tmp_path / "opt" / folder / name).write_text("#!/bin/sh\necho below the prefix\n")
        (tmp_path / "opt" / folder / name).chmod(0o755)
    monkeypatch.setenv("ADMINKIT_SLURM_PREFIX", str(tmp_path / "opt"))
    said = [process.ask([name]) for name in ("sacct", "slurmctld", "rsync")]
    assert said == ["below the prefix\n", "below the prefix\n", "no program of Slurm\n"]
    monkeypatch.delenv("ADMINKIT_SLURM_PREFIX")
    assert process.ask(["sacct"]) == "on PATH\n"


def test_a_missing_program_is_said_with_what_to_install(programs: Programs) -> None:
    with pytest.raises(process.NoSuchProgram) as caught:
        process.ask(["sacct", "-V"])
    assert caught.value.message == "sacct is not on PATH"
    assert "client programs" in caught.value.hint


@pytest.mark.parametrize(
    ("script", "message", "hint"),
    [
        (
            "echo 'sacct: error: Sending PersistInit msg: Connection refused' >&2\n"
            "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1",
            "Sending PersistInit msg: Connection refused; Problem talking to the database: Connection refused",
            "slurmdbd",
        ),
        ("echo 'sacct: error: Invalid field requested: \"Nope\"' >&2; exit 1", 'requested: "Nope"', "doctor"),
        ("echo 'sacct: fatal: Could not establish a configuration source' >&2; exit 1", "Could not", "slurm.conf"),
        ("echo 'sacct: error: Munge decode failed: Expired credential' >&2; exit 1", "Munge decode", "munged"),
        ("echo 'error: Unable to contact slurm controller (connect failure)' >&2; exit 1", "contact", "scontrol ping"),
        ("echo 'sacct: error: Access/permission denied' >&2; exit 1", "Access/permission denied", "AdminLevel"),
        ("echo 'Partition nosuch not found'; exit 1", "Partition nosuch not found", "by hand"),
        ("exit 7", "exit code 7", "by hand"),
        ("kill -SEGV $$", "ended by signal 11", "by hand"),
    ],
)
def test_a_failure_says_what_the_program_said_and_what_to_do(
    programs: Programs, script: str, message: str, hint: str
) -> None:
    programs.add("sacct", script)
    with pytest.raises(AdminkitError) as caught:
        process.ask(["sacct"])
    assert caught.value.message.startswith("couldn't run sacct: ")
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_program_that_cannot_be_executed_is_said(programs: Programs) -> None:
    programs.add("sacct", "").write_bytes(b"\x7fELF nonsense")
    with pytest.raises(AdminkitError, match="couldn't run sacct: "):
        process.ask(["sacct"])


def test_at_the_time_limit_the_program_and_its_children_are_ended(programs: Programs, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    programs.add("sacct", f"sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; trap '' TERM; wait; sleep 300")
    with pytest.raises(process.SlurmTimeout) as caught:
        process.ask(["sacct"], timeout=0.5)
    assert "no response within 0.5 s" in caught.value.message
    for pid in pids.read_text().split():
        assert not running(int(pid)), f"{pid} outlived its time limit"


def test_an_interrupt_leaves_no_program_behind(programs: Programs, tmp_path: Path) -> None:
    """The fake interrupts whoever asked, which is a process of its own, so that nobody else is."""
    pid = tmp_path / "pid"
    programs.add("sacct", f"echo $$ > {pid}; kill -INT $PPID; exec sleep 300")
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from adminkit.slurm import process; process.ask(['sacct'], timeout=60)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "KeyboardInterrupt" in done.stderr
    assert not running(int(pid.read_text()))


def test_spool_writes_the_answer_to_a_file_and_says_how_long_it_took(programs: Programs) -> None:
    programs.add("sacct", "echo row")
    with tempfile.TemporaryFile() as target:
        seconds = process.spool(["sacct"], target)
        target.seek(0)
        assert target.read() == b"row\n"
    assert 0 < seconds < 60


def running(pid: int) -> bool:
    """Whether the process still does anything, a moment after it was told to end; a zombie does nothing."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


def test_an_answer_that_the_disk_has_no_room_for_is_none(programs: Programs) -> None:
    """Slurm's programs do not check whether their words could be written, and end with 0."""
    programs.add("sacct", "echo rows 2>/dev/null; exit 0")
    with Path("/dev/full").open("wb") as full, pytest.raises(AdminkitError) as caught:
        process.spool(["sacct"], full)
    assert caught.value.message == "couldn't keep the output of sacct: no space left on device"


def test_a_program_that_leaves_a_child_behind_is_not_waited_for(programs: Programs) -> None:
    programs.add("sacct", "sleep 30 & echo rows")
    began = time.monotonic()
    assert process.ask(["sacct"], timeout=20) == "rows\n"
    assert time.monotonic() - began < 10
