"""What more time gave, cost and saved: from the trace, and from the log of acts where a sync has read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adminkit.stats.extensions import Extensions, RanOver, extensions, ran_over
from adminkit.stats.select import Filter
from adminkit.trace.actions import record_actions
from adminkit.trace.connect import reader, writer
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.extended import ACTS, BOLD, make_extended

EVERY = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def measured(
    folder: Path, acts: Sequence[tuple[int, Mapping[str, Any]]] = ACTS, chosen: Filter = EVERY, part: str = "queue"
) -> Extensions:
    with reader(make_extended(folder / "t.db", acts)) as db:
        return extensions(db, chosen, part)


def test_what_was_given_and_what_became_of_it(tmp_path: Path) -> None:
    found = measured(tmp_path)
    overall = found.overall
    assert (overall.jobs, overall.given, overall.used) == (6, 12 * HOUR, 6 * HOUR + HOUR // 2)
    assert (overall.unneeded, overall.finished, overall.at_limit) == (1, 3, 1), "one failed past its limit"
    assert overall.saved == 2, "one of the three that completed could have continued from its checkpoint"
    assert (overall.saved_gpu, overall.saved_cpu) == (4 * HOUR, 4 * HOUR * 64), "until the limit that was asked for"
    assert (overall.used_gpu, overall.used_cpu) == (5.5 * HOUR, 64 * HOUR)
    assert [(one.value, one.jobs) for one in found.groups] == [("gq", 5), ("gq-short", 1)]
    assert found.excluded == {"elapsed": 1, "not_extended": 4}, "an open job; four that were given nothing in the end"


@pytest.mark.parametrize(
    ("part", "groups"),
    [
        ("user", {"ada": (2, 2), "bob": (2, 1), "eve": (1, 1), BOLD: (1, 1)}),
        ("account", {"vision": (6, 5)}),
    ],
)
def test_a_row_for_each(tmp_path: Path, part: str, groups: Mapping[str, tuple[int, int]]) -> None:
    found = {one.value: (one.jobs, one.jobs - one.unneeded) for one in measured(tmp_path, part=part).groups}
    assert found == groups


def test_acts_count_that_held_and_refusals_once(tmp_path: Path) -> None:
    found = measured(tmp_path)
    assert (found.overall.raises, found.overall.taken_back, len(found.overall.refused)) == (2, 1, 2)
    assert found.whys == {"most": 1, "planned": 1, "waiting": 1}, "not of job 99, which the trace does not have"
    assert found.overall.delays == {("aaic", 20): 900, ("aaic", 21): 0}, "job 21 started before it was planned"
    assert found.acts_since == MONDAY + 4 * HOUR - HOUR, "the refusal of job 7"


def test_without_the_log_nothing_is_known_of_refusals(tmp_path: Path) -> None:
    found = measured(tmp_path, ())
    assert (found.acts_since, found.overall.jobs, found.overall.refused) == (None, 6, set())


def given(**changes: Any) -> tuple[int, Mapping[str, Any]]:
    return MONDAY + 4 * HOUR, {"did": "given", "job": 1, "why": "free", "held": True, **changes}


@pytest.mark.parametrize(
    ("act", "raises", "why"),
    [
        (given(), 1, "plain"),
        (given(cluster="aaic"), 1, "of its cluster"),
        (given(cluster="other"), 0, "of another cluster"),
        (given(held=None), 0, "an intent"),
        (given(held="yes"), 0, "not a truth value"),
        (given(job=None), 0, "of no job"),
        (given(job=True), 0, "a truth value is not a number"),
        (given(job=-1), 0, "below 0"),
        (given(job=2**70), 0, "beyond every number of a job"),
        (given(behind="x", starts=[]), 1, "nobody known waits"),
        (given(did="lent"), 0, "a word of a later release"),
        ((MONDAY - HOUR, given()[1]), 0, "before the run: an earlier job of the same number"),
    ],
)
def test_a_line_of_the_log(tmp_path: Path, act: tuple[int, Mapping[str, Any]], raises: int, why: str) -> None:
    assert measured(tmp_path, [act]).overall.raises == raises, why


def test_an_act_on_one_of_two_clusters_counts_on_none(tmp_path: Path) -> None:
    jobs = [job(1, elapsed=5 * HOUR), job(1, elapsed=5 * HOUR, cluster="other")]
    path = make_trace(tmp_path / "two.db", jobs)
    with writer(path) as db:
        acts = [given(), given(cluster="other")]
        record_actions(db, [{"at": at, "what": "extend", **act} for at, act in acts])
        db.commit()
    with reader(path) as db:
        found = extensions(db, EVERY)
    assert [(one.cluster, one.raises) for one in found.groups] == [("other", 1)]


def test_filters_are_those_of_the_runs(tmp_path: Path) -> None:
    found = measured(tmp_path, chosen=Filter(states=(), min_elapsed=-1, users=("bob",), checkpoint_code=85))
    assert (found.overall.jobs, len(found.overall.refused), found.whys) == (2, 1, {"planned": 1, "waiting": 1})


def test_who_runs_past_their_limits(tmp_path: Path) -> None:
    with reader(make_extended(tmp_path / "t.db")) as db:
        found = {one.user: one for one in ran_over(db, Filter(checkpoint_code=85))}
    assert found["ada"] == RanOver("aaic", "ada", 3, 2, 3.5 * HOUR, 8 * HOUR, 3.5 * HOUR, 0)
    assert found["bob"] == RanOver("aaic", "bob", 3, 1, HOUR, 4 * HOUR, 0, 64 * HOUR)
    assert "wide" not in found, "their jobs ended within their limits"
