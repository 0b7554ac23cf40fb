"""What is changed while the last run of a job ends lands in no row of that run: it is refused for that time."""

from __future__ import annotations

import re
import time

import pytest

from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import Ruled, rule

pytestmark = pytest.mark.cluster

#: Does not end by SIGTERM, so that the run ends for as long as KillWait says.
STUBBORN = "trap '' TERM; sleep 60 & wait; sleep 60"
#: Slurm's own text, where its clients show no other.
AGAIN = re.compile("try again", re.IGNORECASE)
CHANGES = ("QOS=brief", "Account=chemistry", "Partition=gq-long", "TimeLimit=7", "TimeLimit=8 Name=x")


def rows(ruled: Ruled, job: int) -> list[list[str]]:
    words = ("-X", "-D", "-n", "-P", "-o", "State,QOS,Account,Partition,TimelimitRaw", "-j", str(job))
    return [line.split("|") for line in ruled.cluster.ask("sacct", *words).splitlines()]


def test_the_row_of_the_run_that_is_over_stays_as_it_is(ruled: Ruled) -> None:
    ruled.rules(rule("gq-max", "gq", max_limit="10:00:00"))
    ruled.cluster.run("sacctmgr", "-i", "add", "qos", "brief")
    ruled.cluster.run("sacctmgr", "-i", "add", "user", "games", "account=chemistry")
    ruled.cluster.run("sacctmgr", "-i", "modify", "user", "games", "set", "qos+=brief")
    job = ruled.run("sbatch", "-p", "gq", "-t", "9", "-N1", "-o", "/dev/null", "--wrap", STUBBORN).job
    assert job is not None
    until("the job to run", lambda: ruled.job(job)["JobState"] == "RUNNING", 60)
    time.sleep(2)
    assert ruled.run("scontrol", "requeuehold", str(job)).accepted
    for change in CHANGES:
        said = ruled.update(job, *change.split())
        assert not said.accepted and AGAIN.search(said.text), (change, said, ruled.job(job))
    assert ruled.update(job, "TimeLimit=9", "Comment=x").accepted, "what changes nothing"
    until("it to be changed", lambda: ruled.update(job, "QOS=brief", "Account=chemistry", "TimeLimit=7").accepted, 60)
    ruled.cluster.settle()
    until("both rows", lambda: len(rows(ruled, job)) == 2, 60)
    until("the change", lambda: rows(ruled, job)[1][1] == "brief", 60)
    assert rows(ruled, job)[0] == ["REQUEUED", "normal", "physics", "gq", "9"], rows(ruled, job)
