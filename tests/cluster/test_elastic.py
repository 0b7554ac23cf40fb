"""Jobs that go on with another number of GPUs, on a real slurmctld and slurmd with GPUs that are files."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cluster.harness.elastic import HELD, RULES, Elastic, elastic, kill
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster

#: Says what it has, leaves with 85 at the signal; in its third run it is done at once.
TRAINS = """echo "has $ADMINKIT_GPUS of ${SLURM_GPUS_PER_NODE:--}, $CUDA_VISIBLE_DEVICES" >> {log}
{train} code=85 runs=3 & wait $!
"""
YOUNG = 7  # seconds after which a run may be changed: twice the lead, and a bit


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Elastic]:
    with elastic() as found:
        yield found


@pytest.fixture(autouse=True)
def cleared(site: Elastic) -> Iterator[None]:
    yield
    site.ruled.clear()


def said(site: Elastic, job: object) -> list[str]:
    return [line for line in job.log.read_text().splitlines() if line.startswith("has")]  # type: ignore[attr-defined]


def test_a_job_goes_on_with_four_gpus_then_with_two(site: Elastic) -> None:
    """Beside it one that did not opt in, and has the words in its name: nothing happens to it."""
    job = site.submit(TRAINS, "--gpus-per-node=1")
    other = site.submit(TRAINS, "-J", "ak1:lim=60,src=e,el=1-8 el1:gpus=4,until=9999999999", opts=None)
    assert site.comment(job) == "ak1:lim=1200,src=e,el=1-4"
    site.runs_for(job, YOUNG)
    assert [row["job"] for row in site.rows("preview")] == [str(job.id)]
    before = site.watched.shown(other)

    shown = site.rows("preview", "--job", job.id, "--gpus", 4)
    assert [(row["gpus"], row["to"], row["verdict"]) for row in shown] == [(1, 4, "grow")]
    assert site.acts() == [] and "el1:" not in site.comment(job), "a preview changes nothing"

    done = site.rows("run", "--apply", "--job", job.id, "--gpus", 4)
    assert [(row["did"], row["gpus"]) for row in done] == [("ordered", 4), ("changed", 4), ("released", 4)]
    site.runs_for(job, YOUNG, run=2)
    assert site.gpus(job) == 4 and site.comment(job).startswith("ak1:lim=1200,src=e,el=1-4 ck1:")
    site.adminkit("run", "--apply", "--job", job.id, "--gpus", 2)
    site.ruled.cluster.wait(job.id, "COMPLETED")

    assert said(site, job)[0].startswith("has 1 of 1,")
    assert [line.partition(",")[0] for line in said(site, job)] == ["has 1 of 1", "has 4 of 4", "has 2 of 2"]
    assert len(said(site, job)[1].partition(", ")[2].split(",")) == 4
    assert [(act["did"], act["gpus"]) for act in site.acts() if act["job"] == job.id] == [
        ("ordered", 4), ("changed", 4), ("released", 4), ("ordered", 2), ("changed", 2), ("released", 2),
    ]  # fmt: skip
    after = site.watched.shown(other)
    assert {name: after[name] for name in ("JobState", "StartTime", "TresPerNode", "Restarts")} == {
        name: before[name] for name in ("JobState", "StartTime", "TresPerNode", "Restarts")
    }


def test_a_run_that_is_killed_leaves_a_held_job_that_the_next_one_releases(site: Elastic) -> None:
    job = site.submit(TRAINS)
    site.runs_for(job, YOUNG)
    cut = site.begin("run", "--apply", "--job", str(job.id), "--gpus", "4")
    try:
        until("the order", lambda: "el1:gpus=4" in site.comment(job), 60)
    finally:
        kill(cut)
    until("the job to be held", lambda: site.field(job, "Reason") == HELD, 60)
    assert site.gpus(job) == 1
    assert [(row["did"], row["gpus"]) for row in site.rows("run", "--apply")] == [("changed", 4), ("released", 4)]
    until("its next run", lambda: len(said(site, job)) == 2, 60)
    assert said(site, job)[1].startswith("has 4 of -,") and "el1:" not in site.comment(job)
    assert site.rows("run", "--apply") == [], "nothing is left to do"


def test_an_order_is_taken_back(site: Elastic) -> None:
    """While the job runs, and while it is held. The first has a lead that leaves two minutes to take it back."""
    running = site.submit(TRAINS, wish="TERM@60,requeue=9,target=shell")
    held = site.submit(TRAINS, wish="TERM@3,requeue=9,target=shell")
    site.runs_for(running, 1)
    site.adminkit("run", "--apply", "--no-wait", "--job", running.id, "--gpus", 4)
    assert site.rows("revoke", running.id)[0]["did"] == "revoked"
    assert "el1:gpus=4" in site.comment(running), "without --apply nothing is done"
    site.adminkit("revoke", running.id, "--apply")
    assert site.comment(running) == "ak1:lim=1200,src=e,el=1-4"
    site.adminkit("revoke", running.id, "--apply", code=1)

    site.runs_for(held, YOUNG)
    site.adminkit("run", "--apply", "--no-wait", "--job", held.id, "--gpus", 4)
    until("the job to be held", lambda: site.field(held, "Reason") == HELD, 60)
    assert [row["did"] for row in site.rows("revoke", held.id, "--apply")] == ["released"]
    until("its next run", lambda: len(said(site, held)) == 2, 60)
    assert said(site, held)[1].startswith("has 1 ")


def test_a_held_job_whose_word_was_taken_off_by_hand_is_named(site: Elastic) -> None:
    job = site.submit(TRAINS)
    site.runs_for(job, YOUNG)
    site.adminkit("run", "--apply", "--no-wait", "--job", job.id, "--gpus", 4)
    until("the job to be held", lambda: site.field(job, "Reason") == HELD, 60)
    kept = " ".join(word for word in site.comment(job).split() if not word.startswith("el1:"))
    site.ruled.cluster.ask("scontrol", "update", f"JobId={job.id}", f"AdminComment={kept}")
    assert site.rows("run", "--apply") == [], "it may be held for something else"
    (row,) = site.rows("preview", "--job", job.id)
    assert f"scontrol release {job.id}" in row["why"] and row["verdict"] == "keep", row
    site.ruled.cluster.ask("scontrol", "release", str(job.id))
    until("its next run", lambda: len(said(site, job)) == 2, 60)


def test_what_keeps_a_job_as_it_is(site: Elastic) -> None:
    """Each asked for four GPUs by an operator; nothing is done to any. They are as many as the node has GPUs."""
    site.ruled.rules(f'{RULES}[[rules]]\nname = "few"\nqueues = ["gq-short"]\ngpus = "1-2"\n')
    cases = {
        "did not opt in": site.submit(TRAINS, opts=None),
        "opted in to 1 to 2": site.submit(TRAINS, opts="1-2"),
        "opted in to 1 to 2 by the rules": site.submit(TRAINS, "-p", "gq-short"),
        "has no checkpoint": site.submit(TRAINS, wish="off"),
        "is by --gpus": site.submit(TRAINS, "--gpus=1"),
        "is an array": site.submit(TRAINS, "--array=1-1"),
        "is deaf": site.submit("sleep 600\n"),
        "was put back often enough": site.submit(TRAINS, wish="TERM@3,requeue=1"),
    }
    try:
        for job in cases.values():
            until(f"job {job.id}", lambda job=job: site.watched.state(job) == "RUNNING", 60)
        assert site.comment(cases["opted in to 1 to 2 by the rules"]).endswith(",el=1-2")
        time.sleep(YOUNG)
        often = cases["was put back often enough"]
        words = f"AdminComment={site.comment(often)} ck1:at=1,heard=1,rq=1"
        site.ruled.cluster.ask("scontrol", "update", f"JobId={often.id}", words)
        began = {name: site.field(job, "StartTime") for name, job in cases.items()}
        said: dict[str, str] = {}
        for name, job in cases.items():
            options = ("run", "--apply", "--no-wait", "--job", job.id, "--gpus", 4, "--format", "json")
            done = site.adminkit(*options, code=None, ADMINKIT_ELASTIC_PATIENCE="20")
            said[name] = done.stdout + done.stderr
        ordered = [name for name, text in said.items() if '"ordered"' in text]
        assert ordered == ["is deaf", "was put back often enough"], said
        until("the deaf job to be tried", lambda: "ck1:" in site.comment(cases["is deaf"]), 60)
        time.sleep(6)  # a round of questions more
        for name, job in cases.items():
            assert (site.watched.state(job), site.field(job, "StartTime")) == ("RUNNING", began[name]), name
            assert site.watched.shown(job)["TresPerNode" if name != "is by --gpus" else "TresPerJob"].strip()[-1] == "1"
    finally:
        site.ruled.rules(RULES)
