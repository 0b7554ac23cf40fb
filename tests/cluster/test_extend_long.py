"""`adminkit extend` on a real slurmctld, where minutes have to pass: real ends, real signals, two controllers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import SLURM_USER
from tests.cluster.harness.checkpoint import Watched, watched
from tests.cluster.harness.extend import ASKED, GIVEN, SCHEDULER, STEP, Extending, extending, policy
from tests.cluster.harness.extend_kills import ctld_is_killed
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import ADMINKIT
from tests.cluster.test_policy_controllers import Pair, pairing

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


def test_only_the_host_of_the_slurmctld_that_is_at_work_decides(
    outside: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first, then the second, which takes over and knows nothing of what the first gave this month."""
    with pairing(SchedulerParameters=SCHEDULER, SlurmUser=SLURM_USER, MessageTimeout="5") as pair:
        site = Extending(pair.ruled)
        pair.carry(policy(budget="none"))
        pair.start_second()
        first, second = (site.submit(), site.submit())
        assert on_second(pair) == "" and site.shown(first).given is None, "it is not at work"
        assert pair.adminkit("extend", "run", "--apply").returncode == 0
        assert all(site.shown(job).limit == ASKED + STEP for job in (first, second))
        pair.take_over()
        later = site.submit()
        assert pair.adminkit("extend", "run", "--apply").returncode == 0
        assert site.shown(later).given is None, "the first is not at work any more"
        on_second(pair)
        assert site.shown(later).limit == ASKED + STEP
        pair.carry(policy())
        last = site.submit()
        on_second(pair)
        assert site.shown(last).given is None, "how much was given this month is not known there"
        pair.give_back()


def on_second(pair: Pair) -> str:
    """A round on the second host; the jobs that it names."""
    script = 'mount --bind "$1/hosts" /etc/hosts && hostname second && shift && exec "$@"'
    folder = pair.folder
    words = ("unshare", "--uts", "--mount", "sh", "-c", script, "sh", folder, ADMINKIT, "extend", "run", "--apply")
    env = {
        "SLURM_CONF": str(folder / "slurm.conf"), "ADMINKIT_POLICY_FOLDER": str(folder), "ADMINKIT_CONFIG": "",
        "ADMINKIT_ACTS": str(folder / "acts.jsonl"), "PATH": f"{ADMINKIT.parent}:{pair.cluster.env()['PATH']}",
    }  # fmt: skip
    done = pair.cluster.run(*words, "--format", "csv", env=env)
    print(done.text, done.err.decode())
    assert done.code == 0
    return "".join(done.text.splitlines()[1:])
