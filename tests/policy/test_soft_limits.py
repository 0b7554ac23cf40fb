"""[soft_limits] of policy.toml: what may stand there, what it compiles to, what an operator reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.deploy.planning import turns_on
from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Decider, LuaVersion
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.explain import explain
from adminkit.policy.load import load_policy
from adminkit.policy.model import Policy
from adminkit.policy.replay import replay_trace
from adminkit.policy.request import Typed, typed_request, with_lease
from adminkit.reports.policy import replay_report
from adminkit.slurm.site import made_up
from adminkit.stats.replay import TypedTimeMin, one_cluster
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import job, make_trace

NOW = 1_800_000_000
NEEDS = (
    b'return { ["format"] = 1, ["generation"] = "n", ["made_at"] = 1, ["quantiles"] = { 50, 75, 90 },'
    b' ["rows"] = { "..1001-.train_-gq-600-1800-3600.." } }\n'
)


def loaded(folder: Path, text: str) -> Policy:
    path = folder / "policy.toml"
    path.write_text("version = 1\n" + text)
    return load_policy(path)


def test_they_are_off_by_default(tmp_path: Path) -> None:
    policy = loaded(tmp_path, "")
    text = policy_text(policy_table(policy, made_up(["gq"]), NOW))
    assert not policy.soft_limits.enabled and not turns_on(text)
    assert "soft_limits" not in dict(explain(policy))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("quantile = 60", "quantile"),
        ('least = "90s"', "least"),
        ('classes_off = ["gpu"]', "classes_off"),
        ("typd = true", "no such key"),
        ("wide = 101", "wide"),
        ("outlived = 0", "outlived"),
        ('longest = "30s"', "longest"),
        ("quantile = 50\noutlived = 40", "50 % of jobs outlive a quantile of 50"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(AdminkitError, match=why):
        loaded(tmp_path, f"[soft_limits]\n{text}\n")


@pytest.mark.parametrize("record", ["comment", "extra", "none"])
def test_the_record_has_to_be_where_users_cannot_write(tmp_path: Path, record: str) -> None:
    with pytest.raises(AdminkitError, match="record"):
        loaded(tmp_path, f'record = "{record}"\n[soft_limits]\nenabled = true\n')


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_try_decides_as_on_a_day_without_obstacles(tmp_path: Path, version: LuaVersion) -> None:
    policy = loaded(tmp_path, '[soft_limits]\nenabled = true\nquantile = 75\naccounts_off = ["Vision"]\n')
    table = policy_table(policy, made_up(["gq"], ["alice"]), NOW)
    assert turns_on(policy_text(table)) and table["soft_limits"]["accounts_off"] == {"vision": True}
    typed = Typed("alice", "physics", None, ["gq"], "10:00:00", None, 1, 1, 0, None, None, "train", True, False)
    decider = Decider(policy_text(table).encode(), version=version, soft_limits=NEEDS)
    decision = decider.decide(with_lease(typed_request(typed, 1001, NOW), table, NOW))
    assert (decision.soft, decision.record) == (1800, "ak1:lim=36000,src=e,soft=1800")
    assert "75 %" in dict(explain(policy))["soft_limits"]


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_try_shows_what_becomes_of_a_typed_time_min(tmp_path: Path, version: LuaVersion) -> None:
    for setting, soft, line in (("true", 1200, "counts instead, as 00:10:00 where"), ("false", 1800, "is left out")):
        policy = loaded(tmp_path, f"[soft_limits]\nenabled = true\nquantile = 75\ntyped = {setting}\n")
        table = policy_table(policy, made_up(["gq"], ["alice"]), NOW)
        typed = Typed("alice", None, None, ["gq"], "10:00:00", "20", 1, 1, 0, None, None, "train", True, False)
        decider = Decider(policy_text(table).encode(), version=version, soft_limits=NEEDS)
        decision = decider.decide(with_lease(typed_request(typed, 1001, NOW), table, NOW))
        assert (decision.soft, bool(decision.messages)) == (soft, setting == "false")
        assert f"A typed --time-min {line}" in dict(explain(policy))["soft_limits"]


def test_replay_counts_who_would_have_been_planned_and_who_outlived_it(tmp_path: Path) -> None:
    policy = loaded(tmp_path, "[soft_limits]\nenabled = true\nquantile = 75\n")
    jobs = [
        job(number, uid=1001, user="ada", job_name=name, time_limit=10 * 3600, limit_original=10 * 3600,
            limit_source="explicit", elapsed=elapsed)
        for number, (name, elapsed) in enumerate([("train", 900), ("train", 1801), ("other", 60)], start=1)
    ]  # fmt: skip
    path = make_trace(tmp_path / "trace.db", jobs)
    with reader(path) as trace:
        for needs, expected in ((NEEDS, (2, 1)), (None, (0, 0))):
            filter = one_cluster(trace, Filter(checkpoint_code=85))
            found = replay_trace(trace, policy, made_up(["gq"]), filter, NOW, soft_limits=needs).counts
            assert (found.planned, found.outlived, found.total.jobs) == (*expected, 3)


def test_replay_counts_who_typed_a_time_min_as_far_as_records_go(tmp_path: Path) -> None:
    """Before the policy plans by it. The script leaves it in the record; sacct has no TimeMin."""
    records = [
        ("ada", "ak1:lim=36000,src=e,min=600", 1800),  # Slurm cut it, as variable time
        ("ada", "ak1:lim=36000,src=e,min=600", 36000),
        ("ada", "ak1:lim=36000,src=e,min=600", 300),  # Slurm never goes below
        ("bob", "ak1:lim=36000,src=e,min=1200,keep=1200", 1800),  # somebody lowered it
        ("bob", "ak1:lim=36000,src=e,min=600,rules=max", 1800),  # a rule did
        ("cy", "ak1:lim=36000,src=e", 36000),
        ("cy", "mine ak1:lim=36000,src=e,min=600", 36000),
        ("cy", None, 36000),
    ]
    jobs = [
        job(number, uid=1001, user=user, job_name="train", time_limit=limit, elapsed=900, admin_comment=comment,
            limit_original=36000 if (comment or "").startswith("ak1") else None,
            limit_source="explicit" if (comment or "").startswith("ak1") else "unknown")
        for number, (user, comment, limit) in enumerate(records, start=1)
    ]  # fmt: skip
    path = make_trace(tmp_path / "trace.db", jobs)
    for setting, planned in (("true", 8), ("false", 8)):
        policy = loaded(tmp_path, f"[soft_limits]\nenabled = true\nquantile = 75\ntyped = {setting}\n")
        with reader(path) as trace:
            filter = one_cluster(trace, Filter(checkpoint_code=85))
            replayed = replay_trace(trace, policy, made_up(["gq"]), filter, NOW, soft_limits=NEEDS)
        assert replayed.typed == TypedTimeMin(jobs=5, users=2, lowered=1, unknown=2)
        assert replayed.counts.planned == planned
        # 600 s of ada's and bob's were typed, of which each run took 900; 1800 s are what history says
        assert replayed.counts.outlived == (4 if setting == "true" else 0)
        notes = replay_report(replayed, filter, "trace.db", [], []).meta.notes
        assert "a --time-min of its own: 5 jobs of 2 users" in notes[-2] and "whether 2 jobs had" in notes[-1]
    with reader(path) as trace:
        off = replay_trace(trace, loaded(tmp_path, ""), made_up(["gq"]), filter, NOW)
    assert off.typed is None


def test_records_may_say_that_nobody_typed_one(tmp_path: Path) -> None:
    known = job(1, admin_comment="ak1:lim=36000,src=e", limit_original=36000, limit_source="explicit")
    policy, path = loaded(tmp_path, "[soft_limits]\nenabled = true\n"), make_trace(tmp_path / "trace.db", [known])
    with reader(path) as trace:
        filter = one_cluster(trace, Filter(checkpoint_code=85))
        replayed = replay_trace(trace, policy, made_up(["gq"]), filter, NOW)
    notes = replay_report(replayed, filter, "trace.db", [], []).meta.notes
    assert list(notes[-1:]) == ["nobody gave a --time-min, according to the records in AdminComment"]


def test_of_nobody_nothing_is_said_of_time_min(tmp_path: Path) -> None:
    policy, path = loaded(tmp_path, "[soft_limits]\nenabled = true\n"), make_trace(tmp_path / "trace.db", [])
    with reader(path) as trace:
        filter = Filter(clusters=("aaic",), checkpoint_code=85)
        replayed = replay_trace(trace, policy, made_up(["gq"]), filter, NOW)
    assert replayed.typed == TypedTimeMin(0, 0, 0, 0)
    assert not any("time-min" in note for note in replay_report(replayed, filter, "trace.db", [], []).meta.notes)
