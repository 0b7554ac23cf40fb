"""What might be tried for more points, on real jobs: each trick once, and the line of `show` that says what it got."""

from __future__ import annotations

import json
import pwd
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.build import read_tables
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.ruled import HEAD, Ruled, at_most, rule

POLICY = f"""
menu = ["00:01:00", "00:10:00", "01:00:00"]

{at_most(48)}
[incentives]
min_elapsed = "3s"
min_jobs = 2
min_days = 1
min_share = 0.01
name_day_hours = 0.01
"""

BUSY = "timeout {seconds} sh -c 'while :; do :; done'; "
STEP = "srun -n1 -c1 --gres=gpu:1 --mem=50 --exact sh -c \"timeout 6 sh -c 'while :; do :; done'; true\" & "

pytestmark = pytest.mark.cluster

#: name -> options, script. All are one user's, on one CPU unless said otherwise.
JOBS = {
    "right": ("-t 1", BUSY.format(seconds=6) + "true"),
    "padded": ("-t 10", BUSY.format(seconds=6) + "true"),
    "lowered": ("-t 60", BUSY.format(seconds=8) + "true"),
    "failed": ("-t 1", BUSY.format(seconds=6) + "exit 1"),
    "cancelled": ("-t 1", "sleep 600"),
    "default": ("", BUSY.format(seconds=6) + "true"),
    "idle": ("-t 1", "sleep 6"),
    "short": ("-t 1", "true"),
    "checkpoint": ("-t 1", BUSY.format(seconds=6) + "exit 85"),
    "bundle": ("-t 1 -n2 --gres=gpu:2", STEP * 2 + "wait"),
}
#: A reason of `show`, how many of JOBS it leaves out.
LEFT_OUT = {"state": 2, "limit": 1, "idle": 1, "short": 1, "checkpoint": 1, "bundle": 1}


class Tried:
    """Jobs that have ended and the trace that knows them."""

    def __init__(self, ruled: Ruled, db: Path) -> None:
        self.ruled = ruled
        self.db = db

    def submit(self, name: str, words: str, script: str, user: str = "games") -> int:
        return self.ruled.cluster.submit(script, "-p", "gq", "--mem=100", "-J", name, *words.split(), user=user)

    def show(self, user: str) -> list[dict[str, Any]]:
        """The lines of `incentives show USER`."""
        words = ("--policy", str(self.ruled.policy), "--points-per-hour", "60", "--runs", "99", "-f", "json")
        done = adminkit(self.ruled.cluster, self.db, "incentives", "show", user, *words)
        return list(json.loads(done.stdout)["rows"])

    def run(self, name: str) -> dict[str, Any]:
        """The line of the job of this name."""
        return next(row for row in self.show("games") if row["part"] == "run" and row["what"].endswith(name))


def all_jobs(ruled: Ruled, db: Path) -> Tried | None:
    """Submit every job at once, do to some what is done while they run, sync; None where slurmdbd lacks steps.

    Trap: while slurmctld waits for slurmdbd to number new jobs, it sends their steps without the number, and slurmdbd
    drops these. On a machine with much else to do the wait is as long as a job here.
    """
    since = str(int(time.time()))  # jobs of other tests ended before
    found, cluster = Tried(ruled, db), ruled.cluster
    ids = {name: found.submit(name, *job) for name, job in JOBS.items()}
    ids["alone"] = found.submit("alone", "-t 1", BUSY.format(seconds=6) + "true", user="news")
    cluster.wait(ids["lowered"], "RUNNING")
    cluster.ask("scontrol", "update", f"JobId={ids['lowered']}", "TimeLimit=1", user="games")
    cluster.wait(ids["cancelled"], "RUNNING")
    time.sleep(4)
    cluster.ask("scancel", str(ids["cancelled"]), user="games")
    for job in ids.values():
        cluster.wait(job)
    cluster.settle()
    jobs, steps = f"{cluster.name}_job_table", f"{cluster.name}_step_table"
    lacking = cluster.sql(
        f"select id_job from {jobs} j where id_job in ({', '.join(map(str, ids.values()))}) and not exists "
        f"(select 1 from {steps} s where s.job_db_inx = j.job_db_inx and s.time_end > 0)"
    )
    if lacking:
        return None
    adminkit(cluster, db, "sync", "--since", since, "--steps")
    return found


@pytest.fixture(scope="module")
def tried(ruled_session: Ruled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    """Every job at once, and what is done to some while they run."""
    ruled = ruled_session
    ruled.rules(HEAD + POLICY)
    time.sleep(2)
    for _ in range(3):
        found = all_jobs(ruled, tmp_path_factory.mktemp("tricks") / "trace.db")
        if found is not None:
            break
    assert found, "slurmdbd lost steps of the jobs three times"
    yield found
    ruled.text = ""


SCORED = {
    "right": (60, 60, 1.0, "the menu's next step over the run scores full"),
    "padded": (600, 60, 0.1, "padding gains nothing"),
    "lowered": (3600, 60, 0.017, "a limit that is lowered before the end counts as it was asked for"),
}


@pytest.mark.parametrize("name", SCORED)
def test_a_run_scores_by_what_was_asked_for(tried: Tried, name: str) -> None:
    asked, full_at, score, why = SCORED[name]
    row = tried.run(name)
    assert (row["asked"], row["full_at"], round(row["score"], 3)) == (asked, full_at, score), why


def test_runs_that_say_nothing_of_a_limit_are_left_out_with_the_reason(tried: Tried) -> None:
    """Failed, cancelled, under the queue's default, idle, too short, a checkpoint, single steps as a parallel job."""
    rows = tried.show("games")
    assert {row["what"]: row["runs"] for row in rows if row["part"] == "left out"} == LEFT_OUT
    assert not {row["what"].split()[-1] for row in rows if row["part"] == "run"} - {*SCORED}


def test_one_name_weighs_no_more_than_its_cap_in_a_day(tried: Tried) -> None:
    """An hour of one CPU is an eighth of a GPU-hour: the one that asked for it has its weight cut to the cap."""
    assert tried.run("lowered")["weight_hours"] == pytest.approx(0.01, abs=0.0005)
    assert "of the run counts: this job name reached 0.01 GPU-hours that day" in tried.run("lowered")["meaning"]
    assert tried.run("right")["meaning"] == ""


def test_bundles_of_single_steps_cost_the_bonus_of_the_class(tried: Tried) -> None:
    said = {row["what"]: row["meaning"] for row in tried.show("games") if row["part"] == "bonus"}
    assert "bundle" in said["class points"], said


def test_one_run_is_too_few(tried: Tried) -> None:
    said = {row["what"]: row["meaning"] for row in tried.show("news") if row["part"] == "bonus"}
    assert said["lacking"] == "1 of at least 2 runs", said


def test_the_table_has_nothing_for_any_of_them(tried: Tried, tmp_path: Path) -> None:
    """A score of a few hundredths is no bonus; bundles cost the class's, which the table says."""
    words = ("--policy", str(tried.ruled.policy), "--points-per-hour", "60", "--out", str(tmp_path))
    adminkit(tried.ruled.cluster, tried.db, "incentives", "compute", *words)
    (table, _) = read_tables(tmp_path)
    assert table.data["users"] == {pwd.getpwnam("games").pw_uid: {"points": 0, "class": False}}


def test_replay_counts_what_the_same_rules_would_have_done_to_them(tried: Tried) -> None:
    """By what was asked for: the limit that was lowered while it ran is refused, and so is the queue's default."""
    tried.ruled.policy.write_text(HEAD + rule("ten-minutes", "gq", max_limit="00:10:00"))
    tried.ruled.text = ""
    words = ("--policy", str(tried.ruled.policy), "-f", "json")
    rows = json.loads(adminkit(tried.ruled.cluster, tried.db, "policy", "replay", *words).stdout)["rows"]
    tried.ruled.policy.write_text(HEAD + POLICY)
    (found,) = (row for row in rows if row["value"] == "ten-minutes")
    assert (found["rejected"], found["amended"]) == (2, 0), rows


@pytest.mark.soak
def test_a_run_into_its_limit_is_a_miss(tried: Tried) -> None:
    """It waits for slurmctld to look at limits, which it does twice a minute."""
    job = tried.submit("missed", "-t 1", "sleep 600")
    tried.ruled.cluster.wait(job, "TIMEOUT")
    tried.ruled.cluster.settle()
    adminkit(tried.ruled.cluster, tried.db, "sync", "--steps")
    row = tried.run("missed")
    assert (row["score"], row["meaning"]) == (0, "ran into its limit: a miss")


@pytest.mark.soak
def test_the_runs_of_a_requeued_job_count_neither_way(tried: Tried) -> None:
    script = 'test "$SLURM_RESTART_COUNT" && ' + BUSY.format(seconds=6) + 'test "$SLURM_RESTART_COUNT" || sleep 600'
    job = tried.submit("again", "-t 10 --requeue", script)
    tried.ruled.cluster.wait(job, "RUNNING")
    time.sleep(4)
    tried.ruled.cluster.ask("scontrol", "requeue", str(job))
    tried.ruled.cluster.wait(job, "COMPLETED")
    tried.ruled.cluster.settle()
    adminkit(tried.ruled.cluster, tried.db, "sync", "--steps")
    left_out = {row["what"]: row["runs"] for row in tried.show("games") if row["part"] == "left out"}
    assert left_out["checkpoint"] == LEFT_OUT["checkpoint"] + 2
