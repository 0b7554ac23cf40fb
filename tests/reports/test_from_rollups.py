"""A report from the rollups says what it says from the rows: every count and sum, and of a quantile its bin."""

from __future__ import annotations

import math
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

import adminkit
from adminkit.config import Config
from adminkit.messages import Message
from adminkit.render.report import Cell, Field, Heat, Meta, Report, Within
from adminkit.render.text import as_csv, markdown
from adminkit.reports import accuracy
from adminkit.reports.answer import ROLLED_UP, answer
from adminkit.reports.catalogue import SPECS
from adminkit.reports.spec import Query, ReportOptions, ReportSpec
from adminkit.stats import from_rollups
from adminkit.stats.accuracy import Wanted
from adminkit.stats.select import Filter
from adminkit.trace import rollup
from adminkit.trace.rollup_row import DAY
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.reports import HOSTILE, query
from tests.support.rollups import act, some_filter
from tools.docs import DOCS

#: tests/stats/test_occupied.py has utilization, of which no window may be too long.
ROLLED: Final = [spec for spec in SPECS if spec.from_rollups and spec.name != "utilization"]
#: What the rollups do not hold, or not always.
UNHELD: Final = {
    "accuracy": {"std", "share_maximum", "share_default"},
    "states": {
        "cancelled_by_user", "cancelled_by_others", "cancelled", "never_started",
        "wrong_parameters", "system_failure", "other_ends",
    },
    "users": set[str](),
    "wait": set[str](),
}  # fmt: skip
JANUARY: Final = MONDAY - 4 * DAY  # 2026-01-01
QUEUES: Final = [("aaic", "gq", 0, HOUR, 4 * HOUR), ("aaic", HOSTILE, 0, 8 * HOUR, None)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2, state="FAILED", exit_code=1)], QUEUES)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
    return path


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def asked(spec: ReportSpec[Any], chosen: Filter, pick: random.Random) -> Query:
    chosen = replace(chosen, min_elapsed=60) if chosen.min_elapsed is None else chosen
    chosen = replace(chosen, states=(), min_elapsed=-1) if spec.every_end else chosen
    if spec.name == "wait":
        since, until = pick.choice(((None, None), (JANUARY, None), (None, JANUARY), (JANUARY - 31 * DAY, JANUARY)))
        chosen = replace(chosen, since=since, until=until, users=(), limit_source=None, acting=False)
    own = {"accuracy": {"points": pick.choice((None, "1h,90m"))}, "wait": {"req_limit": None, "gpus": None}}
    given = query(chosen, pick.choice(spec.parts or [""]), **own.get(spec.name, {}))
    return replace(given, pictures=pick.random() < 0.5)


def agrees(exact: Cell, rolled: Cell) -> bool:
    if isinstance(rolled, Within) and isinstance(exact, (int, float)):
        return rolled.value - rolled.error - 1e-9 <= exact <= rolled.value + rolled.error + 1e-9 or (
            math.isinf(rolled.error) and exact > rolled.value
        )
    if isinstance(exact, float) and isinstance(rolled, (int, float)):
        return math.isclose(exact, rolled, rel_tol=1e-9, abs_tol=1e-4)  # accuracies are kept in millionths
    return exact == rolled


@pytest.mark.parametrize("acts", [40, pytest.param(600, marks=pytest.mark.soak)])
@pytest.mark.parametrize("spec", ROLLED, ids=[spec.name for spec in ROLLED])
def test_after_any_sequence_of_acts_a_report_says_what_the_rows_say(
    db: sqlite3.Connection, spec: ReportSpec[Any], acts: int
) -> None:
    pick = random.Random(spec.name)
    told = 0
    for _ in range(acts):
        act(db, pick)
        # More CPUs than exist are unknown in the rollups alone.
        db.execute("UPDATE job SET cpus = 16 WHERE cpus > 1000")
        given = asked(spec, some_filter(pick), pick)
        assert spec.from_rollups is not None
        measured = spec.from_rollups(db, given)
        if measured is None:  # a curve ends in the bin that has no end
            continue
        rolled, exact = spec.view(measured, given), spec.view(spec.measure(db, given), given)
        assert replace(rolled.meta, notes=()) == replace(exact.meta, notes=())
        assert rolled.fields == exact.fields
        if given.by == "point" and not given.own["points"]:
            continue  # other points of the same curve
        assert [row[:2] for row in rolled.rows] == [row[:2] for row in exact.rows]
        for ours, theirs in zip((*rolled.rows, *rolled.totals), (*exact.rows, *exact.totals), strict=True):
            for field, one, other in zip(rolled.fields, ours, theirs, strict=True):
                told += other is not None
                unheld = field.name in UNHELD[spec.name] and (one is None or field.name == "cancelled")
                assert unheld or agrees(other, one), (field.name, one, other)
    assert told > 5 * acts


def test_a_curve_has_the_exact_shares_at_the_edges_of_the_bins(tmp_path: Path) -> None:
    jobs = [job(number, elapsed=elapsed) for number, elapsed in enumerate((90, 100, 600, 601, 3 * HOUR), start=1)]
    trace = make_trace(tmp_path / "trace.db", jobs)
    given = query(Filter(checkpoint_code=85), "point", points=None)
    with closing(sqlite3.connect(trace, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        measured = from_rollups.accuracy(db, given.filter, MONDAY, Wanted(curves=True))
    assert measured is not None
    report = accuracy.SPEC.view(measured, given)
    ran = [(row[2], row[3]) for row in report.rows if row[1] == "ran"]
    assert ran == [(120, 0.4), (600, 0.6), (900, 0.8), (3 * HOUR, 1.0)]
    assert report.pictures is not None


@pytest.mark.parametrize(
    ("waits", "title", "beside", "values"),
    [
        (
            (400, 700),
            "Half of the jobs start within 10 min, 90 % within 15 min",
            "1 GPU: within 10 min for up to 1 h, within 15 min for up to 4 h",
            [450, 750],
        ),
        (
            (0, 31 * DAY),
            "Half of the jobs start within 0 s",
            "1 GPU: within 0 s for up to 1 h, 720 h or longer for up to 4 h",
            [0, 30 * DAY],
        ),
        (
            (31 * DAY, 40 * DAY),
            "Half of the jobs wait 720 h or longer",
            "1 GPU: 720 h or longer for up to 1 h, 720 h or longer for up to 4 h",
            [30 * DAY, 30 * DAY],
        ),
    ],
)
def test_pictures_of_waits_name_the_upper_end_of_a_bin_and_show_its_middle(
    tmp_path: Path, waits: tuple[int, int], title: str, beside: str, values: list[float]
) -> None:
    jobs = [
        job(40 * which + n, eligible_time=MONDAY + (40 * which + n) * 60 - wait, time_limit=(1, 4)[which] * HOUR)
        for which, wait in enumerate(waits)
        for n in range(40 - which)
    ]
    given = query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), "queue", req_limit=None, gpus=None)
    (spec,) = (spec for spec in SPECS if spec.name == "wait")
    with closing(sqlite3.connect(make_trace(tmp_path / "trace.db", jobs), isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        assert spec.from_rollups
        pictures = spec.view(spec.from_rollups(db, given), given).pictures
    assert pictures
    (heat,) = pictures.panels
    assert isinstance(heat, Heat)
    assert (pictures.title, heat.subtitle, heat.values) == (title, beside, [values])
    assert "the middle of its bin" in pictures.caption
    assert isinstance(pictures.title, Message) and isinstance(pictures.caption, Message)
    assert isinstance(heat.subtitle, Message)


@pytest.mark.parametrize(
    ("name", "options", "rolled", "why"),
    [
        ("accuracy", {}, True, "the study's selection"),
        ("accuracy", {"states": "all", "min_elapsed": "0"}, True, "states are in the key, and who ran at all"),
        ("accuracy", {"min_elapsed": "45"}, False, "no edge of a bin"),
        ("accuracy", {"since": f"@{MONDAY + 60}"}, True, "a part of a month is read from the rows"),
        ("accuracy", {"min_elapsed": "5m"}, False, "an edge of the counts alone"),
        ("accuracy", {"own": {"points": "1h"}}, True, "a point at an edge"),
        ("accuracy", {"own": {"points": "70m"}}, False, "a point within a bin"),
        ("accuracy", {"exact": True}, False, "--exact"),
        ("states", {}, True, "every end"),
        ("states", {"exact": True}, False, "--exact"),
        ("users", {}, True, "the study's selection"),
        ("users", {"exact": True}, False, "--exact"),
        ("utilization", {}, True, "by hour"),
        ("utilization", {"user": ["ada"]}, False, "no user is in the rollup by hour"),
        ("utilization", {"exact": True}, False, "--exact"),
        ("wait", {}, True, "by the month of the start"),
        ("wait", {"by": "hour"}, False, "the hour of the day is of the rows"),
        ("wait", {"own": {"req_limit": "4h", "gpus": None}}, False, "--limit draws days"),
        ("wait", {"since": f"@{MONDAY}"}, False, "a month that is cut"),
        ("wait", {"exact": True}, False, "--exact"),
    ],
)
def test_what_was_read_stands_in_a_note(path: Path, name: str, options: dict[str, Any], rolled: bool, why: str) -> None:
    (spec,) = (spec for spec in SPECS if spec.name == name)
    report = answer(spec, ReportOptions(**options), path, Config(), MONDAY + 9 * HOUR)
    assert (ROLLED_UP in report.meta.notes) is rolled, why


def test_exact_is_a_keyword_of_the_reports_that_read_rollups(path: Path, no_settings: None) -> None:
    trace = adminkit.open(path)
    assert trace.report("accuracy")["median_error"].tolist() == [pytest.approx(0.025)]
    exact = trace.report("accuracy", exact=True)
    assert ("median_error" in exact, exact["median"].tolist()) == (False, [0.25])
    with pytest.raises(adminkit.errors.UsageError, match="no such option of waste: exact"):
        trace.report("waste", exact=True)


SHOWN: Final = Report(
    Meta.plain("Bins", ()),
    (Field("queue"), Field("median", "ratio"), Field("wait", "duration"), Field("jobs", "count")),
    [["gq", Within(0.275, 0.025), Within(450, 150), 3], ["cpu", Within(1.0, math.inf), None, 2], ["debug", 0.5, 60, 1]],
)


def test_people_see_the_bin_and_programs_the_middle_and_the_error() -> None:
    assert markdown(SHOWN, None).splitlines()[-3:] == [
        "| gq | 0.250-0.300 | 00:05:00-00:10:00 | 3 |",
        "| cpu | &gt;= 1.000 | - | 2 |",
        "| debug | 0.500 | 00:01:00 | 1 |",
    ]
    assert as_csv(SHOWN).splitlines() == [
        "queue,median,median_error,wait,wait_error,jobs",
        "gq,0.275,0.025,450,150,3",
        "cpu,1.0,,,,2",
        "debug,0.5,0,60,0,1",
    ]
    assert SHOWN.records()[1] == {
        "queue": "cpu", "median": 1.0, "median_error": None, "wait": None, "wait_error": None, "jobs": 2,
    }  # fmt: skip
    assert SHOWN.to_frame()["wait_error"].tolist()[::2] == [150, 0]


def test_the_page_says_which_report_reads_what() -> None:
    page = (DOCS / "trace.md").read_text()
    table = re.findall(
        r"^\| ([a-z, -]+) \| (.+?) \| .+ \|$", page.partition("| report | from rollups |")[2], re.MULTILINE
    )
    said = {name: held != "–" for names, held in table for name in names.split(", ")}
    assert {spec.name: spec.from_rollups is not None for spec in SPECS}.items() <= said.items()
