"""Points of waiting jobs while a job of their user holds idle GPUs, on a real slurmctld: taken, and given back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cluster.harness.checkpoint import Job
from tests.cluster.harness.elastic import Elastic, elastic
from tests.cluster.harness.gpu_exporter import Exporter, monitored
from tests.cluster.harness.idle import SHORT, in_force, kept, rows, runs, until_due
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster


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


def bonus(site: Elastic, job: Job) -> int | None:
    """The site factor of a waiting job; None: sprio does not list it."""
    said = site.ruled.cluster.run("sprio", "-h", "-j", str(job.id), "-o", "%S").text.split()
    return int(said[0]) if said and said[0].lstrip("-").isdigit() else None


def test_points_of_waiting_jobs_are_held_until_the_gpus_are_used(site: Elastic, exporter: Exporter) -> None:
    in_force(site, ["points"])
    exporter.use = {}
    stuck = site.submit("sleep 600", opts=None, wish="off")
    runs(site, exporter, stuck, 0)
    waits = site.submit("sleep 600", "--gpus-per-node=8", opts=None, wish="off")
    other = site.submit("sleep 600", "--gpus-per-node=8", opts=None, wish="off", user="news")
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
