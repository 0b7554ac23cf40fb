"""Points and hints as they arrive: sprio's SITE column, who starts first, and what can be tried to get more."""

from __future__ import annotations

import pwd
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit.economy.points_file import dumped
from adminkit.slurm.reload import touch
from tests.cluster.harness.cluster import Word
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import Ruled, at_most

GAMES, NEWS, BACKUP = (pwd.getpwnam(name).pw_uid for name in ("games", "news", "backup"))
POINTS = {
    "format": 1, "made_at": 1, "cap": 720,
    "class_points": {"multi-node": 300, "multi-gpu": 100}, "size_points": {3: 160, 6: 400},
    "users": {GAMES: {"points": 500, "class": True}, BACKUP: {"points": 40, "class": False}},
}  # fmt: skip
HINTS = {
    "format": 1, "made_at": 1, "ratio": 3, "floor": 7200, "accounts_off": [],
    "users": {GAMES: {"train": {"gq": [1500, 3000, 2, 40]}, "": {"": [600, 1200, 1, 9]}}},
    "memory": {"ratio": 2.0, "floor": 100, "users": {GAMES: {"fit": {"gq": [70, 96, 2, 100, 99]}}}},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def tables(ruled_session: Ruled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tables in force by the command itself, and taken away again for whoever comes next."""
    ruled = ruled_session
    folder = tmp_path_factory.mktemp("tables")
    folder.chmod(0o755)
    (folder / "incentives.json").write_text(dumped(POINTS))
    (folder / "hints.json").write_text(dumped(HINTS))
    ruled.rules(at_most(48))
    words = ("--policy", ruled.policy, "--from", folder, "--points-per-hour", "60", "--apply")
    said = ruled.adminkit("incentives", "install", *words)
    assert said.stdout.count("confirmed") == 2
    yield
    for name in ("incentives", "hints"):
        for path in ruled.inner.glob(f"{name}.*lua"):
            path.unlink()
    ruled.text = ""


@pytest.fixture
def busy(ruled: Ruled) -> Iterator[int]:
    """Every node is taken until the job of this id is cancelled, so that others wait and have a priority."""
    job = ruled.cluster.submit("sleep 600", "-p", "free", "-N4", "--exclusive", "-t", "20")
    ruled.cluster.wait(job, "RUNNING")
    yield job
    ruled.cluster.run("scancel", str(job))
    ruled.clear()
    until("the queues to be empty", lambda: ruled.cluster.ask("squeue", "-h") == "", 90)


def submit(ruled: Ruled, *options: Word, user: str = "games", script: str = "true") -> int:
    said = ruled.run("sbatch", "-p", "gq", "-t", "60", "-o", "/dev/null", *options, "--wrap", script, user=user)
    assert said.job is not None, said
    return said.job


def factors(ruled: Ruled, job: int) -> dict[str, int]:
    """A waiting job's line of sprio, by column.

    Trap: sprio lists no array whose tasks have not been looked at, and a job that was held or requeued a moment later.
    """
    head = ruled.cluster.ask("sprio", "-l").splitlines()[0]

    def line() -> list[str] | None:
        lines = ruled.cluster.ask("sprio", "-l").splitlines()[1:]
        return next((line.split() for line in lines if re.match(rf"\s*{job}\b", line)), None)

    found = until(f"sprio to list job {job}", line, 60)
    return {name: int(value) for name, value in zip(head.split(), found, strict=False) if value.isdigit()}


EARNED = {
    "one node, good estimates": ("", "games", 500),
    "several GPUs": ("--gres=gpu:2", "games", 600),
    "several nodes, up to the cap": ("-N2", "games", 720),
    "no row: the class alone": ("-N2", "news", 300),
    "no row, one node": ("", "news", 0),
    "bundles earn nothing for their class": ("-N2", "backup", 40),
    "a size in place of a class": ("--gres=gpu:3", "news", 160),
    "below every size: the class alone": ("--gres=gpu:2", "news", 100),
    "a size by the GPUs of all nodes": ("-N2 --gres=gpu:3", "news", 400),
    "a size below the class of several nodes": ("-N2 --gres=gpu:2", "news", 300),
    "bundles earn nothing for their size": ("-N2 --gres=gpu:3", "backup", 40),
}


@pytest.mark.parametrize("case", EARNED)
def test_3_the_site_column_shows_what_a_job_earned_without_a_plugin(ruled: Ruled, busy: int, case: str) -> None:
    words, user, points = EARNED[case]
    assert "PrioritySiteFactorPlugin = (null)" in ruled.cluster.ask("scontrol", "show", "config")
    assert factors(ruled, submit(ruled, *words.split(), user=user))["SITE"] == points


def test_2_the_bonus_job_starts_first_and_both_go_on_ageing(ruled: Ruled, busy: int) -> None:
    whole = ("-N4", "--exclusive")
    plain = submit(ruled, *whole, user="backup", script="sleep 1")
    rewarded = submit(ruled, *whole, user="games", script="sleep 1")
    before = {job: factors(ruled, job) for job in (plain, rewarded)}
    assert (before[plain]["SITE"], before[rewarded]["SITE"]) == (40, 720)
    assert before[plain]["AGE"] >= before[rewarded]["AGE"], "the plain one waits longer"

    def aged() -> bool:
        return all(factors(ruled, job)["AGE"] > before[job]["AGE"] for job in before)

    until("both to grow older", aged, 90, pause=2)
    for job in before:
        now = factors(ruled, job)
        parts = sum(value for name, value in now.items() if name not in ("JOBID", "PRIORITY", "NICE"))
        assert now["PRIORITY"] == pytest.approx(parts, abs=3), "the priority is a sum, not a fixed number"
    ruled.cluster.ask("scancel", str(busy))
    ruled.cluster.wait(plain, "COMPLETED", 60)
    ruled.cluster.wait(rewarded, "COMPLETED", 60)
    started = {job: ruled.job(job)["StartTime"] for job in before}
    assert started[rewarded] < started[plain]


def test_points_survive_hold_release_restart_and_requeue(ruled: Ruled, busy: int) -> None:
    whole = ("-N4", "--exclusive")
    job = submit(ruled, *whole, "--requeue", script="sleep 600")
    for word in ("hold", "release"):
        ruled.cluster.ask("scontrol", word, str(job), user="games")
    assert factors(ruled, job)["SITE"] == 720
    ruled.cluster.restart_ctld()
    assert factors(ruled, job)["SITE"] == 720
    ruled.cluster.ask("scancel", str(busy))
    ruled.cluster.wait(job, "RUNNING", 60)
    busy_again = ruled.cluster.submit("sleep 600", "-p", "free", *whole, "-t", "20")
    ruled.cluster.ask("scontrol", "requeue", str(job))
    ruled.cluster.wait(busy_again, "RUNNING", 60)
    until("the job to wait again", lambda: str(job) in ruled.cluster.ask("sprio", "-h", "-o", "%i"), 60)
    assert factors(ruled, job)["SITE"] == 720


# what may be tried, one test each


def test_a_pending_job_does_not_shrink_and_keep_its_class_bonus(ruled: Ruled, busy: int) -> None:
    """Slurm takes a lower number over last, and not at all where another field is wrong."""
    job = submit(ruled, "-N2")
    assert factors(ruled, job)["SITE"] == 720
    for change in ("NumNodes=1-1", "NumNodes=1-1 CoreSpec=1", "NumNodes=1-1 Features=nonsense"):
        assert ruled.update(job, *change.split()).code != 0, change
        found = (ruled.job(job)["NumNodes"].split("-")[0], factors(ruled, job)["SITE"])
        assert found == ("2", 720), change


def test_raising_a_limit_or_moving_earns_nothing_and_costs_nothing(ruled: Ruled, busy: int) -> None:
    job = submit(ruled)
    for change in ("TimeLimit=20:00:00", "Partition=gq-long", "Partition=gq"):
        assert ruled.update(job, change).code == 0, change
        assert factors(ruled, job)["SITE"] == 500


def test_an_array_cannot_shrink_and_keep_its_bonus(ruled: Ruled, busy: int) -> None:
    """Slurm would refuse the second task of such an update half-way (slurm-facts 1.8); so it is refused as a whole."""
    job = submit(ruled, "-N2", "--array=1-3")
    assert ruled.update(job, "NumNodes=1-1").code != 0
    assert ruled.cluster.ask("squeue", "-h", "-r", "-j", str(job), "-o", "%D").split() == ["2"] * 3
    plain = submit(ruled, user="news")
    priorities = [int(ruled.cluster.ask("squeue", "-h", "-j", str(one), "-o", "%Q")) for one in (job, plain)]
    assert priorities[0] - priorities[1] == pytest.approx(720, abs=5), "which sprio does not show of an array"
    assert ruled.update(job, "TimeLimit=30").code == 0


def test_growing_later_earns_what_growing_at_once_would(ruled: Ruled, busy: int) -> None:
    job = submit(ruled, user="news")
    assert ruled.update(job, "NumNodes=2-2", user="news").code == 0
    assert factors(ruled, job)["SITE"] == 300


@pytest.mark.parametrize("change", ["SiteFactor=9999", "Priority=999999", "Nice=-500", "AdminComment=ak1:lim=60,src=e"])
def test_nobody_gives_themselves_points(ruled: Ruled, busy: int, change: str) -> None:
    job = submit(ruled, user="news")
    before = ruled.job(job)
    ruled.update(job, change, user="news")
    after = ruled.job(job)
    assert factors(ruled, job)["SITE"] == 0
    assert {key: after[key] for key in ("Nice", "AdminComment")} == {
        key: before[key] for key in ("Nice", "AdminComment")
    }
    assert int(after["Priority"]) <= int(before["Priority"]) + 10


def test_a_component_of_a_het_job_earns_by_its_own_size(ruled: Ruled, busy: int) -> None:
    said = ruled.run(
        "sbatch", "-o", "/dev/null", "-p", "gq", "-t", "60", "-N2", ":", "-p", "gq", "-t", "60", "--wrap", "true",
        user="news",
    )  # fmt: skip
    assert said.job is not None
    assert factors(ruled, said.job)["SITE"] == 300
    assert factors(ruled, said.job + 1)["SITE"] == 0


def test_a_test_earns_nothing_and_says_no_points(ruled: Ruled) -> None:
    said = ruled.sbatch("--test-only", "-p", "gq", "-t", "60")
    assert said.accepted
    assert "500" not in said.text
    job = ruled.job(ruled.sbatch("-p", "gq", "-t", "60").job)
    assert "500" not in job["AdminComment"]


# hints


def test_one_line_says_what_similar_jobs_needed(ruled: Ruled) -> None:
    said = ruled.sbatch("-p", "gq", "-t", "20:00:00", "-J", "train")
    (line, _) = said.lines
    assert "40 jobs" in line
    assert "--time=01:00:00" in line
    assert "risk of running out: 2 %" in line
    assert len(ruled.sbatch("-p", "gq", "-t", "20:00:00", "-J", "other").lines) == 2, "the row for any name"


@pytest.mark.parametrize(
    ("words", "user", "why"),
    [
        ("-t 60 -J train", "games", "asks for little more than is safe"),
        ("-t 20:00:00 -J train", "news", "somebody else"),
    ],
)
def test_no_hint_where_none_is_due(ruled: Ruled, words: str, user: str, why: str) -> None:
    assert len(ruled.sbatch("-p", "gq", *words.split(), user=user).lines) == 1, why


@pytest.mark.parametrize(
    ("words", "asked", "why"),
    [
        ("--mem=400", "400M (--mem)", "of the node"),
        ("-N1 -n2 --mem-per-cpu=200", "400M (--mem-per-cpu)", "of two CPUs on one node"),
    ],
)
def test_one_line_says_what_memory_similar_jobs_used(ruled: Ruled, words: str, asked: str, why: str) -> None:
    said = ruled.sbatch("-p", "gq", "-t", "60", "-J", "fit", *words.split())
    (line, _) = said.lines
    assert f"used at most 70M of memory on a node; this one asks for {asked}." in line, why
    assert "--mem=96M instead would have been enough for 99 of them (risk of running out: 2 %)" in line


@pytest.mark.parametrize(
    ("words", "user", "why"),
    [
        ("-J fit --mem=150", "games", "less than 100 MiB more than is safe"),
        ("-J fit", "games", "it names no memory"),
        ("-J fit --mem=0", "games", "all that a node has"),
        ("-J fit --mem=400 --exclusive", "games", "whole nodes"),
        ("-J fit -n2 --mem-per-cpu=200", "games", "it may be put on two nodes"),
        ("-J other --mem=400", "games", "another name"),
        ("-J fit --mem=400", "news", "somebody else"),
    ],
)
def test_no_hint_about_memory_where_none_is_due(ruled: Ruled, words: str, user: str, why: str) -> None:
    said = ruled.sbatch("-p", "gq", "-t", "60", *words.split(), user=user)
    assert said.accepted and "of memory on a node" not in said.text, why


def test_a_hint_does_not_join_a_refusal_or_a_component(ruled: Ruled) -> None:
    refused = ruled.sbatch("-p", "gq", "-t", "60:00:00", "-J", "train")
    assert not refused.accepted
    assert "jobs like this one" not in refused.text
    het = ruled.run(
        "sbatch", "-H", "-o", "/dev/null", "-J", "train", "-p", "gq", "-t", "20:00:00", ":", "-p", "gq", "-t",
        "20:00:00", "--wrap", "true",
    )  # fmt: skip
    assert het.text.count("jobs like this one") == 1


def test_the_tables_are_slurmctlds_alone(ruled: Ruled) -> None:
    for name in ("incentives.lua", "hints.lua"):
        assert ruled.cluster.run("cat", str(ruled.inner / name), user="games").code != 0


def test_a_damaged_table_of_points_leaves_the_rules_and_its_good_copy_in_force(ruled: Ruled, busy: int) -> None:
    path: Path = ruled.inner / "incentives.lua"
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:-10])
        touch(ruled.folder / "job_submit.lua")
        assert factors(ruled, submit(ruled))["SITE"] == 500
        (ruled.inner / "incentives.good.lua").write_bytes(b"")
        touch(ruled.folder / "job_submit.lua")
        assert factors(ruled, submit(ruled))["SITE"] == 0
        assert not ruled.sbatch("-p", "gq", "-t", "60:00:00").accepted
        doctor = ruled.adminkit("doctor", "--db", ruled.cluster.folder / "none.db", code=None).stdout
        assert re.search(r"warn +rules .*incentives.lua", doctor), doctor
    finally:
        path.write_bytes(whole)
        (ruled.inner / "incentives.good.lua").write_bytes(whole)
        touch(ruled.folder / "job_submit.lua")
