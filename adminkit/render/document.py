"""Document: what the page of several reports says, without its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adminkit.render.report import Report


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding in words: what is so, the hours at stake, what to do, the command that does it; empty where unknown."""

    sentence: str
    stake: str = ""
    advice: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One report: its question, its answers, its pictures and numbers.

    `anchor` is a word of letters, digits and "-". The report is in English, and is shown in the page's language
    but for its table. `items` are lines of a
    list, under `items_title`. `failure` says why a report could not be made.
    """

    anchor: str
    title: str
    question: str
    answers: Sequence[str] = ()
    report: Report | None = None
    note: str = ""
    command: str = ""  # shows all the rows
    items_title: str = ""
    items: Sequence[str] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The whole page. `words` are its own, in `language`; `nothing` has (title, why) of reports without a row."""

    language: str
    words: Mapping[str, str]
    title: str
    facts: Sequence[tuple[str, str]]
    warning: str
    remarks: Sequence[Remark]
    good: Sequence[Remark]
    sections: Sequence[Section]
    nothing: Sequence[tuple[str, str]] = ()
    notice: str = ""  # something that the reader has to know first
    none: str = ""  # what is said where there are no remarks
    unknown: Sequence[str] = ()  # what is not known of the hours of remarks
