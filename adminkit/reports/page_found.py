"""What the page of all reports says of findings: what could be better, what goes well, and why there is nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.config import Config
from adminkit.feedback.format import NO_BREAK, hours
from adminkit.feedback.found import found, sentences
from adminkit.feedback.templates import Templates
from adminkit.findings import over_asked
from adminkit.findings.finding import Finding
from adminkit.findings.registry import KINDS
from adminkit.quote import clean
from adminkit.render.document import Remark
from adminkit.render.format import number
from adminkit.reports.findings import Scope, gather, jobs_of
from adminkit.reports.page_words import words_in
from adminkit.sqlite import sqlite3
from adminkit.stats.unsized import unsized
from adminkit.units import show_time

#: Kinds about single runs and weeks: thousands in a year.
SMALL: Final = ("overestimate", "estimate", "week")
#: Findings that say that all is well and no more.
DULL: Final = ("outbox",)
#: Seconds of the window, the last ones, in which SMALL are counted: as many as adminkit findings looks at by itself.
LATELY: Final = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Judged:
    """`none`: what is said where nothing could be better; `notes`: what is not known of the hours."""

    bad: Sequence[Remark]
    good: Sequence[Remark]
    none: str
    notes: Sequence[str]


def judge(db: sqlite3.Connection, settings: Config, scope: Scope, language: str) -> Judged:
    """The findings of `scope` in that language."""
    templates, words = Templates(language), words_in(language)
    findings = gather(db, settings, scope, [kind for kind in KINDS if kind not in SMALL])
    several = len(scope.clusters) > 1
    bad = [_remark(one, templates, several) for one in findings if one.severity == "warn"]
    good = [_remark(one, templates, several) for one in findings if one.severity == "good" and one.kind not in DULL]
    counted = unsized(db, jobs_of(db, settings, scope))
    notes = [words[f"unsized.{name}"].format(jobs=number(jobs)) for name, jobs in counted._asdict().items() if jobs]
    return Judged(bad, good, "" if bad else _none(db, settings, scope, findings, words), notes)


def _none(
    db: sqlite3.Connection, settings: Config, scope: Scope, findings: Sequence[Finding], words: Mapping[str, str]
) -> str:
    """Why there is nothing: all is well, or too few jobs to judge; and how many findings are elsewhere."""
    judged = any(one.kind == over_asked.KIND.name for one in findings)
    said = words["no_findings"] if judged else words["too_little"].format(least=over_asked.Limits().jobs)
    lately = replace(scope, since=max(scope.since, scope.until - LATELY))
    small = sum(one.severity == "warn" for one in gather(db, settings, lately, SMALL))
    if small:
        until = show_time(scope.until)
        then = words["elsewhere"].format(number=number(small), command=f"adminkit findings --until {until}")
        said = words["both"].format(first=said, then=then)
    return said


def _remark(one: Finding, templates: Templates, several: bool) -> Remark:
    words = words_in(templates.language)
    sentence, advice = sentences(one, templates)
    if several and one.subject.cluster:
        sentence = f"{clean(one.subject.cluster)}: {sentence}"
    if advice:
        advice = f"{advice[:1].upper()}{advice[1:]}{words['full_stop']}"
    return Remark(sentence, _stake(one, templates.language), advice, found(one).command.replace(NO_BREAK, " "))


def _stake(one: Finding, language: str) -> str:
    stake = one.stake
    if stake is None or stake.weight < 3600 / 20:
        return ""
    shown = hours(stake.gpu_seconds or 0, stake.cpu_seconds or 0, language).replace(NO_BREAK, " ")
    return words_in(language)["at_stake"].format(hours=shown)
