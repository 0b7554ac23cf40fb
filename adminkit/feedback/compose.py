"""Composes letters: measures of the trace, judged, put into the templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from adminkit.economy.schemes import load_schemes
from adminkit.errors import AdminkitError
from adminkit.feedback import charge_letters, digest, group_letters, idle_letter, job_letter
from adminkit.feedback.format import NO_BREAK, subject_line
from adminkit.feedback.letter import (
    BudgetLetter,
    DigestLetter,
    Due,
    GroupLetter,
    IdleLetter,
    JobLetter,
    Letter,
    StatementLetter,
    user_of,
)
from adminkit.feedback.letter_data import Known
from adminkit.feedback.templates import Templates
from adminkit.recommend.menu import Offer
from adminkit.sqlite import sqlite3

if TYPE_CHECKING:
    from adminkit.config import Config

#: How a text template begins.
_SUBJECT: Final = "Subject:"
#: Templates that are not named for the letter's kind.
_NAMES: Final[Mapping[type[Due], str]] = {GroupLetter: "group", IdleLetter: "idle"}


class Composer:
    """Composes letters from one state of the trace. `dues`: all that are wanted, so that one read serves many.

    Times are shown in `tz`, None for the host's own.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        settings: Config,
        offer: Offer,
        now: int,
        dues: Iterable[Due] = (),
        tz: tzinfo | None = None,
    ) -> None:
        self._db = db
        self._dues = [*dues]
        self._known = Known(db, settings, offer, now, self._dues)
        self._help_url = offer.help_url
        self._folder = settings.feedback.templates
        self._charge = settings.charge
        self._tz = tz
        self._templates: dict[str, Templates] = {}
        self._months: group_letters.Months = {}

    def letter(self, due: Due) -> Letter:
        """AdminkitError where a template is broken, or the trace lacks the run or week of the letter."""
        if due.language not in self._templates:
            self._templates[due.language] = Templates(due.language, self._folder, self._tz)
        templates = self._templates[due.language]
        values = self._values(due)
        values |= {"cluster": due.cluster, "user": user_of(due), "language": due.language, "kind": due.kind}
        values |= {"help_url": self._help_url}
        name = "lost" if "lost" in values else _NAMES.get(type(due), due.kind)
        first, _, text = templates.render(f"{name}.txt.j2", values).partition("\n")
        if not first.startswith(_SUBJECT):
            raise AdminkitError(
                f"{name}.txt.j2, line 1: a text template begins with the subject", "write Subject: … on line 1"
            )
        subject = subject_line(first.removeprefix(_SUBJECT))
        html = templates.render(f"{name}.html.j2", {**values, "subject": subject})
        return Letter(subject, _tidy(text), html)

    @cached_property
    def _bills(self) -> charge_letters.Bills:
        return charge_letters.bills(self._db, self._dues)

    def _values(self, due: Due) -> dict[str, Any]:
        if isinstance(due, JobLetter):
            return job_letter.values(self._db, due, self._known, self._tz)
        if isinstance(due, IdleLetter):
            return idle_letter.values(due)
        if isinstance(due, DigestLetter):
            return digest.digest(self._db, due, self._known, self._tz)
        if isinstance(due, StatementLetter):
            return charge_letters.statement(self._bills, due)
        if isinstance(due, GroupLetter):
            return group_letters.values(self._db, due, self._months, self._tz)
        if isinstance(due, BudgetLetter):
            return charge_letters.budget(self._db, due, load_schemes(self._charge))
        return digest.operator(self._db, due, self._known, self._tz)


def compose(db: sqlite3.Connection, due: Due, settings: Config, offer: Offer, now: int) -> Letter:
    """One letter. Trap: for many use one Composer, or each reads the trace again."""
    return Composer(db, settings, offer, now, [due]).letter(due)


def _tidy(text: str) -> str:
    """At most one empty line in a row, none at the ends; no blanks at the end of a line."""
    lines = "\n".join(line.rstrip() for line in text.replace(NO_BREAK, " ").splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"
