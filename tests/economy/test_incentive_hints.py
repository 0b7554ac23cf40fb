"""Hints: from the trace, through the table, to the line that a user reads."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.economy.build import compute, learnt, tables
from adminkit.economy.tables import Hint, MemoryRow, hints_table
from adminkit.job import Job, Step
from adminkit.lua.runtime import Decider
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.incentive_settings import Hints
from adminkit.slurm.site import made_up
from tests.economy.incentive_cases import DAY, NOW, policy, run, trace, worth
from tests.support.builders import HOUR
from tests.support.uses import step_of


def history(count: int = 20, first: int = 1, elapsed: int = 3000, **changes: Any) -> list[Job]:
    """Runs of 50 minutes with a limit of three days, one a day."""
    given = {"elapsed": elapsed, "time_limit": 72 * HOUR, **changes}
    return [run(first + nth, count - nth, **given) for nth in range(count)]


def hints(jobs: list[Job], **settings: Any) -> list[Hint]:
    rules = policy()
    rules = rules.model_copy(update={"hints": rules.hints.model_copy(update=settings)})
    with trace(jobs) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        return sorted(learnt(db, rules, found, NOW, checkpoint_code=85).hints)


def test_a_name_in_a_queue_has_a_row() -> None:
    (named,) = hints(history())
    assert (named.uid, named.job_name, named.queue, named.expected) == (1001, "train", "gq", 3000)
    assert (named.safe, named.runs) == (3600, 14), "one of the policy's menu; it was told from the seventh run on"
    assert named.risk_percent == 4, "it never failed, which says less the fewer the runs"
    assert named.excess_gpu_seconds > 10 * (72 * HOUR - 3600)


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        (history(5), "too few runs to know the risk"),
        (history(uid=None), "nobody knows the uid"),
        (history(state="TIMEOUT", elapsed=72 * HOUR), "all ran into their limit"),
        (history(cluster="other"), "another cluster's"),
    ],
)
def test_nothing_is_told_where_nothing_is_known(jobs: list[Job], why: str) -> None:
    assert hints(jobs) == [], why


@pytest.mark.parametrize("settings", [{"users_off": ("ada",)}, {"enabled": False}])
def test_who_wants_none_gets_none(settings: dict[str, Any]) -> None:
    assert {job.user for job in history()} == {"ada"}
    assert hints(history(), users_off=("grace",)) and not hints(history(), **settings)


def test_who_is_held_out_gets_none() -> None:
    rules = policy()
    with trace(history()) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        assert learnt(db, rules, found, NOW, {1001}.__contains__, checkpoint_code=85).hints == []
        assert learnt(db, rules, found, NOW, {1002}.__contains__, checkpoint_code=85).hints


def test_needs_come_of_the_same_pass_and_know_no_hold_out() -> None:
    rules = policy()
    for hints_too in (True, False):
        wanted = {
            "soft_limits": rules.soft_limits.model_copy(update={"enabled": True}),
            "hints": rules.hints.model_copy(update={"enabled": hints_too}),
        }
        on = rules.model_copy(update=wanted)
        with trace([*history(), *history(first=100, elapsed=60, queue="gq-short")]) as db:
            found = compute(db, on, "aaic", NOW, worth(on.incentives), checkpoint_code=85)
            advised = learnt(db, on, found, NOW, {1001}.__contains__, checkpoint_code=85)
            made = {one.name: one for one in tables(found, advised, on, NOW)}
            off = tables(found, advised, on, NOW, unplanned={1001})[-1]
        assert advised.hints == [] and made["hints"].rows == 0
        rows = made["soft_limits"].data["users"][1001]["train"]
        assert (
            rows["gq"].startswith("3000-")
            and rows["gq-short"].startswith("60-")
            and set(rows) == {"gq", "gq-short", ""}
        )
        assert off.name == "soft_limits" and off.rows == 0, "who opted out"


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_a_hint_reaches_the_user_who_asks_for_too_much(version: Any) -> None:
    rules = policy()
    with trace(history()) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        made = {
            one.name: one.text.encode()
            for one in tables(found, learnt(db, rules, found, NOW, checkpoint_code=85), rules, NOW)
        }
    text = policy_text(policy_table(rules, made_up(["gq"]), NOW)).encode()
    decider = Decider(text, made["incentives"], made["hints"], version)
    asked = {"now": NOW, "uid": 1001, "user": "ada", "queues": ["gq"], "job_name": "train", "limit": 3 * DAY}
    asked |= {"limit_kind": "finite", "nodes": 1, "cpus": 8, "gpus": 1, "batch": True}
    said = [line for line in decider.decide(asked).messages if "like this one" in line]
    assert len(said) == 1
    assert "Your last 14 jobs" in said[0]
    assert "--time=01:00:00" in said[0]
    assert decider.decide({**asked, "limit": 2 * HOUR}).messages == ()


GIB = 1024**3
LARGE = {"mem": 200 * GIB, "req_mem": 200 * GIB, "time_limit": HOUR}


def peaks(used: int = 12, **changes: Any) -> tuple[list[Job], list[Step]]:
    """Runs with 200 GiB that used `used`, and a step of each."""
    jobs = history(40, **{**LARGE, **changes})
    return jobs, [step_of(one, nodes=1, tasks=1, max_rss=used * GIB) for one in jobs]


def made(given: tuple[list[Job], list[Step]], opted_out: tuple[int, ...] = (), **settings: Any) -> dict[str, bytes]:
    """The texts of the tables."""
    rules = policy()
    rules = rules.model_copy(update={"hints": rules.hints.model_copy(update=settings)})
    with trace(*given) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        advised = learnt(db, rules, found, NOW, checkpoint_code=85)
    return {one.name: one.text.encode() for one in tables(found, advised, rules, NOW, opted_out)}


@pytest.mark.parametrize("version", ["lua51", "lua54"])
@pytest.mark.parametrize(
    ("given", "settings", "fields", "hinted", "why"),
    [
        (peaks(), {}, {}, True, "12 of 200 GiB"),
        (peaks(), {}, {"mem_per_node": 40 * 1024}, True, "twice as much, and 8 GiB more"),
        (peaks(), {}, {"mem_per_node": 20 * 1024}, False, "little more than is safe"),
        (peaks(), {"memory": False}, {}, False, "the site wants none"),
        (peaks(), {"enabled": False}, {}, False, "nor any hint"),
        (peaks(), {"users_off": ("ada",)}, {}, False, "nor this user"),
        (peaks(), {"memory_ratio": 20.0}, {}, False, "the site's ratio"),
        (peaks(), {"memory_floor": 200 * 1024}, {}, False, "the site's floor"),
        (peaks(150), {}, {}, False, "they need it"),
        ((peaks()[0], []), {}, {}, False, "no peak is known"),
    ],
)
def test_a_hint_about_memory_reaches_the_user_who_asks_for_too_much(
    version: Any, given: Any, settings: dict[str, Any], fields: dict[str, Any], hinted: bool, why: str
) -> None:
    texts = made(given, **settings)
    rules = policy_text(policy_table(policy(), made_up(["gq"]), NOW)).encode()
    decider = Decider(rules, texts["incentives"], texts["hints"], version)
    asked = {"now": NOW, "uid": 1001, "user": "ada", "queues": ["gq"], "job_name": "train", "limit": HOUR}
    asked |= {"limit_kind": "finite", "nodes": 1, "cpus": 8, "gpus": 1, "batch": True, "mem_per_node": 200 * 1024}
    said = [line for line in decider.decide({**asked, **fields}).messages if "of memory on a node" in line]
    assert bool(said) == hinted, why
    if said and not fields:
        (line,) = said
        assert line.startswith(
            "Your last 40 jobs like this one used at most 12G of memory on a node; this one asks for"
        )
        assert "for 200G (--mem). --mem=16G instead would have been enough for 40 of them" in line


def test_who_opted_out_gets_no_hint_about_memory() -> None:
    assert b"1001" in made(peaks())["hints"] and b"1001" not in made(peaks(), (1001,))["hints"]


def test_hints_about_memory_take_at_most_half_of_the_entries() -> None:
    timed = [Hint(n, "a", "gq", 1, 2, 3, 4, float(n)) for n in range(10)]
    sized = [MemoryRow(n, "b", "gq", 1, 2, 3, 4, 5, float(n)) for n in range(100, 110)]
    table = hints_table(timed, Hints(max_entries=6), (), NOW, sized)
    assert (sorted(table["users"]), sorted(table["memory"]["users"])) == ([7, 8, 9], [107, 108, 109])
    few = hints_table(timed[:1], Hints(max_entries=6), (), NOW, sized[:1])
    assert (len(few["users"]), len(few["memory"]["users"])) == (1, 1)
