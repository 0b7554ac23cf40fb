"""The page by two threads is the page by one, and what fails in one of them ends both."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from adminkit.config import Config
from adminkit.render.html_document import document_page
from adminkit.reports import page_work
from adminkit.reports.page import Asked, page
from adminkit.sqlite import sqlite3
from adminkit.trace import connect
from tests.support.builders import HOUR, MONDAY, make_trace
from tests.support.months import keep
from tests.support.reports import QUEUES, some_jobs

NOW = MONDAY + 20 * 24 * HOUR


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pytest.importorskip("duckdb")
    made = make_trace(tmp_path / "trace.db", some_jobs(), QUEUES)
    assert {one.why for one in keep(made)} == {None}
    return made


def test_two_threads_make_the_same_page(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages, threads = [], set()
    give_back = page_work.give_back
    monkeypatch.setattr(page_work, "give_back", lambda: (threads.add(threading.get_ident()), give_back()))
    for cores in ({0}, {0, 1}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: cores)
        threads.clear()
        ticks: list[tuple[int, int]] = []
        made = page(path, Config(), Asked(NOW), tick=lambda done, of, ticks=ticks: ticks.append((done, of)))
        assert made.failures == [] and len(threads) <= len(cores)
        assert [done for done, _ in ticks] == [*range(1, ticks[0][1] + 1)]
        pages.append(document_page(made.document, None))
    assert pages[0] == pages[1]


@pytest.mark.parametrize("own", [True, False], ids=["the first thread", "the second one"])
def test_what_fails_in_one_thread_ends_both(path: Path, monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    monkeypatch.setattr(page_work, "for_two", lambda _: True)
    first, made, both = threading.get_ident(), list[int](), threading.Barrier(2, timeout=60)

    def part(db: sqlite3.Connection) -> None:
        both.wait()
        if (threading.get_ident() == first) == own:
            raise ValueError("its fault")

    def later(db: sqlite3.Connection) -> None:
        time.sleep(0.01)

    with connect.reader(path) as db, pytest.raises(ValueError, match="its fault"):
        page_work.made(db, lambda: connect.reader(path), [part, part, *[later] * 1000], made.append)
    assert len(made) < 1000, "the other one goes no further"
    assert not [one for one in threading.enumerate() if one.name == page_work.NAME]


def test_the_second_thread_needs_files_and_a_core(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with connect.reader(path) as db:
        assert page_work.for_two(db)
        monkeypatch.setenv("ADMINKIT_MONTHS_THREADS", "1")
        assert not page_work.for_two(db)
        monkeypatch.delenv("ADMINKIT_MONTHS_THREADS")
        monkeypatch.setattr(page_work, "is_root_as_owner", lambda: True)
        assert not page_work.for_two(db), "ids are those of the whole process"
    without = make_trace(path.with_name("without.db"), some_jobs(), QUEUES)
    with connect.reader(without) as db:
        assert not page_work.for_two(db)
