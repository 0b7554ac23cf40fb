"""The private Slurm does what a real one does, and touches nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.conftest import OUTSIDE
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.config import ACCOUNTS, PARTITIONS, USERS
from tests.cluster.harness.ending import clear_abandoned, stop
from tests.cluster.harness.listing import Listing, listing
from tests.cluster.harness.machine import PROCTRACK, has_cgroup_v2, release
from tests.cluster.harness.processes import environment, pids, start_time, until
from tests.cluster.harness.workload import KINDS, NAMES, Workload

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]


def rows(cluster: Cluster, job: int, *fields: str, options: tuple[str, ...] = ("-X", "-D")) -> list[list[str]]:
    """What sacct says of a job, one list per row. For fields without delimiters in them."""
    text = cluster.ask("sacct", "-a", *options, "-n", "-P", "-j", str(job), "-o", ",".join(fields))
    return [line.split("|") for line in text.splitlines()]


def marked(folder: Path) -> list[int]:
    """Every living process that was started for a folder's cluster."""
    return [pid for pid in pids() if environment(pid).get("ADMINKIT_CLUSTER") == str(folder) and start_time(pid)]


# the shared cluster, while its mix of jobs begins


def test_the_mix_of_jobs_is_submitted_as_several_users(submitted: Workload) -> None:
    assert set(submitted.ids) == set(KINDS)


def test_four_nodes_offer_eight_gpus_each(cluster: Cluster) -> None:
    said = cluster.ask("sinfo", "-h", "-N", "-p", "gq", "-o", "%N %G")
    assert said.splitlines() == [f"n{number} gpu:8" for number in range(1, 5)]


@pytest.mark.parametrize(("name", "default", "longest"), PARTITIONS, ids=[row[0] for row in PARTITIONS])
def test_each_queue_has_its_limits(cluster: Cluster, name: str, default: str, longest: str) -> None:
    said = cluster.ask("scontrol", "show", "partition", name)
    assert f"DefaultTime={default} " in said
    assert f"MaxTime={longest}" in said
    assert ("Default=YES" in said) == (name == "gq")


def test_accounts_and_users_are_known_to_slurmdbd(cluster: Cluster) -> None:
    text = cluster.ask("sacctmgr", "-n", "-P", "show", "assoc", f"cluster={cluster.name}", "format=account,user")
    pairs = {tuple(line.split("|")) for line in text.splitlines()}
    assert {(account, "") for account in ACCOUNTS} <= pairs
    assert {(account, user) for user, account in USERS.items()} <= pairs


def test_a_user_without_an_association_is_refused(cluster: Cluster) -> None:
    done = cluster.run("sbatch", "--wrap", "true", user="irc")
    assert (done.code, b"Invalid account" in done.err) == (1, True)


def test_daemons_write_nowhere_but_in_the_private_folder(cluster: Cluster) -> None:
    elsewhere = []
    for process in cluster.ledger.alive():
        for fd in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                target, info = os.readlink(fd), Path(f"/proc/{process.pid}/fdinfo/{fd.name}").read_text()  # noqa: PTH115
            except FileNotFoundError:
                continue
            writes = int(info.split("flags:")[1].split()[0], 8) & (os.O_WRONLY | os.O_RDWR)
            if (
                target.startswith("/")
                and writes
                and target != "/dev/null"
                and not target.endswith("/memory.pressure")  # MariaDB asks the kernel to be told of its cgroup's
                and not Path(target).is_relative_to(cluster.folder)
            ):
                elsewhere.append((process.name, target))
    assert elsewhere == []


# a cluster of this file's own, to be ill-treated


def test_jobs_that_end_while_slurmdbd_is_down_are_accounted_for_later(spare: Cluster) -> None:
    before = spare.submit("true", user="games")
    spare.wait(before)
    spare.settle()
    spare.stop_dbd()
    during = spare.submit("sleep 1", "--gres=gpu:1", user="news")
    assert spare.wait(during) == ["COMPLETED"]
    assert spare.backlog() > 0
    assert spare.run("sacct").code != 0
    spare.start_dbd()
    spare.settle()
    assert [rows(spare, job, "State") for job in (before, during)] == [[["COMPLETED"]], [["COMPLETED"]]]


def test_running_jobs_survive_a_restart_of_slurmctld(spare: Cluster) -> None:
    job = spare.submit("sleep 4", "-t", "5", user="games")
    spare.wait(job, "RUNNING")
    spare.restart_ctld()
    assert spare.wait(job) == ["COMPLETED"]


def test_two_clusters_share_one_slurmdbd(spare: Cluster) -> None:
    second = spare.another("beta")
    here, there = spare.submit("true", user="games"), second.submit("true", "--gres=gpu:a100:2", user="news")
    spare.wait(here)
    second.wait(there)
    spare.settle()
    second.settle()
    text = spare.ask("sacct", "-a", "-X", "-n", "-P", "-M", "alpha,beta", "-o", "Cluster,JobID,User,AllocTRES")
    found = [line.split("|") for line in text.splitlines()]
    assert ["alpha", str(here), "games"] in [row[:3] for row in found]
    tres = next(row[3] for row in found if row[:3] == ["beta", str(there), "news"])
    assert {"gres/gpu=2", "gres/gpu:a100=2"} <= set(tres.split(","))


def test_a_rebuilt_accounting_database_is_a_new_one(spare: Cluster) -> None:
    old = spare.submit("true", user="games")
    spare.wait(old)
    spare.settle()
    (last,) = rows(spare, old, "DBIndex")[0]
    spare.rebuild_accounting()
    # Slurm 26.05 tells the new one of the end of the old run, under its old number.
    assert [last] not in rows(spare, old, "DBIndex") or release() >= (26, 5)
    new = spare.submit("true", user="games")
    spare.wait(new)
    spare.settle()
    assert new > old
    ((state, index),) = rows(spare, new, "State", "DBIndex")
    assert state == "COMPLETED"
    # From 24.11 on the index begins with the cluster's id, which the new database draws by lot.
    assert int(index) < int(last) if release() < (24, 11) else index != last


def test_stopping_ends_every_process_and_a_job_in_its_midst(spare: Cluster) -> None:
    job = spare.submit("trap '' TERM; sleep 600", user="games")
    spare.wait(job, "RUNNING")
    started = spare.ledger.alive()
    until("the step to run", lambda: len(marked(spare.folder)) > len(started), 60)
    spare.stop()
    assert marked(spare.folder) == []
    assert [process for process in started if start_time(process.pid) == process.started] == []
    assert not [pid for pid in pids() if environment(pid).get("SLURM_CONF", "").startswith(str(spare.folder))]


def test_a_stopped_cluster_boots_again_in_the_same_folder(spare: Cluster) -> None:
    spare.stop()
    spare.boot(owner=os.getpid())
    assert spare.wait(spare.submit("true", user="games")) == ["COMPLETED"]


def test_what_a_killed_run_left_is_cleared_away_by_the_next(spare: Cluster, tmp_path: Path) -> None:
    spare.stop()
    script = "import os, sys, time; from tests.cluster import Cluster; Cluster(sys.argv[1]).boot(owner=os.getpid()); "
    script += "print('up', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", script, spare.folder], cwd=ROOT, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"up\n"
        assert spare.folder not in clear_abandoned()
        assert marked(spare.folder)
        run.send_signal(signal.SIGKILL)
    try:
        clear_abandoned()  # unless another run of tests was quicker
        until("its processes to be gone", lambda: not marked(spare.folder), 60.0)
    finally:
        stop(spare.folder)
        spare.folder.mkdir(exist_ok=True)


def test_make_cluster_up_and_down_are_two_commands(spare: Cluster) -> None:
    folder = spare.folder / "by-hand"
    up = subprocess.run(["make", "-s", "cluster-up", f"DIR={folder}"], cwd=ROOT, capture_output=True, text=True)
    try:
        assert up.stdout == f"export SLURM_CONF={folder}/alpha/slurm.conf\n", up.stderr
        said = subprocess.run(
            ["sh", "-c", f"{up.stdout.strip()}; sinfo -h -p gq -o %D"], capture_output=True, text=True
        )
        assert said.stdout.strip() == "4"
    finally:
        down = subprocess.run(["make", "-s", "cluster-down", f"DIR={folder}"], cwd=ROOT, capture_output=True, text=True)
    assert (down.returncode, marked(folder)) == (0, [])


# the shared cluster, when its mix of jobs has ended


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_job_ends_as_it_should(workload: Workload, kind: str) -> None:
    states = [row[0].split()[0] for row in rows(workload.cluster, workload.ids[kind], "State")]
    assert Counter(states) == Counter(KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "field", "expected"),
    [
        ("completed", "AllocTRES", "billing=2,cpu=2,gres/gpu=2,mem=1000M,node=1"),
        ("multi-node", "AllocTRES", "billing=3,cpu=3,gres/gpu=12,mem=1500M,node=3"),
        ("completed", "TimelimitRaw", "10"),
        ("default limit", "TimelimitRaw", "60"),
        ("no limit", "TimelimitRaw", "UNLIMITED"),
        ("other account", "Account", "physics"),
        ("by root", "User", "root"),
        ("cancelled during", "State", "CANCELLED by 5"),
        ("cancelled by root", "State", "CANCELLED by 0"),
        ("cancelled before", "Start", "None"),
        ("failed", "ExitCode", "3:0"),
        ("signalled", "ExitCode", "0:11"),
        ("steps", "DerivedExitCode", "4:0"),
        ("codes above 128", "DerivedExitCode", "143:0"),
    ],
)
def test_sacct_says_what_happened(workload: Workload, kind: str, field: str, expected: str) -> None:
    assert rows(workload.cluster, workload.ids[kind], field) == [[expected]]


def test_a_requeued_job_has_a_row_for_each_run(workload: Workload) -> None:
    first, second = rows(workload.cluster, workload.ids["requeued"], "JobIDRaw", "Submit", "DBIndex")
    assert first[0] == second[0]
    assert first[1] < second[1]
    assert first[2] != second[2]


def test_steps_have_rows_of_their_own(workload: Workload) -> None:
    job = workload.ids["steps"]
    names = [row[0] for row in rows(workload.cluster, job, "JobID", options=("-D",))]
    assert names == [str(job), f"{job}.batch", f"{job}.0", f"{job}.1"]


@pytest.mark.parametrize("kind", NAMES)
def test_a_job_name_comes_back_byte_for_byte(workload: Workload, kind: str) -> None:
    done = workload.cluster.run("sacct", "-a", "-X", "-n", "-P", "-j", str(workload.ids[kind]), "-o", "JobName")
    assert done.out == NAMES[kind] + b"\n"


@pytest.mark.skipif(
    not has_cgroup_v2() or PROCTRACK != "cgroup" or release() < (24, 11),
    reason="MaxRSS is sampled here; it is exact with cgroup v2 and Slurm 24.11 or later",
)
def test_in_cgroup_v2_the_peak_of_memory_is_the_kernels_own_with_the_cache_of_files(cluster: Cluster) -> None:
    """docs/trace.md: a job that holds nothing, but writes 200 MiB and ends before it is sampled often."""
    script = "dd if=/dev/zero of=$(mktemp -p /var/tmp) bs=1M count=200 status=none"
    job = cluster.submit(script, "--mem=1000", user="games")
    assert cluster.wait(job) == ["COMPLETED"]
    cluster.settle()
    (batch,) = [row for row in rows(cluster, job, "JobID", "MaxRSS", options=("-D", "--units=M")) if "batch" in row[0]]
    assert 190 <= float(batch[1].removesuffix("M")) <= 400, batch


def test_nothing_outside_the_private_folder_was_touched(workload: Workload, outside: Listing) -> None:
    assert listing(OUTSIDE) == outside
