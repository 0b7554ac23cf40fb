"""The page of all reports: what it says of small traces, of hostile names, of reports that fail, in every language."""

from __future__ import annotations

import html.parser
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.errors import AdminkitError, UsageError
from adminkit.job import Job
from adminkit.messages import LANGUAGES
from adminkit.render import figure
from adminkit.render.document import Document, Section
from adminkit.render.html_document import MOST_ROWS, POLICY, document_page
from adminkit.render.report import Meta, Pictures, Report, Trend, in_language
from adminkit.reports.catalogue import SPECS
from adminkit.reports.changed import month_name, numbered_marks
from adminkit.reports.page import Asked, Page, _marked, page
from adminkit.reports.page_words import words_in
from adminkit.stats.moments import Change
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace
from tests.support.reports import HOSTILE, QUEUES, some_jobs

DAY = 24 * HOUR
NOW = MONDAY + 20 * DAY
NAMES = [spec.name for spec in SPECS]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are empty: drawing them takes most of the time."""
    monkeypatch.setattr(figure, "panels", lambda pictures, words: ["<svg ></svg>" for _ in pictures.panels])


def made(path: Path, language: str = "en", specs: Any = SPECS, **asked: Any) -> Page:
    return page(path, Config(), Asked(NOW, language, **asked), specs)


def over_a_year(cluster: str = "aaic", **changes: Any) -> list[Job]:
    """Ten jobs in each of fourteen months, which use more of their limit each month, the last one much more."""
    found = []
    for month in range(14):
        for n in range(10):
            end = NOW - 6 * DAY - month * 30 * DAY - n * HOUR
            elapsed = HOUR * 3 if not month else HOUR - month * 60
            start = end - elapsed
            given = {"cluster": cluster, "end_time": end, "start_time": start, "eligible_time": start - 60,
                "submit_time": start - 60, "elapsed": elapsed}  # fmt: skip
            found.append(job(month * 10 + n + (1000 if cluster != "aaic" else 1), **{**given, **changes}))
    return found


class Tags(html.parser.HTMLParser):
    """Reads a page as a browser does: its tags, their attributes, its texts, and whether every tag was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, name: str) -> list[str | None]:
        return [value for key, value in self.attributes if key == name]


def read(document: Document) -> Tags:
    """The page, which needs nothing and runs nothing, and whose links lead somewhere in it."""
    text = document_page(document, None)
    tags = Tags(text)
    assert not {"script", "img", "link", "iframe", "object", "base", "form", "image"} & set(tags.tags)
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "src"]
    assert tags.values("content")[0] == POLICY and "script" not in POLICY
    ids = [one for one in tags.values("id") if one]
    assert not [one for one in ids if one.startswith(("report-", "findings", "changed")) and ids.count(one) > 1]
    for link in tags.values("href"):
        assert link and link.startswith("#") and link[1:] in ids
    return tags


@pytest.mark.usefixtures("undrawn")
def test_a_section_for_each_report_in_the_order_of_the_catalogue_and_one_line_for_those_of_nothing(
    tmp_path: Path,
) -> None:
    document = made(make_trace(tmp_path / "t.db", some_jobs(), QUEUES)).document
    shown = [one.anchor.removeprefix("report-") for one in document.sections]
    assert shown[0] == "changed" and shown[1:] == [name for name in NAMES if name in shown]
    assert {"accuracy", "states", "users"} <= set(shown)
    assert len(shown) - 1 + len(document.nothing) == len(NAMES)
    assert all(one.report is not None and one.question and one.title for one in document.sections)
    assert ("The effect of letters", "no letter has been sent yet, so there is nothing to compare") in document.nothing
    tags = read(document)
    assert tags.tags.count("section") == len(shown) + 2
    assert tags.tags.count("svg") == sum(
        len(one.report.pictures.panels) for one in document.sections if one.report and one.report.pictures
    )
    assert tags.tags.count("details") > tags.tags.count("svg"), "each picture has its numbers"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("jobs", "notice"),
    [
        ([], "empty"),
        ([job()], ""),
        ([Job(cluster="aaic", job_id_raw=1, submit_time=MONDAY)], "empty"),
        ([job(start_time=MONDAY - 900 * DAY, end_time=MONDAY - 899 * DAY)], "outside_before"),
        ([job(start_time=NOW, end_time=NOW + 60)], "outside_after"),
    ],
    ids=["no job", "one job", "a job of which nothing is known", "long ago", "within the hour"],
)
def test_a_trace_with_nearly_nothing_in_it(tmp_path: Path, jobs: list[Job], notice: str, language: str) -> None:
    found = made(make_trace(tmp_path / "t.db", jobs), language)
    assert found.failures == []
    assert bool(found.document.notice) == bool(notice)
    assert not notice or found.document.notice[:8] == words_in(language)[notice][:8]
    option = {"outside_before": "--as-of", "outside_after": "--until"}.get(notice, "")
    assert option in found.document.notice, "which option shows them"
    read(found.document)
    text = document_page(found.document, None)
    assert words_in(language)["no_findings"] not in text, "no job, and one, is no good news"
    assert (words_in(language)["too_little"].format(least=100) in text) == (not notice)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("asked", "now", "end", "why"),
    [
        ({}, NOW, NOW, "until now"),
        ({"until": f"@{NOW + 90 * DAY}"}, NOW, NOW, "no month is to come"),
        ({}, NOW + 90 * DAY, NOW - 6 * DAY, "the trace knows nothing later"),
    ],
)
def test_what_changed_ends_where_something_is_known(
    tmp_path: Path, asked: dict[str, Any], now: int, end: int, why: str
) -> None:
    trace = make_trace(tmp_path / "t.db", over_a_year())
    document = page(trace, Config(), Asked(now, **asked)).document
    report = document.sections[0].report
    assert report is not None and report.pictures is not None
    (last,) = {panel.edges[-1] for panel in report.pictures.panels if isinstance(panel, Trend)}
    assert abs(last - end) < 7 * DAY, why
    (jobs,) = (row["now"] for row in report.records() if row["measure"] == "Jobs per day")
    assert jobs, why


@pytest.mark.usefixtures("undrawn")
def test_names_that_are_markup_are_text(tmp_path: Path) -> None:
    one = {"user": HOSTILE, "queue": HOSTILE, "job_name": HOSTILE, "account": HOSTILE, "cluster": "c<b>"}
    jobs = [job(n, elapsed=60 * n, time_limit=72 * HOUR, gpus=4, **one) for n in range(1, 150)]
    path = make_trace(
        tmp_path / "t.db", jobs, [("c<b>", HOSTILE, 0, HOUR, 72 * HOUR), ("c<b>", HOSTILE, NOW - DAY, 60, HOUR)]
    )
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "INSERT INTO action (at, what, generation, line) VALUES (?, 'policy install', '<i>', '{}')", (NOW - DAY,)
        )
    for language in LANGUAGES:
        found = made(path, language)
        text = document_page(found.document, None)
        assert found.failures == [] and found.document.remarks
        assert not {"\x1b", "\u202e"} & set(text)
        tags = read(found.document)
        assert not {"b>", "i"} & set(tags.tags)
        assert any("<script>" in one for one in tags.texts), "it is shown, as text"


@pytest.mark.usefixtures("undrawn")
def test_two_clusters_have_what_changed_side_by_side_and_a_section_each_where_a_report_is_of_one(
    tmp_path: Path,
) -> None:
    jobs = [*over_a_year(), *over_a_year("b")]
    queues = [(name, "gq", NOW - days * DAY, HOUR, days * HOUR) for name in ("aaic", "b") for days in (300, 90)]
    trace = make_trace(tmp_path / "t.db", jobs, queues)
    path = add_letters(trace, [letter(cluster=name, uid=2) for name in ("aaic", "b")])
    document = made(path).document
    anchors = [one.anchor for one in document.sections]
    assert len(anchors) == len(set(anchors))
    both = [title for title, _ in document.nothing] + [one.title for one in document.sections]
    for name in ("The effect of letters", "Arrivals"):
        assert {f"aaic: {name}", f"b: {name}"} <= set(both)
    changed = document.sections[0]
    assert changed.report and changed.report.pictures
    assert {str(row[-1]) for row in changed.report.rows} == {"aaic", "b"}
    assert {panel.title.partition(":")[0] for panel in changed.report.pictures.panels} == {"aaic", "b"}
    assert any(answer.startswith("b: Accuracy") for answer in changed.answers)
    for name in ("aaic", "b"):
        assert any(f": {name}: gq: maximum" in item for item in changed.items), "a limit names its cluster"
    assert document.title == "Report on aaic, b"
    only = made(path, cluster=["b"]).document
    assert [row[-1] for row in only.sections[0].report.rows if only.sections[0].report] == ["b"] * 6  # type: ignore[union-attr]
    read(document)


def test_what_changed_says_what_is_beyond_the_months_before_and_when_a_limit_came(tmp_path: Path) -> None:
    queues = [*QUEUES, ("aaic", "gq", NOW - 90 * DAY, HOUR, 24 * HOUR)]
    document = made(make_trace(tmp_path / "t.db", over_a_year(gpus=2), queues)).document
    changed = document.sections[0]
    assert changed.report and changed.report.pictures
    (accuracy,) = [row for row in changed.report.rows if str(row[0]).startswith("Accuracy")]
    assert accuracy[2] == pytest.approx(0.75) and accuracy[4] is not None and accuracy[4] < accuracy[3] < 0.25
    said = [answer for answer in changed.answers if answer.startswith("Accuracy")]
    assert said and said[0].startswith(
        "Accuracy, the mean of elapsed / limit: 0.750, more than in any of the 12 earlier months"
    )
    assert (
        len(changed.items) == 1
        and "gq: maximum 3-00:00:00 → 1-00:00:00, default 01:00:00 → 01:00:00" in changed.items[0]
    )
    assert all(
        isinstance(one, Trend) and one.marks == [("1", NOW - 90 * DAY)] for one in changed.report.pictures.panels
    )
    assert "2026-01 until 2026-01-25" in changed.note and "2025-12" in changed.note


@pytest.mark.usefixtures("undrawn")
def test_findings_come_by_what_is_at_stake_with_their_commands(tmp_path: Path) -> None:
    jobs = [job(n, elapsed=60 * n, time_limit=72 * HOUR, gpus=4, user=f"u{n % 4}") for n in range(1, 150)]
    document = made(make_trace(tmp_path / "t.db", jobs, QUEUES)).document
    assert document.remarks[0].sentence.startswith("gq: jobs used")
    assert re.fullmatch(r"[\d,]+ GPU-hours at stake", document.remarks[0].stake)
    assert document.remarks[0].command == "adminkit feedback preview"
    assert read(document).texts.count("adminkit feedback preview") == 1
    japanese = made(tmp_path / "t.db", "ja").document
    assert japanese.remarks[0].sentence.startswith("gq: 予約された時間のうち")
    assert re.fullmatch(r"影響 [\d,]+GPU時間", japanese.remarks[0].stake)
    assert len(japanese.remarks) == len(document.remarks)


def test_the_trace_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None) -> None:
    opened, connect = list[Any](), sqlite3.connect

    def counted(*given: Any, **further: Any) -> sqlite3.Connection:
        opened.append(given)
        return connect(*given, **further)

    path = make_trace(tmp_path / "t.db", over_a_year())
    monkeypatch.setattr(sqlite3, "connect", counted)
    assert not made(path).failures
    assert sum("immutable" not in name for (name,) in opened) == 1  # which looks whether it is a snapshot


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("error", "said", "bug"),
    [
        (AdminkitError("no nodes <b>", "run it again"), "no nodes <b> (run it again)", False),
        (sqlite3.OperationalError("disk I/O error"), "database: disk I/O error", False),
        (KeyError("x"), "KeyError: 'x'", True),
    ],
)
def test_a_report_that_fails_says_so_in_its_place_and_the_others_are_made(
    tmp_path: Path, error: Exception, said: str, bug: bool
) -> None:
    def fail(*_: Any) -> Any:
        raise error

    specs = [replace(spec, measure=fail) if spec.name == "users" else spec for spec in SPECS]
    found = made(make_trace(tmp_path / "t.db", some_jobs(), QUEUES), specs=specs)
    (failure,) = found.failures
    assert (failure.name, failure.message, failure.bug is error) == ("users", said, bug)
    places = [one.anchor for one in found.document.sections]
    assert places.index("report-states") < places.index("report-users") < places.index("report-efficiency")
    assert "users" in found.document.notice
    assert said in read(found.document).texts


def test_what_a_report_cannot_filter_by_it_says_and_what_it_can_it_does(tmp_path: Path) -> None:
    document = made(make_trace(tmp_path / "t.db", some_jobs(), QUEUES), queue=["gq-short"]).document
    by_name = {one.anchor: one for one in document.sections}
    report = by_name["report-accuracy"].report
    assert report and [row[0] for row in report.rows] == ["gq-short"]
    assert report.meta.window == (MONDAY - 369 * DAY, NOW), "from 1 January 2025 on"
    assert by_name["report-accuracy"].note == ""
    assert ("queues", "gq-short") in document.facts
    for spec in SPECS:
        if "queue" not in spec.filters and f"report-{spec.name}" in by_name:
            assert by_name[f"report-{spec.name}"].note.startswith("Of all queues")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"queue": ["gqq"]}, "gqq"),
        ({"cluster": ["nowhere"]}, "nowhere"),
        ({"since": "2026-02-01"}, "--since 2026-02-01 is not before now"),
        ({"since": "2026-01-09", "until": "2026-01-08"}, "--until 2026-01-08 is not after --since 2026-01-09"),
    ],
)
def test_a_word_that_the_trace_lacks_and_a_window_that_is_none_are_refused(
    tmp_path: Path, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        made(make_trace(tmp_path / "t.db", some_jobs(), QUEUES), **asked)
    assert said in str(refused.value)


@pytest.mark.usefixtures("undrawn")
def test_a_table_of_thousands_of_rows_is_cut_and_names_the_command_that_has_them(tmp_path: Path) -> None:
    jobs = [job(n, user=f"u{n:04}") for n in range(1, MOST_ROWS + 51)]
    document = made(
        make_trace(tmp_path / "t.db", jobs), specs=[spec for spec in SPECS if spec.name == "users"]
    ).document
    text = document_page(document, None)
    assert "50 more rows: adminkit report users" in text
    assert text.count("<td>u0") <= MOST_ROWS


def test_pictures_over_the_calendar_get_the_marks_where_they_have_none() -> None:
    marks = [Change(at, "rules", what="policy install") for at in (5, 50, 52, 90)]
    marks += [Change(95, "letters", "b"), Change(5000, "letters", "a")]
    assert numbered_marks(marks, [10, 110], "a") == [("2, 3", 50), ("", 52), ("4", 90)]
    assert numbered_marks(marks, [10, 110], None) == [("2, 3", 50), ("", 52), ("4", 90), ("5", 95)]
    bare, own = (Trend("T", "", [10, 110], [("a", [1.0])], "count", given) for given in ((), [("rule", 60)]))
    report = Report(Meta.plain("T", []), (), [[]], pictures=Pictures("T", "", [bare, own]))
    section = _marked(Section("x", "X", "?", report=report), marks, words_in("en"), None)
    assert section.report and section.report.pictures
    assert [len(panel.marks) for panel in section.report.pictures.panels if isinstance(panel, Trend)] == [4, 1]
    assert section.note == words_in("en")["see_moments"]
    of_a = _marked(Section("x", "X", "?", report=report), marks, words_in("en"), "a").report
    assert of_a and of_a.pictures
    assert [len(panel.marks) for panel in of_a.pictures.panels if isinstance(panel, Trend)] == [3, 1], "not b's"
    assert _marked(Section("x", "X", "?", report=report), marks[:1], words_in("en"), None).note == "", (
        "none in this time"
    )
    plain = Section("x", "X", "?", report=replace(report, pictures=None))
    assert _marked(plain, marks, words_in("en"), None) is plain


def in_japanese(text: str) -> bool:
    return any("\u3040" <= letter <= "\u9fff" for letter in text)


def test_what_reports_say_and_show_is_japanese_on_the_japanese_page(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "t.db", over_a_year(gpus=2))
    document = made(path, "ja").document
    reports = [one for one in document.sections if one.report]
    assert len(reports) > 8
    for one in reports:
        assert one.report and all(map(in_japanese, one.answers)), one
        pictures = in_language(one.report.pictures, "ja")
        titles = [panel.title for panel in pictures.panels] if pictures else []
        assert [
            text for text in (*titles, pictures.caption if pictures else "") if text and not in_japanese(text)
        ] == []
    assert [why for _, why in document.nothing if why and not in_japanese(why)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_report_has_its_question(language: str) -> None:
    words = words_in(language)
    assert [one.name for one in SPECS if not {f"title.{one.name}", f"question.{one.name}"} <= words.keys()] == []


@pytest.mark.parametrize(("language", "said"), [("en", "2026-03"), ("ja", "2026年3月")])
def test_a_month_is_named_in_the_language_of_the_page(language: str, said: str) -> None:
    assert month_name("2026-03", words_in(language)) == said
