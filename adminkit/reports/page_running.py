"""The part of the page of all reports that is about this moment: running jobs that hold GPUs without using them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adminkit.messages import message, translated
from adminkit.render.document import Document, Section
from adminkit.reports.idle import idle_report
from adminkit.reports.page_words import words_in
from adminkit.usage.held import Held


def with_running(document: Document, found: Sequence[Held], least: int, cluster: str, notes: Sequence[str]) -> Document:
    """The page with that part after what changed; the page as it is where nothing is measured."""
    measured = [one for one in found if one.measured]
    if not measured:
        return document
    language, words = document.language, words_in(document.language)
    answer = message(
        "{idle} of {gpus} GPUs of running jobs have not been used for {minutes} minutes or more, for {hours} GPU-hours"
        " together",
        idle=sum(one.idle(least) for one in measured), gpus=sum(one.job.gpus for one in measured),
        minutes=least // 60, hours=f"{sum(one.idle_hours(least) or 0.0 for one in measured):.1f}",
    )  # fmt: skip
    part = Section(
        "idle-gpus", words["title.idle"], words["question.idle"],
        [f"{translated(answer, language)}{words['full_stop']}"],
        idle_report(found, None, least, cluster, notes, False), command="adminkit idle",
    )  # fmt: skip
    return replace(document, sections=[*document.sections[:1], part, *document.sections[1:]])
