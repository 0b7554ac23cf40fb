"""Hints about memory: what runs alike used, a size, and for how many of them that size was enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.recommend.memory_hints import LAST, MemoryHint, memory_hints
from adminkit.stats.peaks import MIB, peak
from adminkit.stats.runs import Kind, Run
from tests.support.builders import HOUR, MONDAY

GIB = 1024
ADA = Kind("aaic", "ada", "fit", "gq", 1, 8, 1)
NOW = MONDAY + 40 * 24 * HOUR


def run(number: int, used: int | None, state: str = "COMPLETED", had: int = 200 * GIB, kind: Kind = ADA) -> Run:
    """The `number`th run: submitted `number` hours after MONDAY; `used` and `had` in MiB."""
    start = MONDAY + number * HOUR
    found = peak(kind, 1001, None, start, start + 600, state, number, had, had, None if used is None else used * MIB)
    assert found is not None
    return found


def history(many: int, *, killed: int = 0, kind: Kind = ADA) -> list[Run]:
    """Runs that used 8 to 12 GiB of 200; the `killed` last but five ran out of memory with half a gibibyte."""
    runs = [run(n, 8 * GIB + (n % 5) * GIB, kind=kind) for n in range(many)]
    for n in range(many - 5 - killed, many - 5):
        runs[n] = run(n, None, "OUT_OF_MEMORY", GIB // 2, kind)
    return runs


def only(found: list[MemoryHint]) -> MemoryHint:
    assert len(found) == 1
    return found[0]


def test_a_hint_says_what_the_last_runs_used_and_what_was_enough() -> None:
    one = only(memory_hints(history(150), NOW))
    assert (one.hint.uid, one.hint.job_name, one.hint.queue) == (1001, "fit", "gq")
    assert (one.used, one.hint.limit, one.runs, one.enough) == (12 * GIB, 16 * GIB, LAST, LAST)
    assert 0 < one.hint.risk < 0.02


def test_a_run_that_ran_out_of_memory_is_one_for_which_a_size_was_not_enough() -> None:
    one = only(memory_hints(history(150, killed=1), NOW))
    assert (one.used, one.runs, one.enough) == (12 * GIB, LAST, LAST - 1)


def test_the_last_runs_count_and_not_the_first() -> None:
    early = [run(n, 90 * GIB) for n in range(20)]
    late = [replace(one, submit_time=one.submit_time + 30 * HOUR) for one in history(150)]
    assert only(memory_hints([*early, *late], NOW)).used == 12 * GIB


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([], "no runs"),
        (history(8), "too little history"),
        ([run(n, None, "OUT_OF_MEMORY") for n in range(60)], "all ran out of memory: what is enough is not known"),
        ([run(n, 190 * GIB) for n in range(60)], "they ask for what they need"),
        ([replace(one, uid=None) for one in history(60)], "nobody to show it to"),
        (history(60, killed=12), "every fifth ran out of memory: that risk is not advised"),
    ],
)
def test_no_hint_is_made_where_there_is_nothing_to_tell(runs: list[Run], why: str) -> None:
    assert memory_hints(runs, NOW) == [], why


def test_a_hint_is_made_of_its_users_own_runs_alone() -> None:
    bob = ADA._replace(user="bob")
    others = [replace(run(n, 60 * GIB + n, kind=bob), uid=1002) for n in range(150)]
    both = sorted([*history(150), *others], key=lambda one: (one.submit_time, one.uid))
    found = {one.hint.uid: one for one in memory_hints(both, NOW)}
    assert found[1001] == only(memory_hints(history(150), NOW))
    assert found[1002].used > 60 * GIB


def test_no_name_and_an_empty_one_are_one_group() -> None:
    runs = [run(n, 9 * GIB, kind=ADA._replace(job_name=None if n % 2 else "")) for n in range(60)]
    one = only(memory_hints(runs, NOW))
    assert (one.hint.job_name, one.runs) == ("", 60)


def test_several_queues_have_a_hint_for_any_of_them() -> None:
    runs = [run(n, 9 * GIB, kind=ADA._replace(queue="gq" if n % 2 else "long")) for n in range(80)]
    assert {one.hint.queue: one.runs for one in memory_hints(runs, NOW)} == {"gq": 40, "long": 40, "": 80}
