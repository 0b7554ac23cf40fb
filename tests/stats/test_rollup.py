"""The rollups say what the rows say: after any sequence of loads, changes and audits, for any Filter they answer."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adminkit.stats import rollup as read
from adminkit.stats.select import Filter, left_out, select
from adminkit.trace import connect, rollup
from adminkit.trace.load import JobLoad
from adminkit.trace.rollup_row import DAY, MOST, SUMS
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.transaction import transaction
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.rollups import COLUMNS, act, some_filter, values


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2, state="FAILED", exit_code=1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        yield db


def from_rows(db: sqlite3.Connection, chosen: Filter, limits: bool) -> tuple[dict[str, int], dict[str, int]]:
    """The same sums, one run at a time; and what each rule left out."""
    selection = select(chosen, limits=limits)
    total = dict.fromkeys(SUMS, 0)
    rows = db.execute(
        "SELECT elapsed, wait, req_limit, size_nodes, size_cpus, size_gpus FROM run WHERE " + selection.where,
        selection.params,
    ).fetchall()
    for elapsed, wait, limit, nodes, cpus, gpus in rows:
        ran = elapsed is not None and 0 <= elapsed < TOO_LONG
        total["jobs"] += 1
        total["elapsed"] += elapsed if ran else 0
        total["wait"] += wait if wait is not None and 0 <= wait < TOO_LONG else 0
        total["req_limit"] += limit or 0
        if ran and limit:
            total["accuracy"] += min(elapsed * 1_000_000 // limit, 10**9)
        for name, size in (("node", nodes), ("cpu", cpus), ("gpu", gpus)):
            known = size is not None and 0 <= size <= MOST
            total[f"{name}s_known"] += known
            total[f"{name}_seconds"] += elapsed * size if ran and known else 0
            if name != "node":
                total[f"{name}_seconds_unused"] += max(0, limit - elapsed) * size if ran and limit and known else 0
    return total, left_out(db, selection, len(rows))


@pytest.mark.parametrize("seed", range(3))
def test_after_any_sequence_of_acts_the_rollups_say_what_the_rows_say(db: sqlite3.Connection, seed: int) -> None:
    pick = random.Random(seed)
    for _ in range(25):
        act(db, pick)
        assert rollup.check(db) == (0, 0)
        chosen, limits = some_filter(pick), pick.random() < 0.6
        answer = read.sums(db, chosen, limits=limits)
        assert answer is not None
        total, excluded = from_rows(db, chosen, limits)
        assert answer.groups.get((), dict.fromkeys(SUMS, 0)) == total
        assert answer.excluded == excluded


@pytest.mark.parametrize("what", ["elapsed", "accuracy"])
def test_a_quantile_lies_in_the_bin_that_the_rollups_name(db: sqlite3.Connection, what: str) -> None:
    import numpy as np

    pick = random.Random(what)
    rows = [
        job(n, elapsed=pick.randrange(5 * HOUR), eligible_time=MONDAY + n * 60 - pick.randrange(9000))
        for n in range(3, 60)
    ]
    with transaction(db):
        JobLoad(db, COLUMNS, "slurmdbd").put([values(one) for one in rows])
    chosen = Filter(checkpoint_code=85)
    summed = read.sums(db, chosen, limits=True, counts=(what,))
    assert summed is not None
    histogram = read.binned(read.by_bin(summed.groups[()], what), what)
    value = {"accuracy": "elapsed * 100.0 / req_limit"}.get(what, what)
    selection = select(chosen, limits=True)
    every = [v for (v,) in db.execute(f"SELECT {value} FROM run WHERE {selection.where}", selection.params)]
    known = [v for v in every if v is not None]
    assert (sum(count for _, _, count in histogram.bins), histogram.unknown) == (len(known), len(every) - len(known))
    for share in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1):
        found = histogram.quantile(share)
        assert found is not None
        exact = float(np.quantile(known, share))
        above, upto = found
        assert (above is None or above < exact) and (upto is None or exact <= upto), (share, exact, found)


@pytest.mark.parametrize(
    ("changes", "answered", "why"),
    [
        ({}, True, "the study's selection"),
        ({"states": ()}, True, "the state is a part of the key"),
        ({"min_elapsed": 0}, True, "an edge of a key's bin"),
        ({"min_elapsed": 300}, False, "an edge of the counts alone"),
        ({"min_elapsed": 45}, False, "no edge of a bin"),
        ({"since": MONDAY + 1}, True, "the nearer part of a month is read from the rows"),
        ({"until": 253402300799}, False, "the last second that has a month"),
    ],
)
def test_what_the_rollups_cannot_answer_they_leave_to_the_rows(
    db: sqlite3.Connection, changes: dict[str, Any], answered: bool, why: str
) -> None:
    chosen = Filter(**changes, checkpoint_code=85)
    assert (read.sums(db, chosen, limits=True) is not None) is answered, why


def test_a_trace_that_keeps_none_and_one_as_of_then_have_no_answer(db: sqlite3.Connection, tmp_path: Path) -> None:
    chosen = Filter(checkpoint_code=85)
    with connect.reader(tmp_path / "trace.db", as_of=MONDAY + 3 * HOUR) as then:
        assert read.sums(then, chosen, limits=True) is None
    rollup.drop(db)
    assert read.sums(db, chosen, limits=True) is None
    assert not db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'job'").fetchall()


def test_a_window_is_whole_months_and_the_nearer_part_of_one_at_each_end() -> None:
    pick = random.Random(1)
    assert read.pieces(None, None) == [("", True, None, None)]
    for _ in range(300):
        since = pick.choice((None, MONDAY + pick.randrange(-90 * DAY, 0)))
        until = pick.choice((None, MONDAY, MONDAY + pick.randrange(-90 * DAY, 90 * DAY)))
        found = read.pieces(since, until, pick.random() < 0.5)
        if since is not None and until is not None and since >= until:
            assert not found
            continue
        for at in (MONDAY + pick.randrange(-120 * DAY, 120 * DAY) for _ in range(50)):
            times = sum(
                -1 if sign else 1
                for sign, _, low, high in found
                if (low is None or low <= at) and (high is None or at < high)
            )
            assert times == ((since is None or since <= at) and (until is None or at < until)), "once, or not at all"
        for _, months, low, high in found:
            starts = [datetime.fromtimestamp(at, UTC) for at in (low, high) if at is not None]
            assert not months or all((at.day, at.hour, at.minute, at.second) == (1, 0, 0, 0) for at in starts)
            assert months or (low is not None and high is not None and high - low <= 31 * DAY)


@pytest.mark.parametrize(
    ("few", "since", "why"),
    [
        (read.FEW, MONDAY + HOUR, "few runs ended later: they are taken away from the whole month"),
        (1, MONDAY // DAY * DAY - 4 * DAY, "many did: the nearer part of the month is read"),
    ],
)
def test_of_the_month_of_a_window_until_now_only_later_runs_are_read(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, few: int, since: int, why: str
) -> None:
    said = list[str]()
    monkeypatch.setattr(read, "FEW", few)
    db.execute("UPDATE job SET end_time = ?", (MONDAY + 2 * HOUR,))
    db.set_trace_callback(said.append)
    found = read.sums(db, Filter(until=MONDAY + HOUR, states=(), min_elapsed=0, checkpoint_code=85), limits=False)
    assert found is not None and not found.groups
    assert any(f"SELECT * FROM run WHERE end_time >= {since}" in one for one in said), why


def test_a_check_finds_what_somebody_changed_by_hand(db: sqlite3.Connection) -> None:
    db.execute(
        "UPDATE ended_month SET jobs = jobs + 1 WHERE (month, key) IN (SELECT month, key FROM ended_month LIMIT 1)"
    )
    assert rollup.check(db) == (1, 1)
    rollup.rebuild(db, MONDAY)
    assert rollup.check(db) == (0, 0)
