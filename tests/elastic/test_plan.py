"""Which jobs are changed, and why the others are not, case by case."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from adminkit.elastic.plan import MOST, Known, Look, Pace, keeps, plan
from adminkit.elastic.words import MARGIN, range_of
from adminkit.fit.place import board
from adminkit.sections import Elastic
from adminkit.slurm.elastic_jobs import HELD, OpenJob
from tests.elastic.jobs import RECORD, open_job
from tests.fit.rooms import HOUR, NOW, job, make, node, taken

SETTINGS = Elastic()
#: Of an iteration: faster with more, at 0.9, 0.75 and 0.375 of the speed for each GPU.
FAST = {1: Pace(1.0, 200), 2: Pace(1 / 1.8, 220), 4: Pace(1 / 3, 300), 8: Pace(1 / 3, 600)}
#: As fast on one as on any.
FLAT = {1: Pace(1.0, 190), 2: Pace(0.99, 267), 4: Pace(0.99, 500)}
LONG = 4 * HOUR  # iterations


def decide(jobs: list[OpenJob], known: Known, *others: Any, **changes: Any) -> list[Look]:
    """On n1, which the jobs have to themselves but for `others` of a Room."""
    mine = [job(one.job_id, "n1", gpus=one.gpus or 0) for one in jobs if one.state == "RUNNING"]
    here = [one for one in others if one.runs]
    room = make([node("n1", taken(*mine, *here))], *mine, *others)
    return plan(jobs, {one.job_id: known for one in jobs}, board(room), replace(SETTINGS, **changes), NOW)


#: (the job, what keeps it, why)
KEPT = [
    (open_job(1), "", "it may be changed"),
    (open_job(1, comment="ak1:lim=60,src=e"), "did not opt in", "no range"),
    (open_job(1, comment=f"mine {RECORD}"), "did not opt in", "a word that is not the script's"),
    (open_job(1, job_name=RECORD, comment=""), "did not opt in", "a name is no record"),
    (open_job(1, alone=False), "part of an array", "tasks are changed with all of them"),
    (open_job(1, tres="gres:gpu:1,gres:shard:2"), "does not ask for its GPUs with --gres", "two resources"),
    (open_job(1, tres=""), "does not ask for its GPUs with --gres", "none"),
    (open_job(1, many=2, nodes=("n1", "n2")), "does not ask for its GPUs with --gres", "two nodes"),
    (open_job(1, state="PENDING", nodes=(), starts=None), "is not running", "it waits"),
    (open_job(1, state="PENDING", nodes=(), starts=None, reason=HELD), "scontrol release 1", "its word is gone"),
    (open_job(1, starts=NOW - HOUR + 1), "started less than", "one change an hour"),
    (open_job(1, ends=NOW + 599), "limit is near", "it ends before that is worth it"),
    (open_job(1, comment=f"{RECORD} el1:gpus=4,until={NOW + 9}"), "already", "it has an order"),
    (open_job(1, comment=f"{RECORD} el1:gpus=4,until={NOW - MARGIN + 1}"), "already", "a node may be late"),
    (open_job(1, comment=f"{RECORD} el1:gpus=4,until={NOW - MARGIN}"), "did not respond", "it did not leave"),
    (open_job(1, comment=f"{RECORD} el1:gpus=4,until={NOW - HOUR}"), "", "an hour later it may be asked again"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "said", "why"), KEPT, ids=[case[2] for case in KEPT])
def test_what_keeps_a_job(one: OpenJob, said: str, why: str) -> None:
    found = keeps(one, SETTINGS, NOW)
    assert (said in found) if said else found == "", (found, why)


def test_idle_gpus_go_to_a_job_that_is_done_earlier() -> None:
    """To four: on eight it is no faster, and two save less."""
    look = decide([open_job(1)], Known(FAST, LONG, "3 runs of its own"))[0]
    assert (look.to, look.verdict, look.source) == (4, "grow", "3 runs of its own")
    assert (look.saves, look.costs) == (pytest.approx(LONG * 2 / 3), 300)


#: (what is known, others in the room, settings, the reason, why)
NOT_GROWN: list[tuple[Known, list[Any], dict[str, Any], str, str]] = [
    (Known(FAST, None), [], {}, "how much it has yet to do is not known", "no finished job of that name"),
    (Known(FAST, 400), [], {}, "no other number saves more than it costs", "done in 400 s: 267 s less, for 300"),
    (Known({1: Pace(1.0)}, LONG), [], {}, "with another number of GPUs is not known", "one point"),
    (Known({2: Pace(1.0), 4: Pace(0.6)}, LONG), [], {}, "how fast it is with 1 GPU is not known", "not its own"),
    (Known({}), [], {}, "is not known", "nothing"),
    (Known(FAST, LONG), [job(2, "n1", gpus=7)], {}, "no other number", "no GPU is idle"),
    (Known(FAST, LONG), [job(2, "", "PENDING", gpus=7)], {}, "no other number", "they are for who waits"),
    (Known(FAST, LONG), [], {"efficiency": 1.0}, "no other number", "no job is as efficient as that"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "others", "settings", "said", "why"), NOT_GROWN, ids=[case[4] for case in NOT_GROWN])
def test_a_job_keeps_its_gpus(known: Known, others: list[Any], settings: dict[str, Any], said: str, why: str) -> None:
    look = decide([open_job(1)], known, *others, **settings)[0]
    assert look.to is None and said in look.why, (look, why)


def test_idle_gpus_are_given_once() -> None:
    """Three jobs of one GPU, five idle: each gets one more before one of them gets two."""
    looks = decide([open_job(1), open_job(2), open_job(3)], Known(FAST, LONG))
    assert [(look.job.job_id, look.to) for look in looks] == [(1, 4), (2, 2), (3, 2)]


def test_a_limit_of_a_qos_forbids_it() -> None:
    room = make([node("n1", taken(job(1, "n1", gpus=1)))], job(1, "n1", gpus=1))
    one = open_job(1)
    looks = plan([one], {1: Known(FAST, LONG)}, board(room), SETTINGS, NOW, lambda job, to: "QOS normal allows 1")
    assert (looks[0].to, looks[0].why) == (None, "QOS normal allows 1")


def test_a_waiting_job_gets_what_another_can_spare() -> None:
    """It would start in an hour. On two of its four GPUs the job has 0.6 of its speed."""
    waits = job(9, "", "PENDING", gpus=6)
    look = decide([open_job(1, gpus=4)], Known(FAST), waits)[0]
    assert (look.to, look.verdict) == (2, "shrink") and "job 9 could start" in look.why
    assert (look.saves, look.costs) == (HOUR, pytest.approx(600 + HOUR * 0.4))


#: (the waiting job, settings, why nothing is taken from the running one)
KEEPS_ALL: list[tuple[Any, dict[str, Any], str]] = [
    (job(9, "", "PENDING", gpus=8), {}, "not even all but one are enough"),
    (job(9, "", "PENDING", gpus=4), {}, "it can start as things are"),
    (job(9, "", "PENDING", gpus=6, reason="Dependency"), {}, "it waits for something else"),
    (job(9, "", "PENDING", gpus=6), {"restart": 1200}, "two restarts cost more"),
    (job(9, "", "PENDING", gpus=0, cpus=8), {}, "it needs no GPUs"),
]


@pytest.mark.parametrize(("waits", "settings", "why"), KEEPS_ALL, ids=[case[2] for case in KEEPS_ALL])
def test_nothing_is_taken_for_a_waiting_job(waits: Any, settings: dict[str, Any], why: str) -> None:
    assert decide([open_job(1, gpus=4)], Known(FAST), waits, **settings)[0].to is None, why


def test_gpus_that_do_not_help_are_given_back() -> None:
    look = decide([open_job(1, gpus=4)], Known(FLAT, LONG))[0]
    assert look.to == 1 and look.why == "it is about as fast, and saves 1.20 kWh"
    assert decide([open_job(1, gpus=4)], Known(FLAT, 100))[0].to is None, "a restart takes more energy"
    unmetered = {gpus: Pace(pace.seconds) for gpus, pace in FLAT.items()}
    assert "GPU-hours" in decide([open_job(1, gpus=4)], Known(unmetered, LONG))[0].why


def test_a_round_is_bounded() -> None:
    jobs = [open_job(number, gpus=4, nodes=(f"n{number}",)) for number in range(1, 40)]
    room = make([node(f"n{number}") for number in range(1, 40)])
    looks = plan(jobs, {one.job_id: Known(FLAT, LONG) for one in jobs}, board(room), SETTINGS, NOW)
    assert sum(look.to is not None for look in looks) == MOST


def test_nothing_happens_to_500_jobs_that_did_not_opt_in() -> None:
    """Whatever stands in their names and comments; and those beside them are changed."""
    random = Random(7)
    words = [
        RECORD,
        "el=1-8",
        "el1:gpus=4,until=9999999999",
        "ak1:lim=60,src=e",
        "mine",
        "ck1:at=1,heard=1,rq=1",
        ",",
        "",
    ]
    jobs = []
    for number in range(1, 501):
        comment = " ".join(random.choices(words, k=random.randint(0, 4)))
        if range_of(comment) is not None:
            comment = f"x {comment}"
        jobs.append(
            open_job(
                number, gpus=random.choice([1, 2, 4, 8]), comment=comment,
                job_name=" ".join(random.choices(words, k=3)), state=random.choice(["RUNNING", "PENDING"]),
                alone=random.random() < 0.9, reason="None",
            )
        )  # fmt: skip
    jobs.append(open_job(501))
    random.shuffle(jobs)
    room = make([node("n1", taken(job(501, "n1", gpus=1)))], job(501, "n1", gpus=1))
    looks = plan(jobs, {one.job_id: Known(FAST, LONG) for one in jobs}, board(room), SETTINGS, NOW)
    assert [(look.job.job_id, look.to) for look in looks] == [(501, 4)]
