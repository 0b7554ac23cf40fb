"""Rules that a job keeps or breaks without a number in between, as users meet them."""

from __future__ import annotations

import pytest

from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import Ruled, rule

RULES = (
    rule("long-batch", "gq-long", batch_only=True)
    + rule("gq-account", "gq", require_account=True)
    + rule("gq-whole", "gq", classes=["multi-node"], exclusive=True)
    + rule("short-cpus", "gq-short", cpus_per_gpu=2)
    + rule("short-mem", "gq-short", mem_per_gpu="4G")
    + rule("short-gpus", "gq-short", gpus="1-")
)
GQ, SHORT = ("-p", "gq", "-t", "60", "-A", "physics"), ("-p", "gq-short", "-t", "60")


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(RULES)


def test_a_queue_for_batch_jobs_takes_neither_srun_nor_salloc(ruled: Ruled) -> None:
    where = ("-p", "gq-long", "-t", "60")
    for command in (("srun", *where, "true"), ("salloc", *where, "true"), ("salloc", "--no-shell", *where),
                    ("srun", "-p", "gq-short,gq-long", "-t", "60", "true"),
                    ("salloc", "--no-shell", *GQ, ":", "-p", "gq-long", "-t", "60")):  # fmt: skip
        refused = ruled.run(*command)
        assert not refused.accepted, command
        assert "Write a script with srun in it, and type: sbatch -p gq-long SCRIPT" in refused.text, refused
    assert ruled.sbatch(*where).accepted
    assert ruled.sbatch("--array=1-4", *where).accepted
    het = ruled.run("sbatch", "-H", "-o", "/dev/null", *where, ":", *where, "--wrap", "true")
    assert het.accepted, het
    bare = ruled.run("sbatch", "-H", "-o", "/dev/null", "--export=NONE", *where, ":", *where, "--wrap", "true")
    assert bare.accepted, bare


def test_srun_within_a_batch_job_is_no_submission(ruled: Ruled) -> None:
    job = ruled.cluster.submit("srun true && srun -n2 true", "-p", "gq-long", "-t", "5", "-n2", user="games")
    ruled.cluster.wait(job, "COMPLETED")


def test_an_allocation_cannot_move_to_a_queue_for_batch_jobs(ruled: Ruled) -> None:
    waiting = "salloc --no-shell --begin=now+1hour -p gq -A physics -t 60 >/dev/null 2>&1 & echo"
    ruled.run("sh", "-c", waiting)
    job = until("the allocation to wait", lambda: ruled.cluster.ask("squeue", "-h", "-t", "PD", "-o", "%A").strip(), 30)
    refused = ruled.update(int(job), "Partition=gq-long")
    assert "accounting/QOS policy" in refused.text, "22.05 shows an update Slurm's own words only"
    batch = ruled.sbatch(*GQ).job
    assert ruled.update(batch, "Partition=gq-long").accepted


def test_a_queue_whose_jobs_name_an_account(ruled: Ruled) -> None:
    refused = ruled.sbatch("-p", "gq", "-t", "60")
    assert not refused.accepted and "Type: --account=NAME" in refused.text, refused
    named = ruled.sbatch(*GQ)
    assert named.accepted, "the default account, named, is named"
    assert ruled.run("sbatch", "-H", "-o", "/dev/null", "-p", "gq", "-t", "60", "--wrap", "true",
                     env={"SBATCH_ACCOUNT": "physics"}).accepted  # fmt: skip
    assert ruled.update(named.job, "TimeLimit=30").accepted
    elsewhere = ruled.sbatch("-p", "gq-long", "-t", "60").job
    assert not ruled.update(elsewhere, "Partition=gq").accepted
    assert ruled.update(elsewhere, "Partition=gq", "Account=physics").accepted


def test_jobs_of_several_nodes_take_them_whole(ruled: Ruled) -> None:
    for options in (("-N2",), ("-N2", "--oversubscribe"), ("-N2", "--exclusive=user")):
        refused = ruled.sbatch(*GQ, *options)
        assert not refused.accepted and "Type: --exclusive" in refused.text, options
    whole = ruled.sbatch(*GQ, "-N2", "--exclusive")
    assert whole.accepted, whole
    assert ruled.sbatch(*GQ, "-N1", "--gpus-per-node=2").accepted
    moved = ruled.sbatch("-p", "gq-long", "-t", "60", "-N2", "--exclusive").job
    assert ruled.update(moved, "Partition=gq", "Account=physics").accepted, "the record tells of whole nodes"
    parts = ruled.sbatch("-p", "gq-long", "-t", "60", "-N2").job
    assert not ruled.update(parts, "Partition=gq", "Account=physics").accepted


#: options, a word of what is said, "" for taken
PROPORTIONS = [
    (("--gpus-per-node=1", "-N1", "-c2"), ""),
    (("--gpus-per-node=1", "-N1", "-c3"), "--cpus-per-gpu=2"),
    (("--gpus-per-node=1", "-N1", "-n3"), "--cpus-per-gpu=2"),
    (("--gpus-per-node=2", "-N1", "-c4"), ""),
    (("--gpus=1", "--cpus-per-gpu=2"), ""),
    (("--gpus=1", "--cpus-per-gpu=3"), "--cpus-per-gpu=2"),
    (("--gpus=1", "-N1", "--exclusive"), "--cpus-per-gpu=2"),
    (("--gpus-per-node=8", "-N1", "--exclusive"), ""),
    (("-N2", "--gpus-per-node=4", "--ntasks-per-node=4", "-c2"), ""),
    (("--gpus=1", "-N1", "--mem=4G"), ""),
    (("--gpus=1", "-N1", "--mem=4097M"), "--mem-per-gpu=4G"),
    (("--gpus=1", "-N1", "--mem=0"), "--mem-per-gpu=4G"),
    (("--gpus=1", "--mem-per-gpu=4G"), ""),
    (("--gpus=1", "--mem-per-gpu=5G"), "--mem-per-gpu=4G"),
    (("--gpus=1", "-N1", "-c2", "--mem-per-cpu=2G"), ""),
    (("--gpus=1", "-N1", "-c2", "--mem-per-cpu=3G"), "--mem-per-gpu=4G"),
    (("-N1", "-c4"), "The number of GPUs must be 1+ for a job in gq-short"),
]


def test_cpus_and_memory_stay_in_proportion_to_gpus(ruled: Ruled) -> None:
    """What a job may take of each, as slurmctld hands it over; a queue of `gpus = "1-"` takes no job without GPUs."""
    for options, said in PROPORTIONS:
        answer = ruled.sbatch(*SHORT, *options)
        assert answer.accepted is not bool(said) and said in answer.text, (options, answer)


def test_no_update_is_a_way_round_the_proportion(ruled: Ruled) -> None:
    job = ruled.sbatch(*SHORT, "--gpus-per-node=1", "-N1", "-c2", "--mem=4G").job
    for change in ("MinMemoryNode=5000", "MinMemoryNode=0", "MinMemoryCPU=4096", "NumCPUs=3", "MinCPUsNode=3"):
        assert not ruled.update(job, change).accepted, change
    for change in ("TimeLimit=30", "MinMemoryNode=4000", "Nice=5"):
        assert ruled.update(job, change).accepted, change
    elsewhere = ruled.sbatch("-p", "gq-long", "-t", "60", "--gpus-per-node=1", "-N1", "--mem=5G").job
    assert not ruled.update(elsewhere, "Partition=gq-short").accepted
    plain = ruled.sbatch("-p", "gq-long", "-t", "60", "--gpus-per-node=1", "-N1").job
    assert ruled.update(plain, "Partition=gq-short").accepted, "what the site gives keeps the rule"


def test_an_install_prints_what_holds_users_to_gpus_at_a_time(ruled: Ruled) -> None:
    """Nothing of it is typed by adminkit; a cluster that enforces no limits is said to."""
    ruled.policy.write_text("version = 1\n[gpus_per_user]\ngq = 16\n")
    said = ruled.adminkit("policy", "install", "--policy", ruled.policy).stdout
    ruled.text = ""
    for line in (
        "note      gpus_per_user: AccountingStorageEnforce lacks limits, so Slurm does not enforce it",
        "note      gpus_per_user: type sacctmgr add qos gq-users set MaxTRESPerUser=gres/gpu=16",
        "note      gpus_per_user: type scontrol update PartitionName=gq QOS=gq-users",
        "note      gpus_per_user: write QOS= into the queue's line of slurm.conf, too, or a reconfigure removes it",
    ):
        assert line in said, said
    assert "gq-users" not in ruled.cluster.ask("sacctmgr", "-n", "-P", "show", "qos")
