"""Measures that are shared: each is made once for the same jobs, however these are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.stats.efficiencies import efficiencies
from adminkit.stats.measures import Measures
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)
JOBS = [job(1, user="ada", cpu_time=4.0 * HOUR), job(2, user="bob", cpu_time=8.0 * HOUR), job(3, cluster="other")]


@pytest.mark.parametrize(
    ("asked", "same", "why"),
    [
        (ALL, True, "the same"),
        (replace(ALL, clusters=["other", "aaic"]), True, "every cluster is all of them"),
        (replace(ALL, states=[]), True, "a list is as good as a tuple"),
        (replace(ALL, clusters=["aaic"]), False, "one cluster of two"),
        (replace(ALL, until=MONDAY), False, "another window"),
        (replace(ALL, users=["ada"]), False, "one user"),
    ],
)
def test_the_same_jobs_are_measured_once(tmp_path: Path, asked: Filter, same: bool, why: str) -> None:
    known = Measures(("queue", "user"))
    with reader(make_trace(tmp_path / "t.db", JOBS)) as db:
        assert (known.users(db, asked) is known.users(db, ALL)) is same, why
        assert (known.efficiencies(db, asked, "user") is known.efficiencies(db, ALL, "user")) is same, why


@pytest.mark.parametrize("part", ["queue", "user", "account"])
def test_parts_of_one_scan_are_as_they_are_alone(tmp_path: Path, part: str) -> None:
    with reader(make_trace(tmp_path / "t.db", JOBS)) as db:
        (alone,) = efficiencies(db, ALL, (part,))
        assert Measures(("queue", "user")).efficiencies(db, ALL, part) == alone
