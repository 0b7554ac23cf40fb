"""Reports as text: golden files, and what no format may let through."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC
from pathlib import Path

import pytest

from adminkit.quote import clean
from adminkit.render import text
from adminkit.render.report import Cell, Field, Meta, Report, Style
from adminkit.reports.catalogue import SPECS
from adminkit.stats.select import Filter
from tests.conftest import GOLDEN
from tests.support.builders import HOUR, MONDAY, job
from tests.support.reports import (
    HOSTILE,
    REVIEWED,
    accuracy_of,
    parallelism_of,
    pieces_of,
    restarts_of,
    some_chains,
    some_jobs,
)
from tools.docs import DOCS


def table(report: Report, width: int | None = None, *, colour: bool = False, ascii_only: bool = False) -> str:
    return text.table(report, UTC, width, colour=colour, ascii_only=ascii_only)


FORMATS: list[tuple[str, Callable[[Report], str]]] = [
    ("txt", table),
    ("json", text.as_json),
    ("csv", text.as_csv),
    ("md", lambda report: text.markdown(report, UTC)),
]


@pytest.mark.parametrize("name", [*(spec.name for spec in SPECS), "states-node"])
@pytest.mark.parametrize(("which", "ending"), [(0, ""), (1, "-empty")], ids=["all it can say", "an empty trace"])
def test_each_format_of_every_report_is_as_reviewed(
    tmp_path: Path, goldens: Callable[[Mapping[str, str]], None], name: str, which: int, ending: str
) -> None:
    report = REVIEWED[name][which](tmp_path)
    goldens({f"{name}{ending}.{suffix}": shown(report) for suffix, shown in FORMATS})


@pytest.mark.parametrize("name", ["restarts.txt", "restarts-1.txt"])
def test_the_page_on_restarts_shows_what_was_reviewed(name: str) -> None:
    assert f"```\n{(GOLDEN / name).read_text()}```\n" in (DOCS / "reports" / "restarts.md").read_text()


@pytest.mark.parametrize("job_id", ["1", "2"])
def test_the_runs_of_one_job_are_as_reviewed(
    tmp_path: Path, goldens: Callable[[Mapping[str, str]], None], job_id: str
) -> None:
    report = pieces_of(tmp_path, some_chains(), job_id)
    goldens({f"restarts-{job_id}.{suffix}": shown(report) for suffix, shown in FORMATS})


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_table_keeps_to_its_width_and_cuts_no_column(tmp_path: Path, width: int) -> None:
    shown = table(accuracy_of(tmp_path, some_jobs()), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    for name in ("median", "cpu_hours_unused", "share_default"):
        assert name in shown


@pytest.mark.parametrize(
    ("style", "values", "shown", "why"),
    [
        ("text", ["a", "a"], False, "one text"),
        ("text", ["a", "b"], True, "two texts"),
        ("text", ["a"], False, "one row"),
        ("count", [0, 0], False, "zero in each row"),
        ("count", [0, None], False, "zero or unknown"),
        ("count", [3, 3], True, "the same number, which says something"),
        ("hours", [0.0, 0.5], True, "one that is not zero"),
    ],
)
def test_a_quiet_column_is_shown_where_it_says_something(
    style: Style, values: list[Cell], shown: bool, why: str
) -> None:
    fields = (Field("number", "count"), Field("quiet", style, quiet=True))
    report = Report(Meta.plain("x", []), fields, [[1, value] for value in values])
    assert ("quiet" in table(report)) == shown, why
    assert '"quiet"' in text.as_json(report), why


def test_a_terminal_without_unicode_gets_ascii(tmp_path: Path) -> None:
    assert table(accuracy_of(tmp_path, some_jobs()), 80, ascii_only=True).isascii()


def test_colours_are_only_for_terminals(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, some_jobs())
    assert "\x1b" in table(report, colour=True)
    assert "\x1b" not in table(report)


def test_one_job_has_a_dash_for_its_deviation_and_null_in_json(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, [job(1)])
    assert json.loads(text.as_json(report))["rows"][0]["std"] is None
    row = next(line for line in table(report).splitlines() if line.startswith("gq "))
    assert row.split()[5] == "-"


def test_json_is_one_object_whose_rows_are_keyed_by_column(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, some_jobs())
    shown = json.loads(text.as_json(report), parse_constant=pytest.fail)
    assert list(shown) == ["meta", "rows", "curves"]
    assert [row["queue"] for row in shown["rows"]] == ["gq", "gq-short", "debug", "(all)", "(mean of queues)"]
    assert list(shown["rows"][0])[:7] == ["queue", "jobs", "min", "max", "mean", "std", "median"]
    assert shown["meta"]["excluded"]["limit_unlimited"] == 1
    assert [queue["queue"] for queue in shown["curves"]] == ["gq", "gq-short", "debug"]
    assert shown["curves"][2]["ran"] == {"seconds": [90], "share": [1.0]}


def test_csv_holds_the_same_values(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, some_jobs())
    rows = list(csv.DictReader(io.StringIO(text.as_csv(report))))
    assert [row["jobs"] for row in rows] == [str(r["jobs"] or "") for r in report.records()]
    assert rows[0]["mean"] == repr(report.rows[0][4])


@pytest.mark.parametrize(
    ("cell", "written", "why"),
    [
        ('=HYPERLINK("http://x",1)', '\'=HYPERLINK("http://x",1)', "a formula"),
        ("+1+cmd|' /C calc'!A1", "'+1+cmd|' /C calc'!A1", "a number that goes on"),
        ("-2-3", "'-2-3", "a difference"),
        ("@SUM(A1)", "'@SUM(A1)", "a function"),
        ("\uff1d1", "'\uff1d1", "full width, which some take for the same"),
        ("\t=1", "\\t=1", "behind a tab, which is an escape here"),
        ("-2.38", "-2.38", "an amount"),
        ("+5", "+5", "a number"),
        ("-", "-", "a dash"),
        ("a=1", "a=1", "not at its beginning"),
        (-3, "-3", "a number that is one"),
    ],
)
def test_no_text_in_a_csv_is_a_formula(cell: str | int, written: str, why: str) -> None:
    report = Report(Meta.plain("t", []), [Field("x")], [[cell]])
    assert list(csv.reader(io.StringIO(text.as_csv(report)))) == [["x"], [written]], why
    assert json.loads(text.as_json(report))["rows"] == [{"x": cell}], "for programs it is as it is"
    exact = Report(Meta.plain("t", []), [Field("x", exact=True)], [["=1"]])
    assert text.as_csv(exact) == "x\n=1\n"


def test_queues_of_one_name_on_two_clusters_are_told_apart(tmp_path: Path) -> None:
    jobs = [job(1), job(2, cluster="other")]
    both, one = accuracy_of(tmp_path, jobs), accuracy_of(tmp_path, jobs[:1])
    assert "cpu_hours_unused  cluster\n" in table(both)
    assert [line.split()[-1] for line in table(both).splitlines() if line.startswith("gq ")] == ["aaic", "other"]
    assert "cpu_hours_unused\n" in table(one)


@pytest.mark.parametrize(("suffix", "shown"), FORMATS)
def test_a_hostile_queue_name_stays_text(tmp_path: Path, suffix: str, shown: Callable[[Report], str]) -> None:
    found = shown(
        accuracy_of(tmp_path, [job(1, queue=HOSTILE, cluster=HOSTILE)], Filter(queues=[HOSTILE], checkpoint_code=85))
    )
    if suffix == "csv":
        assert next(csv.DictReader(io.StringIO(found)))["queue"] == clean(HOSTILE)
    assert "\x1b" not in found
    assert "\u202e" not in found
    if suffix == "csv":
        assert len(found.splitlines()) == len(list(csv.reader(io.StringIO(found)))), "a line for each row"
    elif suffix == "json":
        assert json.loads(found)["rows"][0]["queue"] == HOSTILE
    elif suffix == "md":
        assert "<script>" not in found
        rows = [line for line in found.splitlines() if line.startswith("|")]
        assert {row.replace("\\|", "").count("|") for row in rows} == {rows[0].count("|")}
    else:
        assert "\\x1b[31m`x`\\n*red*\\u202e" in found
        assert "[bold]" in found


def test_a_queue_without_a_name_is_shown(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, [job(1, queue=None, elapsed=HOUR)])
    assert report.records()[0]["queue"] is None
    assert report.pictures is not None
    assert "(no queue)" in report.pictures.panels[0].title


def test_header_lines_say_where_when_and_what_was_left_out(tmp_path: Path) -> None:
    lines = text.header_lines(accuracy_of(tmp_path, some_jobs()).meta, UTC).splitlines()
    assert lines[1] == "database  /var/lib/adminkit/trace.db"
    assert any(line.startswith("left out  state 1; elapsed 1; checkpoint 1; limit unlimited 1") for line in lines)


def test_what_is_not_known_is_never_called_none(tmp_path: Path) -> None:
    """Runs of which a trace knows as little as may be: an import of a few columns, a row without its queue."""
    unknown = dict.fromkeys(("user", "uid", "account", "queue", "nodes", "cpus", "gpus", "job_name", "job_id"))
    jobs = [job(number, **unknown) for number in (1, 2)]
    jobs += [job(3, **unknown, state=None, elapsed=None, time_limit=None, limit_kind="unknown")]
    jobs += [job(4, **unknown, state="REQUEUED"), job(5, **unknown, ckpt_at=MONDAY, ckpt_heard=None, ckpt_requeues=1)]
    for place, made in enumerate((accuracy_of, parallelism_of, restarts_of)):
        (tmp_path / str(place)).mkdir()
        report = made(tmp_path / str(place), jobs)
        for name, shown in FORMATS:
            assert "None" not in shown(report), (made.__name__, name)


def test_the_note_on_queues_without_a_maximum_names_what_has_no_queue(tmp_path: Path) -> None:
    report = accuracy_of(tmp_path, [job(1, queue=None), job(2, queue="debug")])
    assert "share_maximum is empty where the trace has no maximum limit: (no queue), debug" in table(report)
