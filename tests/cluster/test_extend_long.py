"""`adminkit extend` on a real slurmctld, where minutes have to pass: real ends, real signals, two controllers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit.extend.words import Given
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
PERIOD, GRACE = 10, 90
#: Seconds from the plugin's signal to the end.
SIGNAL = 20


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


def test_jobs_that_run_over_and_end_at_their_limits_once_the_unit_is_stopped(
    site: Extending, booted: tuple[Extending, Watched]
) -> None:
    """In real time: one hears its signal before its last end, one lies about how far it is, one did not opt in.

    The rounds stop before the third raise.
    """
    seen = booted[1]
    seen.configure("quiet=5")
    honest = seen.submit("{train} code=3\n", "-t", "2", wish=f"TERM@{SIGNAL}")
    lie = 'for i in $(seq 900); do echo 99999999999 > "$ADMINKIT_PROGRESS"; sleep 1; done\n'
    liar = seen.submit(lie, "-t", "2")
    off = seen.submit("sleep 900\n", "-t", "2", env={"ADMINKIT_EXTEND": "off"})
    for job in (honest, liar, off):
        site.cluster.wait(job.id, "RUNNING", 30)
    stopped = time.time() + STEP + 105
    while time.time() < stopped:
        site.round()
        site.audit()
        time.sleep(PERIOD)
    shown = site.all()
    assert (shown[off.id].state, shown[off.id].given) == ("TIMEOUT", None)
    limits = {job.id: shown[job.id].given for job in (honest, liar)}
    assert all(word == Given(ASKED, ASKED + 2 * STEP, 2) for word in limits.values()), limits
    site.cluster.wait(liar.id, "TIMEOUT", 2 * STEP + GRACE)
    assert seen.end(liar) >= shown[liar.id].start + ASKED + 2 * STEP, "no round ran, and it ended at its limit"
    assert seen.state(honest) == "FAILED" and len(honest.times("heard")) == 1
    before = seen.limit_at(honest) - honest.times("heard")[0]
    print(f"raised twice: signalled {before:.1f} s before the last end")
    assert SIGNAL - 2 <= before <= SIGNAL + 2
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
