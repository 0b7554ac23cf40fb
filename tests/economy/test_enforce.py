"""Budgets as limits in Slurm: which limit, what is left alone, what is kept; slurmctld is a table here."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.enforce import InForce, abandoned, any_in_force, apply, in_force, revocations, steps
from adminkit.economy.schemes import ChargeFile, load_schemes
from adminkit.errors import AdminkitError
from adminkit.slurm.budget_limits import Held, Target, held, setting
from adminkit.slurm.process import SlurmTimeout
from adminkit.slurm.tres_minutes import Counting, parse_counting
from adminkit.trace.connect import writer
from adminkit.trace.windows import set_fact
from tests.support.builders import HOUR, job, make_trace
from tests.support.charges import at

NOW = at("2026-03-15T12:00")
STILL = Counting("", None, True, True)


def ran(number: int, start: str, hours: float | None, **changes: Any) -> Any:
    begin = at(start)
    times = {"submit_time": begin - 60, "start_time": begin}
    if hours is None:
        return job(number, **times, end_time=None, elapsed=None, state="RUNNING", account="physics", **changes)
    return job(number, **times, elapsed=int(hours * HOUR), end_time=begin + int(hours * HOUR), account="physics",
               **changes)  # fmt: skip


@dataclass
class Slurm:
    """Limits by target; `used` minutes of everything."""

    used: int = 500
    limits: dict[str, int | None] = field(default_factory=dict)
    asked: list[tuple[str, str, int | None]] = field(default_factory=list)
    refuses: bool = False

    def ask(self, target: Target, tres: str) -> Held:
        if target.account == "unknown":
            raise AdminkitError("slurmctld knows no account unknown", "")
        return Held(self.limits.get(target.name), self.used)

    def set(self, target: Target, tres: str, minutes: int | None) -> None:
        if self.refuses:
            raise AdminkitError("couldn't run sacctmgr: Access/permission denied", "")
        self.asked.append((target.name, tres, minutes))
        self.limits[target.name] = minutes


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """In March 3 GPU-hours of physics that ended, one job of 2 GPUs that runs for an hour; earlier ones."""
    jobs = [
        ran(1, "2026-03-01T10:00", 3), ran(2, "2026-03-15T11:00", None, gpus=2), ran(3, "2026-01-05T10:00", 7),
        job(4, account="chem", elapsed=9 * HOUR),
    ]  # fmt: skip
    with writer(make_trace(tmp_path / "t.db", jobs)) as trace:
        yield trace


def charges(folder: Path, budgets: str = "", clusters: str = "['aaic']", formula: str = "gpu_hours * 2") -> ChargeFile:
    file = folder / "charge.toml"
    budgets = budgets or '[[budgets]]\naccount = "physics"\namount = 100\nfrom = "2026-03"\n'
    scheme = f"[schemes.s]\nformula = '{formula}'\nunit = 'points'\n"
    file.write_text(f"version = 1\nscheme = 's'\nclusters = {clusters}\n{scheme}{budgets}")
    return load_schemes(file)


def planned(db: sqlite3.Connection, file: ChargeFile, slurm: Slurm, now: int = NOW, how: Counting = STILL) -> Any:
    return steps(db, file, file.budgets, now, slurm.ask, lambda qos: how)


def test_the_limit_is_used_plus_left_less_unbilled(db: sqlite3.Connection, tmp_path: Path) -> None:
    (step,) = planned(db, charges(tmp_path), Slurm())
    assert (step.tres, step.left) == ("gres/gpu", 100 * 60 // 2)
    assert step.unbilled == 3 * 60 + 2 * 60, "the run of March that ended, and the one that runs"
    assert step.wanted == 500 + 3000 - 300 and step.acts


def test_it_is_set_once_recorded_and_kept_in_step(db: sqlite3.Connection, tmp_path: Path) -> None:
    file, slurm = charges(tmp_path), Slurm()
    acts, failed = apply(db, planned(db, file, slurm), NOW, slurm.set)
    assert failed == [] and slurm.asked == [("account physics", "gres/gpu", 3200)]
    assert (acts[0]["what"], acts[0]["minutes"], acts[0]["minutes_before"]) == ("charge budget set", 3200, None)
    ours = in_force(db, "aaic", "physics")
    assert ours is not None and ours.minutes == 3200
    assert db.execute("SELECT count(*) FROM action WHERE what = 'charge budget set'").fetchone() == (1,)
    assert apply(db, planned(db, file, slurm), NOW, slurm.set)[0] == [], "nothing has changed"
    slurm.used = 100  # decay
    (step,) = planned(db, file, slurm)
    assert step.wanted == 2800, "what Slurm forgot is not given back"
    apply(db, [step], NOW, slurm.set)
    acts, _ = apply(db, revocations(db, file, file.budgets, slurm.ask), NOW, slurm.set)
    assert slurm.limits["account physics"] is None and acts[0]["what"] == "charge budget revoked"
    (again,) = revocations(db, file, file.budgets, slurm.ask)
    assert again.problem == "adminkit has set no limit for it"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (77, None, "it has a limit that adminkit did not set: 77 gres/gpu minutes"),
        (None, 9, "somebody changed its limit: adminkit set 3200, Slurm has 9"),
        (None, -1, "somebody changed its limit: adminkit set 3200, Slurm has none"),
    ],
)
def test_what_an_administrator_set_is_left_alone(
    before: int | None, after: int | None, problem: str, db: sqlite3.Connection, tmp_path: Path
) -> None:
    file, slurm = charges(tmp_path), Slurm(limits={"account physics": before})
    if after is not None:
        apply(db, planned(db, file, slurm), NOW, slurm.set)
        slurm.limits["account physics"] = None if after == -1 else after
    slurm.asked.clear()
    (step,) = planned(db, file, slurm)
    assert step.problem == problem and not step.acts
    assert apply(db, [step], NOW, slurm.set) == ([], []) and slurm.asked == []
    if after == 9:
        assert revocations(db, file, file.budgets, slurm.ask)[0].problem == problem


def test_months_of_a_budget(db: sqlite3.Connection, tmp_path: Path) -> None:
    file, slurm = (
        charges(tmp_path, '[[budgets]]\naccount="physics"\namount=5\nfrom="2026-03"\nuntil="2026-03"\n'),
        Slurm(),
    )
    apply(db, planned(db, file, slurm), NOW, slurm.set)
    (over,) = planned(db, file, slurm, at("2026-04-02T00:00"))
    assert over.ends and over.wanted is None and over.acts
    assert planned(db, file, Slurm(), at("2026-02-02T00:00"))[0].ends, "as one is in force"
    apply(db, [over], NOW, slurm.set)
    assert planned(db, file, slurm, at("2026-04-02T00:00"))[0].problem == "its months are over"
    assert planned(db, file, slurm, at("2026-02-02T00:00"))[0].problem == "it begins in 2026-03"


def test_a_budget_that_follows_another_takes_its_place(db: sqlite3.Connection, tmp_path: Path) -> None:
    two = (
        '[[budgets]]\naccount="physics"\namount=7\nfrom="2026-04"\n'
        '[[budgets]]\naccount="physics"\namount=5\nfrom="2026-03"\nuntil="2026-03"\n'
    )
    file, slurm = charges(tmp_path, two), Slurm()
    apply(db, planned(db, file, slurm), NOW, slurm.set)
    todo = planned(db, file, slurm, at("2026-04-02T00:00"))
    assert [step.ends for step in todo] == [False, False]
    apply(db, todo, NOW, slurm.set)
    assert slurm.limits["account physics"] == todo[0].wanted


def test_a_spent_budget_leaves_what_was_used_and_no_more(db: sqlite3.Connection, tmp_path: Path) -> None:
    file = charges(tmp_path, '[[budgets]]\naccount = "physics"\namount = 1\nfrom = "2026-03"\n')
    assert planned(db, file, Slurm())[0].wanted == 500 + 30 - 300
    assert planned(db, file, Slurm(used=10))[0].wanted == 0, "never below 0"


def test_what_slurm_forgets_is_said(db: sqlite3.Connection, tmp_path: Path) -> None:
    week = Counting("half-life 7-00:00:00", 7 * 86_400, True, True)
    (step,) = planned(db, charges(tmp_path), Slurm(), how=week)
    assert step.decays and step.returns == 500 - int(500 * 0.5 ** (30 / 7))
    words = {"PriorityDecayHalfLife": "7-00:00:00", "PriorityType": "priority/multifactor"}
    words["AccountingStorageEnforce"] = "associations,limits,qos"
    assert parse_counting(words, False) == replace(week, safe=False)
    assert parse_counting({"PriorityDecayHalfLife": "00:00:00"}, False) == Counting("", None, False, False)
    assert parse_counting({"PriorityDecayHalfLife": "7-00:00:00"}, True).half_life is None, "NoDecay"


def test_several_clusters_and_unknown_accounts_are_refused(db: sqlite3.Connection, tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match="count 2 clusters together"):
        planned(db, charges(tmp_path, clusters="['aaic', 'other']"), Slurm())
    with pytest.raises(AdminkitError, match="not a fixed price"):
        planned(db, charges(tmp_path, formula="gpu_hours + cpu_hours"), Slurm())
    file = charges(tmp_path, '[[budgets]]\naccount = "unknown"\namount = 1\nfrom = "2026-03"\n')
    assert planned(db, file, Slurm())[0].problem == "slurmctld knows no account unknown"


def test_a_limit_that_slurmdbd_refuses_is_not_recorded(db: sqlite3.Connection, tmp_path: Path) -> None:
    file, slurm = charges(tmp_path), Slurm(refuses=True)
    acts, failed = apply(db, planned(db, file, slurm), NOW, slurm.set)
    assert acts == [] and "was not changed: couldn't run sacctmgr" in failed[0]
    assert in_force(db, "aaic", "physics") is None
    assert json.loads("[]") == db.execute("SELECT * FROM action").fetchall()


class Killed(BaseException):
    """As SIGKILL: nothing after it runs."""


@pytest.mark.parametrize("late", [False, True])
def test_a_limit_that_was_set_while_adminkit_was_killed_is_its_own(
    late: bool, db: sqlite3.Connection, tmp_path: Path
) -> None:
    """`late`: killed after Slurm has it, else before."""
    file, slurm = charges(tmp_path), Slurm()

    def dies(target: Target, tres: str, minutes: int | None) -> None:
        if late:
            slurm.set(target, tres, minutes)
        raise Killed

    for used in (500, 700):  # the first limit, and one that replaces another
        slurm.used = used
        with pytest.raises(Killed):
            apply(db, planned(db, file, slurm), NOW, dies)
        assert slurm.limits.get("account physics") == (used + 2700 if late else None if used == 500 else 3250)
        slurm.used += 50
        (step,) = planned(db, file, slurm)
        assert step.problem == "" and step.acts, "nobody else set it"
        apply(db, [step], NOW, slurm.set)
        assert slurm.limits["account physics"] == slurm.used + 2700
    with pytest.raises(Killed):
        apply(db, revocations(db, file, file.budgets, slurm.ask), NOW, dies)
    apply(db, revocations(db, file, file.budgets, slurm.ask), NOW, slurm.set)
    assert slurm.limits["account physics"] is None and in_force(db, "aaic", "physics") is None


def test_what_became_of_a_limit_is_unknown_after_a_timeout(db: sqlite3.Connection, tmp_path: Path) -> None:
    file, slurm = charges(tmp_path), Slurm()

    def slow(target: Target, tres: str, minutes: int | None) -> None:
        slurm.set(target, tres, minutes)
        raise SlurmTimeout("sacctmgr took more than 30 s", "")

    _, failed = apply(db, planned(db, file, slurm), NOW, slow)
    assert "took more than 30 s" in failed[0]
    apply(db, planned(db, file, slurm), NOW, slurm.set)
    assert in_force(db, "aaic", "physics") == InForce("gres/gpu", 3200, None, before=3200)


def test_an_act_that_the_hosts_log_does_not_take_is_said_and_the_rest_is_done(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    two = (
        '[[budgets]]\naccount="physics"\namount=7\nfrom="2026-03"\n'
        '[[budgets]]\naccount="chem"\namount=5\nfrom="2026-03"\n'
    )
    file, slurm = charges(tmp_path, two), Slurm()

    def full(act: Any) -> None:
        raise AdminkitError("couldn't write acts.jsonl: no space left", "")

    acts, failed = apply(db, planned(db, file, slurm), NOW, slurm.set, full)
    assert len(acts) == 2 and failed == ["this host's action log does not record it: couldn't write acts.jsonl: no"
                                         " space left"] * 2  # fmt: skip


def test_a_limit_whose_budget_left_the_file_can_be_taken_away(db: sqlite3.Connection, tmp_path: Path) -> None:
    file, slurm = charges(tmp_path), Slurm()
    apply(db, planned(db, file, slurm), NOW, slurm.set)
    other = charges(tmp_path, '[[budgets]]\naccount = "chem"\namount = 1\nfrom = "2026-03"\n')
    assert abandoned(db, file) == [] and any_in_force(db, other)
    (left,) = abandoned(db, other)
    assert (left.account, left.amount) == ("physics", 0)
    apply(db, revocations(db, other, [left], slurm.ask), NOW, slurm.set)
    assert slurm.limits["account physics"] is None
    assert abandoned(db, other) == [] and not any_in_force(db, other)


def test_limits_written_down_before_there_was_before_are_read(db: sqlite3.Connection) -> None:
    set_fact(db, "aaic", "budget/physics", '{"tres": "cpu", "minutes": 5, "qos": null}', NOW)
    assert in_force(db, "aaic", "physics") == InForce("cpu", 5, None)


@pytest.mark.parametrize("name", ["a,b", "a b", "", "-x", "name=x", "a\nb", "a'b", "\u00e9"])
def test_a_name_that_sacctmgr_could_read_otherwise_is_refused(name: str) -> None:
    for target in (Target("alpha", name, None), Target(name, "physics", None), Target("alpha", "physics", name or "-")):
        with pytest.raises(AdminkitError, match="could read this name otherwise"):
            setting(target, "cpu", 5)
    assert setting(Target("alpha", "physics", None), "gres/gpu", 5)[-1] == "GrpTRESMins=gres/gpu=5"
    assert setting(Target("alpha", "physics", "gold"), "cpu", None)[5:] == ["name=gold", "set", "GrpTRESMins=cpu=-1"]


ASSOC = """Current Association Manager state

Association Records

ClusterName=alpha Account=physics UserName= Partition= Priority=0 ID=4
    GrpTRESMins=cpu=100(7),mem=N(9),gres/gpu=N(3)
ClusterName=alpha Account=physics UserName=games(5) Partition= Priority=0 ID=5
    GrpTRESMins=cpu=N(1)

QOS Records

QOS=gold(2)
    GrpTRESMins=cpu=1000(1)
"""


@pytest.mark.parametrize(
    ("target", "tres", "held_to"),
    [
        (Target("alpha", "physics", None), "cpu", Held(100, 7)),
        (Target("alpha", "physics", None), "gres/gpu", Held(None, 3)),
        (Target("alpha", "physics", "gold"), "cpu", Held(1000, 1)),
    ],
)
def test_what_slurmctld_holds(target: Target, tres: str, held_to: Held) -> None:
    assert held(target, tres, ASSOC) == held_to


def test_what_slurmctld_does_not_have() -> None:
    with pytest.raises(AdminkitError, match="does not count gres/gpu of the QOS gold"):
        held(Target("alpha", "physics", "gold"), "gres/gpu", ASSOC)
    for target in (Target("beta", "physics", None), Target("alpha", "chem", None), Target("alpha", "x", "old")):
        with pytest.raises(AdminkitError, match="slurmctld knows no"):
            held(target, "cpu", ASSOC)


def test_a_list_with_a_record_twice_is_refused() -> None:
    """As the name of a user with a line break makes one."""
    forged = ASSOC.replace(
        "QOS Records", "ClusterName=alpha Account=physics UserName= Partition= Priority=0 ID=9\n\nQOS"
    )
    with pytest.raises(AdminkitError, match="is not whole, or is there twice"):
        held(Target("alpha", "physics", None), "cpu", forged)
