"""A report whose window is given opens the files of that time, and no others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import adminkit
from adminkit.reports.catalogue import SPECS
from adminkit.trace import connect
from adminkit.trace.months import archived, edges, place
from tests.support import archive
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.months import keep

pytest.importorskip("duckdb")
MONTHS = [f"2026-{month:02}" for month in range(1, 9)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight months of runs of every kind; the first six are archived, all have files."""
    pick = random.Random(3)
    runs = []
    for number in range(8 * 30 * 24 // 5):
        at, waited, ran = MONDAY + number * 5 * HOUR, pick.choice((0, 700)), pick.randrange(70, 4 * HOUR)
        runs.append(
            job(
                number, submit_time=at, eligible_time=at, start_time=at + waited, end_time=at + waited + ran,
                elapsed=ran, user=f"user{number % 5}", gpus=pick.choice((0, 1, 4)), node_list="gpu001",
                state=pick.choice(("COMPLETED", "TIMEOUT", "FAILED")),
            )
        )  # fmt: skip
    made = make_trace(tmp_path_factory.mktemp("few") / "trace.db", runs)
    with connect.writer(made) as db:
        db.execute(
            "INSERT INTO node (cluster, node, since, present, cpus, gpus, mem, queues)"
            " VALUES ('aaic', 'gpu001', ?, 1, 64, 8, 1 << 40, 'gq')",
            (MONDAY,),
        )
    assert {one.why for one in archive.archive(made, 6)} == {None}
    keep(made, archive.END)
    with connect.reader(made) as db:
        assert [one.month for one in archived.months(db)] == MONTHS[:6]
    return made


@contextmanager
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The archived months of which a file is opened meanwhile."""
    months: set[str] = set()
    before = place.opened

    def counted(trace: Path, wanted: Any) -> Any:
        months.update(one.month for one in wanted if one.name in archived.NAMES)
        return before(trace, wanted)

    with monkeypatch.context() as patch:
        patch.setattr(place, "opened", counted)
        yield months


#: Reports about runs that started or were submitted in the window, which may have ended after it; and those that tell
#: how many runs have no place in any window.
LATER = ("arrivals", "wait", "waste")
EVERY = ("restarts", "utilization")


@pytest.mark.parametrize("name", [spec.name for spec in SPECS if spec.name not in EVERY])
@pytest.mark.parametrize(
    ("since", "until", "months"),
    [
        ("2026-08-01", None, []),
        ("2026-03-01", "2026-04-01", MONTHS[2:3]),
        ("2026-03-10", "2026-04-10", MONTHS[2:4]),
    ],
)
def test_only_archived_months_of_the_window_are_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str, since: str, until: str | None, months: list[str]
) -> None:
    with opened(monkeypatch) as found:
        adminkit.open(path).report(name, since=since, **({"until": until} if until else {}))
    if name in LATER and months:
        months = MONTHS[MONTHS.index(months[0]) - (name == "arrivals") : 6]  # and whether anything came before
    assert found <= set(months)


@pytest.mark.parametrize("word", [{"queue": ["gq"]}, {"user": ["user3"]}, {"cluster": ["aaic"]}])
def test_a_word_is_known_without_the_archive_where_sqlite_has_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, word: dict[str, list[str]]
) -> None:
    with opened(monkeypatch) as found:
        adminkit.open(path).report("accuracy", since="2026-08-01", **word)  # type: ignore[arg-type]
    assert found == set()


def test_no_file_is_opened_for_what_the_tables_say(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect.reader(path) as db, opened(monkeypatch) as found:
        runs = edges.count(db), edges.span(db), edges.clusters(db), edges.has_steps(db), edges.last_end(db)
    assert found == set()
    with connect.reader(path) as db:
        every = "SELECT count(*), min(end_time), max(end_time) FROM run"
        many, first, last = db.execute(every).fetchone()
    assert runs == (many, (first, last), ["aaic"], False, last)
