"""Limits that are raised while no job waits for the nodes: the core, the kind `extend`, and what is measured of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from pydantic import ValidationError

from adminkit.errors import AdminkitError
from adminkit.recommend.menu import Offer
from adminkit.simulate.case import Case, with_columns
from adminkit.simulate.change import Sources
from adminkit.simulate.core import DONE, KILLED, NONE, NOT_RUN, Request, Schedule, simulate
from adminkit.simulate.kinds import extend
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.luck import Luck
from adminkit.simulate.outcome import given_seconds, lost_seconds, side
from tests.simulate.cases import case
from tests.simulate.slurm_workloads import requests
from tests.simulate.test_slurm_twin import differences
from tests.simulate.twin_slurm import twin

H = 3600
SETTINGS = {"extend_every": 30, "batch_sched_delay": 0, "sched_min_interval": 0, "tick": 1, "kill_wait": 0}


def request(rows: Sequence[Mapping[str, int]], nodes: int = 1, **parts: Any) -> Request:
    usual = {"submit": 0, "run": H, "limit": H, "nodes": 1, "cpus": 1, "most_limit": NONE, "step": 0, "after": NONE}
    usual |= {"if_killed": 0, "resume": NONE}
    jobs = [{**usual, **row} for row in rows]
    columns = {name: np.array([job[name] for job in jobs], np.int64) for name in usual}
    given = {"settings": SETTINGS, "queues": [{}], "nodes": [{"count": nodes}], **parts}
    return Request("slurm", columns, **{**given, "settings": {**SETTINGS, **given["settings"]}})


LONG = {"run": 2 * H, "most_limit": 2 * H, "step": 900}


@pytest.mark.parametrize(
    ("rows", "parts", "limits", "raises", "why"),
    [
        ([LONG], {}, [2 * H], [4], "nobody waits: up to the most, a step at a time"),
        ([LONG | {"run": 3850}], {}, [4500], [1], "one step is enough"),
        ([LONG | {"most_limit": NONE}], {}, [H], [0], "it did not opt in"),
        ([LONG | {"most_limit": 5000}], {}, [4980], [2], "whole minutes, and the last raise is shorter than a step"),
        ([LONG | {"most_limit": 4740}], {}, [4500], [1], "less than five minutes are not worth a raise"),
        ([LONG], {"settings": {"extend_times": 2}}, [5400], [2], "so often, and no more"),
        ([LONG], {"queues": [{"max_limit": 4500}]}, [4500], [1], "never above the queue's maximum"),
        ([LONG, {"submit": 60}], {}, [H, H], [0, 0], "somebody waits for the node"),
        ([LONG, {"submit": 60, "nodes": 2}], {"nodes": 2}, [H, H], [0, 0], "and for another one, too"),
        ([LONG, {"submit": 60, "cpus": 4}], {"nodes": 1}, [2 * H, NONE], [4, NONE], "this one could never use it"),
        (
            [LONG, {"submit": 60}],
            {"settings": {"backfill": 0}},
            [H, H],
            [0, 0],
            "nobody plans: who could use the node is in the way",
        ),
        (
            [LONG, {"run": 5000, "limit": 5000}, {"submit": 60, "nodes": 2}],
            {"nodes": 2},
            [4980, 5000, H],
            [2, 0, 0],
            "a planned job leaves time until its start, when another one ends",
        ),
        (
            [LONG | {"most_limit": 3 * H, "step": 4000, "run": 3 * H}, {"submit": 3300}],
            {},
            [3960, H],
            [1, 0],
            "what was given is taken back when somebody comes, down to the lead",
        ),
        (
            [LONG],
            {"down_nodes": [{"nodes": 0, "count": 1, "start": 100, "end": 9000}]},
            [H],
            [0],
            "the node is being drained",
        ),
    ],
)
def test_a_limit_is_raised_only_where_nobody_waits(
    rows: list[dict[str, int]], parts: dict[str, Any], limits: list[int], raises: list[int], why: str
) -> None:
    parts = dict(parts)
    nodes, down = parts.pop("nodes", 1), parts.pop("down_nodes", [])
    asked = request(rows, nodes, down=down, **parts)
    found = simulate(asked)
    assert found.last_limit is not None and found.raises is not None
    assert (found.last_limit.tolist(), found.raises.tolist()) == (limits, raises), why
    bare = {name: column for name, column in asked.jobs.items() if name not in ("after", "if_killed", "resume")}
    assert not differences(found, twin(replace(asked, jobs=bare)))


@given(requests(jobs=12), some.integers(0, 2**32))
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_program_and_its_twin_raise_and_lower_the_same_limits(asked: Request, seed: int) -> None:
    """Requests in which most limits may be raised, and jobs keep coming."""
    rng = np.random.default_rng(seed)

    def some_of(*values: int) -> Any:
        return rng.choice(values, asked.count)

    jobs = {"limit": some_of(120, 300, 600), "run": some_of(200, 500, 900), "step": some_of(60, 300, 500)}
    jobs["submit"] = asked.jobs["submit"].min() + some_of(0, 0, 1, 2, 200, 250, 301, 450, 620)
    jobs["most_limit"] = some_of(600, 900, 1800, NONE)
    chosen = {**asked.settings, "extend_every": int(rng.choice([10, 30])), "extend_lead": int(rng.choice([120, 600]))}
    asked = replace(asked, jobs={**asked.jobs, **jobs}, settings=chosen)
    text = differences(simulate(asked), twin(asked))
    assert not text, f"{text}\n{asked}"


@pytest.mark.parametrize(
    ("rows", "run", "outcome", "why"),
    [
        ([{}, {"after": 0, "if_killed": 1}], [H, NONE], [DONE, NOT_RUN], "the first is done: no more is needed"),
        ([{"run": 2 * H}, {"after": 0, "if_killed": 1}], [H, H], [KILLED, DONE], "it is ended: the next one comes"),
        (
            [{"run": 5000}, {"after": 0, "if_killed": 1, "resume": 720, "run": 9}],
            [H, 5000 - H + 720],
            [KILLED, DONE],
            "and does what is left, and some of it again",
        ),
        (
            [LONG | {"run": 5000}, {"after": 0, "if_killed": 1, "resume": 720}],
            [5000, NONE],
            [DONE, NOT_RUN],
            "no piece where the limit was raised enough",
        ),
        (
            [LONG | {"run": 6000, "most_limit": 4500}, {"after": 0, "if_killed": 1, "resume": 720}],
            [4500, 6000 - 4500 + 720],
            [KILLED, DONE],
            "what is left is counted from the raised limit",
        ),
    ],
)
def test_a_piece_comes_only_if_the_one_before_was_ended(
    rows: list[dict[str, int]], run: list[int], outcome: list[int], why: str
) -> None:
    found = simulate(request(rows))
    ran = np.where(found.start == NONE, NONE, found.end - found.start)
    assert (ran.tolist(), found.outcome.tolist()) == (run, outcome), why


def one(run: list[int], limit: list[int], **parts: Any) -> Case:
    many = len(run)
    columns = {"nodes": [1] * many, "cpus": parts.pop("cpus", [1] * many)}
    return case(
        [0] * many, run, limit, [1] * many, users=list(range(many)), model="slurm", settings={},
        site=([{}], [{"count": 4, "cpus": 4}]), columns=columns, **parts,
    )  # fmt: skip


def changed(what: Case, told: list[int], value: float = 1.0, **keys: Any) -> Case:
    checked = extend.Extend.model_validate({"name": "it", "kind": "extend", **keys})
    return extend.apply(what, checked, value, {"limit": np.array(told, np.int64)}, Luck(1))


def test_who_follows_asks_for_less_and_may_get_more() -> None:
    then = changed(one([5000, 5000, 5000], [10 * H] * 3), [H, NONE, 20 * H])
    assert then.column("limit").tolist() == [H, 10 * H, 10 * H, 10 * H]
    assert then.column("most_limit").tolist() == [2 * H, 20 * H, 20 * H, 20 * H], "the last is the first one again"
    assert then.column("step").tolist() == [900, 9000, 9000, 9000]
    assert then.column("if_killed").tolist() == [0, 0, 0, 1]
    assert then.column("after").tolist() == [NONE, NONE, NONE, 0]
    assert then.request.settings["extend_every"] == 30


@pytest.mark.parametrize(
    ("keys", "most", "step", "why"),
    [
        ({}, 2 * H, 900, "the defaults"),
        ({"step": "10%"}, 2 * H, 600, "a share is never below the lead"),
        ({"step": "15m", "most": 1.5}, 5400, 900, "a fixed step"),
        ({"step": "33%", "lead": "2m"}, 2 * H, 1200, "whole minutes, upwards"),
        ({"most": 1.0}, NONE, 0, "nothing may be given"),
    ],
)
def test_a_step_and_the_most_are_those_of_the_limit_asked_for(
    keys: dict[str, Any], most: int, step: int, why: str
) -> None:
    then = changed(one([60], [H]), [NONE], **keys)
    assert (then.column("most_limit").tolist(), then.column("step").tolist()) == ([most], [step]), why


def test_only_those_who_follow_where_others_have_not_opted_in() -> None:
    what = one([60] * 4, [H] * 4)
    then = changed(what, [NONE] * 4, 0.5, everybody=False)
    assert ((then.column("most_limit") != NONE) == (then.facts["follows"] == 1)).all()
    assert int((then.column("most_limit") != NONE).sum()) == 2
    none = changed(what, [NONE] * 4, 0.0, everybody=False)
    assert simulate(none.request).start.tolist() == simulate(what.request).start.tolist()


@pytest.mark.parametrize(
    ("keys", "run", "why"),
    [({}, 100 * H, "it would never have ended"), ({"timeouts": 1.5}, 5400, "it needed half as much again")],
)
def test_what_its_own_limit_ended_needed_more(keys: dict[str, Any], run: int, why: str) -> None:
    then = changed(one([H + 5, 60], [H, H]), [NONE, NONE], **keys)
    assert then.column("run").tolist() == [run, 60], why


def test_jobs_with_checkpoints_go_on_in_pieces_of_the_recommended_limit() -> None:
    then = changed(one([10_000], [10 * H]), [H], checkpoints=1.0, most=1.0)
    assert then.column("limit").tolist() == [H] * (1 + 3)
    assert then.column("resume").tolist() == [NONE, 720, 720, 720]
    found = simulate(then.request)
    ran = (found.end - found.start)[found.start != NONE]
    assert ran.sum() == 10_000 + 720 * (len(ran) - 1) and len(ran) == 4
    assert side(then, found, 1).ran.all(), "a piece that was not needed is not one that could not run"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"step": "5m"}, "a step of 300 s is shorter than the lead of 600 s"),
        ({"step": "x%"}, "a share of the limit"),
        ({"step": "0%"}, "1 to 900 percent"),
        ({"most": 11.0}, "less than or equal to 10"),
        ({"lead": "1m"}, "greater than or equal to 120"),
        ({"timeouts": 1.0}, "greater than 1"),
    ],
)
def test_keys_that_cannot_be_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        extend.Extend.model_validate({"name": "it", "kind": "extend", **keys})


def test_a_model_without_nodes_is_refused() -> None:
    keys = extend.Extend.model_validate({"name": "it", "kind": "extend"})
    with pytest.raises(AdminkitError, match="is about the nodes of jobs, and easy has none"):
        KINDS["extend"].prepare(keys, Sources(case([0], [1], [60], [1], model="easy"), Path(), Offer()))


def schedule(start: list[int], end: list[int], outcome: list[int], last: list[int] | None = None) -> Schedule:
    columns = [np.array(values, np.int64) for values in (start, end, outcome, [0] * len(start))]
    return Schedule(*columns, {}, last_limit=None if last is None else np.array(last, np.int64))


def test_what_is_lost_and_what_is_given_is_counted_in_units() -> None:
    what = one([10_000, 10_000], [H, H], cpus=[4, 2])
    ended = schedule([0, 0], [4500, 3600], [KILLED, DONE], [4500, H])
    assert lost_seconds(what, ended, "CPU", 2).tolist() == [4 * 4500, 0]
    beyond, more = given_seconds(what, ended, "CPU", 2)
    assert (beyond.tolist(), more.tolist()) == ([4 * 900, 0], [True, False])
    pieces = with_columns(what, after=np.array([NONE, 0]), if_killed=np.array([0, 1]), resume=np.array([NONE, 720]))
    assert lost_seconds(pieces, ended, "CPU", 2).tolist() == [4 * 720, 0], "the next piece does only this again"
