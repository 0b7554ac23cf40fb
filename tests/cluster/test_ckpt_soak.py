"""Long proofs of the checkpoint plugin. Each says what it saw: pytest -s shows it."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Job, Watched
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import pids, program

pytestmark = pytest.mark.soak

COPIES = 4
LEAD = 60
#: script, options, how many handlers there are.
SHAPES: dict[str, tuple[str, tuple[str, ...], int]] = {
    "python under bash": ("{train} code=0", (), 1),
    "exec": ("exec {train} code=0", (), 1),
    "bash with an EXIT trap": ("trap 'echo bye' EXIT\n{train} code=0", (), 1),
    "bash with a TERM trap": ("trap 'echo told' TERM\n{train} code=0", (), 1),
    "four workers": ("{train} workers=4 code=0", (), 1),
    "sigwait": ("{train} how=sigwait code=0", (), 1),
    "a pid namespace": ("unshare -Urpf --mount-proc {train} code=0", (), 1),
    "srun": ("srun --mem=50 {train} code=0", (), 1),
    "srun on two nodes": ("srun --mem=50 -N2 -n2 {train} code=0", ("-N2",), 2),
    "array": ("{train} code=0", ("--array=1",), 1),
}


@pytest.fixture(scope="module", params=["cgroup", "linuxproc"])
def watched(request: pytest.FixtureRequest, outside: Listing) -> Iterator[Watched]:
    preempt = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}
    with private_slurm(request.param, nodes=13, **preempt) as cluster:
        yield watching(cluster)


def heard(watched: Watched, jobs: dict[str, list[Job]]) -> tuple[int, int, list[float]]:
    """How many handlers ran exactly once, how many of them within 2 s of their time, and all spans before the limit."""
    once = on_time = 0
    spans = []
    for shape, copies in jobs.items():
        expected = SHAPES[shape][2]
        for job in copies:
            before = [watched.limit_at(job) - at for at in job.times("heard")]
            spans += before
            if len(before) == expected:
                once += 1
                on_time += all(LEAD - 2 <= span <= LEAD + 2 for span in before)
            else:
                print(f"  {shape}, job {job.id}: {len(before)} of {expected} handlers ran")
    return once, on_time, spans


def test_forty_jobs_hear_the_signal_and_on_stock_slurm_few_do(watched: Watched) -> None:
    watched.configure()
    ours: dict[str, list[Job]] = {}
    stock: dict[str, list[Job]] = {}
    for shape, (script, options, _) in SHAPES.items():
        for _ in range(COPIES):
            ours.setdefault(shape, []).append(watched.submit(script, "-t2", *options, wish=f"TERM@{LEAD}"))
            stock.setdefault(shape, []).append(watched.submit(script, "-t2", *options, f"--signal=TERM@{LEAD}"))
    watched.ended(*chain(*ours.values(), *stock.values()), seconds=330.0)
    total = COPIES * len(SHAPES)
    for name, jobs in (("adminkit", ours), ("stock --signal", stock)):
        once, on_time, spans = heard(watched, jobs)
        between = f"{min(spans):.1f} to {max(spans):.1f} s before the limit" if spans else "never"
        print(f"\n{name}: every handler once in {once} of {total} jobs, within 2 s in {on_time}; {between}", flush=True)
        if jobs is ours:
            assert (once, on_time) == (total, total)


def test_the_signal_comes_while_slurmctld_is_stopped_and_the_requeue_when_it_is_back(watched: Watched) -> None:
    watched.configure()
    jobs = [
        watched.submit("{train} code=85 runs=2", "-t3", "--open-mode=append", wish=f"TERM@{LEAD},requeue=3"),
        watched.submit(
            "srun -N2 -n2 bash -c '{train} code=0 takes=$((SLURM_PROCID * 20))'", "-t3", "-N2", wish="TERM@60"
        ),
    ]
    watched.until("both to run", lambda: all(job.times("start") for job in jobs))
    limits = [watched.limit_at(job) for job in jobs]
    time.sleep(80)
    watched.cluster.stop_ctld()
    watched.until("the signal", lambda: all(job.times("heard") for job in jobs), 60.0)
    time.sleep(10)
    watched.cluster.start_ctld()
    for job, limit in zip(jobs, limits, strict=True):
        spans = [limit - at for at in job.times("heard")]
        print(f"slurmctld stopped: {spans} s before the limit", flush=True)
        assert all(LEAD - 2 <= span <= LEAD + 2 for span in spans)
    assert len(jobs[1].times("heard")) == 2, "on both nodes, though one takes its time"
    watched.until("the second run", lambda: len(jobs[0].times("start")) == 2, 120.0)
    watched.ended(*jobs)


def test_requeues(watched: Watched) -> None:
    watched.configure("quiet=5", "poll=5")
    cluster = watched.cluster
    node = cluster.ask("sinfo", "-h", "-N", "-p", "gq", "-o", "%N").split()[0]
    cluster.ask(
        "scontrol", "create", "PartitionName=high", f"Nodes={node}", "PriorityTier=10", "MaxTime=10", "State=UP"
    )
    append, wish = "--open-mode=append", "TERM@15,requeue=2"
    script = "srun {train} code=85 runs={runs}"
    preempted = watched.submit(script.format(train="{train}", runs=9), "-t1", append, "-w", node, "-c8", wish=wish)
    array = watched.submit(
        "{train}.$SLURM_ARRAY_TASK_ID code=85 runs=2", "-t1", append, "--array=1-2", wish="TERM@15,requeue=5"
    )
    cancelled = watched.submit("{train}; sleep 60", "-t1", append, wish="TERM@30,requeue=2")
    forbidden = watched.submit("{train} code=85", "-t1", append, "--no-requeue", wish="TERM@15,requeue=2")
    itself = watched.submit(
        "{train} runs=2 code=85 || { scontrol requeue $SLURM_JOB_ID; exit 85; }",
        "-t1",
        append,
        wish="TERM@15,requeue=2",
    )
    limit = watched.submit("{train} runs=2", "-t1", append, "--ckpt-requeue", "--ckpt-signal=TERM@15")
    for preemption in range(1, 4):
        watched.until("the job to run", lambda n=preemption: len(preempted.times("start")) == n)  # type: ignore[misc]
        cluster.ask("srun", "-p", "high", "-t1", "-c8", "--mem=100", "sleep", "1")
    watched.until("the signal", lambda: cancelled.times("heard"), 60.0)
    cluster.ask("scancel", str(cancelled.id))
    watched.ended(preempted, array, cancelled, forbidden, itself, limit, seconds=400.0)
    shown = watched.shown(preempted)
    assert (shown["Restarts"], len(preempted.times("start"))) == ("5", 6), "three preemptions and two of ours"
    assert "already been requeued 2 times" in preempted.said[-1]
    tasks = [Path(f"{array.log}.{task}").read_text().count("start") for task in (1, 2)]
    assert tasks == [2, 2], "each task of the array on its own"
    assert (watched.state(cancelled), watched.shown(cancelled)["Restarts"]) == ("CANCELLED", "0")
    assert watched.shown(forbidden)["Restarts"] == "0"
    assert "--no-requeue" in forbidden.said[-1]
    assert (watched.shown(itself)["Restarts"], len(itself.times("start"))) == ("1", 2)
    assert not any("not requeued" in line for line in itself.said)
    assert (watched.shown(limit)["Restarts"], watched.state(limit)) == ("1", "COMPLETED")
    assert ",end=limit" in watched.shown(limit)["AdminComment"]


def test_a_preemption_that_leaves_a_grace_brings_the_signal_forward(watched: Watched) -> None:
    """The lead is longer than the grace. USR1, as Slurm itself sends SIGTERM when a grace begins."""
    watched.configure("quiet=5", "poll=5")
    cluster = watched.cluster
    node = cluster.ask("sinfo", "-h", "-N", "-p", "gq", "-o", "%N").split()[-1]
    create = ("scontrol", "create", f"Nodes={node}", "State=UP", "MaxTime=60")
    cluster.ask(*create, "PartitionName=patient", "PriorityTier=1", "GraceTime=20")
    cluster.ask(*create, "PartitionName=urgent", "PriorityTier=10")
    options = ("-t30", "-p", "patient", "-c8")
    told = watched.submit("trap '' TERM\nexec {train} signal=USR1 code=0", *options, wish="USR1@30")
    watched.until("the job to run", lambda: told.times("start"))
    time.sleep(35)
    assert told.times("heard") == []
    preempted = time.time()
    cluster.ask("srun", "-p", "urgent", "-t1", "-c8", "--mem=100", "true")
    watched.ended(told)
    after = [at - preempted for at in told.times("heard")]
    print(f"a grace of 20 s, a lead of 30 s, poll=5: {after} s after the preemption", flush=True)
    assert len(after) == 1 and 0 <= after[0] <= 15, "slurmctld looks for whom to preempt every few seconds"


def other_release(plugin: Path) -> Path:
    """The plugin as if it were built for Slurm 20.11."""
    wrong = plugin.with_name("wrong.so")
    names = subprocess.run(["nm", "-D", plugin], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^(\w+) R plugin_version$", names, re.MULTILINE)
    assert found
    content, at = bytearray(plugin.read_bytes()), int(found[1], 16)
    content[at : at + 4] = (0x140B00).to_bytes(4, "little")
    wrong.write_bytes(content)
    return wrong


def test_another_release_of_the_plugin_or_a_new_one_hurts_no_job(watched: Watched) -> None:
    watched.configure("quiet=5")
    cluster, plugin = watched.cluster, watched.plugin
    wrong = other_release(plugin)
    login = cluster.home / "login"
    login.mkdir(exist_ok=True)
    (login / "plugstack.conf").write_text(f"optional {wrong}\n")
    conf = (cluster.home / "slurm.conf").read_text()
    (login / "slurm.conf").write_text(conf.replace(f"{cluster.home}/plugstack.conf", f"{login}/plugstack.conf"))
    for name in ("gres.conf", "cgroup.conf"):
        (login / name).write_text((cluster.home / name).read_text())
    on_login = watched.submit("{train} code=0", "-t1", wish="TERM@20", env={"SLURM_CONF": str(login / "slurm.conf")})
    replaced = watched.submit("{train} code=0", "-t1", wish="TERM@20")
    watched.until("both to run", lambda: on_login.times("start") and replaced.times("start"))
    new = plugin.with_suffix(".new")
    new.write_bytes(plugin.read_bytes())
    new.rename(plugin)
    (cluster.home / "plugstack.conf").write_text(f"optional {wrong}\n")
    on_node = watched.submit("sleep 5; srun --mem=50 true", "-t1", wish="TERM@20")
    watched.ended(on_login, replaced, on_node)
    assert [len(job.times("heard")) for job in (on_login, replaced)] == [1, 1]
    assert watched.state(on_node) == "COMPLETED"
    assert "drain" not in cluster.ask("sinfo", "-h", "-o", "%T")


def descriptors_and_threads() -> Counter[str]:
    """Of all slurmd together."""
    found: Counter[str] = Counter()
    for pid in pids():
        if program(pid) == "slurmd":
            found["descriptors"] += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
            found["threads"] += sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    return found


def test_a_thousand_short_jobs(watched: Watched) -> None:
    cluster = watched.cluster
    watched.configure()
    warm = watched.submit("true", "--array=1-100", wish="TERM@60")
    watched.ended(warm)
    time.sleep(5)
    before, questions = descriptors_and_threads(), asked(watched)
    jobs = [watched.submit("srun --mem=10 true", "--mem=50", "--array=1-250", wish="TERM@60") for _ in range(4)]
    watched.ended(*jobs, seconds=500.0)
    time.sleep(5)
    after = descriptors_and_threads()
    print(f"1000 jobs: slurmd before {dict(before)}, after {dict(after)}", flush=True)
    assert after["threads"] <= before["threads"] + 4
    assert after["descriptors"] <= before["descriptors"] + 4
    states = Counter(state for job in jobs for state in cluster.states(job.id))
    assert states == {"COMPLETED": 1000}
    assert asked(watched) - questions < 200, "the tests' own: the plugin asks nothing for short jobs"
    assert not [pid for pid in pids() if program(pid) == "slurmstepd" and str(cluster.folder) in _environment(pid)]
    assert set(cluster.ask("sinfo", "-h", "-p", "gq", "-o", "%t").split()) == {"idle"}
    logs = "".join(path.read_text(errors="replace") for path in (cluster.home / "log").glob("slurmd-*"))
    assert not re.search(r"SEGV|segfault|core dumped|Abort", logs)


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def asked(watched: Watched, question: str = "REQUEST_JOB_INFO_SINGLE") -> int:
    """How often slurmctld was asked for one job, or another question, since it started."""
    found = re.search(rf"{question}\s*\(\s*\d+\)\s*count:(\d+)", watched.cluster.ask("sdiag"))
    return int(found[1]) if found else 0


def test_what_a_job_asks_slurmctld(watched: Watched) -> None:
    watched.configure()
    before, federation = asked(watched), asked(watched, "REQUEST_FED_INFO")
    jobs = [watched.submit("{train} code=0", "-t2", wish=f"TERM@{LEAD}") for _ in range(10)]
    time.sleep(75)
    count = asked(watched) - before
    print(f"10 jobs of one step: {count} questions", flush=True)
    assert all(len(job.times("heard")) == 1 for job in jobs)
    assert count == 20, "each one when it was a minute old, and one before its signal"
    assert asked(watched, "REQUEST_FED_INFO") == federation, "and libslurm none of its own"
    watched.ended(*jobs)


#: Short pairs and many of them: of 31 ratios the 10th and the 22nd bound the median with 96 % confidence.
PAIRS = 31
LAUNCHES = "t=$(date +%s%N); for i in $(seq 8); do srun --mem=10 -n1 true || exit 1; done; echo $(($(date +%s%N) - t))"


def test_the_rate_of_launches_is_that_without_the_plugin(watched: Watched) -> None:
    def launches(loaded: bool) -> int:
        """Nanoseconds."""
        if loaded:
            watched.configure()
        else:
            (watched.cluster.home / "plugstack.conf").write_text("")
        command = ("salloc", "-Q", "-n1", "--mem=50", "bash", "-c", LAUNCHES)
        done = watched.cluster.run(*command, user="games", env={"ADMINKIT_CKPT": "TERM@60"})
        assert done.code == 0, done.err
        return int(done.text)

    launches(True)
    ratios = []
    for pair in range(PAIRS):
        order = (True, False) if pair % 2 else (False, True)
        took = {loaded: launches(loaded) for loaded in order}
        ratios.append(took[False] / took[True])
    ratios.sort()
    low, high = ratios[9], ratios[-10]
    print(f"launch rate with / without: {median(ratios):.3f} [{low:.3f}, {high:.3f}]", flush=True)
    assert low >= 0.90
