"""Which nodes are named: planted ones are, and what else makes runs fail is not blamed on a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.job import Job
from adminkit.stats.bad_nodes import Node, bad_nodes
from adminkit.stats.node_runs import GROUP
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.stats.node_proof import CASES, tried
from tests.stats.node_sites import Plan, site
from tests.support.builders import HOUR, MONDAY, job, make_trace

ALL = Filter(checkpoint_code=85)
NODES = 8


def found(path: Path, jobs: list[Job]) -> list[Node]:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return bad_nodes(db, ALL, 0.05)


def named(path: Path, jobs: list[Job]) -> list[str]:
    return [one.name for one in found(path, jobs) if one.among == 1]


def runs(
    fails: Callable[[int, int, int], bool],
    where: Callable[[int, int], str] = lambda user, number: f"n{number % NODES}",
    users: int = 6,
    many: int = 16,
    **changes: object,
) -> Iterator[Job]:
    """`many` runs a day of each user on four days, of one name each; `fails` and `where` take user, day and number."""
    for user in range(users):
        for day in range(4):
            for number in range(many):
                start = MONDAY + (24 * day + 3 * user % 24) * HOUR + number * 60
                state = "FAILED" if fails(user, day, number) else "COMPLETED"
                yield job(
                    1 + (user * 4 + day) * many + number, user=f"u{user}", job_name="fit", start_time=start,
                    end_time=start + 600 + 3600 * (number // NODES), state=state, nodes=1,
                    node_list=where(user, number), **changes,
                )  # fmt: skip


def test_a_node_on_which_everybodys_runs_fail_is_named(tmp_path: Path) -> None:
    first, *others = found(tmp_path, [*runs(lambda user, day, number: number % NODES == 3)])
    assert (first.name, first.among, first.users, first.groups) == ("n3", 1, 6, 24)
    assert (first.expected, first.ratio, first.interval) == (0, None, (None, None)), "elsewhere nothing failed"
    assert others == [], "without its runs nothing failed, and no two nodes can be compared"


@pytest.mark.parametrize(
    ("fails", "why"),
    [
        (lambda user, day, number: False, "nothing fails"),
        (lambda user, day, number: True, "everything fails"),
        (lambda user, day, number: user == 2, "a user whose runs fail everywhere"),
        (lambda user, day, number: day == 1, "a day on which everything fails"),
        (lambda user, day, number: (user + day + number * 5) % 7 == 0, "failures that fall on every node"),
    ],
)
def test_what_is_not_a_nodes_fault_is_not_blamed_on_it(
    tmp_path: Path, fails: Callable[[int, int, int], bool], why: str
) -> None:
    assert named(tmp_path, [*runs(fails)]) == [], why


def test_a_name_that_fails_is_not_blamed_on_the_only_node_that_runs_it(tmp_path: Path) -> None:
    good = [*runs(lambda user, day, number: False)]
    bad = [
        replace(one, job_id_raw=10_000 + k, job_id=str(10_000 + k), job_name="broken", state="FAILED", node_list="n3")
        for k, one in enumerate(good)
    ]
    assert named(tmp_path, good + bad) == []


def test_a_node_that_gets_only_night_runs_is_not_blamed_for_the_night(tmp_path: Path) -> None:
    day = [*runs(lambda user, day, number: False)]
    night = [
        replace(
            one, job_id_raw=10_000 + k, job_id=str(10_000 + k), state="FAILED", node_list="night",
            start_time=(one.start_time or 0) + 12 * HOUR, end_time=(one.end_time or 0) + 12 * HOUR,
        )
        for k, one in enumerate(day)
    ]  # fmt: skip
    assert named(tmp_path, day + night) == []


def test_failures_on_a_node_within_an_hour_are_one_event(tmp_path: Path) -> None:
    """A crash that ends the runs of thirty users is no more evidence than one that ends one run."""
    crash = [
        replace(one, state="NODE_FAIL", end_time=MONDAY + HOUR) if one.node_list == "n3" else one
        for one in runs(lambda user, day, number: False, users=30)
        if (one.start_time or 0) < MONDAY + HOUR
    ]
    assert named(tmp_path, crash) == []


@pytest.mark.parametrize(
    ("state", "blamed"),
    [
        ("FAILED", ["n3"]), ("TIMEOUT", ["n3"]), ("NODE_FAIL", ["n3"]),
        ("CANCELLED", []), ("OUT_OF_MEMORY", []), ("PREEMPTED", []),
    ],
)  # fmt: skip
def test_only_ends_that_a_node_can_cause_count(tmp_path: Path, state: str, blamed: list[str]) -> None:
    jobs = [replace(one, state=state) if one.state == "FAILED" else one
            for one in runs(lambda user, day, number: number % NODES == 3)]  # fmt: skip
    assert named(tmp_path, jobs) == blamed


def eights(seed: int, bad: int) -> list[Job]:
    """Runs of 8 nodes on a made site, any free ones; half of the runs with node `bad` fail."""
    made = site(Plan(nodes=64, users=12, days=14, runs=2000, sizes=(8,), scattered=True, bad={bad: 0.5}), seed)
    return [
        job(
            1 + k, user=f"u{run.user}", job_name="abcdefghi"[run.job_name], start_time=MONDAY + run.start,
            end_time=MONDAY + run.end, state="FAILED" if run.failed else "COMPLETED", nodes=8,
            node_list=",".join(f"n{node}" for node in run.nodes),
        )
        for k, run in enumerate(made)
    ]  # fmt: skip


def test_of_the_eight_nodes_of_failed_runs_the_bad_one_is_named_and_its_neighbours_are_not(tmp_path: Path) -> None:
    assert named(tmp_path, eights(0, 11)) == ["n11"]


def test_nodes_that_always_run_together_are_named_together(tmp_path: Path) -> None:
    pairs = runs(
        lambda user, day, number: number % NODES == 3, lambda user, number: "n[{0},1{0}]".format(number % NODES)
    )
    blamed = [(one.name, one.among) for one in found(tmp_path, [replace(one, nodes=2) for one in pairs]) if one.among]
    assert sorted(blamed) == [("n13", 2), ("n3", 2)]


def test_a_group_holds_a_share_of_a_long_series(tmp_path: Path) -> None:
    """Consecutive runs are compared with each other, not with those of another day of the week."""
    (first, *_) = found(tmp_path, [*runs(lambda user, day, number: number % NODES == 3, users=2, many=2 * GROUP)])
    assert first.groups == 2 * 4 * 2


def test_on_made_sites_few_good_nodes_are_named() -> None:
    """A few of the sites of docs/measured/bad-nodes.md."""
    nothing, planted = tried(CASES[0], 3), tried(CASES[3], 3)
    assert (nothing.wrong, planted.wrong) == (0, 0)
    assert planted.named >= 6
