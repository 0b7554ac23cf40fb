"""The range that a job opted in to, and an order, on a real slurmctld: believed only for what they were noted for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.harness.checkpoint import Job
from tests.cluster.harness.elastic import HELD, RULES, Elastic, elastic
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.test_elastic import TRAINS, YOUNG, said

pytestmark = pytest.mark.cluster

#: Two GPUs at most: in gq-short, of the account physics, with the QOS low.
STRICT = f"""{RULES}
[[rules]]
name = "by-queue"
queues = ["gq-short"]
gpus = "1-2"
[[rules]]
name = "by-account"
accounts = ["physics"]
gpus = "1-2"
[[rules]]
name = "by-qos"
qos = ["low"]
gpus = "1-2"
"""
OPTED = "ak1:lim=1200,src=e,el=1-4"


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Elastic]:
    with elastic() as found:
        cluster = found.ruled.cluster
        cluster.ask("sacctmgr", "-i", "add", "qos", "low")
        cluster.ask("sacctmgr", "-i", "modify", "user", "backup", "set", "qos=normal,low", "defaultqos=normal")
        found.ruled.rules(STRICT)
        yield found


@pytest.fixture(autouse=True)
def cleared(site: Elastic) -> Iterator[None]:
    yield
    site.ruled.clear()


def ordered(site: Elastic, job: Job, gpus: int = 4) -> None:
    """Have the job ordered, and wait until the plugin put it back held."""
    site.adminkit("run", "--apply", "--no-wait", "--job", job.id, "--gpus", gpus)
    assert f"el1:gpus={gpus}" in site.comment(job)
    until("the job to be held", lambda: site.field(job, "Reason") == HELD, 90)


def did(site: Elastic, *words: object, code: int = 0) -> list[tuple[str, str]]:
    return [(row["did"], row["job"]) for row in site.rows("run", "--apply", *map(str, words), code=code)]


def one_is_refused_and_one_changed(one: Job, other: Job) -> list[tuple[str, str]]:
    return [
        ("refused", str(one.id)), ("released", str(one.id)),
        ("ordered", str(other.id)), ("changed", str(other.id)), ("released", str(other.id)),
    ]  # fmt: skip


def updated(site: Elastic, job: Job, change: str) -> None:
    """Its owner changes it. Trap: slurmctld refuses that as long as the run before is completing."""
    refused: list[str] = []

    def taken() -> bool:
        said = site.ruled.update(job.id, change, user="backup")
        refused.append(said.text)
        return said.accepted

    try:
        until(f"{change} of job {job.id}", taken, 30)
    except Exception as error:
        raise AssertionError(f"{refused[-1]}: {site.watched.shown(job)}") from error


@pytest.mark.parametrize("change", ["Partition=gq-short", "Account=physics", "QOS=low"])
def test_a_job_that_moved_is_given_what_the_rules_give_it_now(site: Elastic, change: str) -> None:
    """Its range was noted for the queue, account and QOS of its submission, which its owner changed while it waited."""
    job = site.submit(TRAINS, "-H", "-A", "learning", user="backup")
    assert site.comment(job) == OPTED
    moved = site.ruled.update(job.id, change, user="backup")
    assert moved.code == 0, moved
    site.ruled.cluster.ask("scontrol", "release", str(job.id))
    site.runs_for(job, YOUNG)
    assert site.rows("run", "--apply", "--job", job.id, "--gpus", 4) == []
    (row,) = site.rows("preview", "--job", job.id, "--gpus", 4)
    assert "the rules refuse it" in row["why"] and row["verdict"] == "keep", row
    assert "el1:" not in site.comment(job)
    ordered(site, job, 2)
    assert did(site) == [("changed", str(job.id)), ("released", str(job.id))]
    assert site.gpus(job) == 2


def test_a_job_that_moves_while_it_is_held_goes_on_with_what_it_had(site: Elastic) -> None:
    job, beside = (site.submit(TRAINS, "-A", "learning", user="backup") for _ in range(2))
    for one in (job, beside):
        site.runs_for(one, YOUNG)
    ordered(site, job)
    updated(site, job, "Partition=gq-short")
    assert did(site, "--job", beside.id, "--gpus", 2, code=1) == one_is_refused_and_one_changed(job, beside)
    until("its next run", lambda: len(said(site, job)) == 2, 90)
    assert said(site, job)[1].startswith("has 1 ") and "el1:" not in site.comment(job)


def test_gpus_that_its_owner_spells_otherwise_stop_nobody(site: Elastic) -> None:
    job, beside = (site.submit(TRAINS, "-A", "learning", user="backup") for _ in range(2))
    for one in (job, beside):
        site.runs_for(one, YOUNG)
    ordered(site, job)
    is_old = site.field(job, "TresPerNode").startswith("gres:")
    updated(site, job, "Gres=gpu:1,gpu:1" if is_old else "TresPerNode=gres/gpu:1,gres/gpu:1")
    assert did(site, "--job", beside.id, "--gpus", 2, code=1) == one_is_refused_and_one_changed(job, beside)


def test_who_puts_a_job_back_held_keeps_it_held(site: Elastic) -> None:
    """It has a word of the plugin's from an earlier change, and an order that it did not answer yet."""
    job = site.submit(TRAINS, "-A", "learning", user="backup")
    site.runs_for(job, YOUNG)
    ordered(site, job, 2)
    did(site)
    site.runs_for(job, 1, run=2)
    assert "end=more" in site.comment(job)
    site.adminkit("run", "--apply", "--no-wait", "--job", job.id, "--gpus", 4)  # too young to be signalled for it
    assert "el1:gpus=4" in site.comment(job)
    site.ruled.cluster.ask("scontrol", "requeuehold", str(job.id))
    until("the job to be held", lambda: site.field(job, "Reason") == HELD, 60)
    until("its last run to be over", lambda: site.field(job, "JobState") != "COMPLETING", 60)
    assert did(site) == [("held", str(job.id))]
    (row,) = site.rows("preview", "--job", job.id)
    assert f"scontrol release {job.id}" in row["why"], row
    assert (site.field(job, "Reason"), site.gpus(job)) == (HELD, 2)
    site.adminkit("revoke", job.id, "--apply")
    assert site.field(job, "Reason") == HELD and "el1:" not in site.comment(job)
