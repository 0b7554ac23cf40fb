"""slurmctld as the user `slurm`, as most sites run it: what it may read; installs, rollbacks and restarts."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import private_slurm
from tests.cluster.listing import Listing
from tests.cluster.ruled import Ruled, at_most, ruling

pytestmark = pytest.mark.cluster
SLURM = "slurm"  # of the Debian packages


def hand_to(cluster: Cluster, user: str) -> None:
    """Let slurmctld and slurmdbd run as `user`, who gets at their files and the database; slurm.conf stays root's."""
    who = pwd.getpwnam(user)
    cluster.stop_ctld()
    cluster.stop_dbd()
    cluster.sql(f"create user {user}@localhost identified via unix_socket; grant all on *.* to {user}@localhost")
    os.chown(cluster.socket.parent, 0, who.pw_gid)
    cluster.socket.parent.chmod(0o710)  # its data is MariaDB's alone, its socket everybody's
    dbd, conf = cluster.folder / "dbd" / "slurmdbd.conf", cluster.home / "slurm.conf"
    for path in (dbd, conf):
        text = re.sub(r"(?m)^(SlurmUser|StorageUser)=root$", rf"\1={user}", path.read_text())
        path.write_text(text.replace(f"{cluster.home}/slurmctld.pid", f"{cluster.home}/state/slurmctld.pid"))
    for top in (dbd.parent, cluster.home / "state", cluster.home / "log"):
        for path in (top, *top.rglob("*")):
            os.chown(path, who.pw_uid, who.pw_gid)
    cluster.start_dbd()
    cluster.start_ctld()
    cluster.until_idle()


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    with private_slurm() as cluster:
        hand_to(cluster, SLURM)
        with ruling(cluster) as made:
            yield made


def rights(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return oct(stat.S_IMODE(found.st_mode)), found.st_uid, found.st_gid


def test_slurmctld_reads_what_root_wrote_and_users_cannot(ruled: Ruled) -> None:
    process = ruled.cluster.ledger.find(f"{ruled.cluster.name}-slurmctld")
    who = pwd.getpwnam(SLURM)
    assert process is not None
    assert Path(f"/proc/{process.pid}").stat().st_uid == who.pw_uid
    ruled.rules(at_most(5))
    assert ruled.most() == 5
    tables = [ruled.inner / name for name in ("policy.lua", "policy.good.lua", "policy.previous.lua")]
    assert {rights(path) for path in tables} == {("0o640", 0, who.pw_gid)}
    assert rights(ruled.inner)[0] == "0o750"
    assert ruled.cluster.run("cat", tables[0], user="games").code != 0
    assert ruled.cluster.run("cat", tables[0], user=SLURM).code == 0


def test_the_record_is_written_and_an_update_of_the_owners_succeeds(ruled: Ruled) -> None:
    """Slurm takes AdminComment from the script, whoever slurmctld is; in an update of the owner's it would not."""
    ruled.rules(at_most(5))
    job = ruled.sbatch("-p", "gq", "-t", "60").job
    assert ruled.job(job)["AdminComment"] == "ak1:lim=3600,src=e"
    assert ruled.update(job, "TimeLimit=02:00:00").code == 0
    assert ruled.update(job, "TimeLimit=20:00:00").code != 0
    assert ruled.update(job, "TimeLimit=20:00:00", user=SLURM).code == 0, "SlurmUser passes, as root does"


def test_an_install_a_rollback_and_a_restart_are_in_force_there(ruled: Ruled) -> None:
    ruled.rules(at_most(5))
    ruled.rules(at_most(6))
    assert ruled.most() == 6
    ruled.adminkit("policy", "rollback", "--apply")
    ruled.text = ""
    assert ruled.most() == 5
    ruled.cluster.restart_ctld()
    assert ruled.most() == 5
    ruled.adminkit("policy", "status")
    assert rights(ruled.inner / "policy.lua") == ("0o640", 0, pwd.getpwnam(SLURM).pw_gid)
