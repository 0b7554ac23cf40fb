"""What Slurm calls when a job ends: it wakes adminkit, returns at once, and never fails a job."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from adminkit.installed import data_file
from tests.cluster.harness.processes import start_time, until
from tests.support.others import OWNER, READER, as_user

WAKE, MAIL = data_file("etc", "slurm", "adminkit-wake"), data_file("etc", "slurm", "adminkit-mail")


def run(program: Path, wake: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "ADMINKIT_WAKE": str(wake), **environ}
    return subprocess.run([program, *words], env=env, input="", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("program", [WAKE, MAIL])
def test_it_touches_the_file_that_is_watched(tmp_path: Path, program: Path) -> None:
    wake = tmp_path / "wake"
    wake.write_text("")
    os.utime(wake, (1, 1))
    assert run(program, wake, ADMINKIT_MAILPROG="/bin/true").returncode == 0
    assert wake.stat().st_mtime > 1


@pytest.mark.parametrize("program", [WAKE, MAIL])
def test_without_anybody_to_wake_nothing_happens(tmp_path: Path, program: Path) -> None:
    done = run(program, tmp_path / "none" / "wake", ADMINKIT_MAILPROG="/bin/true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "none").exists()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "other")
    run(program, link, ADMINKIT_MAILPROG="/bin/true")
    assert not (tmp_path / "other").exists(), "root follows nobody's link"


@pytest.mark.parametrize("program", [WAKE, MAIL])
def test_what_hangs_there_holds_up_neither_job_nor_mail(tmp_path: Path, program: Path) -> None:
    """As a file system that does not answer: touch never comes back by itself."""
    (tmp_path / "touch").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nexec sleep 600\n")
    (tmp_path / "touch").chmod(0o755)
    done = run(program, tmp_path / "wake", PATH=f"{tmp_path}:/usr/bin:/bin", ADMINKIT_MAILPROG="/bin/true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    hung = int((tmp_path / "pid").read_text())
    until("what hung to be gone", lambda: start_time(hung) is None, 60.0)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_slurms_user_may_wake_by_the_files_group_alone(open_folder: Path) -> None:
    """As etc/tmpfiles.d makes it: mode 0620, adminkit's own, of SlurmUser's group; as in /etc/slurm, all may enter."""
    program = Path(shutil.copy(WAKE, open_folder))
    wake = open_folder / "wake"
    wake.touch()
    wake.chmod(0o620)
    os.chown(wake, OWNER, READER)
    os.utime(wake, (1, 1))
    as_user(READER, READER, lambda: run(program, wake).check_returncode())
    assert wake.stat().st_mtime > 1


def test_the_users_own_mail_is_passed_on_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "mail"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/args\nexit 7\n')
    program.chmod(0o755)
    subject = "Slurm Job_id=7 Name=$(touch x); `touch y` Ended"
    done = run(MAIL, tmp_path / "wake", "-s", subject, "ada@example.org", ADMINKIT_MAILPROG=str(program))
    assert done.returncode == 7
    assert (tmp_path / "args").read_text().splitlines() == ["-s", subject, "ada@example.org"]


@pytest.mark.parametrize("unit", ["service", "timer", "path"])
def test_the_units_name_each_other(unit: str) -> None:
    text = configparser.ConfigParser(strict=False, interpolation=None)
    text.optionxform = str  # type: ignore[assignment,method-assign]
    text.read(data_file("etc", "systemd", f"adminkit-feedback.{unit}"))
    if unit == "service":
        assert text["Service"]["ExecStart"] == "/usr/local/bin/adminkit feedback run --send"
        assert text["Service"]["User"] == "adminkit"
    if unit == "path":
        made = data_file("etc", "tmpfiles.d", "adminkit.conf").read_text()
        assert f"f {text['Path']['PathChanged']} " in made
