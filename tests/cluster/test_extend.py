"""`adminkit extend` on a real slurmctld: who is given more time and who is not, what is taken back, what a kill leaves.

Jobs ask for two minutes and are near their end from their start, so that nothing is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.extend import ASKED, GIVEN, STEP, Extending, extending, policy
from tests.cluster.harness.extend_kills import after_update, killed_at_random
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster

KILLS = 20
HERS = ("-w", "n1", "--exclusive")


@pytest.fixture(scope="module")
def booted(outside: Listing) -> Iterator[Extending]:
    with extending() as found:
        yield found


@pytest.fixture
def site(booted: Extending, monkeypatch: pytest.MonkeyPatch) -> Iterator[Extending]:
    """With nothing in its queues, before and after."""
    monkeypatch.setenv("SLURM_CONF", str(booted.cluster.home / "slurm.conf"))
    yield booted
    booted.clear()
    booted.ruled.rules(policy())


def test_who_opted_in_is_given_more_and_nobody_else(site: Extending) -> None:
    """The word and the limit hold; the act is on record before and after; its user's month counts it."""
    before = site.given()
    job, off = site.submit(), site.submit(extend="off")
    assert site.round() == {job: GIVEN}
    shown = site.shown(job)
    assert (shown.limit, str(shown.given)) == (ASKED + STEP, f"xt1:asked={ASKED},lim={ASKED + STEP},n=1")
    assert site.shown(off).limit == ASKED and site.shown(off).given is None
    assert [(act["held"], act["was"], act["becomes"]) for act in site.acts() if act["job"] == job] == [
        (None, ASKED, ASKED + STEP), (True, ASKED, ASKED + STEP),
    ]  # fmt: skip
    uid = site.acts()[-1]["uid"]
    assert site.given()[uid] == before.get(uid, 0) + STEP
    assert site.round() == {}, "it is no longer near its end"
    site.audit()


def test_three_times_in_a_row(site: Extending) -> None:
    """By a clock that is ahead, each time so far that the end is near."""
    job = site.submit()
    for times in (1, 2, 3):
        assert site.ahead((times - 1) * STEP) == {job: GIVEN}
        shown = site.shown(job)
        assert (shown.limit, shown.given and shown.given.times) == (ASKED + times * STEP, times)
    site.audit()


def test_refused_for_a_planned_job_until_it_is_gone(site: Extending) -> None:
    job = site.submit(*HERS)
    waits = site.planned(*HERS, "-t", "10")
    assert site.round() == {job: ("refused", "planned")}
    act = site.acts()[-1]
    assert (act["behind"], act["becomes"]) == (waits, None) and act["starts"] is not None
    assert site.round() == {}, "it is recorded once"
    assert site.shown(job).limit == ASKED
    site.cluster.ask("scancel", str(waits))
    assert site.round() == {job: GIVEN}


def test_refused_for_a_job_without_a_plan(site: Extending) -> None:
    """Backfill looks at no job: who waits for the node has no plan."""
    conf = site.cluster.home / "slurm.conf"
    text = conf.read_text()
    job = site.submit(*HERS)
    try:
        conf.write_text(text.replace("bf_interval=2", "bf_interval=2,bf_max_job_user=1"))
        site.cluster.ask("scontrol", "reconfigure")
        other = site.submit("-w", "n2", "--exclusive", extend="off")
        site.planned("-w", "n2", "--exclusive", "-t", "10")
        waits = site.submit(*HERS, "-t", "10", user="news", runs=False)
        assert site.round() == {job: ("refused", "waiting")}
        assert site.acts()[-1]["behind"] == waits and other
    finally:
        conf.write_text(text)
        site.cluster.ask("scontrol", "reconfigure")


def test_refused_for_a_reservation(site: Extending) -> None:
    job, elsewhere = site.submit("-w", "n1"), site.submit("-w", "n2")
    words = ("Duration=60", "Nodes=n1", "Users=root", "Flags=MAINT,IGNORE_JOBS")
    site.cluster.ask("scontrol", "create", "reservation", "ReservationName=m", "StartTime=now+170", *words)
    assert site.round() == {job: ("refused", "reservation"), elsewhere: GIVEN}
    assert site.shown(job).limit == ASKED


def test_refused_for_a_maximum(site: Extending) -> None:
    """Of the queue; of a QOS; of the policy; of a limit on minutes; of the job's deadline."""
    for words in (
        ("add", "qos", "walled", "MaxWall=00:03:00"),
        ("add", "qos", "minutes", "GrpTRESRunMins=cpu=100000"),
        ("modify", "user", "games", "set", "qos+=walled,minutes"),
    ):
        site.cluster.ask("sacctmgr", "-i", *words)
    until("slurmctld to know", lambda: "cpu=100000" in site.cluster.run("scontrol", "show", "assoc_mgr").text, 30)
    cases = {
        site.submit("-p", "tiny"): "limit",
        site.submit("--qos=walled"): "limit",
        site.submit("--qos=minutes"): "minutes",
        site.submit("--deadline=now+3minutes"): "deadline",
    }
    assert site.round() == {job: ("refused", why) for job, why in cases.items()}
    site.clear()
    site.ruled.rules(policy(most=1.9))
    job = site.submit()
    assert site.round() == {job: ("refused", "most")}


def test_refused_for_a_budget(site: Extending) -> None:
    """The array of a user who asks for a minute a task is given no more than it; another user's job is."""
    used = site.given()
    budget = max(used.values()) // 60 + 5
    site.ruled.rules(policy(budget=f"00:{budget}:00" if budget < 60 else f"{budget // 60}:{budget % 60:02d}:00"))
    array = site.submit("-a", "1-12", "-t", "1")
    other = site.submit(user="news")
    did = site.round()
    assert did.pop(other) == GIVEN
    assert sorted(did.values()) == [GIVEN] * 2 + [("refused", "budget")] * 10
    uid = next(act["uid"] for act in site.acts() if act["job"] in did)
    assert site.given()[uid] == used[uid] + 2 * STEP <= budget * 60
    limits = [shown.limit for job, shown in site.all().items() if job in did]
    assert sorted(limits) == [60] * 10 + [60 + STEP] * 2, "each task by itself"
    assert array in did


def test_taken_back_when_a_wider_job_of_higher_priority_comes(site: Extending) -> None:
    """As much as leaves the lead, and what was asked; then the wide one is planned a minute earlier."""
    job = site.submit(*HERS)
    assert site.round() == {job: GIVEN}
    wide = site.planned("-N4", "--exclusive", "-t", "10")
    planned = site.ruled.job(wide)["StartTime"]
    did = site.round()
    assert did == {job: ("taken back", "planned")}, did
    shown = site.shown(job)
    assert ASKED <= shown.limit < ASKED + STEP and shown.start + shown.limit >= time.time() + 100
    assert shown.given is not None and (shown.given.limit, shown.given.asked) == (shown.limit, ASKED)
    until("the wide one to be planned earlier", lambda: site.ruled.job(wide)["StartTime"] < planned, 30)
    assert site.ahead(60) == {job: ("refused", "planned")}
    site.audit()


def test_a_limit_that_somebody_else_changed_is_left_alone(site: Extending) -> None:
    """By an operator, who raises it; by its owner, who lowers it; between two rounds."""
    raised, lowered, early = site.submit(), site.submit(), site.submit()
    assert site.ruled.update(early, "TimeLimit=1").accepted
    assert site.round() == {raised: GIVEN, lowered: GIVEN, early: GIVEN}
    assert (site.shown(early).limit, site.shown(early).given and site.shown(early).given.asked) == (60 + STEP, 60)
    site.cluster.ask("scontrol", "update", f"JobId={raised}", "TimeLimit=30")
    assert site.ruled.update(lowered, "TimeLimit=2").accepted
    assert not site.ruled.update(lowered, "TimeLimit=3").accepted, "a user may not raise it"
    assert site.round() == {lowered: ("refused", "changed")}
    assert site.ahead(1700).get(raised) == ("refused", "changed")
    assert (site.shown(raised).limit, site.shown(lowered).limit) == (1800, 120)


def test_who_waits_for_no_node_denies_nobody(site: Extending) -> None:
    """Held, for a later day, for another job; then a wide one that is cancelled before the next round."""
    job = site.submit(*HERS)
    for options in (("-H",), ("--begin=now+1day",), (f"--dependency=afterany:{job}",)):
        site.submit("-N4", "--exclusive", "-t", "60", *options, user="news", runs=False)
    wide = site.planned("-N4", "--exclusive", "-t", "60")
    assert site.round() == {job: ("refused", "planned")}
    site.cluster.ask("scancel", str(wide), user="news")
    assert site.round() == {job: GIVEN}


def test_who_takes_back_by_a_wide_job_and_cancels_it_costs_nobody_what_they_asked_for(site: Extending) -> None:
    job = site.submit(*HERS)
    assert site.round() == {job: GIVEN}
    for _ in range(3):
        wide = site.planned("-N4", "--exclusive", "-t", "60")
        site.round()
        assert site.shown(job).limit >= ASKED
        site.cluster.ask("scancel", str(wide), user="news")
        site.round()
    assert site.shown(job).limit >= ASKED + 60, "what was taken back is given again"
    site.audit()


def test_two_jobs_that_need_each_other_end_at_the_most(site: Extending) -> None:
    """Each runs until the other ends; a job may be given so much, whatever its program waits for."""
    site.ruled.rules(policy(most=3.0, times=8))
    script = "sleep 20; while squeue -h -n {0} | grep -q .; do sleep 1; done"
    jobs = [site.submit("-J", name, script=script.format(other)) for name, other in (("a", "b"), ("b", "a"))]
    for turn in range(3):
        site.ahead(turn * STEP)
    assert [site.shown(job).limit for job in jobs] == [3 * ASKED] * 2
    assert {job: site.acts()[-2 + nth]["why"] for nth, job in enumerate(jobs)} == dict.fromkeys(jobs, "most")


def test_words_in_a_users_own_fields_count_for_nothing(site: Extending) -> None:
    """The record and the word in Comment, Extra and the name; both in AdminComment are refused by Slurm."""
    record = "ak1:lim=60,src=e,ext=auto xt1:asked=36000,lim=60,n=1"
    job = site.submit("-J", record, f"--comment={record}", extend="off")
    assert not site.ruled.update(job, f"AdminComment={record}").accepted
    wrong = site.submit(extend="auto,most=100 xt1:asked=1,lim=1,n=0")
    assert site.round() == {}
    assert [site.shown(one).limit for one in (job, wrong)] == [ASKED] * 2


def test_a_word_that_the_plugin_overwrites_is_written_again(site: Extending, tmp_path: Path) -> None:
    """The plugin reads the comment, the round writes limit and word, the plugin writes its note beside what it read."""
    job = site.submit()
    comment = f"{site.shown(job).comment} ck1:at=9,heard=1,rq=0"
    path = after_update(tmp_path, f"scontrol update JobId={job} 'AdminComment={comment}'")
    assert site.round(path=path) == {job: GIVEN}
    shown = site.shown(job)
    assert (shown.limit, shown.comment) == (ASKED + STEP, f"{comment} {shown.given}")
    site.audit()


def test_a_round_that_is_killed_anywhere(site: Extending) -> None:
    killed_at_random(site, KILLS)
