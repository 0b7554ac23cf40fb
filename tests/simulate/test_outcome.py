"""What came of a replicate, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adminkit.simulate.case import Case
from adminkit.simulate.compare import compare
from adminkit.simulate.core import NONE, Schedule, simulate
from adminkit.simulate.groups import LENGTHS, groups_of
from adminkit.simulate.kinds.catalogue import KINDS
from adminkit.simulate.luck import Luck
from adminkit.simulate.outcome import BINS, EDGES, busy, side, summary
from tests.simulate.cases import case, many

H = 3600


def ran(case_: Case) -> tuple[Case, Schedule]:
    return case_, simulate(case_.request)


def test_a_wait_is_from_submission_to_start_and_the_slowdown_has_a_bound() -> None:
    one = side(*ran(case([0, 0, 5], [100, 1, 50], [200, 200, 200], [4, 4, 4])), 3)
    assert one.wait.tolist() == [0, 100, 96]
    assert one.turnaround.tolist() == [100, 101, 146]
    assert one.slowdown.tolist() == [1, 10.1, 146 / 50]
    assert not one.killed.any()


def test_the_wait_of_pieces_is_added_up_and_the_need_is_that_of_the_job() -> None:
    today = case([0, 10], [3 * H, H], [5 * H, H], [4, 4])
    keys = KINDS["checkpoint"].keys.model_validate(
        {"name": "it", "kind": "checkpoint", "max_limit": "2h", "lead": "0s", "overhead": "0s", "requeue": "60s"}
    )
    cut = KINDS["checkpoint"].apply(today, keys, 2 * H, {}, Luck(1))
    one = side(*ran(cut), 2)
    # The first piece ends at 2 h, then comes the other job, and behind it the second piece, which came at 2 h 1 min.
    assert one.wait.tolist() == [H - 60, 2 * H - 10]
    assert one.turnaround.tolist() == [4 * H, 3 * H - 10]
    assert one.slowdown[0] == 4 / 3


def test_a_job_that_does_not_run_on_one_side_does_not_count_for_waits() -> None:
    today = case([0, 1, 2], [10, 10, 10], [20, 20, 20], [1, 4, 2])
    smaller = replace(today, request=replace(today.request, settings={"procs": 2}))
    found = summary(ran(today), ran(smaller), groups_of(today), (0, 10))
    assert found["parts"]["all"]["jobs"] == [2]
    assert found["not_run"] == [0, 1]


def test_what_only_a_scenario_has_is_counted_apart_and_what_left_too() -> None:
    today = many()
    load = KINDS["load"]
    for value, left, added in ((0.5, True, False), (1.5, False, True)):
        keys = load.keys.model_validate({"name": "it", "kind": "load", "factor": value})
        then = load.apply(today, keys, value, {}, Luck(1))
        found = summary(ran(today), ran(then), groups_of(today), (0, 10_000))
        assert (found["left"] > 0, found["added"] > 0) == (left, added)
        assert found["parts"]["all"]["jobs"] == [300 - found["left"]]


def test_use_is_the_share_of_the_machine_in_equal_parts_of_the_time() -> None:
    one, schedule = ran(case([0, 0], [60, 120], [60, 120], [2, 1]))
    shares = busy(one, schedule, "processor", (0, 120))
    assert len(shares) == BINS
    assert shares[:60] == [0.75] * 60
    assert shares[60:] == [0.25] * 60
    found = summary((one, schedule), (one, schedule), groups_of(one), (0, 120))
    assert found["utilization"] == [0.5, 0.5]


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_the_time_add_up_to_the_whole(seed: int) -> None:
    one, schedule = ran(many(seed=seed))
    window = (5000, 80_000)
    found = summary((one, schedule), (one, schedule), groups_of(one), window)
    assert np.mean(busy(one, schedule, "processor", window)) == pytest.approx(found["utilization"][0], abs=1e-5)


def test_a_curve_counts_the_jobs_that_waited_at_most_so_long() -> None:
    one, schedule = ran(case([0, 0], [100, 1], [200, 200], [4, 4]))
    curve = summary((one, schedule), (one, schedule), groups_of(one), (0, 9))["waits"][0]
    assert len(curve) == len(EDGES)
    assert curve[0] == 1
    assert curve[EDGES.index(100)] == 2
    assert curve[EDGES.index(100) - 1] == 1


def test_groups_are_those_of_today() -> None:
    one = case([0] * 4, [60, 2 * H, 5 * H, 30 * H], [40 * H] * 4, [1, 2, 9, 65], users=[0, 0, 1, 2],
               queues=[1, 2, 0, 1], names=("gq", "long"))  # fmt: skip
    parts = {part: [names[code] for code in codes] for part, (codes, names) in groups_of(one).parts.items()}
    assert parts == {
        "all": ["(all)"] * 4,
        "queue": ["gq", "long", "(unknown)", "gq"],
        "size": ["1 processor", "2 to 8 processors", "9 to 64 processors", "above 64 processors"],
        "length": list(LENGTHS),
        "account": ["user0", "user0", "user1", "user2"],
    }


def test_only_the_ten_largest_accounts_have_rows_of_their_own() -> None:
    users = [user for user in range(15) for _ in range(20 - user)]
    one = case([0] * len(users), [60] * len(users), [60] * len(users), [1] * len(users), users=users)
    codes, names = groups_of(one).parts["account"]
    assert names == [*(f"user{n}" for n in range(10)), "(all others)"]
    assert (codes == 10).sum() == sum(20 - user for user in range(10, 15))


def told(waits: list[tuple[float, float]], part: str = "all") -> dict[str, Any]:
    """A summary of one job with these waits, of each group of a part."""
    sums = {"jobs": [1.0] * len(waits), "wait_today": [a for a, _ in waits], "wait": [b for _, b in waits],
            "slowdown_today": [1.0] * len(waits), "slowdown": [1.0] * len(waits)}  # fmt: skip
    pair = [1.0, 1.0]
    return {"parts": {part: sums}, "median_wait": pair, "p95_wait": pair, "turnaround": pair, "killed": pair,
            "not_run": pair, "lost_hours": pair, "given_hours": pair, "utilization": [None, None], "left": 0,
            "added": 0}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ([10.0, 11.0, 12.0] * 7, "more", "always more"),
        ([-10.0, -11.0, -12.0] * 7, "less", "always less"),
        ([-10.0, 10.0, 1.0] * 7, "no significant change", "now more, now less"),
        ([0.3] * 20, "no significant change", "a table would not show it"),
    ],
)
def test_a_verdict_follows_from_the_differences(changes: list[float], verdict: str, why: str) -> None:
    one = groups_of(case([0], [1], [1], [1]))
    rows = compare(["it"], [[told([(100.0, 100 + change)]) for change in changes]], one)
    assert next(row.verdict for row in rows if row.measure == "mean_wait") == verdict, why
    assert next(row.verdict for row in rows if row.measure == "utilization") == "too few jobs to say"


def test_verdicts_hold_for_all_rows_together() -> None:
    """A difference that would be significant alone is not among a hundred others."""
    rng = np.random.default_rng(3)
    one = groups_of(case([0], [1], [1], [1]))
    alone = [told([(100.0, 100 + 2.4 + 4 * (-1) ** number)]) for number in range(20)]
    noise = [[told([(100.0, 100 + 4 * float(rng.normal()))]) for _ in range(20)] for _ in range(100)]

    def verdict(several: list[list[dict[str, Any]]]) -> str:
        rows = compare([str(number) for number in range(len(several))], several, one)
        return next(row.verdict for row in rows if row.measure == "mean_wait")

    assert verdict([alone]) == "more"
    assert verdict([alone, *noise]) == "no significant change"


def test_what_never_runs_anywhere_has_no_figures() -> None:
    one = case([0], [10], [10], [9])
    found = summary(ran(one), ran(one), groups_of(one), (0, 10))
    rows = compare(["it"], [[found] * 20], groups_of(one))
    assert rows == []
    assert found["parts"]["all"]["jobs"] == [0]
    assert ran(one)[1].start.tolist() == [NONE]
