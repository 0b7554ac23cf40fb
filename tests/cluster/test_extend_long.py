"""`adminkit extend` on a real slurmctld, where minutes have to pass: real ends, real signals, two controllers."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.checkpoint import Watched, watched
from tests.cluster.harness.extend import ASKED, GIVEN, STEP, Extending, extending, policy
from tests.cluster.harness.extend_kills import ctld_is_killed
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

#: Seconds between two rounds, and from a job's limit until Slurm has ended it.
PERIOD, GRACE = 10, 60


@pytest.fixture(scope="module")
def booted(outside: Listing) -> Iterator[tuple[Extending, Watched]]:
    with extending() as found:
        seen = watched(found.cluster)
        yield found, seen


@pytest.fixture
def site(booted: tuple[Extending, Watched], monkeypatch: pytest.MonkeyPatch) -> Iterator[Extending]:
    monkeypatch.setenv("SLURM_CONF", str(booted[0].cluster.home / "slurm.conf"))
    yield booted[0]
    booted[0].clear()
    booted[0].ruled.rules(policy())


@pytest.mark.parametrize("when", ["before", "after", "saved"])
def test_slurmctld_is_killed_around_the_update(site: Extending, tmp_path: Path, when: str) -> None:
    kept = ctld_is_killed(site, tmp_path, when)
    print(f"killed {when} the update: it was {'kept' if kept else 'lost'}")
    assert kept or when != "saved"


def test_jobs_that_run_over_and_those_whose_unit_is_stopped(site: Extending, booted: tuple[Extending, Watched]) -> None:
    """All at once, in real time. One needs five minutes: it is given three times, and its signal comes before the last
    end. One did not opt in. One lies about how far it is. Then the rounds stop, and who still runs ends at its limit.
    """
    seen = booted[1]
    seen.configure("quiet=5", "poll=300")
    opts = ("-t", "2")
    long = seen.submit("{train} lasts=290 code=3\n", *opts, wish="TERM@20")
    liar = seen.submit('for i in $(seq 900); do echo 99999999999 > "$ADMINKIT_PROGRESS"; sleep 1; done\n', *opts)
    off = seen.submit("sleep 900\n", *opts, env={"ADMINKIT_EXTEND": "off"})
    for job in (long, liar, off):
        site.cluster.wait(job.id, "RUNNING", 30)
    begun = time.time()
    while time.time() < begun + 310:
        site.round()
        site.audit()
        time.sleep(PERIOD)
    site.cluster.wait(long.id, "COMPLETED", 30)
    shown = site.all()
    assert shown[off.id].state == "TIMEOUT" and shown[off.id].given is None
    word = shown[long.id].given
    assert word is not None and (word.times, word.limit) == (2, ASKED + 2 * STEP)
    assert long.times("heard") == [], "it was over before its last end came near"
    assert shown[liar.id].given is not None and shown[liar.id].given.times == word.times + 1
    print("the liar's limit", shown[liar.id].limit, "the honest one's", shown[long.id].limit)
    ends = shown[liar.id].start + shown[liar.id].limit
    site.cluster.wait(liar.id, "TIMEOUT", ends + GRACE - time.time())
    assert seen.end(liar) >= ends - 1, "no round ran, and it ended at its limit"
    site.audit()


def test_a_job_that_was_put_back_waits_with_what_it_asked_for(site: Extending) -> None:
    job = site.submit("--requeue")
    assert site.round() == {job: GIVEN}
    site.cluster.ask("scontrol", "requeue", str(job))
    until("it to wait", lambda: site.cluster.states(job) == ["PENDING"], 30)
    assert site.round() == {job: ("taken back", "requeued")}
    shown = site.shown(job)
    assert (shown.limit, shown.given and shown.given.times) == (ASKED, 0)
    site.cluster.wait(job, "RUNNING", 60)
    assert site.round() == {job: GIVEN}
    assert site.shown(job).limit == ASKED + STEP


def test_a_job_that_was_put_back_and_starts_before_a_round_saw_it(site: Extending) -> None:
    """It runs with the raised limit, which is its own word's; it ends no later than that allows."""
    job = site.submit("--requeue")
    assert site.round() == {job: GIVEN}
    site.cluster.ask("scontrol", "requeue", str(job))
    until(
        "its second run", lambda: site.ruled.job(job)["Restarts"] == "1" and site.cluster.states(job) == ["RUNNING"], 90
    )
    shown = site.shown(job)
    assert (shown.limit, shown.given and shown.given.limit) == (ASKED + STEP, ASKED + STEP)
    site.audit()


def test_only_the_host_of_the_slurmctld_that_is_at_work_decides(outside: Listing) -> None:
    """A second controller is named and is not up: this one's rounds decide. It has taken over: they are idle."""
    with extending(nodes=1) as site:
        conf = site.cluster.home / "slurm.conf"
        here = socket.gethostname().partition(".")[0]
        text = conf.read_text().replace("NoInAddrAny,NoCtldInAddrAny", "NoCtldInAddrAny")
        two = f"SlurmctldHost={here}(127.0.0.1)\nSlurmctldHost=second(127.0.0.2)"
        conf.write_text(re.sub(r"(?m)^SlurmctldHost=.*", two, text) + "SlurmctldTimeout=10\n")
        site.cluster.restart_ctld()
        site.cluster.until_idle()
        job = site.submit()
        did = site.round(code=None)
        assert did == {job: ("refused", "budget")}, "what the other host gave this month is not known here"
        site.ruled.rules(policy(budget="none"))
        assert site.round() == {job: GIVEN}
