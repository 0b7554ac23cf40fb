"""The page of all reports: the findings, what changed, then each report of the catalogue. As data; render/ draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.errors import AdminkitError, UsageError
from adminkit.messages import translated
from adminkit.quote import clean
from adminkit.render.document import Document, Section
from adminkit.render.report import Pictures, Report, Trend
from adminkit.reports import page_work
from adminkit.reports.answer import answer_of, job_filter, query_of
from adminkit.reports.catalogue import SPECS
from adminkit.reports.changed import (
    MOST_MARKS,
    change_said,
    changed_report,
    numbered_marks,
    said,
    which_months,
)
from adminkit.reports.findings import Scope
from adminkit.reports.header import outside
from adminkit.reports.page_found import Judged, judge
from adminkit.reports.page_words import words_in
from adminkit.reports.spec import ReportOptions, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.calendar import month_around
from adminkit.stats.measures import YEAR, Measures
from adminkit.stats.moments import Change, changes
from adminkit.stats.months import months
from adminkit.stats.select import Filter, check_words, clusters, span
from adminkit.stats.window import known_times
from adminkit.trace.connect import reader
from adminkit.units import show_time

#: A page until now ends with the last full hour.
HOUR: Final = 3600
#: Reports that show what the findings measured, and the one that takes longest.
_OF_FINDINGS: Final = ("users", "efficiency")
_LONGEST: Final = "waste"
#: Called after each part, with how many are done and how many there are.
Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants a page of. Times are epoch seconds; `as_of` None: the trace as it is."""

    now: int
    language: str = "en"
    cluster: Sequence[str] = ()
    queue: Sequence[str] = ()
    since: str | None = None
    until: str | None = None
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A report that could not be made; `bug` where adminkit itself is wrong."""

    name: str
    message: str
    bug: BaseException | None = None


@dataclass(slots=True)
class _Part:
    """What a part of the page is made of; `also`: reports by name, of what the findings measured."""

    judged: Judged | None = None
    sections: list[Section] = field(default_factory=list)
    nothing: list[tuple[str, str]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    also: dict[str, _Part] = field(default_factory=dict)


@dataclass(slots=True)
class Page:
    """The page and what of it could not be made."""

    document: Document
    failures: list[Failure] = field(default_factory=list)


def page(
    path: Path, settings: Config, asked: Asked, specs: Sequence[ReportSpec[Any]] = SPECS, tick: Tick = lambda *_: None
) -> Page:
    """Everything that the page says, of the trace at `path`. UsageError for a word that the trace lacks.

    A report that fails says so in its place, and the others are made.
    """
    words, measures = words_in(asked.language), Measures(("queue", "user"))
    with reader(path, asked.as_of) as db:
        chosen = check_words(db, _filter(settings, asked))
        known, ends = list(asked.cluster) or clusters(db), span(db)
        marks = changes(db, 0, chosen.until or asked.now, asked.cluster, asked.queue)
        scope = Scope(
            since=chosen.since or 0, until=chosen.until or asked.now, now=asked.now, clusters=known, queues=asked.queue,
            everybody=True, measures=measures,
        )  # fmt: skip
        work = _Work(path, settings, asked, chosen, known, measures, marks)
        others = sorted((spec for spec in specs if spec.name not in _OF_FINDINGS), key=lambda one: one.name != _LONGEST)
        todo: list[page_work.Part[_Part]] = [lambda trace: work.findings(trace, scope, specs)]
        todo += [*(partial(work.report, spec=spec) for spec in others), work.changed]
        parts = page_work.made(db, lambda: reader(path, asked.as_of), todo, lambda done: tick(done, len(todo)))
    first, last = parts[0], parts[-1]
    of = {**first.also, **{spec.name: part for spec, part in zip(others, parts[1:-1], strict=True)}}
    ordered, judged = [last, *(of[spec.name] for spec in specs)], first.judged
    assert judged is not None
    sections, nothing, failures = (
        [one for part in ordered for one in getattr(part, name)] for name in ("sections", "nothing", "failures")
    )
    made = Page(Document("", words, "", (), "", (), (), ()), failures)
    made.document = Document(
        asked.language, words, words["title"].format(clusters=", ".join(map(clean, known)) or words["no_cluster"]),
        _facts(path, asked, chosen, known, words), words["for_operators"], judged.bad, judged.good, sections, nothing,
        _notice(made.failures, ends, chosen, words), "" if outside((chosen.since, chosen.until), ends) else judged.none,
        judged.notes,
    )  # fmt: skip
    return made


@dataclass(frozen=True, slots=True)
class _Work:
    """What makes the parts of a page, each from any connection to the trace."""

    path: Path
    settings: Config
    asked: Asked
    chosen: Filter
    known: Sequence[str]
    measures: Measures
    marks: Sequence[Change]

    def findings(self, db: sqlite3.Connection, scope: Scope, specs: Sequence[ReportSpec[Any]]) -> _Part:
        judged = judge(db, self.settings, scope, self.asked.language)
        return _Part(judged, also={spec.name: self.report(db, spec) for spec in specs if spec.name in _OF_FINDINGS})

    def changed(self, db: sqlite3.Connection) -> _Part:
        shown, earlier = self.marks[-MOST_MARKS:], max(len(self.marks) - MOST_MARKS, 0)
        return _Part(sections=[_changed(db, self.chosen, str(self.path), self.asked, self.known, shown, earlier)])

    def report(self, db: sqlite3.Connection, spec: ReportSpec[Any]) -> _Part:
        """Its sections, one for each cluster where it is about one."""
        words, part = words_in(self.asked.language), _Part()
        if spec.one_cluster and not self.known:
            part.nothing.append((words.get(f"title.{spec.name}", spec.name), ""))
            return part
        apart = (spec.one_cluster or spec.apart) and len(self.known) > 1
        for place, cluster in enumerate(self.known if apart else [""], start=1):
            one = _section(
                db, spec, cluster, self.path, self.settings, self.asked, self.chosen, self.measures, part.failures
            )
            one = replace(one, anchor=f"{one.anchor}-{place}") if place > 1 else one
            if one.report is not None and _says_nothing(one.report):
                why = next(iter((*one.report.meta.answers, *one.report.meta.notes)), "")
                part.nothing.append((one.title, translated(why, self.asked.language)))
            else:
                part.sections.append(_marked(one, self.marks[-MOST_MARKS:], words, cluster or None))
        return part


def _filter(settings: Config, asked: Asked) -> Filter:
    typed = ReportOptions(cluster=asked.cluster, queue=asked.queue, since=asked.since, until=asked.until)
    filter = job_filter(typed, settings, asked.now)
    until = asked.now - asked.now % HOUR if filter.until is None else min(filter.until, asked.now)
    since = month_around(until - YEAR)[0] if filter.since is None else filter.since
    if since >= until:
        raise UsageError(f"--since {asked.since} is not before now", f"since is {show_time(since)}")
    return replace(filter, since=since, until=until)


def _facts(path: Path, asked: Asked, chosen: Filter, known: Sequence[str], words: Any) -> list[tuple[str, str]]:
    window = words["from_until"].format(since=_day(chosen.since or 0), until=_day(chosen.until or 0))
    lines = [(words["clusters"], ", ".join(known) or words["no_cluster"]), (words["window"], window)]
    lines += [(words["queue"], ", ".join(asked.queue))] if asked.queue else []
    when = (words["made"], asked.now) if asked.as_of is None else (words["as_of"], asked.as_of)
    return [*lines, (when[0], show_time(when[1])[:16].replace("T", " ")), (words["database"], str(path))]


def _day(at: int) -> str:
    """A date; with the time of day where it is not midnight."""
    return show_time(at)[:16].replace("T", " ").removesuffix(" 00:00")


def _notice(failures: Sequence[Failure], ends: tuple[int | None, int | None], chosen: Filter, words: Any) -> str:
    first, last = ends
    if first is None or last is None:
        return str(words["empty"])
    if outside((chosen.since, chosen.until), ends):
        word = "outside_before" if last < (chosen.since or 0) else "outside_after"
        return str(words[word].format(first=_day(first), last=_day(last), after=show_time(last + 1)))
    if failures:
        return str(words["failures"].format(number=len(failures), names=", ".join(one.name for one in failures)))
    return ""


def _changed(
    db: sqlite3.Connection, chosen: Filter, database: str, asked: Asked, known: Sequence[str],
    marks: Sequence[Change], earlier: int,
) -> Section:  # fmt: skip
    words = words_in(asked.language)
    end = chosen.until or asked.now
    until = known_times(db, chosen, asked.now).until  # a month of which nothing is known is not one of nothing
    if until is not None and until <= month_around(end - 1)[0]:
        end = until
    measured = months(db, chosen, end)
    which = which_months(measured, words)
    items = [change_said(one, words, several=len(known) > 1) for one in marks]
    return Section(
        "changed", words["changed"], words["changed_question"], said(measured, words, asked.language),
        changed_report(measured, marks, database, words, which), which,
        items_title=words["moments"] + (f" ({words['more_moments'].format(number=earlier)})" if earlier else ""),
        items=items,
    )  # fmt: skip


def _section(
    db: sqlite3.Connection, spec: ReportSpec[Any], cluster: str, path: Path, settings: Config, asked: Asked,
    chosen: Filter, measures: Measures, failures: list[Failure],
) -> Section:  # fmt: skip
    """The section of a report; of `cluster` only where it is named."""
    words = words_in(asked.language)
    typed: dict[str, Any] = {
        "cluster": [cluster] if cluster else list(asked.cluster), "queue": list(asked.queue),
        "since": f"@{chosen.since}", "until": f"@{chosen.until}",
    }  # fmt: skip
    taken = {name: value for name, value in typed.items() if name in (*spec.filters, "cluster")}
    title = words.get(f"title.{spec.name}", "")
    made = Section(
        f"report-{spec.name}", title, words.get(f"question.{spec.name}", spec.help),
        command=f"adminkit report {spec.name}",
        note=words["not_by_queue"] if asked.queue and "queue" not in spec.filters else "",
    )  # fmt: skip
    try:
        options = ReportOptions(**taken)
        query = query_of(spec, options, path, settings, asked.now, pictures=True, measures=measures)
        report = answer_of(db, spec, options, query).dated(asked.as_of)
    except Exception as error:
        failures.append(_failure(spec.name, error))
        return replace(made, title=_titled(title or spec.name, cluster), failure=failures[-1].message)
    answers = [f"{translated(answer, asked.language)}{words['full_stop']}" for answer in _answers(report)]
    return replace(made, title=_titled(title or report.meta.title, cluster), report=report, answers=answers)


def _failure(name: str, error: Exception) -> Failure:
    if isinstance(error, AdminkitError):
        return Failure(name, f"{error.message} ({error.hint})" if error.hint else error.message)
    if isinstance(error, sqlite3.Error):
        return Failure(name, f"database: {error}")
    return Failure(name, f"{type(error).__name__}: {error}", error)


def _titled(title: str, cluster: str) -> str:
    return f"{clean(cluster)}: {title}" if cluster else title


def _answers(report: Report) -> Iterator[str]:
    """The sentences that answer the question."""
    if report.pictures:
        yield report.pictures.title
    yield from report.meta.answers


def _says_nothing(report: Report) -> bool:
    return not report.rows and not report.pictures


def _marked(one: Section, marks: Sequence[Change], words: Any, cluster: str | None) -> Section:
    """The section whose calendar pictures have the marks, where its report has none of its own; of `cluster` only
    where the section is."""
    report = one.report
    if report is None or report.pictures is None:
        return one
    numbered = [
        numbered_marks(marks, panel.edges, cluster) if isinstance(panel, Trend) and not panel.marks else []
        for panel in report.pictures.panels
    ]
    if not any(numbered):
        return one
    panels = [
        replace(panel, marks=found) if isinstance(panel, Trend) and found else panel
        for panel, found in zip(report.pictures.panels, numbered, strict=True)
    ]
    pictures = Pictures(report.pictures.title, report.pictures.caption, panels)
    note = " ".join(text for text in (one.note, words["see_moments"]) if text)
    return replace(one, report=replace(report, pictures=pictures), note=note)
