"""doctor: every line says what is there, or what is missing and what to do."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adminkit
from adminkit import config
from adminkit.cli.main import main
from adminkit.doctor import examine as doctor
from adminkit.doctor import sees
from adminkit.doctor.check import Check
from adminkit.doctor.examine import examine, lacking
from adminkit.installed import helper_path
from adminkit.slurm import show_config
from adminkit.trace import connect, location
from adminkit.trace.permissions import sidecars
from adminkit.trace.schema import SCHEMA_VERSION
from tests.support.fakes import DATA, Programs, Pyslurm


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """A host with a helper, an empty trace and a Slurm in good order."""
    helper = helper_path()
    monkeypatch.setattr(doctor, "helper_path", lambda: helper)
    monkeypatch.setattr(config, "SYSTEM_CONFIG", tmp_path / "nosuch.toml")
    for name in [name for name in os.environ if name.startswith("ADMINKIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ADMINKIT_CONFIG", "")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(0o2750)
    connect.prepare(tmp_path / "folder" / "trace.db")
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("sacct", f'case "$*" in -V) echo "slurm 24.11.5";; *) cat {DATA}/sacct-helpformat-24.11.txt;; esac')
    programs.says("scontrol", config="scontrol-config", partition="scontrol-partitions")
    programs.add("sdiag", "echo 'DBD Agent queue size: 0'")
    programs.says(
        "sacctmgr", cluster="sacctmgr-clusters", configuration="sacctmgr-configuration", user="sacctmgr-users"
    )
    monkeypatch.setattr(sees, "is_root", lambda: False)
    monkeypatch.setattr(doctor.cluster, "admin_level", lambda: "Operator")
    return programs


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "trace.db"


@pytest.mark.parametrize(
    ("tres", "lacks", "why"),
    [
        ("cpu,mem,gres/gpu", "", "the total"),
        ("cpu,mem", "gres/gpu", "nothing of GPUs"),
        ("cpu,mem,gres/gpu:a100", "", "all types"),
        ("cpu,mem,gres/gpu:v100", "gres/gpu", "another type"),
        (None, "", "it is not shown"),
    ],
)
def test_gpus_that_accounting_does_not_track_are_named(
    host: Programs, trace: Path, tres: str | None, lacks: str, why: str
) -> None:
    config = f"AccountingStorageTRES = {tres}" if tres else "ClusterName = alpha"
    host.add(
        "scontrol",
        f"""case "$*" in *config*) echo "{config}"; echo "SLURM_VERSION = 24.11.5"; echo "ClusterName = alpha";;
        *node*) echo "NodeName=n1 Gres=gpu:a100:4 State=IDLE Partitions=gq";;
        *) cat {DATA}/scontrol-partitions.txt;; esac""",
    )
    show_config.forget()
    found = [check for check in examine(trace)[1] if check.name == "gpus"]
    if tres is None:
        assert found == [], why
    elif lacks:
        assert found[0].status == "warn" and f"AccountingStorageTRES lacks {lacks}:" in found[0].found, why
    else:
        assert found[0].status == "ok", why


def look(trace: Path, name: str) -> Check:
    return next(check for check in examine(trace)[1] if check.name == name)


def expect(trace: Path, name: str, status: str, found: str, hint: str) -> None:
    """The check of this name has this status, and its texts contain the others."""
    check = look(trace, name)
    assert (check.name, check.status) == (name, status)
    assert found in check.found
    assert hint in check.hint


def test_a_host_in_good_order_has_nothing_to_complain_of(host: Programs, trace: Path) -> None:
    db, checks = examine(trace)
    assert db == trace
    assert [(check.name, check.status) for check in checks if check.status != "ok"] == []
    assert [check.name for check in checks] == (
        "config adminkit helper sqlite database rights disk sacct slurmdbd fields sees slurmctld rules"
        " ckpt staging months letters plots pyslurm".split()
    )
    assert lacking(checks) == 0


def test_what_is_found_is_named(host: Programs, trace: Path) -> None:
    found = {check.name: check.found for check in examine(trace)[1]}
    for name, words in {
        "helper": adminkit.__version__,
        "sqlite": sqlite3.sqlite_version,
        "database": f"{trace} (--db), schema {SCHEMA_VERSION}",
        "rights": "0640",
        "disk": "free at",
        "sacct": "Slurm 24.11.5",
        "fields": "all ",
        "slurmdbd": "22.05.8, keeps alpha, beta, up since",
        "sees": "AdminLevel Operator, PrivateData=jobs,usage",
        "slurmctld": "alpha, 5 queues through scontrol",
    }.items():
        assert words in found[name]


SLURM = {
    "no Slurm here": (
        lambda host: [path.unlink() for path in host.folder.iterdir()],
        "sacct",
        "missing",
        "not on PATH",
        "client programs",
    ),
    "scontrol but no sacct": (
        lambda host: ((host.folder / "sacct").unlink(), host.add("scontrol", "echo slurm 24.11.5")),
        "sacct",
        "missing",
        "scontrol only",
        "sync needs it",
    ),
    "an old Slurm": (lambda host: host.add("sacct", "echo slurm 20.11.9"), "sacct", "warn", "20.11.9", "22.05.0"),
    "fields that only later releases have": (
        lambda host: host.add(
            "sacct", f'case "$*" in -V) echo "slurm 22.05.8";; *) cat {DATA}/sacct-helpformat-22.05.txt;; esac'
        ),
        "fields",
        "ok",
        "absent: Restarts",
        "",
    ),
    "fields that every release has": (
        lambda host: host.add(
            "sacct", f"test $1 = -V && echo slurm 24.11.5 || sed s/ReqTRES// {DATA}/sacct-helpformat-24.11.txt"
        ),
        "fields",
        "warn",
        "ReqTRES",
        "stay empty",
    ),
    "slurmdbd away": (
        lambda host: host.add("sacctmgr", "echo 'error: Sending PersistInit msg: Connection refused' >&2; exit 1"),
        "slurmdbd",
        "missing",
        "Connection refused",
        "slurmdbd is running",
    ),
    "slurmctld away": (
        lambda host: host.add("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1"),
        "slurmctld",
        "warn",
        "Unable to contact",
        "scontrol ping",
    ),
    "a backlog": (
        lambda host: host.says("sdiag", **{"": "sdiag"}),
        "slurmctld",
        "warn",
        "still holds 17 records",
        "provisional",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SLURM)
def test_slurm_that_is_not_in_order(host: Programs, trace: Path, what: str) -> None:
    spoil, *expected = SLURM[what]
    spoil(host)
    expect(trace, *expected)


def test_without_slurmdbd_only_that_is_missing(host: Programs, trace: Path) -> None:
    host.add("sacctmgr", "echo 'error: Sending PersistInit msg: Connection refused' >&2; exit 1")
    host.add("sacct", 'test "$*" = -V && echo slurm 24.11.5')  # even its list of fields needs slurmdbd
    assert [check.name for check in examine(trace)[1] if check.status == "missing"] == ["slurmdbd"]


def test_without_sacct_the_rest_of_slurm_is_not_asked(host: Programs, trace: Path) -> None:
    (host.folder / "sacct").unlink()
    (host.folder / "scontrol").unlink()
    names = [check.name for check in examine(trace)[1]]
    assert "slurmdbd" not in names
    assert "slurmctld" not in names


def newer(trace: Path) -> None:
    with sqlite3.connect(trace) as db:
        db.execute("PRAGMA user_version = 99")


def spoilt(trace: Path) -> None:
    for one in sidecars(trace):  # they hold a whole copy of a small trace
        one.unlink()
    trace.write_text("x" * 999)


TRACE: dict[str, tuple[Callable[[Path], Any], str, str, str, str]] = {
    "none yet": (lambda trace: shutil.rmtree(trace.parent), "database", "warn", "none yet at", "adminkit sync"),
    "a newer one": (newer, "database", "missing", "made by a newer adminkit", "upgrade adminkit"),
    "no database": (spoilt, "database", "missing", "not a database", "--db"),
    "readable by all": (lambda trace: trace.chmod(0o644), "rights", "warn", "0644", "chmod 0640"),
    "a folder the group may write": (
        lambda trace: trace.parent.chmod(0o2770), "rights", "warn", "2770", "chmod 2750",
    ),
    "a lost log": (
        lambda trace: [one.unlink() for one in sidecars(trace)], "rights", "warn", "0640", "adminkit trace upgrade",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TRACE)
def test_a_trace_that_is_not_in_order(host: Programs, trace: Path, what: str) -> None:
    spoil, *expected = TRACE[what]
    spoil(trace)
    expect(trace, *expected)


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [
        ("24.11.0", "ok", "24.11.0, in use for queues, nodes and open jobs"),
        ("25.11.2", "warn", "is 25.11.2, for Slurm 25.11; this is 24.11; scontrol is used in its place"),
        ("", "ok", "not installed; scontrol is used in its place"),
    ],
)
def test_which_pyslurm_is_used_and_why_one_is_not(
    host: Programs, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, status: str, said: str
) -> None:
    if version:
        Pyslurm(tmp_path, monkeypatch, version)
    host.says("scontrol", ping="scontrol-config", config="scontrol-config", partition="scontrol-partitions")
    assert (look(trace, "pyslurm").status, look(trace, "pyslurm").found) == (status, said)


def test_a_network_mount_and_a_full_disk_are_seen(
    host: Programs, trace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 99, 1))
    assert look(trace, "disk").status == "warn"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {tmp_path} rw - lustre mds:/ rw\n")
    monkeypatch.setattr(location, "MOUNTINFO", mounts)
    check = look(trace, "disk")
    assert (check.status, check.found.split(",")[0]) == ("missing", "lustre")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo adminkit-ingest 0.0.1", "is 0.0.1, adminkit is"),
        ("echo something else", "is else, adminkit is"),
        ("exit 1", "does not run"),
    ],
)
def test_a_helper_of_another_release_is_missing(
    host: Programs, trace: Path, monkeypatch: pytest.MonkeyPatch, script: str, found: str
) -> None:
    fake = host.add("adminkit-ingest", script)
    monkeypatch.setattr(doctor, "helper_path", lambda: str(fake))
    check = look(trace, "helper")
    assert check.status == "missing"
    assert found in check.found
    assert "install" in check.hint


def test_a_config_that_cannot_be_read_is_one_line_and_the_rest_goes_on(
    host: Programs, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "adminkit.toml"
    file.write_text("[sync]\njob = 1\n")
    monkeypatch.setenv("ADMINKIT_CONFIG", str(file))
    check = look(trace, "config")
    assert (check.status, check.hint) == ("missing", "did you mean sync.jobs?")
    file.write_text(f'db = "{trace}"\n')
    db, checks = examine(None)
    assert (db, checks[0].found) == (trace, str(file))
    assert "(the config file's db)" in next(check.found for check in checks if check.name == "database")


def test_the_command_prints_lines_for_people_and_exits_with_0_or_1(
    host: Programs, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--db", str(trace)]) == 0
    assert capsys.readouterr().out.endswith("\nnothing needed is missing\n")
    (host.folder / "sacct").unlink()
    assert main(["doctor", "--db", str(trace)]) == 1
    out = capsys.readouterr().out
    assert out.endswith("\nmissing: sacct\n")
    assert "\nmissing  sacct      " in out


def test_json_is_one_object_of_meta_and_rows(host: Programs, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--db", str(trace), "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["meta"]["database"] == str(trace)
    assert {tuple(row) for row in said["rows"]} == {("check", "status", "found", "hint")}
