"""Who is warned, and what is done about whose job: the first reason against it counts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from adminkit.elastic.words import range_of
from adminkit.usage.held import Held, held
from adminkit.usage.ladder import Past, look, plan
from adminkit.usage.usage import Answer, GpuUse
from tests.usage.jobs import HOUR, NOW, SETTINGS, answer, job, use

START = NOW - 6 * HOUR
WARNED = Past(START, NOW - HOUR)
ELASTIC = "ak1:lim=86400,src=e,el=1-2"
BOTH = (use(0), use(1))
ONE = (use(0, quiet=0), use(1))


def of(*uses: GpuUse, **more: Any) -> Held:
    (one,) = held([job(**more)], [answer(*uses)], NOW, 300)
    return one


@pytest.mark.parametrize(
    ("uses", "more", "past", "changes", "did", "why", "reason"),
    [
        (BOTH, {}, None, {}, "warned", "idle", "nobody used them for six hours"),
        (ONE, {}, None, {}, "warned", "some", "one of two"),
        ((use(0, quiet=0), use(1, quiet=0)), {}, None, {}, "nothing", "busy", "both are in use"),
        ((use(0, quiet=HOUR), use(1, quiet=HOUR)), {}, None, {}, "nothing", "busy",
         "it used them before: twice as long"),
        ((use(0, quiet=2 * HOUR), use(1, quiet=2 * HOUR)), {}, None, {}, "warned", "idle", "that is over"),
        (BOTH, {"age": 1700}, None, {"warn": 600}, "nothing", "grace", "it has only begun"),
        (BOTH, {"batch": False}, None, {}, "nothing", "interactive", "salloc"),
        (BOTH, {"batch": None}, None, {}, "nothing", "interactive", "it is not known"),
        (BOTH, {"job_name": "jupyter"}, None, {}, "nothing", "interactive", "a server of the hub"),
        (BOTH, {"batch": False}, None, {"interactive": True}, "warned", "idle", "these too"),
        (BOTH, {"queue": "debug"}, None, {"queues": frozenset({"gq"})}, "nothing", "queue", "another queue"),
        (BOTH, {}, None, {"users_off": frozenset({"alice"})}, "nothing", "off", "by name"),
        (BOTH, {}, None, {"users_off": frozenset({1000})}, "nothing", "off", "by uid"),
        (BOTH, {"account": "Physics"}, None, {"accounts_off": frozenset({"physics"})}, "nothing", "off", "account"),
        (BOTH, {"qos": "Urgent"}, None, {"qos_off": frozenset({"urgent"})}, "nothing", "off", "QOS"),
        ((), {}, WARNED, {}, "nothing", "nobody", "not measured is not idle"),
        ((use(0),), {}, WARNED, {}, "nothing", "count", "half measured is not idle"),
        (BOTH, {}, replace(WARNED, warned=NOW - 1700), {}, "nothing", "notice", "the warning is too new"),
        (BOTH, {}, replace(WARNED, start=START - 1), {}, "warned", "idle", "the warning was of the run before"),
        ((use(0, span=5000), use(1, span=5000)), {}, WARNED, {}, "nothing", "notice", "not idle for long enough"),
        (BOTH, {}, WARNED, {"acts": ()}, "nothing", "acts", "warnings only"),
        (BOTH, {}, WARNED, {}, "requeue", "idle", "it may resume from a checkpoint"),
        (ONE, {}, WARNED, {}, "nothing", "acts", "it uses one, and is not elastic"),
        (ONE, {"admin_comment": ELASTIC}, WARNED, {}, "shrink", "some", "it continues with one"),
        (BOTH, {"admin_comment": ELASTIC}, WARNED, {}, "requeue", "idle", "nothing to continue with"),
        (ONE, {"admin_comment": "ak1:lim=86400,src=e,el=2-4"}, WARNED, {}, "nothing", "acts", "it takes no fewer"),
        (BOTH, {"nodes": ("n1", "n2")}, WARNED, {}, "cancel", "idle", "several nodes are not put back"),
        (BOTH, {"het_id": 9}, WARNED, {}, "cancel", "idle", "nor is a part of a heterogeneous job"),
        (BOTH, {"tasks": "3"}, WARNED, {}, "cancel", "idle", "nor is a task of an array"),
        (BOTH, {}, WARNED, {"acts": ("cancel",)}, "cancel", "idle", "where the site says so"),
        (ONE, {}, WARNED, {"acts": ("cancel",)}, "nothing", "acts", "never a job that uses one"),
        (BOTH, {}, WARNED, {"days": frozenset()}, "nothing", "hours", "outside working hours"),
        (BOTH, {}, WARNED.with_act("requeue", NOW - 100), {}, "nothing", "acted", "it has its time to respond"),
        (BOTH, {}, WARNED.with_act("requeue", NOW - HOUR), {}, "cancel", "idle", "it did not respond: the next act"),
        (BOTH, {}, WARNED.with_act("requeue", NOW - HOUR), {"acts": ("requeue",)}, "nothing", "times", "once only"),
    ],
)  # fmt: skip
def test_what_is_done_about_a_job(
    uses: tuple[GpuUse, ...], more: dict[str, Any], past: Past | None, changes: dict[str, Any], did: str, why: str,
    reason: str,
) -> None:  # fmt: skip
    made = plan([of(*uses, **more)], {} if past is None else {11: past}, replace(SETTINGS, **changes), NOW)
    assert [(act.did, act.why) for act in made] == [(did, why)], reason


def test_a_source_that_is_away_means_that_nothing_is_done() -> None:
    (act,) = plan([of(*BOTH)], {11: WARNED}, SETTINGS, NOW, is_away=True)
    assert (act.did, act.why) == ("nothing", "away")


@pytest.mark.parametrize(("many", "busy", "done"), [(4, 0, 4), (5, 0, 0), (200, 0, 0), (200, 1, 200)])
def test_a_source_that_sees_nobody_use_a_gpu_is_not_believed(many: int, busy: int, done: int) -> None:
    """From five jobs on: an exporter whose library is gone reports 0 of everybody."""
    jobs = [job(number) for number in range(1, many + busy + 1)]
    uses = {
        one.job_id: [use(2 * one.job_id, quiet=None if one.job_id <= many else 0), use(2 * one.job_id + 1)]
        for one in jobs
    }
    acts = plan(held(jobs, [Answer(source="dcgm", at=NOW, uses=uses)], NOW, 300), {}, SETTINGS, NOW)
    assert sum(act.did == "warned" and act.why == "idle" for act in acts) == done


def test_a_round_does_no_more_than_most_and_the_worst_first() -> None:
    jobs = [job(number) for number in range(1, 9)]
    uses = {one.job_id: [use(2 * one.job_id), use(2 * one.job_id + 1)] for one in jobs}
    uses[8] = [use(16, quiet=0), use(17, quiet=0)]
    uses[3] = [replace(one, since=NOW - 5 * HOUR, measured=5.0 * HOUR) for one in uses[3]]
    past = {one.job_id: WARNED for one in jobs}
    acts = plan(held(jobs, [Answer(source="dcgm", at=NOW, uses=uses)], NOW, 300), past, replace(SETTINGS, most=6), NOW)
    assert [act.held.job.job_id for act in acts if act.did == "requeue"] == [1, 2, 4, 5, 6, 7]
    assert [(act.held.job.job_id, act.why) for act in acts if act.did == "nothing"] == [(3, "most"), (8, "busy")]


def test_of_ten_thousand_made_jobs_none_that_was_busy_in_the_last_window_is_touched() -> None:
    """Each GPU is used at moments of its own and measured by readings of its own, some of which are wrong in one of
    eight ways. A job is touched only if all that it is touched for had been idle for the whole window.
    """
    luck = random.Random(46)
    settings = replace(SETTINGS, most=10_000)
    jobs, uses, truth = [], {}, {}
    for number in range(1, 10_001):
        gpus = luck.choice((1, 1, 2, 4, 8))
        comment = luck.choice(("", f"ak1:lim=86400,src=e,el=1-{gpus}"))
        age = luck.randrange(600, 24 * HOUR)
        jobs.append(job(number, gpus, age=age, admin_comment=comment))
        ago = [luck.choice((None, 0, luck.randrange(age), luck.randrange(min(age, 2 * HOUR)))) for _ in range(gpus)]
        truth[number] = [age if one is None else one for one in ago]
        rows = [use(8 * number + gpu, quiet=one, span=age) for gpu, one in enumerate(ago)]
        uses[number] = _wrong(rows, luck)
    past = {one.job_id: Past(one.start or 0, NOW - HOUR) for one in jobs if luck.random() < 0.7}
    acts = plan(held(jobs, [Answer(source="dcgm", at=NOW, uses=uses)], NOW, 300), past, settings, NOW)
    touched = [act for act in acts if act.did != "nothing"]
    assert {act.did for act in touched} == {"warned", "shrink", "requeue"}, "each act is among them"
    for act in touched:
        idle = sorted(truth[act.held.job.job_id], reverse=True)
        least = SETTINGS.warn if act.did == "warned" else SETTINGS.act
        about = act.held.job.gpus if act.did == "requeue" else act.idle
        assert idle[about - 1] >= least, f"job {act.held.job.job_id} was busy, and {act.did}"
        if act.did == "shrink":
            least_gpus, _ = range_of(act.held.job.comment) or (0, 0)
            assert act.to is not None and act.to >= max(least_gpus, sum(one < least for one in idle))


def _wrong(rows: list[GpuUse], luck: random.Random) -> list[GpuUse]:
    """Three of four as they are; the others as broken sources have them: with a claim that nothing was used."""
    kind = luck.randrange(32)
    if kind == 0:  # dead
        return []
    if kind > 8:
        return rows
    never = [replace(one, last_used=None, busy=0.0) for one in rows]
    if kind == 1:
        return never[:-1]  # one GPU is missing
    if kind == 2:
        return [*never, use(999_999)]  # one too many
    if kind == 3:
        return [replace(one, until=NOW - 4000, measured=max(0.0, one.measured - 4000)) for one in never]  # stale
    changes = {
        4: {"node": "n9"},  # a wrong job id
        5: {"until": NOW + 600},  # a clock that is off
        6: {"gpu": "GPU-same"},  # shared with others
        7: {"measured": 100.0},  # gaps
        8: {"since": NOW, "measured": 0.0},  # one reading
    }
    return [replace(one, **changes[kind]) for one in never]


def test_the_look_just_before_an_act_goes_by_the_same_rule() -> None:
    assert look(of(*BOTH), WARNED, SETTINGS, NOW).did == "requeue"
    assert look(of(use(0, quiet=0), use(1)), WARNED, SETTINGS, NOW).did == "nothing"
