"""Due letters and composed letters: what planning, composing and sending share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from adminkit.sqlite import sqlite3

if TYPE_CHECKING:
    from adminkit.config import Config

#: end: a run or an array has ended. digest: a user's week. operator: everybody's week, or what went wrong. statement:
#: what a user was charged for a month, or what the users of an account used in one. budget: an account's is nearly
#: spent.
Kind = Literal["end", "digest", "operator", "statement", "budget"]
KINDS: Final[tuple[Kind, ...]] = ("end", "digest", "operator", "statement", "budget")
#: Languages of letters.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Addressed:
    """Cluster, language and address of a letter. Two with the same `key` are the same letter."""

    kind: ClassVar[Kind]

    cluster: str
    language: str  # one of LANGUAGES
    address: str
    until: int  # epoch seconds: when the run, or the last task of the array, ended; the end of the week

    @property
    def run(self) -> str:
        """What the letter is about, in one word; the same each time the letter is found due."""
        raise NotImplementedError

    @property
    def key(self) -> tuple[str, str, Kind]:
        """The unique key of the outbox: (cluster, run, kind)."""
        return self.cluster, self.run, self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLetter(_Addressed):
    """A letter to the user of a run, or an array, that has ended.

    Of an array `job_id_raw` is its number and `submit_time` the first submission of any of its tasks.
    """

    kind: ClassVar[Kind] = "end"

    user: str
    uid: int
    job_id_raw: int
    submit_time: int  # epoch seconds
    is_array: bool
    job_name: str | None

    @property
    def run(self) -> str:
        """4711@1796083200."""
        return f"{self.job_id_raw}@{self.submit_time}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleLetter(_Addressed):
    """A letter to the user of a running job whose GPUs are not used. The outbox has it as one about a job, with notes.

    `notes`: the numbers of idle_letter.py, as they were when it was due. There is one a day about a job.
    """

    kind: ClassVar[Kind] = "end"

    user: str
    uid: int
    job_id_raw: int
    submit_time: int  # epoch seconds
    is_array: bool
    job_name: str | None
    notes: tuple[str, ...]

    @property
    def run(self) -> str:
        """4711@1796083200/idle/20786, with the day since 1970."""
        return f"{self.job_id_raw}@{self.submit_time}/idle/{self.until // 86_400}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestLetter(_Addressed):
    """A letter to a user about a week, [since, until)."""

    kind: ClassVar[Kind] = "digest"

    user: str
    uid: int
    week: str  # 2026-W47
    since: int  # epoch seconds

    @property
    def run(self) -> str:
        """2026-W47/1000."""
        return f"{self.week}/{self.uid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorLetter(_Addressed):
    """A letter to the operators about a week, [since, until), or a failure. `address` has commas between several."""

    kind: ClassVar[Kind] = "operator"

    week: str  # 2026-W47, 2026-W47-flood
    since: int  # epoch seconds
    notes: tuple[str, ...] = ()  # sentences that the letter begins with

    @property
    def run(self) -> str:
        """2026-W47."""
        return self.week


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLetter(_Addressed):
    """A letter to a user about the bill of a month, `week`, that was closed at `since`."""

    kind: ClassVar[Kind] = "statement"

    user: str
    uid: int
    week: str  # 2026-10
    since: int  # epoch seconds

    @property
    def run(self) -> str:
        """2026-10/1000."""
        return f"{self.week}/{self.uid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLetter(_Addressed):
    """A letter to an owner of an account about what its users used in a month, [since, until).

    `about` is the month, whom it is for, and the account.
    """

    kind: ClassVar[Kind] = "statement"

    user: str
    uid: int
    about: str  # 2026-10/account/1000/physics
    week: str  # 2026-10
    since: int  # epoch seconds

    @property
    def run(self) -> str:
        """2026-10/account/1000/physics."""
        return self.about

    @staticmethod
    def is_in(kind: str, run: str) -> bool:
        """Whether a row of the outbox is such a letter: a statement of charges has only month and uid."""
        return kind == "statement" and run.split("/")[1:2] == ["account"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLetter(_Addressed):
    """A letter to a coordinator, or without `user` to the operators, about a budget that has reached a mark.

    `about` is the first month of the budget, the mark in percent, whom it is for, and the account.
    """

    kind: ClassVar[Kind] = "budget"

    user: str | None
    uid: int | None
    about: str  # 2026-01/80/1000/physics
    week: str  # the last month that is closed: 2026-10
    since: int  # epoch seconds: when it was closed

    @property
    def run(self) -> str:
        """2026-01/80/1000/physics."""
        return self.about


#: A letter that somebody is due.
Due = JobLetter | IdleLetter | DigestLetter | OperatorLetter | StatementLetter | GroupLetter | BudgetLetter


def user_of(due: Due) -> str | None:
    """The user whom the letter is for; None for the operators."""
    return None if isinstance(due, OperatorLetter) else due.user


@dataclass(frozen=True, slots=True)
class Letter:
    """A composed letter: a subject of one line, plain text, and the same as HTML that loads nothing."""

    subject: str
    text: str
    html: str


#: compose(db, settings, now, dues) returns what composes the letters of `dues` from one state of the trace. Both raise
#: AdminkitError where a template is broken, and nothing else, whatever a job is called.
Compose = Callable[[sqlite3.Connection, "Config", int, Sequence[Due]], Callable[[Due], Letter]]
