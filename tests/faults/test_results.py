"""What the faults count and say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import page, results
from tests.faults.catalogue import FAULTS
from tests.faults.results import Outcome, Result, count

Rows = dict[tuple[int, int], object]


@pytest.mark.parametrize(
    ("theirs", "ours", "counts", "why"),
    [
        ({(1, 5): "a"}, {(1, 5): "a"}, (1, 0, 0, 0), "the same"),
        ({(1, 5): "a", (2, 5): "b"}, {(1, 5): "a"}, (2, 1, 0, 0), "one is missing"),
        ({(1, 5): "a"}, {(1, 5): "a", (1, 6): "a"}, (1, 0, 1, 0), "one is there twice, under another key"),
        ({(1, 5): "a"}, {(1, 5): "b"}, (1, 0, 0, 1), "a column differs"),
        ({}, {}, (0, 0, 0, 0), "nothing"),
    ],
)
def test_runs_are_counted(theirs: Rows, ours: Rows, counts: tuple[int, ...], why: str) -> None:
    found = count(theirs, ours)
    assert (found.runs, found.lost, found.doubled, found.different) == counts, why
    assert found.whole == (not any(counts[1:])), why


@pytest.mark.parametrize("name", ["lost", "doubled", "different", "unsent", "twice"])
def test_any_of_these_is_a_failure(name: str) -> None:
    assert not Outcome(**{name: 1}).whole


def test_a_result_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    old = Result("trixie", "sync_killed", "24.11.5", "abc", "failed", 9, Outcome(lost=1), "why")
    other = Result("forky", "sync_killed", "26.05.5", "abc", "passed", 9, Outcome(runs=4, notes=("said",)))
    new = Result("trixie", "sync_killed", "24.11.5", "abd", "passed", 8, Outcome(runs=5, line="error: x"))
    for one in (old, other, new):
        results.keep(one, path)
    assert results.load(path) == [other, new]
    assert results.load(tmp_path / "none.json") == []


def test_the_page_has_every_fault_and_says_what_failed() -> None:
    found = [
        Result("trixie", "cut_off", "24.11.5", "abc", "passed", 8, Outcome(runs=5, line="error: a|b", where="sync")),
        Result("trixie", "mail_down", "24.11.5", "abc", "failed", 8, Outcome(), "a | letter\nwaits"),
    ]
    said = page.markdown(found)
    assert "| slurmctld cut off from slurmdbd | 5 runs: 0 lost, 0 duplicated, 0 different |" in said
    assert "| mail server down for an hour | FAILED: a \\| letter waits |" in said
    assert "| sync killed | not run |" in said
    assert "    error: a|b\n" in said
    assert said.count("\n### ") == len(FAULTS)


def test_every_fault_is_named_once_and_says_what_it_does() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert [fault.name for fault in FAULTS if not fault.done.endswith(".")] == []
