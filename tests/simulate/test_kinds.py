"""What each kind of scenario makes of the jobs and of the site."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.policy.soft_settings import SoftLimits
from adminkit.recommend.menu import Offer
from adminkit.simulate.case import Case, with_facts
from adminkit.simulate.change import Change, Sources
from adminkit.simulate.core import NONE, simulate
from adminkit.simulate.kinds import checkpoint
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.luck import Luck
from tests.simulate.cases import case, many

H = 3600


def changed(one: Case, kind: str, value: Any = None, given: Any = None, seed: int = 1, **keys: Any) -> Case:
    known = KINDS[kind]
    checked = known.keys.model_validate({"name": "it", "kind": kind, **keys})
    if given is None:
        given = known.prepare(checked, Sources(one, Path(), Offer()))
    if value is None and checked.swept:
        (value,) = getattr(checked, checked.swept)
    return known.apply(one, checked, value, given, Luck(seed))


def jobs(one: Case, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(one.column(name).tolist() for name in names), strict=True))


def site(**parts: Any) -> Case:
    """Three queues on two classes of nodes; jobs of an hour with limits of 1, 10 and 100 hours."""
    nodes = [{"count": 4, "gpus": 8, "queues": 0b011}, {"count": 2, "queues": 0b100}]
    return case(
        [0, 1, 2], [H] * 3, [H, 10 * H, 100 * H], [1] * 3, users=[0, 1, 2], model="slurm", queues=[1, 1, 2],
        names=("gq", "long", "idle"), settings={}, nodes=nodes,
        columns={"nodes": [1, 1, 2], "gpus": [1, 2, 16], "cpus": [5, 10, 80]}, **parts,
    )  # fmt: skip


def with_queues(one: Case) -> Case:
    queues = [{"max_limit": 72 * H, "default_limit": 24 * H}, {"max_limit": 168 * H}, {}]
    return replace(one, request=replace(one.request, queues=queues))


def test_nodes_are_multiplied_and_downtime_never_exceeds_them() -> None:
    one = site(down=[{"nodes": 1, "count": 2, "start": 0, "end": 9}])
    half = changed(one, "nodes", factor=0.5)
    assert [node["count"] for node in half.request.nodes] == [2, 1]
    assert [down["count"] for down in half.request.down] == [1]
    assert [node["count"] for node in changed(one, "nodes", factor=2, queue="idle").request.nodes] == [4, 4]
    assert [node.get("gpus") for node in changed(one, "nodes", gpus=4).request.nodes] == [4, None]


def test_processors_of_a_pool_are_multiplied() -> None:
    assert changed(many(), "nodes", factor=1.5).request.settings == {"procs": 6}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"factor": 2, "queue": "gr"}, "no such queue: gr"),
        ({"factor": 1.01}, "1.01 times 4 processors are 4: nothing changes"),
        ({"factor": 2, "queue": "gq"}, "has one pool of processors"),
    ],
)
def test_nodes_that_are_not_there_or_do_not_change_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        changed(many(), "nodes", **keys)


@pytest.mark.parametrize(("keys", "message"), [({"bf_interval": 0}, "bf_interval cannot be 0"), ({"procs": -5}, "-5")])
def test_a_setting_that_the_core_does_not_take_is_refused(keys: dict[str, int], message: str) -> None:
    with pytest.raises(AdminkitError, match=f"scenario it: .*{message}") as caught:
        changed(many(), "scheduler", set=keys)
    assert caught.value.hint == "docs/simulate-spec.md has the settings"


def test_settings_take_the_place_of_todays() -> None:
    other = changed(many(), "scheduler", set={"depth": 5}, model="conservative")
    assert (other.request.model, other.request.settings) == ("conservative", {"procs": 4, "depth": 5})
    with pytest.raises(AdminkitError, match="cannot be compared"):
        changed(many(), "scheduler", model="slurm")


@pytest.mark.parametrize("value", [0.5, 1.5, 2.5])
def test_resampled_load_is_as_much_work_as_was_asked_for(value: float) -> None:
    one = many(3000)
    more = changed(one, "load", factor=value)
    work = [(each.column("run") * each.column("procs")).sum() for each in (one, more)]
    assert work[1] / work[0] == pytest.approx(value, abs=0.03)
    assert more.column("submit").min() >= one.column("submit").min()
    assert len(set(more.column("id").tolist())) == more.count
    if value > 1:
        assert more.facts["origin"].tolist() == [*range(3000), *[NONE] * (more.count - 3000)]


def test_a_resampled_day_keeps_its_hours() -> None:
    one = many(3000)
    more = changed(one, "load", factor=1.5)
    first = one.column("submit").min()
    known = set(((one.column("submit") - first) % 86_400).tolist())
    assert set(((more.column("submit") - first) % 86_400).tolist()) <= known


def test_compressed_load_keeps_the_jobs_and_shortens_the_time_between() -> None:
    one = case([100, 200, 400], [60] * 3, [60] * 3, [1] * 3)
    assert changed(one, "load", factor=2, method="compress").column("submit").tolist() == [100, 150, 250]


def test_estimates_lower_limits_of_whole_users_and_nothing_else() -> None:
    one = many()
    given = {"limit": np.full(one.count, 3 * H)}
    none, half, every = (changed(one, "estimates", share, given, resubmit=False) for share in (0, 0.5, 1))
    assert jobs(none, *one.request.jobs) == jobs(one, *one.request.jobs)
    assert (every.column("limit") == np.minimum(one.column("limit"), 3 * H)).all()
    users = set(half.facts["user"][half.column("limit") != one.column("limit")].tolist())
    follows = set(half.facts["user"][half.facts["follows"] == 1].tolist())
    assert users <= follows
    assert len(follows) == 5


def test_estimates_never_raise_a_limit_and_leave_alone_who_is_told_nothing() -> None:
    one = case([0, 1, 2], [60] * 3, [H, H, NONE], [1] * 3)
    every = changed(one, "estimates", 1.0, {"limit": np.array([2 * H, NONE, 1800])})
    assert every.column("limit").tolist() == [H, H, 1800]


def test_a_job_that_the_new_limit_ends_comes_again_with_its_own() -> None:
    one = case([0, 1], [2 * H, 60], [10 * H, 10 * H], [4, 1])
    every = changed(one, "estimates", 1.0, {"limit": np.array([H, H])})
    assert jobs(every, "limit", "run", "after") == [(H, 2 * H, NONE), (H, 60, NONE), (10 * H, 2 * H, 0)]
    assert every.facts["origin"].tolist() == [0, 1, 0]
    assert every.facts["piece"].tolist() == [0, 0, 1]
    schedule = simulate(every.request)
    assert (schedule.end[0], schedule.start[2], schedule.end[2]) == (H, H + 60, 3 * H + 60)


def test_soft_limits_are_plans_and_limits_stay() -> None:
    one = site()
    plan = np.array([1800, NONE, 200 * H])
    soft = changed(one, "soft-limits", 1.0, {"plan": plan}, wide=0)
    assert jobs(soft, "limit", "plan") == [(H, 1800), (10 * H, NONE), (100 * H, NONE)]
    assert soft.request.settings["time_min_as_soft_limit"] == 1
    assert "time_min_as_soft_limit" not in changed(one, "soft-limits", 0.0, {"plan": plan}).request.settings


@pytest.mark.parametrize(
    ("keys", "expected", "why"),
    [
        ({}, [NONE, 600, 7200], "an hour less ten minutes is above half an hour"),
        ({"least": "3h"}, [NONE, 3 * H, 3 * H], "no soft limit is shorter"),
        ({"gap": "98h"}, [NONE, NONE, 7200], "worth it for the last alone"),
    ],
)
def test_soft_limits_have_a_least_and_a_gap(keys: dict[str, str], expected: list[int], why: str) -> None:
    given = {"plan": np.array([3000, 300, 7200])}
    assert changed(site(), "soft-limits", 1.0, given, wide=0, **keys).column("plan").tolist() == expected, why


def test_the_soft_limits_of_a_scenario_are_those_of_the_policy() -> None:
    """An operator tries on the own trace what would be installed: the same keys with the same defaults."""
    usual, keys = SoftLimits(), KINDS["soft-limits"].keys
    checked = keys.model_validate({"name": "it", "kind": "soft-limits"})
    mine = {name: getattr(checked, name) for name in keys.model_fields if name in SoftLimits.model_fields}
    assert mine == {name: getattr(usual, name) for name in mine}
    assert set(mine) == {"quantile", "least", "gap", "longest", "outlived", "wide"}


@pytest.mark.parametrize(
    ("run", "most", "lead", "overhead", "pieces", "why"),
    [
        (H, H, 600, 120, [H], "it fits"),
        (H + 1, H, 0, 0, [H, 1], "one second too long"),
        (H + 1, H, 600, 0, [H, 601], "what was done after the checkpoint is done again"),
        (2 * H, H, 0, 120, [H, H, 240], "each further start costs its overhead"),
        (2 * H, H, 600, 120, [H, H, 120 + 120 + 600 + 600], "both"),
    ],
)
def test_a_job_is_cut_into_pieces(run: int, most: int, lead: int, overhead: int, pieces: list[int], why: str) -> None:
    assert checkpoint._pieces(run, most, lead, overhead) == pieces, why
    useful = sum(pieces) - overhead * (len(pieces) - 1) - lead * (len(pieces) - 1)
    assert useful == run


def test_pieces_come_one_after_the_other() -> None:
    one = case([0, 5], [3 * H, 60], [5 * H, H], [2, 2])
    cut = changed(one, "checkpoint", max_limit="1h", lead="0s", overhead="0s", requeue="30s")
    assert jobs(cut, "run", "limit", "after", "delay") == [
        (H, H, NONE, 0), (60, H, NONE, 0), (H, H, 0, 30), (H, H, 2, 30),
    ]  # fmt: skip
    assert simulate(cut.request).start.tolist() == [0, 5, H + 30, 2 * H + 60]


def test_a_job_that_ran_into_its_limit_needs_what_it_got() -> None:
    """Also where the trace says that it ran longer: today it is ended at the limit."""
    one = case([0], [9 * H], [2 * H], [1])
    cut = changed(one, "checkpoint", max_limit="1h", lead="0s", overhead="0s")
    assert jobs(cut, "run", "limit", "after") == [(H, H, NONE), (H, H, 0)]


def test_only_users_who_can_go_on_have_pieces_and_the_others_keep_or_lose_their_limit() -> None:
    one = many(300)
    for others, longest in (("keep", 86_400), ("cut", H)):
        cut = changed(one, "checkpoint", max_limit="1h", share=0.5, others=others)
        able = set(cut.facts["user"][cut.facts["piece"] > 0].tolist())
        assert len(able) == 5
        rest = ~np.isin(cut.facts["user"], sorted(able))
        assert cut.column("limit")[rest].max() == longest


def test_shorter_maxima_are_those_of_the_queues_too() -> None:
    cut = changed(with_queues(site()), "checkpoint", max_limit="12h", queues=["gq"])
    assert cut.request.queues == [{"max_limit": 12 * H, "default_limit": 12 * H}, {"max_limit": 168 * H}, {}]
    assert cut.column("limit").tolist() == [H, 10 * H, 100 * H]


def test_a_queue_gets_another_maximum_and_its_jobs_are_lowered_or_leave() -> None:
    one = with_queues(site())
    lower = changed(one, "queue", queue="gq", max_limit="2h", default_limit=None)
    assert lower.request.queues[0]["max_limit"] == 2 * H
    assert lower.column("limit").tolist() == [H, 2 * H, 100 * H]
    assert changed(one, "queue", queue="gq", max_limit="2h", longer="leave").facts["origin"].tolist() == [0, 2]


def test_a_new_default_is_for_those_who_had_the_default() -> None:
    one = with_facts(with_queues(site()), defaulted=np.array([0, 1, 1]))
    other = changed(one, "queue", queue="gq", default_limit="2h")
    assert other.column("limit").tolist() == [H, 2 * H, 100 * H]
    with pytest.raises(AdminkitError, match="no job of the trace is known to have a queue's default limit"):
        changed(with_queues(site()), "queue", queue="gq", default_limit="2h")


@pytest.mark.parametrize(
    ("keys", "nodes", "why"),
    [
        ({"queue": "gq", "nodes": 3}, [(1, 0b010), (2, 0b100), (3, 0b011)], "fewer"),
        ({"queue": "gq", "nodes": 5}, [(4, 0b011), (1, 0b100), (1, 0b101)], "more: others' come last"),
        ({"queue": "idle", "nodes": 3}, [(3, 0b011), (2, 0b100), (1, 0b111)], "its own first"),
        ({"queue": "idle", "nodes": 3, "alone": True}, [(3, 0b011), (2, 0b100), (1, 0b100)], "taken from the others"),
        (
            {"queue": "new", "new": True, "takes_up_to": "1h", "takes_from": ["gq"]},
            [(4, 0b1011), (2, 0b100)],
            "those of the queue its jobs come from",
        ),
        (
            {"queue": "new", "new": True, "takes_up_to": "1h", "nodes": 1, "alone": True},
            [(3, 0b011), (2, 0b100), (1, 0b1000)],
            "one of its own",
        ),
    ],
)
def test_a_queue_gets_other_nodes(keys: dict[str, Any], nodes: list[tuple[int, int]], why: str) -> None:
    other = changed(with_queues(site()), "queue", **keys)
    assert [(node["count"], node["queues"]) for node in other.request.nodes] == nodes, why
    assert sum(count for count, _ in nodes) == 6


def test_a_new_queue_takes_short_jobs() -> None:
    other = changed(with_queues(site()), "queue", queue="new", new=True, takes_up_to="1h", takes_from=["gq"], tier=2)
    assert other.names["queues"] == ["gq", "long", "idle", "new"]
    assert other.request.queues[3] == {"tier": 2}
    assert other.column("queues").tolist() == [0b1000, 0b1, 0b10]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"queue": "gr", "tier": 2}, "no such queue: gr"),
        ({"queue": "gq", "new": True, "takes_up_to": "1h"}, "there is a queue gq already"),
        ({"queue": "new", "new": True, "tier": 1}, "no job would go to the new queue"),
        ({"queue": "gq", "takes_up_to": "1h", "takes_from": ["x"]}, "no such queue: x"),
    ],
)
def test_a_queue_that_cannot_be_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        changed(with_queues(site()), "queue", **keys)


def nodes_of(many_jobs: int) -> Case:
    return many(many_jobs, model="slurm", settings={}, columns={
        "nodes": [2 if n % 100 == 0 else 1 for n in range(many_jobs)],
        "gpus": [16 if n % 100 == 0 else 1 for n in range(many_jobs)], "cpus": [5] * many_jobs,
    })  # fmt: skip


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 1.0])
def test_so_many_jobs_are_on_several_nodes(share: float) -> None:
    one = nodes_of(1000)
    more = changed(one, "multi-node", share=share)
    assert (more.column("nodes") > 1).sum() == max(round(share * 1000), 10)
    assert (more.column("nodes")[one.column("nodes") > 1] > 1).all()


def test_the_work_stays_or_grows_with_the_gpus() -> None:
    one = nodes_of(1000)
    same, more = (changed(one, "multi-node", share=0.2, work=work) for work in ("same", "more"))
    work = [(each.column("run") * each.column("gpus")).sum() for each in (one, same, more)]
    assert work[1] / work[0] == pytest.approx(1, abs=0.001)
    assert work[2] / work[0] > 2
    assert (more.column("run") == one.column("run")).all()


def test_jobs_on_several_nodes_need_nodes_and_an_example() -> None:
    with pytest.raises(AdminkitError, match="has one pool of processors"):
        changed(many(), "multi-node", share=0.1)
    plain = many(100, model="slurm", settings={}, columns={"nodes": [1] * 100, "gpus": [1] * 100, "cpus": [5] * 100})
    with pytest.raises(AdminkitError, match="no job is on several nodes"):
        changed(plain, "multi-node", share=0.1)
    told = changed(plain, "multi-node", share=0.1, nodes=4)
    assert sorted(set(jobs(told, "nodes", "gpus", "cpus"))) == [(1, 1, 5), (4, 4, 20)]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_named_for_itself_and_sweeps_a_key_it_has(kind: str) -> None:
    keys: type[Change] = KINDS[kind].keys
    assert KINDS[kind].name == kind
    assert not keys.swept or keys.swept in keys.model_fields


def policy_given(many_jobs: int, refused: list[int]) -> dict[str, Any]:
    """What prepare() says: those of `refused` may type 1 h or go to the second queue; it takes the others."""
    no = np.isin(np.arange(many_jobs), refused)

    def way(accepted: Any, limit: int, queue: int) -> dict[str, Any]:
        columns = {
            "accepted": accepted.astype(np.int64),
            "limit": np.full(many_jobs, limit),
            "queue": np.full(many_jobs, queue),
        }
        return {**columns, **{name: np.full(many_jobs, NONE) for name in ("nodes", "cpus", "gpus", "site_factor")}}

    return {"ways": {"at_once": way(~no, NONE, NONE), "typed": way(no, H, NONE), "moved": way(no, NONE, 1)}}


@pytest.mark.parametrize(
    ("shares", "limits", "queues", "left", "why"),
    [
        ({"resubmit": 1.0}, {H}, {1}, 0, "they type what they are told"),
        ({"move": 1.0}, {86_400}, {2}, 0, "they go where they are told"),
        ({"leave": 1.0}, set(), set(), 300, "they leave"),
    ],
)
def test_who_is_refused_does_what_the_shares_say(
    shares: dict[str, float], limits: set[int], queues: set[int], left: int, why: str
) -> None:
    one = many(600, names=("gq", "long"))
    one.request.jobs["limit"][:] = 86_400  # type: ignore[index]
    refused = list(range(0, 600, 2))
    other = changed(one, "policy", given=policy_given(600, refused), policy="p", refused=shares)
    mine = np.isin(other.facts["origin"], refused)
    assert set(other.column("limit")[mine].tolist()) == limits, why
    assert set(other.column("queues")[mine].tolist()) == queues, why
    assert 600 - other.count == left
    assert set(other.column("limit")[~mine].tolist()) == {86_400}


def test_shares_of_who_is_refused_are_of_users() -> None:
    one = many(600, names=("gq", "long"))
    other = changed(
        one, "policy", given=policy_given(600, list(range(600))), policy="p",
        refused={"resubmit": 0.5, "move": 0.3, "leave": 0.2},
    )  # fmt: skip
    left = set(one.facts["user"].tolist()) - set(other.facts["user"].tolist())
    moved = set(other.facts["user"][other.column("queues") == 2].tolist())
    typed = set(other.facts["user"][other.column("queues") == 1].tolist())
    assert (len(left), len(moved), len(typed)) == (2, 3, 5)
    assert not moved & typed


def test_jobs_of_nobody_follow_the_policy_too() -> None:
    one = many(10)
    one.facts["user"][:] = NONE
    bare = replace(one, names={**one.names, "users": []})
    other = changed(bare, "policy", given=policy_given(10, [0]), policy="p", refused={"resubmit": 1.0})
    assert other.count == 10
    assert other.column("limit")[0] == H


def ranked(**settings: int) -> Case:
    one = site()
    return replace(one, request=replace(one.request, settings={"priority_max_age": 10 * H, **settings}))


def test_points_are_the_most_that_a_job_gets_by_size_or_class() -> None:
    one = with_facts(ranked(priority_weight_age=1000), **{"class": np.array([0, 0, NONE])})
    wide = changed(one, "points", sizes={"2": 1.0, "16": 3.0}, classes={"cpu": 2.0})
    assert wide.column("site_factor").tolist() == [200, 200, 300], "an hour is worth 100 points"
    again = changed(wide, "points", sizes={"16": 1.0}, points_per_hour=7.0)
    assert again.column("site_factor").tolist() == [200, 200, 307], "on top of what jobs have"


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (many(), "about priorities, which fcfs does not have"),
        (ranked(), "age weighs nothing on this site"),
        (site(), "age weighs nothing on this site"),
    ],
)
def test_points_that_would_have_no_effect_are_refused(one: Case, message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        changed(one, "points", sizes={"9": 1.0})
