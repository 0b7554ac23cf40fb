"""Jobs that do not use their GPUs, on a real slurmctld and slurmd, measured by a real Prometheus that reads a made
exporter: warned, put back with their checkpoint, shrunk, cancelled; and never touched where nothing is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cluster.harness.elastic import HELD, Elastic, elastic
from tests.cluster.harness.gpu_exporter import Exporter, monitored
from tests.cluster.harness.idle import SHORT, in_force, rows, runs, until_due, why
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster

#: Leaves with 85 at the signal.
TRAINS = "{train} code=85 runs=3 & wait $!\n"


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
