"""Memory in letters: names that ask for far more than they use, and a size after a run had too little."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job, Step
from adminkit.messages import LANGUAGES
from tests.feedback.letters import DAY, GIB, NEXT_MONDAY, due, end, run, write
from tests.support.builders import HOUR
from tests.support.uses import make_used, step_of

FAR = 200 * GIB
Ran = tuple[Job, list[Step]]


def fit(number: int, used: int | None = None, **changes: Any) -> Ran:
    """The `number`th last run, half a day before the next; with 200 GiB of which it used 8 to 12."""
    given = {"job_name": "fit_tree", "mem": FAR, "req_mem": FAR, "time_limit": 2 * HOUR, **changes}
    one = run(number, NEXT_MONDAY - number * DAY // 2, HOUR, **given)
    peak = (8 + number % 5) * GIB if used is None else used
    return one, [step_of(one, nodes=1, tasks=1, max_rss=peak)] if peak else []


def trace(path: Path, runs: Sequence[Ran]) -> Path:
    return make_used(path / "t.db", [one for one, _ in runs], [step for _, steps in runs for step in steps])


def text(path: Path, *dues: Any) -> str:
    (letter,) = write(path, *dues)
    return " ".join(letter.text.split())


HISTORY = [fit(n) for n in range(1, 41)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_digest_names_what_asks_for_far_more_memory_than_it_uses(
    tmp_path: Path, golden: Callable[[str, str], None], language: str
) -> None:
    other = [fit(100 + n, 190 * GIB, job_name="needs_it") for n in range(1, 41)]
    (letter,) = write(trace(tmp_path, [*HISTORY, *other]), due("digest", language))
    golden(f"letters/digest-memory-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
    golden(f"letters/digest-memory-{language}.html", letter.html)


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([fit(n, 0) for n in range(1, 41)], "no peak is known"),
        ([fit(n, 190 * GIB) for n in range(1, 41)], "they need it"),
        ([fit(n, mem=20 * GIB, req_mem=20 * GIB) for n in range(1, 41)], "less than 8 GiB too much"),
        ([fit(n) for n in range(1, 10)], "too few runs"),
        ([fit(n, source="file") for n in range(1, 41)], "rows that count for no letter"),
        ([fit(n, state="OUT_OF_MEMORY" if n % 4 == 0 else "COMPLETED") for n in range(1, 41)], "too often too small"),
    ],
)
def test_a_digest_says_nothing_of_memory_where_nothing_is_known_to_help(
    tmp_path: Path, runs: list[Ran], why: str
) -> None:
    assert "--mem=" not in text(trace(tmp_path, runs), due("digest")), why


def test_a_digest_names_at_most_three_the_largest_first(tmp_path: Path) -> None:
    many = [
        fit(100 * size + n, job_name=f"n{size}", mem=size * 50 * GIB, req_mem=size * 50 * GIB)
        for size in range(1, 5)
        for n in range(1, 41)
    ]
    said = text(trace(tmp_path, _together(many)), due("digest"))
    assert [said.index(f"n{size} It asks for {size * 50} GiB") for size in (4, 3, 2)] == sorted(
        said.index(f"n{size} It asks") for size in (4, 3, 2)
    )
    assert "n1 It asks" not in said


def test_one_users_letter_says_nothing_of_anothers_memory(tmp_path: Path) -> None:
    theirs = [fit(n, user="bob", uid=1002) for n in range(1, 41)]
    ours = [fit(100 + n, 190 * GIB) for n in range(1, 41)]
    assert "--mem=" not in text(trace(tmp_path, [*theirs, *_together(ours)]), due("digest"))


def _together(runs: Sequence[Ran]) -> list[Ran]:
    """The same runs in the last weeks, whatever their numbers."""
    found = []
    for one, steps in runs:
        number = int(one.job_id_raw or 0)
        moved, new = fit(number % 100, (steps[0].max_rss or 0) if steps else 0, job_name=one.job_name, mem=one.mem,
                         req_mem=one.req_mem)  # fmt: skip
        moved = replace(moved, job_id=one.job_id, job_id_raw=one.job_id_raw)
        found.append((moved, [replace(step, job_id_raw=one.job_id_raw) for step in new]))
    return found


def test_a_run_that_ran_out_of_memory_is_given_a_size_and_its_risk(tmp_path: Path) -> None:
    killed = fit(0, 0, state="OUT_OF_MEMORY", mem=10 * GIB, req_mem=10 * GIB)
    path = trace(tmp_path, [*HISTORY, killed])
    said = text(path, end(killed[0]))
    assert "#SBATCH --mem=16G" in said
    assert "Next time, ask for 16 GiB: judging by" in said and "that is too little for" in said


def test_without_enough_runs_it_is_what_earlier_runs_used_or_had(tmp_path: Path) -> None:
    killed = fit(0, 0, state="OUT_OF_MEMORY", mem=10 * GIB, req_mem=10 * GIB)
    said = text(trace(tmp_path, [*HISTORY[:3], killed]), end(killed[0]))
    assert "#SBATCH --mem=" in said and "judging by" not in said


def test_a_size_that_no_node_has_is_not_named(tmp_path: Path) -> None:
    killed = fit(0, 0, state="OUT_OF_MEMORY", mem=10 * GIB, req_mem=10 * GIB)
    path = trace(tmp_path, [*HISTORY, killed])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO queue (cluster, queue, since, max_limit) VALUES ('aaic', 'gq', 0, 259200)")
        db.execute(
            "INSERT INTO node (cluster, node, since, present, mem, queues) VALUES ('aaic', 'n1', 0, 1, ?, 'gq')",
            (12 * GIB,),
        )
    said = text(path, end(killed[0]))
    assert "--mem=12G" in said and "all that a node of the queue gq has" in said
