"""The part of the page of all reports about running jobs: only where something measures them."""

from __future__ import annotations

import pytest

from adminkit.messages import LANGUAGES
from adminkit.render.document import Document, Section
from adminkit.render.html_document import document_page
from adminkit.reports.page_running import with_running
from adminkit.reports.page_words import words_in
from adminkit.usage.held import IDLE, Held, held
from adminkit.usage.usage import Answer
from tests.usage.jobs import NOW, job, use

MEASURED = held(
    [job(11), job(12, user="<script>")],
    [Answer(source="dcgm", at=NOW, uses={11: [use(0), use(1)], 12: [use(2, quiet=0), use(3, quiet=7200)]})], NOW, 300,
)  # fmt: skip
UNKNOWN = held([job(11)], [Answer(source="dcgm", at=NOW, uses={})], NOW, 300)


def page(found: list[Held], language: str = "en") -> Document:
    before = [Section("changed", "What changed", "?"), Section("report-accuracy", "Accuracy", "?")]
    empty = Document(language, words_in(language), "t", (), "", (), (), before)
    return with_running(empty, found, IDLE, "alpha", ["Prometheus is away"])


@pytest.mark.parametrize(("found", "why"), [([], "no job has a GPU"), (UNKNOWN, "no source answers")])
def test_where_nothing_is_measured_there_is_no_such_part(found: list[Held], why: str) -> None:
    assert [one.anchor for one in page(found).sections] == ["changed", "report-accuracy"], why


def test_jobs_with_idle_gpus_come_after_what_changed() -> None:
    document = page(MEASURED)
    assert [one.anchor for one in document.sections] == ["changed", "idle-gpus", "report-accuracy"]
    part = document.sections[1]
    assert part.answers == [
        "3 of 4 GPUs of running jobs have not been used for 10 minutes or more, for 14.0 GPU-hours together."
    ]
    assert part.report is not None and [row[0] for row in part.report.rows] == ["11", "12"]
    assert "Prometheus is away" in part.report.meta.notes
    text = document_page(document, None)
    assert 'id="idle-gpus"' in text and "<script>" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_in_the_language_of_the_page(language: str) -> None:
    part = page(MEASURED, language).sections[1]
    words = words_in(language)
    assert (part.title, part.question) == (words["title.idle"], words["question.idle"])
    assert (part.answers == page(MEASURED).sections[1].answers) == (language == "en")
