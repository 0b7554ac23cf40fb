"""Jobs that do not use their GPUs, on a real slurmctld and slurmd, measured by a real Prometheus that reads a made
exporter: warned, put back with their checkpoint, shrunk, cancelled; and never touched where nothing is known.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.harness.checkpoint import Job
from tests.cluster.harness.elastic import HELD, QUICK, Elastic, elastic
from tests.cluster.harness.gpu_exporter import Exporter, monitored
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster

#: Leaves with 85 at the signal.
TRAINS = "{train} code=85 runs=3 & wait $!\n"
#: [idle] at its shortest; in force it is shorter still, as no test waits for an hour.
RULES = """record = "admin_comment"
[idle]
enabled = true
grace = "0m"
warn = "10m"
act = "20m"
notice = "10m"
used_before = 1.0
acts = ACTS
"""
SHORT = {"warn": 10, "act": 10, "notice": 2}


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Elastic]:
    with elastic() as found:
        yield found


@pytest.fixture(scope="module")
def exporter(site: Elastic, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporter]:
    node = site.ruled.cluster.ask("sinfo", "-h", "-N", "-o", "%N").split()[0]
    with monitored(node, tmp_path_factory.mktemp("prometheus")) as found:
        yield found


@pytest.fixture(autouse=True)
def cleared(site: Elastic) -> Iterator[None]:
    yield
    site.ruled.clear()


def in_force(site: Elastic, acts: list[str]) -> None:
    """Install the rules, and shorten their times in the compiled table, of which slurmctld reads nothing."""
    site.ruled.rules(RULES.replace("ACTS", json.dumps(acts)))
    (table,) = Path(site.ruled.inner).glob("policy.lua")
    text = table.read_text()
    for name, seconds in SHORT.items():
        text, many = re.subn(rf'(\["{name}"\] = )\d+', rf"\g<1>{seconds}", text)
        assert many == 1, name
    table.write_text(text)
    site.ruled.text = ""


def rows(site: Elastic, exporter: Exporter, *words: str, code: int | None = 0, **env: str) -> list[dict[str, Any]]:
    usage = {"PROMETHEUS": exporter.url, "STEP": "10", "WINDOW": "3600", "FRESH": "60"}
    asked = {**QUICK, **{f"ADMINKIT_USAGE_{name}": value for name, value in usage.items()}, **env}
    done = site.ruled.adminkit("idle", *words, "--format", "json", code=code, env=asked)
    return list(json.loads(done.stdout)["rows"])


def runs(site: Elastic, exporter: Exporter, job: Job, *use: float) -> None:
    """Wait until it runs; its GPUs are used from then on by these shares, percent."""
    until(f"job {job.id} to run", lambda: site.field(job, "JobState") == "RUNNING", 120)
    first = max((gpu for _, gpu in exporter.use), default=-1) + 1
    exporter.use |= {(job.id, first + nth): share for nth, share in enumerate(use)}


def until_due(site: Elastic, exporter: Exporter, *jobs: Job) -> None:
    """Wait until a round would do something about these jobs."""

    def are() -> bool:
        return {str(job.id) for job in jobs} <= {row["job"] for row in rows(site, exporter, "--all") if row["next"]}

    until("a round that would do something", are, 180)


def test_jobs_are_warned_then_put_back_or_shrunk_and_who_works_is_left_alone(site: Elastic, exporter: Exporter) -> None:
    in_force(site, ["shrink", "requeue"])
    stuck = site.submit(TRAINS, opts=None, wish="TERM@3,requeue=9")
    partly = site.submit(TRAINS, "--gpus-per-node=2", opts="1-2")
    works = site.submit(TRAINS, opts=None, wish="TERM@3,requeue=9")
    runs(site, exporter, stuck, 0)
    runs(site, exporter, partly, 80, 0)
    runs(site, exporter, works, 75)
    until_due(site, exporter, stuck, partly)
    shown = {row["job"]: row for row in rows(site, exporter, "--all")}
    assert {shown[str(job.id)]["next"] for job in (stuck, partly)} == {"warned"}
    assert shown[str(works.id)]["kept"] == "busy" and {row["source"] for row in shown.values()} == {"dcgm"}

    warned = {(row["job"], row["did"], row["idle"], row["held"]) for row in rows(site, exporter, "--apply")}
    assert warned == {(str(stuck.id), "warned", 1, "yes"), (str(partly.id), "warned", 1, "yes")}
    assert any("this job's GPU has not been used" in line for line in stuck.said), stuck.output.read_text()
    time.sleep(SHORT["notice"])
    until_due(site, exporter, stuck, partly)

    acts = {(row["job"], row["did"], row["held"]) for row in rows(site, exporter, "--apply")}
    assert acts == {(str(stuck.id), "requeue", "yes"), (str(partly.id), "shrink", "yes")}
    assert "el1:gpus=0" in site.comment(stuck) and "el1:gpus=1" in site.comment(partly)
    for job in (stuck, partly):
        until("the job to be held", lambda job=job: site.field(job, "Reason") == HELD, 120)  # type: ignore[misc]
    exporter.use = {key: share for key, share in exporter.use.items() if key[0] == works.id}
    settled = {(row["job"], row["did"]) for row in rows(site, exporter, "--apply")}
    assert (str(stuck.id), "held") in settled
    until("the next run with one GPU", lambda: len(partly.times("start")) == 2, 120)
    assert site.gpus(partly) == 1 and "el1:" not in site.comment(stuck)
    assert site.field(stuck, "Reason") == HELD, "it waits for its user"
    assert site.ruled.run("scontrol", "release", str(stuck.id)).code == 0, "who may release it"
    until("the next run", lambda: len(stuck.times("start")) == 2, 120)
    assert len(works.times("start")) == 1 and not works.times("heard"), "it computed, and nothing happened to it"


def bonus(site: Elastic, job: Job) -> int | None:
    """The site factor of a waiting job; None: sprio does not list it."""
    said = site.ruled.cluster.run("sprio", "-h", "-j", str(job.id), "-o", "%S").text.split()
    return int(said[0]) if said and said[0].lstrip("-").isdigit() else None


def test_points_of_waiting_jobs_are_held_until_the_gpus_are_used(site: Elastic, exporter: Exporter) -> None:
    in_force(site, ["points"])
    exporter.use = {}
    stuck = site.submit("sleep 600", opts=None, wish="off")
    runs(site, exporter, stuck, 0)
    waits = site.submit("sleep 600", "--gpus-per-node=4", opts=None, wish="off")
    other = site.submit("sleep 600", "--gpus-per-node=4", opts=None, wish="off", user="news")
    for job in (waits, other):
        until("sprio to list the job", lambda job=job: bonus(site, job) is not None, 60)  # type: ignore[misc]
        site.ruled.cluster.ask("scontrol", "update", f"JobId={job.id}", "SiteFactor=325")
    until_due(site, exporter, stuck)
    assert {(row["job"], row["did"]) for row in rows(site, exporter, "--apply")} == {(str(stuck.id), "warned")}
    time.sleep(SHORT["notice"])
    until_due(site, exporter, stuck)
    shown = {(row["job"], row["next"]) for row in rows(site, exporter, "--all") if row["next"]}
    assert shown == {(str(stuck.id), "points")} and bonus(site, waits) == 325, "a preview"

    done = {(row["job"], row["did"], row["held"]) for row in rows(site, exporter, "--apply")}
    assert done == {(str(stuck.id), "points", "yes"), (str(waits.id), "taken", "yes")}
    assert (bonus(site, waits), bonus(site, other)) == (0, 325), "its user's, and nobody else's"
    assert any("your waiting jobs have no priority points" in line for line in stuck.said), stuck.output.read_text()
    assert rows(site, exporter, "--apply") == [], "once"

    exporter.use = {(stuck.id, gpu): 80.0 for _, gpu in exporter.use}
    until("its GPU to be used", lambda: kept(site, exporter, stuck) == "busy", 60)
    assert [(row["job"], row["did"], row["held"]) for row in rows(site, exporter, "--apply")] == [
        (str(waits.id), "back", "yes")
    ]
    assert (bonus(site, waits), bonus(site, other)) == (325, 325)


def kept(site: Elastic, exporter: Exporter, job: Job) -> str:
    """Why a round would do nothing about the job."""
    return next(row["kept"] or "" for row in rows(site, exporter, "--all") if row["job"] == str(job.id))


@pytest.mark.soak
def test_nothing_is_done_while_prometheus_is_away_or_the_exporter_dead(site: Elastic, exporter: Exporter) -> None:
    in_force(site, ["cancel"])
    exporter.use, exporter.dead = {}, False
    stuck = site.submit("sleep 600", opts=None, wish="off")
    works = site.submit("sleep 600", opts=None, wish="off")
    runs(site, exporter, stuck, 0)
    runs(site, exporter, works, 60)
    until_due(site, exporter, stuck)
    assert {(row["job"], row["did"]) for row in rows(site, exporter, "--apply")} == {(str(stuck.id), "warned")}
    time.sleep(SHORT["notice"])
    until_due(site, exporter, stuck)
    (due,) = [row["next"] for row in rows(site, exporter, "--all") if row["job"] == str(stuck.id)]
    assert due == "cancel"

    assert rows(site, exporter, "--apply", ADMINKIT_USAGE_PROMETHEUS="http://127.0.0.1:9") == [], "it is away"
    exporter.dead = True
    until("readings that are old", lambda: why(site, exporter, stuck) == "stale", 180)
    assert rows(site, exporter, "--apply") == [], "the exporter is dead"
    assert site.field(stuck, "JobState") == "RUNNING"


def why(site: Elastic, exporter: Exporter, job: Job) -> str:
    """Why the job is not measured."""
    return next(row["why"] or "" for row in rows(site, exporter, "--all") if row["job"] == str(job.id))


@pytest.mark.soak
def test_a_job_is_cancelled_where_the_site_says_so_and_none_that_uses_one_of_its_gpus_or_shares_one(
    site: Elastic, exporter: Exporter
) -> None:
    in_force(site, ["cancel"])
    exporter.use, exporter.dead = {}, False
    stuck = site.submit("sleep 600", opts=None, wish="off")
    partly = site.submit("sleep 600", "--gpus-per-node=2", opts=None, wish="off")
    both = site.submit("sleep 600", opts=None, wish="off")
    runs(site, exporter, stuck, 0)
    runs(site, exporter, partly, 0, 60)
    runs(site, exporter, both, 0)
    (gpu,) = [gpu for job, gpu in exporter.use if job == both.id]
    exporter.use[999_999, gpu] = 0.0
    until("two jobs on a GPU", lambda: why(site, exporter, both) == "shared", 180)
    until_due(site, exporter, stuck)
    warned = {(row["job"], row["did"]) for row in rows(site, exporter, "--apply")}
    assert warned == {(str(stuck.id), "warned"), (str(partly.id), "warned")}
    time.sleep(SHORT["notice"])
    until_due(site, exporter, stuck)
    done = {(row["job"], row["did"], row["held"]) for row in rows(site, exporter, "--apply")}
    assert done == {(str(stuck.id), "cancel", "yes")}
    until("its end", lambda: site.field(stuck, "JobState") not in ("RUNNING", "COMPLETING"), 60)
    assert site.field(stuck, "JobState") == "CANCELLED"
    assert {site.field(job, "JobState") for job in (partly, both)} == {"RUNNING"}
