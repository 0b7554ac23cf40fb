"""The place of a waiting job in its queue: counted by priority, or not said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adminkit.fit.line import Place, place_in_line
from adminkit.slurm.room import MOST_JOBS, RoomJob
from tests.fit.rooms import job, make, node


def waits(number: int, **changes: Any) -> RoomJob:
    return job(number, state="PENDING", **changes)


OWN = waits(50)


@pytest.mark.parametrize(
    ("others", "place", "why"),
    [
        ([], (1, 1), "alone"),
        (
            [waits(1, priority=200), waits(2, priority=100), waits(60, priority=100)],
            (3, 4),
            "of equals the older first",
        ),
        ([waits(1, reason="JobHeldUser", priority=0), waits(2, reason="Dependency")], (1, 1), "those wait for no room"),
        ([job(1, "n1"), waits(2, queue="other")], (1, 1), "it runs, or is in another line"),
        ([waits(2, queue="other,gq", priority=300)], (2, 2), "in this line too"),
        (
            [waits(1, priority=500, reason="Resources"), waits(2, priority=400, reason="None")],
            (3, 3),
            "not looked at yet",
        ),
    ],
)
def test_it_is_counted_by_priority(others: list[RoomJob], place: tuple[int, int], why: str) -> None:
    found = place_in_line(make([node("n1")], OWN, *others), 50)
    assert found == Place(*place, "gq"), why


@pytest.mark.parametrize(
    ("own", "why"),
    [
        (waits(51), "slurmctld does not show it yet"),
        (job(50, "n1"), "it runs"),
        (waits(50, reason="QOSMaxGRESPerUser"), "a limit holds it, whatever its place"),
        (waits(50, priority=0), "it is held, or its priority is hidden"),
        (waits(50, queue="gq,other"), "two lines"),
    ],
)
def test_where_it_means_nothing_it_is_not_said(own: RoomJob, why: str) -> None:
    assert place_in_line(make([node("n1")], own, waits(1)), 50) is None, why


def test_where_others_jobs_are_hidden_or_cut_off_it_is_not_said() -> None:
    seen = make([node("n1")], OWN)
    assert place_in_line(replace(seen, hidden=1), 50) is None
    assert place_in_line(replace(seen, jobs=(OWN,) * MOST_JOBS), 50) is None
