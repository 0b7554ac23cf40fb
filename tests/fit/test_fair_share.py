"""The jobs that are before one for their fair share alone, and when that is why it waits."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.fit.fair_share import Behind, behind
from adminkit.fit.place import Said
from adminkit.fit.waiting import explain
from adminkit.slurm.fair_share import Share, Shares
from adminkit.slurm.room import RoomJob
from tests.fit.rooms import HOUR, NOW, job, make, node, taken


def waits(number: int, **changes: Any) -> RoomJob:
    return job(number, state="PENDING", **{"account": f"a{number}", **changes})


def shares(points: dict[int, int], rests: dict[int, int] | None = None) -> Shares:
    """Of 1,000 points at most. `rests`: what the other parts are; 0 is far from every priority here, so that what is
    left of it counts."""
    return {(number, "gq"): Share(many / 1000, many, (rests or {}).get(number, 0)) for number, many in points.items()}


#: 50 has 120 points of its 220 from fair share.
OWN = waits(50, priority=220)
MINE = {50: 120}


@pytest.mark.parametrize(
    ("others", "points", "expected", "why"),
    [
        ([waits(1, priority=900)], {1: 850}, Behind(0.12, 1, 1), "without it 50 to 100"),
        ([waits(1, priority=900)], {1: 500}, Behind(0.12, 0, 0), "it is before it without, too"),
        ([waits(1, priority=900)], {1: 800}, Behind(0.12, 0, 0), "of equals the older is first"),
        ([waits(60, priority=900)], {60: 800}, Behind(0.12, 1, 1), "of equals the younger is not"),
        ([waits(1, priority=200)], {1: 190}, Behind(0.12, 0, 0), "it is behind anyway"),
        (
            [waits(n, priority=900, account="a" if n < 4 else "b") for n in range(1, 8)],
            dict.fromkeys(range(1, 8), 850),
            Behind(0.12, 7, 2),
            "seven jobs of two accounts",
        ),
        ([waits(4, priority=900, job_id_array=3)], {3: 850}, Behind(0.12, 1, 1), "a task that has split off"),
        ([waits(1, priority=900)], {}, None, "a share that is not shown"),
        ([waits(1, priority=900, queue="other")], {}, Behind(0.12, 0, 0), "another line"),
        ([waits(1, priority=900, reason="Dependency")], {}, Behind(0.12, 0, 0), "it waits for no room"),
    ],
)
def test_who_is_before_it_for_fair_share_alone(
    others: list[RoomJob], points: dict[int, int], expected: Behind | None, why: str
) -> None:
    assert behind(make([node("n1")], OWN, *others), OWN, shares(MINE | points)) == expected, why


def test_jobs_that_are_alike_but_for_their_share_are_equals_in_spite_of_rounding() -> None:
    """As tried: parts 1000 and 16666.67 are 17666 in all, and sprio shows 1000 and 16667; the older is first then."""
    own, other = waits(2, priority=17666), waits(3, priority=101000)
    found = {(2, "gq"): Share(0.1666667, 16667, 1000), (3, "gq"): Share(1.0, 100000, 1000)}
    assert behind(make([node("n1")], own, other), own, found) == Behind(0.1666667, 1, 1)


def test_a_priority_that_somebody_set_is_no_sum_of_parts() -> None:
    other = waits(1, priority=5000)
    found = shares(MINE | {1: 0}, {1: 50})
    assert behind(make([node("n1")], OWN, other), OWN, found) == Behind(0.12, 0, 0)


BUSY = job(2, "n1", gpus=4)


@pytest.mark.parametrize(
    ("head", "points", "why", "noted", "explained"),
    [
        ({"priority": 900}, {1: 850}, "fair_share", True, "the head needs the node, and is first for its share alone"),
        ({"priority": 900}, {1: 500}, "priority", False, "it is first without it, too"),
        ({"priority": 900, "nodes": "n1", "starts": NOW + HOUR}, {1: 850}, "fair_share", True, "planned there"),
        ({"priority": 900}, {}, "priority", False, "its share is not shown"),
    ],
)
def test_fair_share_is_why_where_it_would_start_without(
    head: dict[str, Any], points: dict[int, int], why: str, noted: bool, explained: str
) -> None:
    own = waits(50, priority=220, gpus=2)
    room = make([node("n1", taken(BUSY))], BUSY, waits(1, gpus=8, **head), own)
    found = explain(room, own, lambda _: Said("now"), shares(MINE | points))
    assert found.answer.start.why == why, (explained, found)
    text = "fair share 0.12: 1 job of 1 account is ahead of it only because of that job's fair share"
    assert (found.share, found.answer.start.text == text) == ((text, True) if noted else (None, False)), explained


def test_where_no_node_is_free_it_is_noted_and_not_why() -> None:
    own, full = waits(50, priority=220, gpus=2), job(2, "n1", gpus=8)
    room = make([node("n1", taken(full))], full, waits(1, gpus=2, priority=900), own)
    found = explain(room, own, lambda _: Said("now"), shares(MINE | {1: 850}))
    assert found.answer.start.why == "busy"
    assert found.share is not None
