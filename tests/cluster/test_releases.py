"""What adminkit knows of Slurm is what this release is: a new state, a word gone or renamed fails here first."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit.ingest.sources.sacct_fields import fields_of
from adminkit.slurm import bindings, gather, open_jobs, partitions, plugstack, priority, release, reload
from adminkit.slurm import cluster as slurm
from tests.cluster.conftest import private_slurm
from tests.cluster.harness import known, machine
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster


@pytest.fixture
def reached(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The environment of a process that talks to the cluster."""
    for name, value in cluster.env().items():
        monkeypatch.setenv(name, value)
    return cluster


def test_its_states_are_those_adminkit_knows() -> None:
    assert known.states(machine.header("slurm.h")) == []


def test_its_fields_are_those_of_this_release(reached: Cluster) -> None:
    assert known.fields(release.sacct_fields(), release.release()) == []


def test_every_word_that_is_read_is_printed(reached: Cluster) -> None:
    reached.ask("scontrol", "create", "PartitionName=denied", "Nodes=n1", "DenyAccounts=chemistry", "DenyQos=normal")
    ahead = ("StartTime=now+1hour", "Duration=1", "Users=root", "Nodes=n1")
    reached.ask("scontrol", "create", "reservation", "ReservationName=ahead", *ahead)
    reached.ask("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=a word")
    try:
        printed = {
            module: "\n".join(reached.ask(*command) for command in commands)
            for module, commands in known.READERS.items()
        }
    finally:
        reached.ask("scontrol", "update", "NodeName=n4", "State=RESUME")
        reached.ask("scontrol", "delete", "ReservationName=ahead")
        reached.ask("scontrol", "delete", "PartitionName=denied")
    said = {line for module, text in printed.items() for line in known.words(module, text)}
    assert sorted(said) == known.gone(release.release())


def test_every_question_has_its_answer(reached: Cluster) -> None:
    """Those that no other suite asks of every release; what is refused raises."""
    jobs = [reached.submit("sleep 60", "-w", "n4", "--exclusive", "--time=5", user="games") for _ in "12"]
    reached.ask("scontrol", "update", f"JobId={jobs[1]}", "AdminComment=a word")
    try:
        assert [said for one, _, said in open_jobs.admin_comments("alpha") if one == jobs[1]] == ["a word"]
        waiting = until("sprio to have the job that waits", priority.spread, 90)
        assert waiting.jobs >= 1
    finally:
        reached.ask("scancel", *map(str, jobs))
    assert reload.probe() is None, "a submission that is tested, without a script of ours"
    found = plugstack.nodes()
    assert {node.name for node in found} == {"n1", "n2", "n3", "n4"}
    assert {node.release for node in found} == {release.show_release(release.release())}
    assert plugstack.setup().plugstack == reached.home / "plugstack.conf"


def test_its_programs_are_found_below_slurm_prefix(reached: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ADMINKIT_SLURM_PREFIX", machine.PREFIX)
    assert slurm.local_cluster() == "alpha"
    assert [queue.name for queue in partitions.queues()][:1] == ["gq"]
    assert release.sacct_fields() == fields_of(release.release())


def test_what_was_recorded_is_read_of_a_job_that_is_held_in_a_special_state(reached: Cluster) -> None:
    """squeue -t PD has no job with a flag beside PENDING."""
    job = reached.submit("sleep 600", "--time=5", user="games")
    try:
        reached.wait(job, "RUNNING")
        reached.ask("scontrol", "update", f"JobId={job}", "AdminComment=a word")
        reached.ask("scontrol", "requeuehold", "State=SpecialExit", str(job))
        state = lambda: reached.ask("scontrol", "-o", "show", "job", str(job))  # noqa: E731
        until("the job to be held", lambda: "JobState=SPECIAL_EXIT" in state(), 60.0)
        said = lambda: [said for one, _, said in open_jobs.admin_comments("alpha") if one == job]  # noqa: E731
        until("squeue to have what was recorded", lambda: said() == ["a word"], 60.0)
    finally:
        reached.ask("scancel", str(job))


def test_the_plugin_is_installed_where_slurm_looks_for_its_plugins(reached: Cluster, tmp_path: Path) -> None:
    words = ["make", "-s", "-C", str(known.ROOT / "spank"), "install", f"DESTDIR={tmp_path}", f"OUT={tmp_path}/out"]
    subprocess.run([*words, "CFLAGS=-O0", f"SLURM_PREFIX={machine.PREFIX}"], check=True)
    (folder,) = plugstack.setup().folders
    built = Path(f"{tmp_path}{folder}/adminkit_ckpt.so")
    assert plugstack.built_for(built) == release.release()


def test_pyslurm_says_what_scontrol_and_squeue_say(reached: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    module, why = bindings.usable()
    if module is None:
        pytest.skip(f"no pyslurm for this release of Slurm{why and ': '}{why}")
    job = reached.submit("true", "--hold", "--time=5", user="games")
    reached.ask("scontrol", "update", f"JobId={job}", "AdminComment=a word")
    theirs = (partitions.queues(), gather.gather().site.queues, open_jobs.admin_comments("alpha"))
    monkeypatch.setattr(bindings, "usable", lambda: (None, ""))
    try:
        assert theirs == (partitions.queues(), gather.gather().site.queues, open_jobs.admin_comments("alpha"))
        assert [said for one, _, said in theirs[2] if one == job] == ["a word"]
    finally:
        reached.ask("scancel", str(job))


# the plugin's calls

#: What is made of a header, and the object that is then not built.
CHANGES = [
    ("slurm.h", r"\bslurm_load_job\b", "slurm_load_one_job", "common/slurmctld.o"),
    ("slurm.h", r"(extern int slurm_requeue\()", r"\1void *more, ", "common/slurmctld.o"),
    ("slurm.h", r"\brestart_cnt\b", "restarts", "common/slurmctld.o"),
    ("slurm.h", r"\bJOB_CANCELLED\b", "JOB_ENDED_BY_USER", "common/slurmctld.o"),
    ("slurm.h", r"\bslurm_update_job\b", "slurm_modify_job", "common/slurmctld.o"),
    ("spank.h", r"(spank_err_t spank_getenv ?\()", r"\1int more, ", "ckpt/adminkit_ckpt.o"),
    ("spank.h", r"\bS_TASK_EXIT_STATUS\b", "S_TASK_STATUS", "ckpt/adminkit_ckpt.o"),
]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Slurm's headers under a prefix of their own."""
    prefix = tmp_path_factory.mktemp("slurm")
    shutil.copytree(Path(machine.PREFIX, "include/slurm"), prefix / "include/slurm")
    assert _build(prefix, *{built for *_, built in CHANGES}) == ""
    return prefix


@pytest.mark.parametrize(("header", "old", "new", "built"), CHANGES)
def test_the_plugin_is_not_built_where_a_call_of_its_changed(
    elsewhere: Path, header: str, old: str, new: str, built: str
) -> None:
    path = elsewhere / "include/slurm" / header
    before = path.read_text()
    changed, count = re.subn(old, new, before)
    assert count, f"{header} has no {old}"
    path.write_text(changed)
    try:
        assert "error:" in _build(elsewhere, built)
    finally:
        path.write_text(before)


def _build(prefix: Path, *objects: str) -> str:
    """What the compiler complains, building objects of spank/ against the headers below a prefix."""
    out = prefix / "out"
    shutil.rmtree(out, ignore_errors=True)
    words = ["make", "-s", "-k", "-C", str(known.ROOT / "spank"), f"SLURM_PREFIX={prefix}", f"OUT={out}", "CFLAGS=-O0"]
    done = subprocess.run([*words, *(f"{out}/{one}" for one in objects)], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


# job_submit.lua


@pytest.fixture(scope="module")
def probed(outside: Listing) -> Iterator[Cluster]:
    """A cluster whose job_submit.lua refuses every job, and says what this release lacks of what ours reads."""
    with private_slurm() as booted:
        (booted.home / "job_submit.lua").write_text(known.probe())
        with (booted.home / "slurm.conf").open("a") as conf:
            conf.write("JobSubmitPlugins=lua\n")
        booted.restart_ctld()
        booted.until_idle()
        yield booted


def test_job_submit_has_every_field_constant_and_function_that_ours_takes(probed: Cluster) -> None:
    done = probed.run("sbatch", "-N", "1", "--time=5", "--gres=gpu:1", "--wrap", "true", user="games")
    late = known.LATE_ERRORS if machine.release() < (23, 2) else set()
    assert set(known.lacking(done.err.decode().splitlines())) == late, done.err


def test_job_modify_has_every_field_of_the_record_that_ours_takes(probed: Cluster) -> None:
    """Slurm says of a field that it does not have only so much in its log."""
    job = probed.submit("true", "--hold", "--job-name=kept", "--time=5", user="games")
    probed.ask("scontrol", "update", f"JobId={job}", "TimeLimit=4", user="games")
    log = (probed.home / "log" / "slurmctld.log").read_text(errors="replace")
    assert "probe modified" in log
    assert re.findall(r".*unrecognized field.*", log) == []
