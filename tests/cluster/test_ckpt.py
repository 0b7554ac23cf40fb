"""The signal before the kill, on the real Slurm, by cgroups if it can be. All jobs run at once; limits are a minute."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from adminkit.doctor.check import Check
from adminkit.doctor.ckpt import checkpoints
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Job, Watched, proctrack
from tests.cluster.harness.checkpoint import watched as watching
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import has_cgroup_v2, release

LEAD = 20  # seconds: TERM@20 of a limit of one minute
RUN = 15  # of runs that are put back, which have to take twice as long
#: A step's code for "more to do" that neither the script's nor the highest of the steps' codes shows.
HIDDEN = """srun -n1 --mem=30 {train} runs=2 code=85 &
srun -n1 --mem=30 --overlap sh -c 'sleep 25; exit 137' &
wait
echo over
"""
#: A daemon of the job, and what waits for it to hear the signal without being above it.
APART = "{train} apart=yes code=0; until grep -q heard {log}; do sleep 1; done"


@dataclass
class Cases:
    """The jobs of this file by the names the tests know them by."""

    watched: Watched
    jobs: dict[str, Job] = field(default_factory=dict)

    def add(self, name: str, script: str, *options: str, wish: str | None = f"TERM@{LEAD}", limit: str = "1") -> None:
        self.jobs[name] = self.watched.submit(script, "-t", limit, *options, wish=wish)


def submit(cases: Cases) -> None:
    """Every job, then what is done to some of them while they run."""
    append = "--open-mode=append"
    cases.add("defaults", "{train} code=0\n")
    cases.watched.until("its step", lambda: cases.jobs["defaults"].times("start"))
    cases.watched.configure("quiet=5", "poll=5")
    cases.add("python", "{train} code=0 & wait $!\n")
    cases.add("foreground", "{train} code=3\n")
    cases.add("exit trap", "trap 'echo bye' EXIT\n{train} code=0\n")
    cases.add("workers", "{train} workers=3 code=0\n")
    cases.add("sigwait", "{train} how=sigwait code=0\n")
    cases.add("two nodes", "srun --mem=50 -N2 -n2 {train} code=0\n", "-N2")
    cases.add("shell by choice", "trap 'echo heard $(date +%s) 0 >> {log}; exit 0' TERM\nsleep 600 & wait\n",
              wish=f"TERM@{LEAD},target=shell")  # fmt: skip
    cases.add("deaf", "sleep 600\n")
    cases.add("silent", "{train} code=0\n", wish=None)
    cases.add("off", "{train} code=0\n", "--ckpt-off")
    cases.add("by option", "{train} signal=USR1 code=0\n", f"--ckpt-signal=USR1@{LEAD}", wish=None)
    # Trap: srun may be gone before it has shown the line about a step that ends the moment it is signalled.
    cases.add("two signals", "srun -n1 --mem=50 {train} also=USR2 takes=2 code=0\n", "--signal=USR2@30")
    cases.add("bad words", "{train} code=0\n", wish="TERM@soon")
    cases.add("more", "{train} runs=2 code=85\n", append, wish=f"TERM@{RUN},requeue=3")
    cases.add("hidden", HIDDEN,
              append, "--ckpt-requeue=3", f"--ckpt-signal=TERM@{RUN}", "-n2", wish=None)  # fmt: skip
    cases.add("no progress", "{train} code=85\n", append, wish="TERM@40,requeue=3")
    cases.add("truncated", "{train} runs=9 code=85\n", "--ckpt-requeue=1", f"--ckpt-signal=TERM@{RUN}", wish=None)
    cases.add("raised", "{train} code=0\n")
    cases.add("lowered", "{train} code=0\n", limit="30")
    cases.add("suspended", "{train} code=0\n")
    cases.add("apart", f"{APART}\n")
    cases.add("apart in a step", f"srun -n1 --mem=50 bash -c '{APART}'\n")
    cases.add("apart, suspended", f"{APART}\n")
    time.sleep(12)
    ask = cases.watched.cluster.ask
    ask("scontrol", "update", f"JobId={cases.jobs['raised'].id}", "TimeLimit=+1")
    ask("scontrol", "update", f"JobId={cases.jobs['lowered'].id}", "TimeLimit=1")
    for act in ("suspend", "resume"):
        for name in ("suspended", "apart, suspended"):
            ask("scontrol", act, str(cases.jobs[name].id))
        time.sleep(38 if act == "suspend" else 0)


@pytest.fixture(scope="module", params=["best", pytest.param("linuxproc", marks=pytest.mark.soak)])
def watched(request: pytest.FixtureRequest, outside: Listing) -> Iterator[Watched]:
    with private_slurm(proctrack() if request.param == "best" else request.param) as cluster:
        yield watching(cluster)


@pytest.fixture(scope="module")
def cases(watched: Watched) -> Cases:
    found = Cases(watched)
    submit(found)
    watched.ended(*found.jobs.values())
    return found


@pytest.mark.parametrize(
    "name",
    ["python", "foreground", "exit trap", "workers", "sigwait", "shell by choice", "by option", "raised", "lowered"],
)
def test_whoever_catches_the_signal_hears_it_once_and_on_time(watched: Watched, cases: Cases, name: str) -> None:
    job = cases.jobs[name]
    assert len(job.times("heard")) == 1, job.output.read_text()
    before = watched.limit_at(job) - job.times("heard")[0]
    assert LEAD - 2 <= before <= LEAD + 2, f"{before} s before the end"
    (line,) = job.said
    (said,) = re.findall(r"(\d+) s before the end", line)
    assert LEAD - 2 <= int(said) <= LEAD + 2, line


def test_a_step_that_knows_its_end_from_the_start_hears_it_on_time_however_short_its_limit(
    watched: Watched, cases: Cases
) -> None:
    """Without words in plugstack.conf nothing is asked in a step's first 57 seconds."""
    job = cases.jobs["defaults"]
    before = watched.limit_at(job) - job.times("heard")[0]
    low, high = (LEAD - 2, LEAD + 2) if release() >= (23, 2) else (0, 5)
    assert low <= before <= high, f"{before} s before the end"


@pytest.mark.parametrize("program", ["sbatch", "srun", "salloc"])
def test_the_help_explains_each_option(watched: Watched, program: str) -> None:
    said = watched.cluster.ask(program, "--help")
    for option in ("--ckpt-signal=SIG@SECONDS", "--ckpt-requeue=[MAX]", "--ckpt-target=shell|jvm", "--ckpt-off"):
        assert option in said


def test_each_node_of_a_step_hears_it(watched: Watched, cases: Cases) -> None:
    job = cases.jobs["two nodes"]
    before = [watched.limit_at(job) - at for at in job.times("heard")]
    assert len(before) == 2
    assert all(LEAD - 2 <= span <= LEAD + 2 for span in before), before
    assert len(job.said) == 1, "one line for the whole step"


@pytest.mark.parametrize("name", ["apart", "apart in a step"])
def test_a_process_that_left_its_parents_hears_it_as_all_others(watched: Watched, cases: Cases, name: str) -> None:
    tracked(watched)
    test_whoever_catches_the_signal_hears_it_once_and_on_time(watched, cases, name)


def tracked(watched: Watched) -> None:
    """By cgroups: without them such a process is init's, and of no job."""
    if "proctrack/cgroup" not in watched.cluster.ask("scontrol", "show", "config"):
        pytest.skip("not run: no cgroups to write to")


@pytest.mark.parametrize("name", ["suspended", "apart, suspended"])
def test_a_suspended_job_hears_it_when_it_goes_on_and_as_long_before_its_new_end(
    watched: Watched, cases: Cases, name: str
) -> None:
    job = cases.jobs[name]
    if name != "suspended":
        tracked(watched)
    assert len(job.times("heard")) == 1
    moved = job.times("heard")[0] - (watched.limit_at(job) - LEAD)
    assert 36 <= moved <= 42, f"{moved} s later than without the suspension"


def test_slurms_own_signal_comes_beside_it_and_changes_nothing(watched: Watched, cases: Cases) -> None:
    """Slurm's is up to a minute early, and for every process of a step; ours is on time, once."""
    job = cases.jobs["two signals"]
    assert (len(job.times("also")), len(job.times("heard"))) == (1, 1), job.output.read_text()
    before = [watched.limit_at(job) - job.times(word)[0] for word in ("also", "heard")]
    assert LEAD - 2 <= before[1] <= LEAD + 2, before
    assert before[0] >= 28, "Slurm's lead was 30 seconds"
    assert len(job.said) == 1


def test_it_is_said_that_nothing_catches_it(watched: Watched, cases: Cases) -> None:
    job = cases.jobs["deaf"]
    assert watched.state(job) == "TIMEOUT"
    assert len(job.said) == 1
    assert "SIGTERM" in job.said[0]


def early(watched: Watched, job: Job) -> list[float]:
    """What it heard before its limit. At the limit Slurm itself sends SIGTERM, without cgroups to every process."""
    return [at for at in job.times("heard") if at < watched.limit_at(job) - 1]


@pytest.mark.parametrize("name", ["silent", "off"])
def test_without_a_wish_nothing_is_done(watched: Watched, cases: Cases, name: str) -> None:
    job = cases.jobs[name]
    assert (watched.state(job), early(watched, job), job.said) == ("TIMEOUT", [], [])


def test_words_that_are_not_understood_are_named_and_do_no_harm(watched: Watched, cases: Cases) -> None:
    job = cases.jobs["bad words"]
    assert early(watched, job) == []
    assert job.said == ["ADMINKIT_CKPT=TERM@soon is not understood, so no signal will be sent"]


@pytest.mark.parametrize("name", ["more", "hidden"])
def test_a_run_that_left_with_work_to_do_goes_on_in_a_second_one(watched: Watched, cases: Cases, name: str) -> None:
    job = cases.jobs[name]
    assert len(job.times("start")) == 2, job.output.read_text()
    assert len(job.times("heard")) == 1
    shown = watched.shown(job)
    assert (shown["JobState"], shown["Restarts"]) == ("COMPLETED", "1")
    assert ",rq=1,end=more" in shown["AdminComment"]


def test_a_job_whose_output_is_overwritten_is_told_so(cases: Cases) -> None:
    job, kept = cases.jobs["truncated"], cases.jobs["more"]
    assert ("--open-mode=append" in job.hint) == (release() < (23, 2)), "by sbatch, where it knows"
    assert any("--open-mode=append" in line for line in job.said), "and in the second run's output"
    assert "--open-mode=append" not in kept.hint + "".join(kept.said)


def test_a_job_is_put_back_as_often_as_it_may_be(watched: Watched, cases: Cases) -> None:
    job = cases.jobs["truncated"]
    assert len(job.times("start")) == 2
    assert "the most allowed" in job.said[-1]
    assert ",rq=1,end=max" in watched.shown(job)["AdminComment"]


def test_a_run_without_progress_ends_the_chain(watched: Watched, cases: Cases) -> None:
    job = cases.jobs["no progress"]
    assert len(job.times("start")) == 1
    assert "so it made no progress" in job.said[-1]
    assert watched.shown(job)["Restarts"] == "0"


def test_doctor_sees_how_the_cgroups_of_this_hosts_jobs_are_named(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracked(watched)
    monkeypatch.setenv("SLURM_CONF", str(watched.cluster.home / "slurm.conf"))
    job = watched.submit("sleep 600", "-t", "5")

    def steps() -> Check:
        return {one.name: one for one in checkpoints(85)}["ckpt steps"]

    watched.until("doctor to see the job", lambda: "processes without a parent are found too" in steps().found)
    found = steps()
    watched.cluster.run("scancel", str(job.id))
    assert found.status == "ok"
    if has_cgroup_v2():
        assert ("SLUID" in found.found) == (release() >= (26, 5)), found


def test_no_record_is_left_behind(watched: Watched, cases: Cases) -> None:
    folder = watched.cluster.home / "ckpt"
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o777 == 0o700
