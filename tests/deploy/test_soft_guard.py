"""The guard of soft limits: what it refuses, what the lease says, what it does to which job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit import actions
from adminkit.deploy import soft_guard as guard
from adminkit.deploy.files import changing, table_path
from adminkit.deploy.guard_state import STATE, State, read_state, write_state
from adminkit.deploy.planning import BEST, is_fit, lease, parameter, reasons, turns_on, typed, unclear, warnings
from adminkit.deploy.soft_guard import LEASE, look, once, read_lease
from adminkit.deploy.soft_guard_plan import Act, Plan, Records, ours, plan
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module
from adminkit.slurm import planning
from adminkit.slurm.planning import PARAMETER, Bounds, PlannedJob, Planning, PlanQueue, Reservation
from adminkit.slurm.process import SlurmTimeout
from tests.job_submit.policies import policy, rule
from tests.job_submit.test_soft_limits import SETTINGS

NOW = 1_800_000_000
H = 3600
GQ = PlanQueue("gq", H, 72 * H, nodes=frozenset({"n1", "n2"}))
SHORT = PlanQueue("gq-short", H, 3 * H, nodes=frozenset({"n3"}))
SITE = Planning(
    (25, 11, 1), frozenset({"bf_interval", PARAMETER}), "sched/backfill", "ALL", "preempt/none", False, (GQ, SHORT)
)
RECORD = "ak1:lim=36000,src=e,soft=1800 mine"
JOB = PlannedJob(7, "7", "PENDING", ("gq",), 10 * H, 1800, 0, False, None, 1001, "physics", "normal", RECORD)
RUNS = replace(JOB, state="RUNNING", start_time=NOW - 30)


@pytest.mark.parametrize(
    ("release", "fit"),
    [
        ((22, 5, 8), False), ((24, 11, 5), False), ((25, 5, 4), False), ((25, 5, 5), False), ((25, 5, 6), True),
        ((25, 5, 9), True), ((25, 11, 0), False), ((25, 11, 1), True), ((26, 5, 0), True),
    ],
)  # fmt: skip
def test_which_releases_are_fit(release: tuple[int, int, int], fit: bool) -> None:
    assert is_fit(release) is fit
    assert [one.name for one in reasons(replace(SITE, release=release))] == ([] if fit else ["release"])


REFUSED: dict[str, dict[str, Any]] = {
    "scheduler": {"scheduler": "sched/builtin"},
    "default_time": {"queues": (GQ, replace(SHORT, default_limit=None))},
    "enforce_part_limits": {"enforce": "ANY"},
    "federation": {"federated": True},
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_reason_has_its_name(name: str) -> None:
    assert [one.name for one in reasons(replace(SITE, **REFUSED[name]))] == [name]
    assert name in Path("docs/soft-limits.md").read_text()


def test_the_parameter_has_to_be_the_running_one() -> None:
    assert parameter(SITE) is None
    missing = parameter(replace(SITE, parameters=frozenset({"bf_interval"})))
    assert missing is not None and missing.name == "parameter"


def test_an_operator_is_told_who_gets_none() -> None:
    bounded = Bounds(frozenset({"low"}), frozenset({"physics"}), frozenset({1002}))
    lines = warnings(replace(SITE, bounds=bounded, parameters=frozenset()))
    assert ["QOS low" in lines[0], "accounts physics" in lines[1], "uids 1002" in lines[2]] == [True] * 3
    assert "slurmctld is 25.11.1: before 26.05.3 backfill may, in rare cases, undo" in lines[3]
    assert "scontrol reconfigure" in lines[4]
    assert warnings(replace(SITE, release=BEST)) == []


def test_an_operator_is_told_who_types_time_min() -> None:
    """Slurm's accounting does not keep it: what waits and runs is all that can be counted on the spot."""
    own, kept = replace(JOB, comment="", uid=7), replace(JOB, comment="ak1:lim=9,src=e,min=9,keep=9", uid=8)
    line = typed([JOB, replace(JOB, time_min=None, uid=9), own, own, kept])
    assert line.startswith("open jobs with a --time-min of their own: 3 of 5, users: 2;")


def given(**changes: Any) -> dict[str, Any]:
    return lease(replace(SITE, **changes), (), False, 0, NOW, 90)


def test_the_lease_says_what_is_allowed() -> None:
    made = given(reservations=(Reservation("m", NOW + H, frozenset({"n2"})), Reservation("x", None, frozenset({"n3"}))))
    assert made["queues"] == {
        "gq": {"most": 72 * H, "reserved_at": NOW + H},
        "gq-short": {"most": 3 * H, "reserved_at": None},
    }
    assert (made["made_at"], made["valid_until"]) == (NOW, NOW + 90)


@pytest.mark.parametrize(
    ("changes", "jobs", "queues", "why"),
    [
        ({}, (), {"gq", "gq-short"}, "nothing stands against it"),
        ({}, (replace(JOB, has_deadline=True),), {"gq-short"}, "deadlines are in use there"),
        ({"queues": (replace(GQ, qos="low"), SHORT), "bounds": Bounds(frozenset({"low"}))},
         (), {"gq-short"}, "its QOS"),
        ({"preempt": "preempt/partition_prio", "queues": (replace(GQ, preempt_mode="REQUEUE"), replace(SHORT, tier=9))},
         (), {"gq-short"}, "its jobs are preempted"),
        ({"preempt": "preempt/partition_prio", "queues": (GQ, replace(SHORT, tier=9))}, (), {"gq", "gq-short"}, "off"),
    ],
)  # fmt: skip
def test_which_queues_are_in_the_lease(changes: dict[str, Any], jobs: Any, queues: set[str], why: str) -> None:
    assert set(lease(replace(SITE, **changes), jobs, False, 0, NOW, 90)["queues"]) == queues, why


@pytest.mark.parametrize(
    ("job", "percent", "queues", "why"),
    [
        ({"nodes": 2}, 100, {"gq-short"}, "it asks for every node of gq"),
        ({"nodes": 1}, 50, {"gq-short"}, "for half of them"),
        ({"nodes": 1}, 51, {"gq", "gq-short"}, "for fewer"),
        ({"nodes": 2}, 0, {"gq", "gq-short"}, "it is switched off"),
        ({"nodes": 2, "reason": "Dependency"}, 25, {"gq", "gq-short"}, "it does not wait for nodes"),
        ({"nodes": 2, "state": "RUNNING"}, 25, {"gq", "gq-short"}, "it waits no more"),
        ({"nodes": 2, "queues": ("gone",)}, 25, {"gq", "gq-short"}, "nobody knows its queue"),
        ({"nodes": 1, "queues": ("gq", "gq-short")}, 100, {"gq"}, "all of gq-short, and one node of gq"),
    ],
)
def test_there_are_none_beside_a_wide_job_that_waits(
    job: dict[str, Any], percent: int, queues: set[str], why: str
) -> None:
    waits = replace(JOB, **{"reason": "Resources", **job})
    assert set(lease(SITE, (waits,), False, percent, NOW, 90)["queues"]) == queues, why


def test_who_shares_nodes_with_a_wide_job_waits_for_it() -> None:
    both = replace(SHORT, name="all", nodes=GQ.nodes | SHORT.nodes)
    waits = replace(JOB, reason="Priority", nodes=2)
    made = lease(replace(SITE, queues=(GQ, SHORT, both)), (waits,), False, 50, NOW, 90)
    assert set(made["queues"]) == {"gq-short"}


@pytest.mark.parametrize(
    ("changes", "site", "why"),
    [
        ({}, {}, ""),
        ({"restarts": 1}, {}, "requeued"),
        ({"has_deadline": True}, {}, "deadline"),
        ({"time_limit": 73 * H}, {}, "limit above that of gq"),
        ({"queues": ("gq", "new")}, {}, "queue new"),
        ({}, {"bounds": Bounds(frozenset({"normal"}))}, "limit on minutes"),
        ({}, {"bounds": Bounds(uids=frozenset({1001}))}, "limit on minutes"),
        ({}, {"reservations": (Reservation("m", NOW + 10 * H + 90, frozenset({"n1"})),)}, "reservation in gq"),
        ({}, {"reservations": (Reservation("m", NOW + 10 * H + 91, frozenset({"n1"})),)}, ""),
        ({}, {"reservations": (Reservation("m", NOW + H, frozenset({"n3"})),)}, ""),
    ],
)
def test_who_may_wait_with_a_soft_limit(changes: dict[str, Any], site: dict[str, Any], why: str) -> None:
    assert unclear(replace(JOB, **changes), given(**site), NOW) == why


def planned(*jobs: PlannedJob, started: dict[int, int] | None, **site: Any) -> Plan:
    whole = replace(SITE, **site)
    return plan([(job, 10 * H) for job in jobs], started, lease(whole, (), False, 0, NOW, 90), whole, NOW, 90)


RAISED = (Act("raised", 7, "7", "lowered at its start", 1800, 10 * H),)
LATE = replace(RUNS, time_limit=1800, start_time=NOW - 9999)
MAINTENANCE = (Reservation("m", NOW + H, frozenset({"n1"})),)


@pytest.mark.parametrize(
    ("job", "started", "site", "acts", "why"),
    [
        (RUNS, {}, {}, (), "it has its whole limit"),
        (replace(RUNS, time_limit=1800), {}, {}, RAISED, "cut at its start"),
        (replace(RUNS, time_limit=1800, state="SUSPENDED"), {}, {}, RAISED, "suspended since"),
        (replace(RUNS, time_limit=1800, state="COMPLETING"), {}, {}, (), "it is over"),
        (replace(RUNS, time_limit=1800), {7: 0}, {}, (), "lowered later, by a person"),
        (replace(RUNS, time_limit=1800, restarts=1), {7: 0}, {}, RAISED, "requeued, and started again, between rounds"),
        (replace(RUNS, time_limit=1800, restarts=1), {7: 1}, {}, (), "lowered later, after its second start"),
        (replace(RUNS, time_limit=1200), {}, {}, (), "below TimeMin: Slurm never goes there"),
        (replace(RUNS, time_limit=1800, start_time=NOW + 4000), {}, {}, RAISED, "the clock was set back"),
        (replace(RUNS, time_limit=1800, start_time=None), {}, {}, RAISED, "nobody knows when it began"),
        (LATE, {}, {}, RAISED, "cut while the timer stood still, or the clock was set forward"),
        (LATE, {}, {"reservations": MAINTENANCE}, (), "or lowered before a maintenance: nobody knows"),
        (LATE, None, {"reservations": MAINTENANCE}, (), "and nothing was kept"),
        (LATE, None, {}, RAISED, "nothing was kept, but TimeMin to the minute is Slurm's"),
        (replace(LATE, time_limit=2400), None, {}, (), "another number may be a person's"),
        (replace(RUNS, time_limit=2400), None, {}, (replace(RAISED[0], was=2400),), "and it has just begun"),
    ],
)
def test_what_is_raised(job: PlannedJob, started: Any, site: dict[str, Any], acts: Any, why: str) -> None:
    done = planned(job, started=started, **site)
    assert tuple(done.acts) == acts, why
    assert (done.started.get(7) == job.restarts) == (not acts and job.state != "COMPLETING")


def test_without_a_lease_nobody_waits_with_one() -> None:
    done = plan([(JOB, 10 * H), (RUNS, 10 * H)], {}, None, SITE, NOW, 90)
    assert [(act.did, act.why) for act in done.acts] == [("cleared", "no lease")]


@pytest.mark.parametrize(
    ("comment", "time_min", "mine"),
    [
        (RECORD, 1800, True),
        (RECORD, None, False),
        (RECORD, 900, False),  # its owner's own: the word is not about it
        ("ak1:lim=36000,src=e,soft=1790", 1800, True),  # Slurm keeps minutes
        ("ak1:lim=36000,src=e", 1800, False),
        ("mine ak1:lim=36000,src=e,soft=1800", 1800, False),
        ("ak1:lim=36000,src=e,soft=30m", 1800, False),
        ("ak1:lim=36000,src=e,min=300,keep=1800", 1800, True),
        ("ak1:lim=36000,src=e,min=1800", 1800, False),
        ("ak1:lim=36000,src=e mine,keep=1800", 1800, False),
        ("", 1800, False),
    ],
)
def test_only_jobs_with_our_word_are_touched(comment: str, time_min: int | None, mine: bool) -> None:
    found = ours([replace(JOB, comment=comment, time_min=time_min)], Records())
    assert [asked for _, asked in found] == ([36000] if mine else [])


class FakeSlurm:
    """The site and the jobs that the guard sees, changed by its acts unless they are `deaf`."""

    def __init__(self) -> None:
        self.site, self.jobs, self.deaf = SITE, [JOB], False
        self.faults: dict[tuple[str, str], Exception | None] = {}  # (call, job's name): None: it is not done
        self.said: list[Any] = []
        self.refused: set[str] = set()
        self.looks = 0

    def clear(self, jobs: list[int]) -> None:
        """As scontrol does it with a list: what is refused keeps no other one, and is said at the end."""
        failed = [self.faults[fault] for job in jobs if (fault := ("clear", str(job))) in self.faults]
        jobs = [job for job in jobs if ("clear", str(job)) not in self.faults]
        self.said += [("clear", job) for job in jobs]
        self._change(lambda job: job.job_id_raw in jobs, time_min=None)
        for error in filter(None, failed):
            raise error

    def set_limit(self, name: str, limit: int) -> None:
        if name in self.refused:
            raise AdminkitError(f"Slurm refuses {name}")
        if self._fails("set_limit", name):
            return
        self.said.append((name, limit))
        self._change(lambda job: job.job_id == name, time_limit=limit)

    def _fails(self, call: str, name: str) -> bool:
        if error := self.faults.get((call, name)):
            raise error
        return (call, name) in self.faults

    def open_jobs(self) -> list[PlannedJob]:
        """The second time, after the acts, it may not answer."""
        self.looks += 1
        if self.looks % 2 == 0:
            self._fails("look", "")
        return self.jobs

    def restore(self, name: str, limit: int) -> None:
        if self._fails("restore", name):
            return
        self.said.append((name, limit, "cleared"))
        self._change(lambda job: job.job_id == name, time_limit=limit, time_min=None)

    def _change(self, which: Any, **changes: Any) -> None:
        if not self.deaf:
            self.jobs = [replace(job, **changes) if which(job) else job for job in self.jobs]


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm()
    monkeypatch.setattr(planning, "planning", lambda now: fake.site)
    monkeypatch.setattr(planning, "open_jobs", fake.open_jobs)
    monkeypatch.setattr(planning, "clear", fake.clear)
    monkeypatch.setattr(planning, "set_limit", fake.set_limit)
    monkeypatch.setattr(planning, "restore", fake.restore)
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "adminkit").mkdir(mode=0o750)
    put_rules(tmp_path)
    yield tmp_path


def put_rules(folder: Path, *rules: dict[str, Any]) -> None:
    table = policy(*rules, generation="p", soft_limits={**SETTINGS, "preemptible": False})
    table_path(folder, "policy").write_text(module(table, "made for a test"))


def test_a_round_gives_the_lease_and_takes_it_back(slurm: FakeSlurm, folder: Path) -> None:
    log = folder / "acts.jsonl"
    done = once(folder, NOW, 30, log)
    assert done.ok and done.valid_until == NOW + 90 and not done.acts
    there = read_lease(folder)
    assert there is not None and there["valid_until"] == NOW + 90
    assert (folder / STATE).stat().st_mode & 0o777 == 0o600
    slurm.site = replace(SITE, parameters=frozenset())
    done = once(folder, NOW + 30, 30, log)
    assert not done.ok and not (folder / LEASE).exists()
    assert slurm.said == [("clear", 7)] and slurm.jobs[0].time_min is None
    kept = [(one["did"], one.get("job"), one.get("held")) for one in actions.read(log)]
    assert kept == [("lease given", None, None), ("lease withdrawn", None, None), ("cleared", 7, True)]


def test_what_does_not_hold_is_said_and_done_again(slurm: FakeSlurm, folder: Path) -> None:
    slurm.jobs, slurm.deaf = [replace(RUNS, time_limit=1800, start_time=NOW)], True
    for _ in range(2):
        done = once(folder, NOW, 30, folder / "acts.jsonl")
        assert not done.ok and [act.did for act in done.left] == ["raised"]
    slurm.deaf = False
    assert once(folder, NOW, 30, folder / "acts.jsonl").ok
    assert read_state(folder) == State(NOW, {7: 0})
    slurm.jobs = [replace(slurm.jobs[0], time_limit=1800)]
    assert not once(folder, NOW, 30, folder / "acts.jsonl").acts, "lowered later"


def test_slurmctld_away_leaves_the_lease_to_run_out(
    slurm: FakeSlurm, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(folder, NOW, 30, folder / "acts.jsonl")

    def away(now: int) -> Planning:
        raise AdminkitError("slurmctld is not responding")

    monkeypatch.setattr(planning, "planning", away)
    with pytest.raises(AdminkitError):
        once(folder, NOW + 30, 30, folder / "acts.jsonl")
    there = read_lease(folder)
    assert there is not None and there["valid_until"] == NOW + 90


def test_what_waits_with_a_lowered_limit_gets_it_back(slurm: FakeSlurm, folder: Path) -> None:
    """In one update: without its TimeMin nobody would know it any more."""
    slurm.jobs = [replace(JOB, job_id="7_[2-5]", time_limit=1800)]
    done = once(folder, NOW, 30, folder / "acts.jsonl")
    assert done.ok and ("7_[2-5]", 10 * H, "cleared") in slurm.said
    assert (slurm.jobs[0].time_limit, slurm.jobs[0].time_min) == (10 * H, None)


def test_a_look_changes_nothing(slurm: FakeSlurm, folder: Path) -> None:
    slurm.jobs = [replace(JOB, restarts=1)]
    found = look(folder, NOW)
    assert [act.did for act in found.acts] == ["cleared"] and found.notes == ["the guard's timer did not run lately"]
    assert not slurm.said and sorted(path.name for path in (folder / "adminkit").iterdir()) == ["policy.lua"]


def test_a_policy_that_turns_them_off_clears_what_waits(slurm: FakeSlurm, folder: Path) -> None:
    once(folder, NOW, 30, folder / "acts.jsonl")
    table_path(folder, "policy").write_text(module({"format": 1, "generation": "q"}, "made for a test"))
    done = once(folder, NOW, 30, folder / "acts.jsonl")
    assert done.ok and not done.enabled and slurm.said == [("clear", 7)] and not (folder / LEASE).exists()


def test_a_name_that_looks_like_the_setting_turns_nothing_on() -> None:
    assert turns_on(module({"a": 1, "soft_limits": {"b": 1}}, "x"))
    assert not turns_on(module({"a": '\n  ["soft_limits"] = ', "b": {"soft_limits": {}}}, "x"))


# -- what goes wrong around a round: it ends the lease, and never keeps the guard from the jobs

CUT = replace(RUNS, job_id_raw=8, job_id="8", time_limit=1800)


def broken(slurm: FakeSlurm, folder: Path, log: Path) -> guard.Round:
    """A round in which something cannot be read or written, after a whole one."""
    slurm.jobs = [JOB, CUT]
    done = once(folder, NOW, 30, log)
    assert done.valid_until is None and not done.ok
    assert {job.job_id: (job.time_min, job.time_limit) for job in slurm.jobs}["8"] == (1800, 10 * H), "raised"
    return done


def test_acts_that_cannot_be_recorded_end_the_lease(slurm: FakeSlurm, folder: Path) -> None:
    once(folder, NOW - 30, 30, folder / "acts.jsonl")
    done = broken(slurm, folder, folder / "adminkit")
    assert [one.name for one in done.reasons] == ["acts"] and any("acts" in note for note in done.notes)
    assert slurm.jobs[0].time_min is None and not (folder / LEASE).exists()


def test_a_policy_that_cannot_be_read_ends_the_lease(slurm: FakeSlurm, folder: Path) -> None:
    once(folder, NOW - 30, 30, folder / "acts.jsonl")
    path = table_path(folder, "policy")
    path.write_text(path.read_text() + "os.exit(1)")
    done = broken(slurm, folder, folder / "acts.jsonl")
    assert [one.name for one in done.reasons] == ["policy"] and not (folder / LEASE).exists()


def test_an_install_at_work_leaves_the_lease_to_run_out(slurm: FakeSlurm, folder: Path) -> None:
    once(folder, NOW - 30, 30, folder / "acts.jsonl")
    with changing(folder):
        done = broken(slurm, folder, folder / "acts.jsonl")
    assert done.notes == [f"somebody else is changing {folder / 'adminkit'}"] * 2
    there = read_lease(folder)
    assert there is not None and there["valid_until"] == NOW + 60
    assert slurm.jobs[0].time_min == 1800, "it is safe where it waits"


def test_one_job_that_slurm_refuses_keeps_nobody_else_waiting(slurm: FakeSlurm, folder: Path) -> None:
    slurm.jobs, slurm.refused = [replace(CUT, job_id_raw=9, job_id="9"), CUT, replace(JOB, restarts=1)], {"9"}
    done = once(folder, NOW, 30, folder / "acts.jsonl")
    assert [act.job for act in done.left] == [9] and done.notes == ["Slurm refuses 9"]
    assert slurm.said == [("8", 10 * H), ("clear", 7)], "who runs comes first"
    assert read_state(folder) == State(NOW, {8: 0}), "9 is tried again"


FAULTS: dict[str, Exception | None] = {
    "fails": AdminkitError("Slurm refuses it"),
    "hangs": SlurmTimeout("couldn't run scontrol: no response within 60 s"),
    "empty": None,  # exit code 0, whatever is said: what it did is read back
}
LOWERED = replace(JOB, time_limit=1800)
#: (a call for one job, that job, two others of the kind)
CALLS = [("set_limit", CUT), ("restore", LOWERED), ("clear", replace(JOB, restarts=1))]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("call", "job"), CALLS, ids=[call for call, _ in CALLS])
def test_one_job_never_stops_the_rest(slurm: FakeSlurm, folder: Path, call: str, job: PlannedJob, fault: str) -> None:
    slurm.jobs = [replace(job, job_id_raw=number, job_id=str(number)) for number in (1, 2, 3)]
    slurm.jobs += [replace(LOWERED, job_id_raw=4, job_id="4"), replace(JOB, restarts=1, job_id_raw=5, job_id="5")]
    slurm.faults = {(call, "2"): FAULTS[fault]}
    done = once(folder, NOW, 30, folder / "acts.jsonl")
    assert [act.job for act in done.left] == [2] and not done.ok
    assert {act.job for act in done.acts} == {1, 2, 3, 4, 5}
    assert bool(done.notes) is (FAULTS[fault] is not None)
    slurm.faults = {}
    assert 2 in {act.job for act in once(folder, NOW + 30, 30, folder / "acts.jsonl").acts}, "the next round does it"


@pytest.mark.parametrize("fault", ["fails", "hangs"])
def test_what_nobody_saw_hold_is_named(slurm: FakeSlurm, folder: Path, fault: str) -> None:
    """slurmctld is not responding after the acts: they are recorded all the same, and so is the round."""
    slurm.jobs, slurm.faults = [CUT], {("look", ""): FAULTS[fault]}
    done = once(folder, NOW, 30, folder / "acts.jsonl")
    assert [act.job for act in done.left] == [8] and not done.ok and len(done.notes) == 1
    assert [one["held"] for one in actions.read(folder / "acts.jsonl") if one.get("job")] == [False]
    assert read_state(folder) == State(NOW, {})


def test_a_job_of_which_squeue_says_nonsense_is_named(slurm: FakeSlurm, folder: Path) -> None:
    slurm.jobs = [replace(CUT, job_id_raw=9, job_id="9", odd="its limit is 1:xx"), CUT]
    done = once(folder, NOW, 30, folder / "acts.jsonl")
    assert slurm.said == [("8", 10 * H)] and not done.ok
    assert done.notes == ["job 9 is left alone: couldn't read squeue's line for it: its limit is 1:xx"]


#: (the job as it is now, the rules, what Slurm is told, why)
RULED: list[tuple[PlannedJob, list[dict[str, Any]], list[Any], str]] = [
    (LOWERED, [], [("7", 10 * H, "cleared")], "no rule"),
    (LOWERED, [rule("max_limit", H, queues="gq")], [("clear", 7)], "it was moved: it waits on with the limit it has"),
    (LOWERED, [rule("max_limit", H, queues="gq-short")], [("7", 10 * H, "cleared")], "a rule of another queue"),
    (replace(LOWERED, uid=None), [], [("clear", 7)], "it cannot be told whose it is"),
    (CUT, [rule("max_limit", H, queues="gq-short")], [("8", 10 * H)], "it runs, and a rule of another queue"),
    (CUT, [rule("max_limit", H, queues="gq")], [], "it was moved before it started"),
    (CUT, [rule("mem_per_gpu", 1)], [("8", 10 * H)], "it runs, and no rule refuses it"),
    (replace(CUT, uid=None), [], [("8", 10 * H)], "nor is it ended for what nobody can tell"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "rules", "said", "why"), RULED, ids=[case[3] for case in RULED])
def test_a_limit_is_given_back_where_the_rules_of_now_take_it(
    slurm: FakeSlurm, folder: Path, job: PlannedJob, rules: list[dict[str, Any]], said: list[Any], why: str
) -> None:
    """The record has the limit of the job at its submission, and the guard is an operator, to whom no rule applies."""
    put_rules(folder, *rules)
    slurm.jobs = [job]
    once(folder, NOW, 30, folder / "acts.jsonl")
    assert slurm.said == said, why


def test_rules_that_cannot_be_read_cost_no_job_its_limit(slurm: FakeSlurm, folder: Path) -> None:
    table_path(folder, "policy").write_text("return {")
    slurm.jobs = [LOWERED, CUT]
    once(folder, NOW, 30, folder / "acts.jsonl")
    assert slurm.said == [("8", 10 * H), ("7", 10 * H, "cleared")]


@pytest.mark.parametrize(
    "text",
    [
        "", "[7]", "{}", '{"at": 1}', '{"at": 1, "started": [7]}', '{"at": 1, "started": {"x": 0}}',
        '{"at": 1, "started": {"7": Infinity}}', '{"at": "1", "started": {}}', "[" * 100000, "\x00",
    ],
)  # fmt: skip
def test_a_state_that_is_damaged_is_none(folder: Path, text: str) -> None:
    (folder / STATE).write_text(text)
    assert read_state(folder) is None


def test_the_state_of_a_host_that_was_away_counts_alone(slurm: FakeSlurm, folder: Path) -> None:
    """The guard of the other host was at work: what is lowered now is a person's doing, unless it is TimeMin."""
    lowered = replace(LATE, time_limit=2400)
    for alone, at, acts in ((True, NOW - 9999, 1), (False, NOW - 9999, 0), (False, NOW - 60, 1)):
        slurm.jobs = [lowered]
        write_state(folder, State(at, {}))
        assert len(once(folder, NOW, 30, folder / "acts.jsonl", alone=alone).acts) == acts, (alone, at)


def test_two_guards_undo_nothing_of_each_other(slurm: FakeSlurm, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "backup"
    (other / "adminkit").mkdir(parents=True, mode=0o750)
    table_path(other, "policy").write_text(table_path(folder, "policy").read_text())
    slurm.jobs = [CUT]
    for place in (folder, other, folder, other):
        assert once(place, NOW, 30, folder / "acts.jsonl", alone=False).ok
    assert slurm.said == [("8", 10 * H)]
    slurm.jobs = [replace(slurm.jobs[0], time_limit=2400)]
    for place in (folder, other):
        assert not once(place, NOW + 30, 30, folder / "acts.jsonl", alone=False).acts, "an operator lowered it"


def test_a_lease_of_before_a_clock_was_set_back_is_written_over(slurm: FakeSlurm, folder: Path) -> None:
    once(folder, NOW + 86_400, 30, folder / "acts.jsonl")
    once(folder, NOW, 30, folder / "acts.jsonl")
    there = read_lease(folder)
    assert there is not None and (there["made_at"], there["valid_until"]) == (NOW, NOW + 90)
