"""What is due, and what a letter says: the two things that who-is-due, composing and sending share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from adminkit.config import Config

#: end: a run or an array has ended. digest: a user's week. operator: everybody's week, or what went wrong.
Kind = Literal["end", "digest", "operator"]
KINDS: Final[tuple[Kind, ...]] = ("end", "digest", "operator")
#: What a letter may be written in; the first is used where nobody chose.
LANGUAGES: Final = ("en", "ja")


@dataclass(frozen=True, slots=True)
class Due:
    """A letter that somebody is due. Two with the same `key` are one letter: (cluster, run, kind).

    end: `job_id_raw` and `submit` are the run's key; of an array (`array`), the array's number and the first submission
    of any of its tasks; `until` is when it, or the last of its tasks, ended.
    digest, operator: `job_id_raw` is 0, [submit, until) the week, epoch seconds; `week` is its name, 2026-W47.
    `uid` is None and `user` empty for the operators.
    """

    cluster: str
    job_id_raw: int
    submit: int
    kind: Kind
    user: str
    uid: int | None
    language: str  # one of LANGUAGES
    address: str
    until: int = 0
    array: bool = False
    week: str = ""
    notes: tuple[str, ...] = ()  # sentences the operators must read first; users get none

    @property
    def run(self) -> str:
        """What the letter is about, in one word: 4711@1796083200, a user's week 2026-W47/1000, everybody's 2026-W47.

        Stable: who is due the same letter again finds the same word.
        """
        if self.kind == "end":
            return f"{self.job_id_raw}@{self.submit}"
        return self.week if self.uid is None else f"{self.week}/{self.uid}"

    @property
    def key(self) -> tuple[str, str, Kind]:
        """The unique key of the outbox."""
        return self.cluster, self.run, self.kind


@dataclass(frozen=True, slots=True)
class Letter:
    """What is said, not to whom: one line of subject, plain text and the same as HTML, which loads nothing."""

    subject: str
    text: str
    html: str


#: compose(db, settings, now, dues): what writes the letters of these. It reads one state of the trace, through stats
#: and recommend. Both raise AdminkitError where a template is broken; nothing else, whatever a job is called.
Compose = Callable[[sqlite3.Connection, "Config", int, Sequence[Due]], Callable[[Due], Letter]]
