"""What Slurm does that a script at submission has to live with: one test for each trap, named after it."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.slurm.reload import touch
from tests.cluster.harness.operator import adminkit, one
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import SHORT_MAX, Ruled, Said, at_most, rule

LIMITS = at_most(10) + SHORT_MAX


@pytest.fixture(autouse=True)
def in_force(ruled: Ruled) -> None:
    ruled.rules(LIMITS)


def reload(ruled: Ruled) -> None:
    """Have slurmctld load the script again at the next submission, whatever is in the folder."""
    touch(ruled.folder / "job_submit.lua")


# §0: what people assume


def test_1_an_error_of_ours_accepts_the_job_with_fail_open_and_says_so_in_the_log(ruled: Ruled) -> None:
    said, log = failing(ruled, "open")
    assert said.accepted
    assert said.lines == (f"Submitted batch job {said.job}",)
    assert "adminkit: error:" in log


def test_1_an_error_of_ours_refuses_the_job_with_fail_closed_but_not_roots(ruled: Ruled) -> None:
    said, log = failing(ruled, "closed")
    assert not said.accepted
    assert said.lines[0].startswith("adminkit: "), said
    assert "adminkit: error:" in log


def failing(ruled: Ruled, fail: str) -> tuple[Said, str]:
    """A submission by a user while decide.lua raises an error; root's has to pass."""
    ruled.rules(f'version = 1\nfail = "{fail}"\n{LIMITS}')
    path = ruled.inner / "decide.lua"
    whole = path.read_bytes()
    try:
        path.write_text('return { decide = function() error("broken") end, modify = function() error("broken") end }\n')
        reload(ruled)
        begin = ruled.log_size()
        said = ruled.sbatch("-p", "gq", "-t", "60")
        assert ruled.sbatch("-p", "gq", "-t", "60", user=None).accepted, "root is never locked out"
        held = ruled.sbatch("-p", "gq", "-t", "60", user=None)
        assert ruled.update(held.job, "TimeLimit=5", user=None).code == 0
        return said, ruled.log(begin)
    finally:
        path.write_bytes(whole)
        reload(ruled)


# 2 and 3, the priority and site_factor: test_policy_points.py


def test_8_an_owner_cannot_raise_a_pending_jobs_limit_past_the_rule(ruled: Ruled) -> None:
    job = ruled.sbatch("-p", "gq", "-t", "60").job
    assert ruled.update(job, "TimeLimit=20:00:00").code != 0, "Slurm itself would allow it up to the queue's maximum"
    assert ruled.job(job)["TimeLimit"] == "01:00:00"
    assert ruled.update(job, "TimeLimit=10:00:00").code == 0
    assert ruled.update(job, "TimeLimit=20:00:00", user=None).code == 0


# §1.1: when the script runs


def test_1_1_nothing_runs_for_steps_suspensions_requeues_and_array_tasks(ruled: Ruled) -> None:
    """The next call of the script would load it again, and say so in the log."""
    cluster = ruled.cluster
    script = 'test "$SLURM_RESTART_COUNT" && exit; sleep 60'
    again = cluster.submit(script, "-p", "gq-short", "-t", "90", "--requeue", user="games")
    tasks = cluster.submit("srun -n1 true; srun -n1 true", "-p", "gq-short", "-t", "90", "--array=1-3%1", user="games")
    cluster.wait(again, "RUNNING")
    reload(ruled)
    begin = ruled.log_size()
    for word in ("suspend", "resume", "requeue"):
        cluster.ask("scontrol", word, str(again))
    for job in (tasks, again):
        cluster.wait(job, "COMPLETED", seconds=60)
    assert "adminkit" not in ruled.log(begin)
    ruled.sbatch("-p", "gq", "-t", "60")
    assert "adminkit: policy " in ruled.log(begin)


def test_1_1_a_test_leaves_no_trace(ruled: Ruled) -> None:
    before = ruled.cluster.ask("squeue", "-h", "-a")
    for _ in range(5):
        ruled.sbatch("--test-only", "-p", "gq-short", "-t", "90")
    assert ruled.cluster.ask("squeue", "-h", "-a") == before


# §1.3, §1.4: values


def test_1_3_what_the_user_set_is_left_as_it_was(ruled: Ruled) -> None:
    """Writing a field of the wrong type would end the callback half-way: everything asked for arrives."""
    words = "-p gq-short -t 90 -n2 -c2 --mem=300M --nice=7 --gres=gpu:1 --licenses= --requeue --mail-type=END -J name"
    said = ruled.sbatch(*words.replace(" --licenses=", "").split(), "--comment", "my own", "--mail-user=me@example.org")
    job = ruled.job(said.job)
    wanted = {"TimeLimit": "01:00:00", "Requeue": "1", "Nice": "7", "JobName": "name", "Comment": "my own",
              "CPUs/Task": "2", "NumTasks": "2", "MailUser": "me@example.org"}  # fmt: skip
    assert {key: job.get(key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("words", "gpus"),
    [("", 0), ("--gres=gpu:2", 2), ("--gpus=2", 2), ("--gpus-per-node=2", 2), ("-n2 --gpus-per-task=1", 2),
     ("--gres=gpu", 1), ("--gres=gpu:0", 0), ("-N2 --gres=gpu:1", 2), ("--gpus-per-socket=1 --sockets-per-node=1", 1)],
)  # fmt: skip
def test_1_4_gpus_are_counted_in_every_way_they_are_asked_for(ruled: Ruled, words: str, gpus: int) -> None:
    ruled.rules(rule("n", "gq", gpus=99))
    assert f"; this one asks for {gpus}." in ruled.sbatch("-p", "gq", "-t", "60", *words.split()).text


def test_1_4_limits_are_minutes_and_seconds_are_rounded_up_by_slurm(ruled: Ruled) -> None:
    assert ruled.sbatch("-p", "gq", "-t", "10:00:00").accepted
    assert not ruled.sbatch("-p", "gq", "-t", "10:00:01").accepted, "sbatch makes 601 minutes of it"


def test_1_4_no_partition_means_the_default_one(ruled: Ruled) -> None:
    assert not ruled.sbatch("-t", "11:00:00").accepted
    assert ruled.job(ruled.sbatch("-t", "60").job)["Partition"] == "gq"


# §1.6: loading


def test_1_6_a_second_change_within_the_same_second_is_still_loaded(ruled: Ruled) -> None:
    """slurmctld compares whole seconds with the file it loaded last; install confirms that its own change counts."""
    for hours in (3, 4):
        ruled.rules(at_most(hours))
        assert ruled.sbatch("-p", "gq", "-t", f"{hours}:00:00").accepted
        assert not ruled.sbatch("-p", "gq", "-t", f"{hours}:01:00").accepted


def test_1_6_nothing_is_loaded_per_submission(ruled: Ruled) -> None:
    ruled.sbatch("-p", "gq", "-t", "60")
    begin = ruled.log_size()
    for _ in range(5):
        ruled.sbatch("-p", "gq", "-t", "60")
    assert "adminkit: policy " not in ruled.log(begin)
    assert (ruled.folder / "job_submit.lua").stat().st_mtime < time.time() + 60


def test_1_6_a_file_of_the_future_that_was_loaded_does_not_hide_the_next_install(ruled: Ruled) -> None:
    """A plain touch would: the time of what is loaded has to grow."""
    entry, future = ruled.folder / "job_submit.lua", time.time() + 7200
    os.utime(entry, (future, future))
    try:
        ruled.sbatch("-p", "gq", "-t", "60")
        ruled.rules(at_most(8))
        assert not ruled.sbatch("-p", "gq", "-t", "09:00:00").accepted
    finally:
        entry.touch()
        ruled.cluster.restart_ctld()


def test_1_6_a_damaged_policy_keeps_the_good_one_deciding(ruled: Ruled) -> None:
    path = ruled.inner / "policy.lua"
    whole = path.read_bytes()
    try:
        for damage in (b"return {", b"", b"\x1bLuaQ", b"os.exit(1)", b"return {format=1}", whole[: len(whole) // 2]):
            path.write_bytes(damage)
            begin = ruled.log_size()
            reload(ruled)
            assert not ruled.sbatch("-p", "gq", "-t", "11:00:00").accepted, damage
            assert "policy.good.lua is used instead of policy.lua" in ruled.log(begin), damage
        assert "damaged" in ruled.adminkit("policy", "status", code=1).stdout
        doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=None).stdout
        assert re.search(r"warn +rules .*policy.lua damaged, the good copy is in use", doctor), doctor
    finally:
        path.write_bytes(whole)
        reload(ruled)
    ruled.adminkit("policy", "status")


def test_1_6_a_syntax_error_in_the_entry_keeps_the_old_script(ruled: Ruled) -> None:
    entry = ruled.folder / "job_submit.lua"
    whole = entry.read_bytes()
    try:
        entry.write_bytes(b"function (")
        reload(ruled)
        assert not ruled.sbatch("-p", "gq", "-t", "11:00:00").accepted
    finally:
        entry.write_bytes(whole)
        reload(ruled)


GONE = {
    "both copies of the policy": ("policy.lua", "policy.good.lua"),
    "a module": ("rules.lua",),
    "the first module": ("start.lua",),
    "everything": (),
}


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (("policy.lua", "policy.good.lua"), "missing"),
        (("policy.lua", "policy.good.lua"), "damaged"),
        (("rules.lua",), "damaged"),
        ((), "missing"),
    ],
)
def test_1_6_slurmctld_starts_with_files_missing_or_damaged(ruled: Ruled, names: tuple[str, ...], how: str) -> None:
    """It would not, if the script raised an error while it is loaded for the first time. () is every file."""
    kept = {path: path.read_bytes() for path in ruled.inner.iterdir()}
    try:
        for name in names or [path.name for path in kept]:
            if how == "missing":
                (ruled.inner / name).unlink()
            else:
                (ruled.inner / name).write_bytes(b"\x00\xff return {")
        ruled.cluster.restart_ctld()
        assert ruled.alive()
        assert ruled.sbatch("-p", "gq", "-t", "11:00:00").accepted, "without a policy, everything is"
        doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=1).stdout
        assert re.search(r"missing +rules", doctor), doctor
    finally:
        for path, text in kept.items():
            path.write_bytes(text)
        reload(ruled)
    assert not ruled.sbatch("-p", "gq", "-t", "11:00:00").accepted


# §1.8: modify, arrays, het


def test_1_8_the_record_is_never_written_in_an_update_so_the_owners_own_succeeds(ruled: Ruled) -> None:
    """Slurm refuses a whole update in which the script set AdminComment for an ordinary user."""
    job = ruled.sbatch("-p", "gq", "-t", "60").job
    before = ruled.job(job)["AdminComment"]
    for change in ("TimeLimit=05:00:00", "Partition=gq-long", "JobName=x", "Comment=why", "NumNodes=2", "Features="):
        assert ruled.update(job, change).code == 0, change
    assert ruled.job(job)["AdminComment"] == before


def test_1_8_an_update_of_a_whole_array_is_judged_for_every_task(ruled: Ruled) -> None:
    job = ruled.sbatch("-p", "gq", "-t", "60", "--array=1-5").job
    assert ruled.update(job, "TimeLimit=02:00:00").code == 0
    assert ruled.update(job, "TimeLimit=20:00:00").code != 0
    ruled.cluster.ask("scontrol", "update", f"JobId={job}_3", "TimeLimit=03:00:00", user="games")
    assert ruled.update(job, "TimeLimit=04:00:00").code == 0
    limits = ruled.cluster.ask("squeue", "-h", "-r", "-j", str(job), "-o", "%l").split()
    assert limits == ["4:00:00"] * 5


def test_1_8_another_tools_words_in_admin_comment_are_not_ours(ruled: Ruled) -> None:
    """Jobstats writes its own at the end: slurmdbd then has nothing of what was asked for."""
    job = ruled.cluster.submit("sleep 2", "-p", "gq-short", "-t", "90", user="games")
    assert ruled.job(job)["AdminComment"] == "ak1:lim=5400,src=e,rules=short-max"
    ruled.cluster.wait(job, "COMPLETED")
    ruled.cluster.settle()
    stats = "JS1:H4sIAAAAAAAC/6tWyk0sKFayqlbKTUxOzs9TslIyNDBQ0lEqSSxKTy1RsqqtBQDR+b+LIwAAAA=="
    ruled.cluster.ask("sacctmgr", "-i", "modify", "job", f"jobid={job}", "set", f"AdminComment={stats}")
    row = ruled.cluster.ask("sacct", "-n", "-P", "-X", "-j", str(job), "-o", "admincomment")
    assert row.lower() == stats.lower(), "sacctmgr of this release writes small letters"


def test_1_8_what_a_snapshot_saw_outlives_another_tools_words(ruled: Ruled, tmp_path: Path) -> None:
    """One job is seen by sync while it runs; of the other nobody knows any more what was asked for."""
    db, cluster = tmp_path / "trace.db", ruled.cluster
    seen = cluster.submit("sleep 60", "-p", "gq-short", "-t", "90", user="games")
    cluster.wait(seen, "RUNNING")
    # A snapshot leaves out what started in its last second, and what slurmdbd has not been told yet; a job of an
    # earlier test may be in it, and slurmctld may be too busy to say what was recorded, which sync tells.
    held = "SELECT count(*) FROM job WHERE job_id_raw = ? AND state = 'RUNNING'"

    def caught() -> bool:
        said = adminkit(cluster, db, "sync", "--since", "1h", "--no-steps").stderr
        return "recorded in open jobs" not in said and one(db, held, seen) == 1

    until("the job to be in a snapshot", caught, 90.0)
    unseen = cluster.submit("sleep 1", "-p", "gq-short", "-t", "90", user="games")
    cluster.wait(unseen, "COMPLETED")
    cluster.ask("scancel", str(seen))
    cluster.wait(seen, "CANCELLED")
    cluster.settle()
    for job in (seen, unseen):
        cluster.ask("sacctmgr", "-i", "modify", "job", f"jobid={job}", "set", "AdminComment=JS1:H4sI")
    adminkit(cluster, db, "sync", "--no-steps")
    with closing(sqlite3.connect(db)) as trace:
        query = "SELECT time_limit, limit_original, limit_source FROM job WHERE job_id_raw = ?"
        assert trace.execute(query, (seen,)).fetchone() == (3600, 5400, "explicit")
        assert trace.execute(query, (unseen,)).fetchone() == (3600, None, "unknown")


# hostile text


HOSTILE = (
    b"%s%s%s%n%d", b"$(reboot)", b"`id`", b"'; os.execute('touch /tmp/pwned') --", b"]] os.exit() --[[", b"a\nb\nc",
    b"a\x1fb|c,d=e", b"{asked}{value}{queue}{rule}", b"ak1:lim=60,src=e,rules=x", b"\xff\xfe caf\xe9", "学習".encode(),
    b"x" * 900, b"../../etc/passwd", b"adminkit:generation", b"\\n\\065", b'"] = true, ["', b"%%%", b"-rf",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text)[2:22] for text in HOSTILE])
def test_nothing_from_a_job_becomes_code_or_a_format(ruled: Ruled, text: bytes) -> None:
    """As a name, a comment, an account, a path, a constraint: read by nobody but Slurm, and slurmctld goes on."""
    name = b"--job-name=" + text
    accepted = ruled.sbatch("-p", "gq-short", "-t", "90", name, b"--comment=" + text, b"--wckey=x")
    assert accepted.accepted, accepted
    lowered = "Jobs in gq-short may ask for at most 01:00:00; this one asked for 01:30:00 and got 01:00:00."
    assert accepted.lines[0] == lowered
    assert ruled.job(accepted.job)["AdminComment"] == "ak1:lim=5400,src=e,rules=short-max"
    refused = ruled.sbatch("-p", "gq", "-t", "11:00:00", name)
    assert refused.lines[0].startswith("Jobs in gq may ask for at most 10:00:00; this one asks for 11:00:00.")
    for option in (b"--account=", b"--chdir=/tmp/", b"--constraint=", b"--qos=", b"--partition=", b"--reservation="):
        ruled.sbatch("-t", "60", option + text)
    assert not Path("/tmp/pwned").exists()
    assert ruled.alive()


def test_the_probe_is_nobody_elses_business_and_queues_nothing(ruled: Ruled) -> None:
    before = ruled.cluster.ask("squeue", "-h", "-a")
    said = ruled.sbatch("--job-name=adminkit:generation?")
    assert not said.accepted
    assert re.match(r"adminkit generation [0-9a-f]{12} incentives none hints none$", said.lines[0])
    assert ruled.cluster.ask("squeue", "-h", "-a") == before
