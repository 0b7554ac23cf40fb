"""`adminkit my` and `recommend walltime` of a user on a login node, who has no trace and no rights."""

from __future__ import annotations

import json
import pwd
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster, Done
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.login import as_login
from tests.cluster.harness.operator import ADMINKIT, private_data
from tests.cluster.harness.workload import NAMES

#: Has jobs; has jobs as well; is in every Debian, and no user of the cluster's.
USER, OTHER, NOBODY = "games", "news", "man"
#: What text may not have when it gets to a terminal.
STEERING = [*range(0x20), *range(0x7F, 0xA0)]


@pytest.fixture(scope="module")
def spare(outside: Listing) -> Iterator[Cluster]:
    """One that shows nobody the open jobs of others."""
    with private_slurm(nodes=2, PrivateData="jobs,usage") as booted:
        yield booted


@pytest.fixture(scope="module")
def jobs(spare: Cluster) -> dict[str, int]:
    """Jobs of two users that have ended."""
    hog = 'exec perl -e "\\$x = q(x) x 6e7; \\$end = time + 4; 1 while time < \\$end"'
    found = {
        "tasks": spare.submit(f"srun -n 2 sh -c '{hog}'", "-n", "2", "-t", "10", "-J", "tasks", user=USER),
        "other": spare.submit("true", "-t", "5", "-J", "hush", user=OTHER),
    }
    for kind, name in NAMES.items():
        found[kind] = spare.submit("true", "-t", "5", "-J", name, user=USER)
    for job in found.values():
        spare.wait(job, "COMPLETED")
    spare.settle()
    return found


@pytest.fixture
def home(spare: Cluster) -> Iterator[Path]:
    """An empty home for one user after the other."""
    folder = spare.work / "home"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def hidden(spare: Cluster, jobs: dict[str, int]) -> Iterator[None]:
    """slurmdbd shows nobody the jobs of others."""
    with private_data(spare, "jobs,usage,users"):
        yield


def run(spare: Cluster, home: Path, user: str, *words: str, settings: Path | None = None) -> Done:
    """A command as that user."""
    place = home / user
    if not place.exists():
        place.mkdir(mode=0o700)
        shutil.chown(place, user)
    become = () if user == "root" else as_login(user)
    env = {"HOME": str(place), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "ADMINKIT_DB": ""}
    env["ADMINKIT_CONFIG"] = str(settings or "")
    return spare.run(*become, ADMINKIT, *words, env=env, seconds=120)


def shown(spare: Cluster, home: Path, user: str, *words: str) -> dict[str, Any]:
    done = run(spare, home, user, *words, "--format", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def own(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["job_id"]: row for row in found["jobs"]["rows"]}


def test_a_user_sees_what_all_tasks_of_a_job_used(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    row = own(shown(spare, home, USER, "my"))[str(jobs["tasks"])]
    said = spare.ask("sacct", "-n", "-P", "--noconvert", "-j", str(jobs["tasks"]), "-o", "JobID,TRESUsageInTot,MaxRSS")
    of_step = next(line.split("|") for line in said.splitlines() if line.startswith(f"{jobs['tasks']}.0|"))
    usage = dict(part.split("=", 1) for part in of_step[1].split(","))
    assert row["mem_used"] >= int(usage["mem"]) > int(of_step[2]), "two tasks use more than the larger of them"
    assert row["cpu"] is not None and row["cpu"] > 0
    assert row["accuracy"] == pytest.approx(row["elapsed"] / 600)
    copy = home / USER / ".cache" / "adminkit" / "jobs.db"
    facts = copy.stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o600, pwd.getpwnam(USER).pw_uid)
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700


def test_the_jobs_of_others_are_nowhere(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    for user, there, not_there in ((USER, "tasks", "other"), (OTHER, "other", "tasks")):
        found = own(shown(spare, home, user, "my"))
        assert str(jobs[there]) in found and str(jobs[not_there]) not in found
    assert not own(shown(spare, home, "root", "my"))


def test_names_steer_no_terminal_and_are_whole_in_json(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    done = run(spare, home, USER, "my")
    assert done.code == 0 and not set(done.out.decode().replace("\n", "").encode("utf-8", "replace")) & {0x1B, 0x1F}
    assert not any(ord(c) in STEERING for c in done.out.decode().replace("\n", ""))
    found = own(shown(spare, home, USER, "my"))
    for kind, name in NAMES.items():
        assert found[str(jobs[kind])]["job_name"] == name.decode("utf-8", "replace"), kind


def test_why_jobs_wait_and_what_runs(spare: Cluster, home: Path) -> None:
    held = spare.submit("true", "-t", "5", "-H", "-J", "held\x1b[1m", user=USER)
    later = spare.submit("true", "-t", "5", "--begin=now+1hour", user=USER)
    after = spare.submit("true", "-t", "5", f"--dependency=afterok:{held}", user=USER)
    runs = spare.submit("sleep 300", "-t", "7", "-J", "runs", user=USER)
    array = spare.submit("true", "-t", "5", "-H", "--array=3-9%2", user=USER)
    try:
        spare.wait(runs, "RUNNING")
        found = shown(spare, home, USER, "my")
        waiting = {row["job_id"]: row for row in found["waiting"]["rows"]}
        assert waiting[str(held)]["reason"] == "JobHeldUser" and "scontrol release" in waiting[str(held)]["meaning"]
        assert waiting[str(held)]["job_name"] == "held\x1b[1m" and waiting[str(held)]["limit"] == 300
        assert waiting[str(later)]["reason"] == "BeginTime" and waiting[str(later)]["start_time"] is not None
        assert waiting[str(after)]["reason"] == "Dependency"
        assert f"{array}_[3-9%2]" in waiting
        (running,) = found["running"]["rows"]
        assert (running["job_id"], running["job_name"], running["limit"]) == (str(runs), "runs", 420)
        assert running["left"] == 420 - running["elapsed"]
        assert not shown(spare, home, OTHER, "my")["waiting"]["rows"], "nobody else's"
    finally:
        spare.ask("scancel", *map(str, (held, later, after, runs, array)))


def test_it_is_the_same_where_slurmdbd_hides_jobs(
    spare: Cluster, jobs: dict[str, int], home: Path, hidden: None
) -> None:
    found = own(shown(spare, home, USER, "my", "--fresh"))
    assert str(jobs["tasks"]) in found and str(jobs["other"]) not in found
    assert found[str(jobs["tasks"])]["mem_used"] is not None
    assert run(spare, home, USER, "recommend", "walltime", "--name", "tasks").code == 0


def test_who_has_no_jobs_gets_a_sentence(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    done = run(spare, home, NOBODY, "my")
    assert done.code == 0 and "none of your jobs ended in the last 30 days on alpha" in done.text, done.err
    done = run(spare, home, NOBODY, "recommend", "walltime")
    assert done.code == 0 and "no such run is known to have ended" in done.text, done.err


def test_a_limit_is_that_of_the_sites_trace(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    for _ in range(10):
        job = spare.submit("sleep 1", "-t", "20", "-J", "often", user=USER)
        spare.wait(job, "COMPLETED")
    spare.settle()
    trace = home / "site.db"
    assert run(spare, home, "root", "sync", "--since", "1d", "--db", str(trace)).code == 0
    asked = ("recommend", "walltime", "--user", USER, "--name", "often", "--format", "json")
    site = json.loads(run(spare, home, "root", *asked, "--db", str(trace)).out)["rows"]
    mine = json.loads(run(spare, home, USER, *asked).out)["rows"]
    assert mine == site
    said = shown(spare, home, USER, "my")["limits"]
    limits = {row["job_name"]: row["limit"] for row in said["rows"]}
    # `my` names a limit for a name only by runs of that name; `recommend` falls back to all of the user's.
    of_name = mine[0]["limit"] if "job_name" in mine[0]["similar"] else None
    assert limits["often"] == of_name, (mine, said)


def test_slurmdbd_away_leaves_open_jobs_and_an_older_copy(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    assert run(spare, home, USER, "my").code == 0
    held = spare.submit("true", "-t", "5", "-H", "-J", "held", user=OTHER)
    spare.stop_dbd()
    try:
        away = run(spare, home, OTHER, "recommend", "walltime")
        assert away.code == 1 and away.out == b"", away.out
        assert away.err.startswith(b"error: ") and b"\nhint: check that slurmdbd is running" in away.err, away.err
        found = shown(spare, home, OTHER, "my")
        assert [row["job_id"] for row in found["waiting"]["rows"]] == [str(held)]
        for name in ("jobs", "limits"):
            assert found[name]["rows"] == [] and found[name]["meta"]["notes"][0].startswith("not known: "), name
        assert b"this shows what slurmctld has" in run(spare, home, OTHER, "my").err
        older = run(spare, home, USER, "my", "--fresh")
        assert older.code == 0 and b"this shows what sacct said" in older.err, older.err
        assert str(jobs["tasks"]) in older.text
    finally:
        spare.start_dbd()
        spare.ask("scancel", str(held))


def test_everything_names_the_copy(spare: Cluster, jobs: dict[str, int], home: Path) -> None:
    assert run(spare, home, USER, "my").code == 0
    places = {row["place"]: row for row in shown(spare, home, USER, "my", "--everything")["places"]["rows"]}
    copy = places[str(home / USER / ".cache" / "adminkit" / "jobs.db")]
    assert copy["readable"] == "yes" and copy["rows"] >= len(jobs) - 1
    assert Path(copy["place"]).exists()
