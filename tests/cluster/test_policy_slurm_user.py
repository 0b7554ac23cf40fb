"""slurmctld as the user `slurm`, as most sites run it: what it may read; installs, rollbacks and restarts."""

from __future__ import annotations

import pwd
import stat
from pathlib import Path

from tests.cluster.conftest import SLURM_USER
from tests.cluster.harness.ruled import Ruled, at_most


def rights(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return oct(stat.S_IMODE(found.st_mode)), found.st_uid, found.st_gid


def test_slurmctld_reads_what_root_wrote_and_users_cannot(ruled: Ruled) -> None:
    process = ruled.cluster.ledger.find(f"{ruled.cluster.name}-slurmctld")
    who = pwd.getpwnam(SLURM_USER)
    assert process is not None
    assert Path(f"/proc/{process.pid}").stat().st_uid == who.pw_uid
    ruled.rules(at_most(5))
    assert ruled.most() == 5
    tables = [ruled.inner / name for name in ("policy.lua", "policy.good.lua", "policy.previous.lua")]
    assert {rights(path) for path in tables} == {("0o640", 0, who.pw_gid)}
    assert rights(ruled.inner)[0] == "0o750"
    assert ruled.cluster.run("cat", tables[0], user="games").code != 0
    assert ruled.cluster.run("cat", tables[0], user=SLURM_USER).code == 0


def test_the_record_is_written_and_an_update_of_the_owners_succeeds(ruled: Ruled) -> None:
    """Slurm takes AdminComment from the script, whoever slurmctld is; in an update of the owner's it would not."""
    ruled.rules(at_most(5))
    job = ruled.sbatch("-p", "gq", "-t", "60").job
    assert ruled.job(job)["AdminComment"] == "ak1:lim=3600,src=e"
    assert ruled.update(job, "TimeLimit=02:00:00").code == 0
    assert ruled.update(job, "TimeLimit=20:00:00").code != 0
    assert ruled.update(job, "TimeLimit=20:00:00", user=SLURM_USER).code == 0, "SlurmUser passes, as root does"


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
    assert rights(ruled.inner / "policy.lua") == ("0o640", 0, pwd.getpwnam(SLURM_USER).pw_gid)
