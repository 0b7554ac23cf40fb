"""The guard, on hosts made of files: it says no wherever a Slurm lives that no test started."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.harness.processes import LEDGER, boot_id
from tests.setup import guard
from tests.setup.guard import Host, Verdict

DEBIAN = 'ID=debian\nVERSION_ID="12"\n'


def fake_process(
    root: Path, pid: int, name: str, *, env: str = "", ppid: int = 1, started: int = 500, state: str = "S"
) -> None:
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} ({name}) {state} {ppid} {' 0' * 17} {started} 0 0\n")
    (folder / "comm").write_text(name[:15] + "\n")
    (folder / "cmdline").write_bytes(f"/usr/sbin/{name}\0-D\0".encode())
    (folder / "environ").write_bytes(env.encode() + b"\0")


def fake_ledger(folder: Path, *processes: tuple[int, int], mode: int = 0o644, boot: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    book = [{"name": "x", "pid": pid, "started": started} for pid, started in processes]
    ledger = folder / LEDGER
    ledger.write_text(json.dumps({"boot": boot or boot_id(), "owner": None, "processes": book}))
    ledger.chmod(mode)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A Debian host on which nothing but init and a shell runs, with every program of Slurm installed."""
    root = tmp_path / "host"
    (root / "etc" / "slurm").mkdir(parents=True)
    (root / "etc" / "os-release").write_text(DEBIAN)
    (root / "etc" / "slurm" / "plugstack.conf").write_text("include /etc/slurm/plugstack.conf.d/*\n")
    (root / "bin").mkdir()
    for name in guard.PROGRAMS:
        (root / "bin" / name).touch(mode=0o755)
    fake_process(root, 1, "init", ppid=0)
    fake_process(root, 90, "bash")
    return root


def host(root: Path, uid: int = 0, **env: str) -> Host:
    return Host(root=root, env=env, uid=uid, search=str(root / "bin"), pause=0.0)


def test_a_host_with_nothing_but_packages_is_free(root: Path) -> None:
    assert guard.check(host(root)) == Verdict()
    assert guard.may_install(host(root)) == Verdict()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("etc/slurm/slurm.conf", "Debian, and most others"),
        ("etc/slurm-llnl/slurm.conf", "older Debian and Ubuntu"),
        ("etc/slurm/slurmdbd.conf", "a host of slurmdbd alone"),
        ("etc/slurm/gres.conf", "a node whose slurm.conf is fetched"),
        ("usr/local/etc/slurm.conf", "built by hand"),
        ("usr/local/slurm-23.02/etc/slurm.conf", "built by hand, a folder per release"),
        ("opt/slurm/etc/slurm.conf", "cloud images"),
        ("run/slurm/conf/slurm.conf", "configless clients"),
        ("var/spool/slurmd/conf-cache/slurm.conf", "configless nodes"),
    ],
)
def test_a_configuration_of_another_slurm_says_no(root: Path, path: str, why: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("ClusterName=production\n")
    for answer in (guard.check(host(root)), guard.may_install(host(root))):
        assert str(answer).startswith(f"Slurm part not run: this host has a Slurm\nthere is /{path}\n"), why
        assert 'run --rm --init -e ADMINKIT_CONTAINER=1 -v "$PWD":/src:ro' in answer.hint


def test_slurm_conf_in_the_environment_says_no_even_if_it_is_not_there(root: Path) -> None:
    answer = guard.check(host(root, SLURM_CONF="/shared/slurm/slurm.conf"))
    assert (answer.reason, answer.detail) == ("this host has a Slurm", "SLURM_CONF is set to /shared/slurm/slurm.conf")


def test_slurm_conf_of_a_test_cluster_is_no_obstacle(root: Path, tmp_path: Path) -> None:
    folder = fake_ledger(tmp_path / "try")
    assert guard.check(host(root, SLURM_CONF=f"{folder}/alpha/slurm.conf")).allowed


@pytest.mark.parametrize("name", sorted(guard.DAEMONS))
def test_a_daemon_of_another_slurm_says_no(root: Path, name: str) -> None:
    fake_process(root, 812, name)
    answer = guard.may_install(host(root))
    assert (answer.reason, answer.detail) == ("this host has a Slurm", f"{name} is running (pid 812)")


def test_debian_calls_the_programs_by_other_names(root: Path) -> None:
    fake_process(root, 812, "x")
    (root / "proc/812/exe").symlink_to("/usr/sbin/slurmctld-wlm")
    assert guard.check(host(root)).detail == "slurmctld is running (pid 812)"


def test_a_dead_daemon_that_waits_to_be_reaped_is_no_obstacle(root: Path) -> None:
    fake_process(root, 812, "slurmctld", state="Z")
    assert guard.check(host(root)).allowed


def test_a_daemon_that_is_written_down_late_is_a_tests(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine some time passes between a start and the ledger."""
    folder, looks = fake_ledger(tmp_path / "try"), []

    def look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            fake_ledger(folder, (700, 500))

    monkeypatch.setattr(guard.time, "sleep", look)
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")
    assert guard.check(host(root)).allowed
    assert len(looks) == 3


Setup = Callable[[Path, Path], None]


def recorded(root: Path, folder: Path) -> None:
    fake_ledger(folder, (700, 500))
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")


def child_of_recorded(root: Path, folder: Path) -> None:
    recorded(root, folder)
    fake_process(root, 701, "slurmscriptd", env=f"ADMINKIT_CLUSTER={folder}", ppid=700)


def step_of_a_test(root: Path, folder: Path) -> None:
    fake_ledger(folder)
    fake_process(root, 702, "slurmstepd", env=f"ADMINKIT_CLUSTER={folder}")


def without_environment(root: Path, folder: Path) -> None:
    fake_ledger(folder, (700, 500))
    (folder / "alpha" / "log").mkdir(parents=True)
    fake_process(root, 700, "slurmd")
    (root / "proc/700/cwd").symlink_to(folder / "alpha" / "log")


def at_roots(root: Path, **folders: str) -> None:
    """A daemon, with the folder that each process has as its root."""
    fake_process(root, 700, "slurmd")
    for process, folder in folders.items():
        (root.parent / folder).mkdir(exist_ok=True)
        place = root / "proc" / {"daemon": "700", "first": "1"}.get(process, "self")
        place.mkdir(exist_ok=True)
        (place / "root").symlink_to(root.parent / folder)


def in_another_root(root: Path, folder: Path) -> None:
    at_roots(root, daemon="image", ours="host", first="host")


def where_the_first_process_is_closed(root: Path, folder: Path) -> None:
    at_roots(root, daemon="image", ours="host")


@pytest.mark.parametrize(
    "setup",
    [
        recorded,
        child_of_recorded,
        step_of_a_test,
        without_environment,
        in_another_root,
        where_the_first_process_is_closed,
    ],
)
def test_what_a_test_started_or_has_other_files_is_no_obstacle(root: Path, tmp_path: Path, setup: Setup) -> None:
    setup(root, tmp_path / "try")
    assert guard.check(host(root)) == Verdict()


def another_start_time(root: Path, folder: Path) -> None:
    fake_ledger(folder, (700, 499))
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")


def of_an_earlier_boot(root: Path, folder: Path) -> None:
    fake_ledger(folder, (700, 500), boot="before")
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")


def writable_by_all(root: Path, folder: Path) -> None:
    fake_ledger(folder, (700, 500), mode=0o666)
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")


def no_ledger(root: Path, folder: Path) -> None:
    folder.mkdir()
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")


def unrecorded(root: Path, folder: Path) -> None:
    fake_ledger(folder, (699, 500))
    fake_process(root, 700, "slurmctld", env=f"ADMINKIT_CLUSTER={folder}")


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        (another_start_time, "names neither it nor its parents"),
        (of_an_earlier_boot, "names neither it nor its parents"),
        (writable_by_all, "is not there, or others may write it"),
        (no_ledger, "is not there, or others may write it"),
        (unrecorded, "names neither it nor its parents"),
    ],
)
def test_a_process_that_only_looks_like_ours_says_no_and_why(
    root: Path, tmp_path: Path, setup: Setup, why: str
) -> None:
    setup(root, tmp_path / "try")
    ledger = tmp_path / "try/processes.json"
    assert guard.check(host(root)).detail == f"slurmctld is running (pid 700); {ledger} {why}"


@pytest.mark.parametrize(
    ("roots", "why"),
    [
        ({"daemon": "host", "ours": "host", "first": "host"}, "it reads the configuration of this host"),
        ({"ours": "host", "first": "host"}, "its root folder cannot be read"),
        ({"daemon": "image", "first": "host"}, "ours cannot be read"),
        ({"daemon": "host", "ours": "image", "first": "host"}, "we are in a container, and it is the host's"),
    ],
)
def test_a_daemon_that_may_have_the_files_of_this_host_says_no(root: Path, roots: dict[str, str], why: str) -> None:
    at_roots(root, **roots)
    assert guard.check(host(root)).detail == "slurmd is running (pid 700)", why


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root changes a root folder")
@pytest.mark.parametrize("changed", [False, True])
def test_a_real_daemon_in_a_chroot_is_not_of_this_host(tmp_path: Path, changed: bool) -> None:
    with a_slurmctld(tmp_path if changed else Path("/")) as pid:
        assert (pid in guard._strangers(Host())) != changed


@contextmanager
def a_slurmctld(root: Path) -> Iterator[int]:
    """A process of that name which does nothing, in that root folder, until the block is left."""
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(done[1])
        Path("/proc/self/comm").write_text("slurmctld")
        os.chroot(root)
        os.write(ready[1], b"!")
        os.read(done[0], 1)
        os._exit(0)
    os.close(ready[1])
    os.close(done[0])
    try:
        assert os.read(ready[0], 1) == b"!"
        yield pid
    finally:
        os.close(done[1])
        os.close(ready[0])
        os.waitpid(pid, 0)


def test_the_rest_of_a_removed_test_cluster_is_named_with_what_ends_it(root: Path) -> None:
    fake_process(root, 700, "slurmctld", env="ADMINKIT_CLUSTER=/no/such/folder")
    answer = guard.check(host(root))
    assert answer.detail.endswith("a test cluster whose folder /no/such/folder is gone, end it with: kill 700")


def test_without_root_it_says_how_to_be_root(root: Path) -> None:
    answer = guard.check(host(root, uid=1000))
    assert answer.reason == "no root"
    assert "sudo make test" in answer.hint


def test_on_debian_missing_packages_are_named_with_the_command(root: Path) -> None:
    (root / "bin" / "slurmctld").unlink()
    answer = guard.check(host(root))
    assert (answer.reason, answer.detail) == ("Slurm's packages are not installed", "not installed: slurmctld")
    assert answer.hint.startswith("apt-get install --no-install-recommends slurm-wlm ")
    assert guard.may_install(host(root)).allowed


@pytest.mark.parametrize(
    ("release", "allowed", "why"),
    [
        (DEBIAN, True, "Debian"),
        ("ID=ubuntu\nID_LIKE=debian\n", True, "Ubuntu"),
        ("ID=linuxmint\nID_LIKE=ubuntu\n", True, "made from Ubuntu"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', False, "dnf, not apt"),
        ("", False, "nothing is known"),
    ],
)
def test_packages_are_installed_on_debian_and_ubuntu_only(root: Path, release: str, allowed: bool, why: str) -> None:
    (root / "etc/os-release").write_text(release)
    assert guard.may_install(host(root)).allowed == allowed, why


def test_elsewhere_an_installed_slurm_may_be_run_all_the_same(root: Path) -> None:
    (root / "etc/os-release").write_text("ID=rocky\n")
    assert guard.check(host(root)).allowed
    (root / "bin" / "munged").unlink()
    assert guard.check(host(root)).detail == "not installed: munged"


def test_a_slurm_is_said_before_anything_else(root: Path) -> None:
    (root / "etc/os-release").write_text("ID=rocky\n")
    fake_process(root, 812, "slurmctld")
    assert guard.check(host(root, uid=1000)).reason == "this host has a Slurm"


def test_it_exits_with_3_and_says_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "environ", {"SLURM_CONF": "/production/slurm.conf"})
    assert guard.main([]) == 3
    assert capsys.readouterr().out.startswith("Slurm part not run: this host has a Slurm\n")
