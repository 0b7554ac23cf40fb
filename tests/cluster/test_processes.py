"""The ledger ends what it started, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.cluster.harness import ending
from tests.cluster.harness.processes import (
    LEDGER,
    ClusterError,
    Ledger,
    Process,
    environment,
    parent,
    start_time,
    until,
)


def test_what_was_started_is_written_down_and_ended(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    process = ledger.start("sleeper", ["sleep", "60"], {"PATH": os.environ["PATH"], "MARK": "1"}, tmp_path / "log")
    assert (Ledger(tmp_path).find("sleeper"), parent(process.pid)) == (process, os.getpid())
    until("exec", lambda: environment(process.pid).get("MARK") == "1", 60)
    ledger.stop(process)
    assert (start_time(process.pid), ledger.alive()) == (None, [])


def test_a_process_that_ignores_the_first_signal_is_killed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    script = "trap '' TERM; echo ready; while :; do sleep 1; done"
    process = ledger.start("deaf", ["sh", "-c", script], dict(os.environ), tmp_path / "log")
    until("the trap", lambda: (tmp_path / "log").read_text(), 60)
    ledger.stop(process, seconds=0.3)
    assert start_time(process.pid) is None


def test_a_pid_that_was_given_to_another_process_is_never_signalled(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        started = start_time(stranger.pid)
        assert started is not None
        ledger = Ledger(tmp_path)
        assert not ledger.signal(Process("stale", stranger.pid, started - 1), signal.SIGKILL)
        ledger.stop(Process("stale", stranger.pid, started - 1))
        assert stranger.poll() is None
        stranger.kill()


def test_nobody_else_may_write_a_ledger_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Ledger(tmp_path).own(None)
    finally:
        os.umask(before)
    assert (tmp_path / LEDGER).stat().st_mode & 0o777 == 0o644, "the guard would take its daemons for a real Slurm's"


def test_a_ledger_of_an_earlier_boot_names_nobody(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    process = ledger.start("sleeper", ["sleep", "60"], dict(os.environ), tmp_path / "log")
    book = ledger.path.read_text()
    ledger.path.write_text(book.replace('"boot": "', '"boot": "x'))
    assert ledger.alive() == []
    ledger.stop(process)


@pytest.mark.parametrize("alive", [True, False])
def test_a_cluster_is_abandoned_once_its_owner_is_dead(tmp_path: Path, alive: bool) -> None:
    ledger = Ledger(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as owner:
        ledger.own(owner.pid)
        if alive:
            assert not ledger.abandoned()
        owner.kill()
    assert ledger.abandoned()


def test_a_cluster_without_owner_is_never_abandoned(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.own(None)
    assert not ledger.abandoned()


def test_an_abandoned_cluster_is_cleared_away_once_however_many_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that another process is at is left to it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = Path(tempfile.mkdtemp(prefix=ending.TEMPORARY))
    with subprocess.Popen(["sleep", "60"]) as owner:
        Ledger(folder).own(owner.pid)
        assert folder not in ending.clear_abandoned(), "its owner lives"
        owner.kill()
    with ending._alone(folder):
        assert folder not in ending.clear_abandoned()
    assert folder.exists()
    assert folder in ending.clear_abandoned()
    assert not folder.exists()


def test_waiting_in_vain_says_for_what() -> None:
    with pytest.raises(ClusterError, match="waited 0 s for the impossible"):
        until("the impossible", lambda: False, 0)
