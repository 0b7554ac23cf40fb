"""A source: accounting that answers with the runs of a window of time. Sync and the audit use no more of it than this.

sacct.py is the first. Another one must keep these rules, or a user's text becomes a row:

- A record counts only where no user could have written it. Where the answer is text, its delimiter is drawn for each
  question and its times are sealed (docs/adr/0010); `Spool.reading` says what the helper has to find in a record.
- A window of closed runs ends before its question is asked, and an answer has only runs of its cluster and its window.
- The rows of a source have slurmdbd's rank, the highest (docs/adr/0012): they must come from the accounting database
  and from nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal, Protocol

from adminkit.errors import AdminkitError
from adminkit.ingest.helper import Statement
from adminkit.ingest.spec import Column, outputs
from adminkit.ingest.window_plan import Window
from adminkit.trace.runs import Digest

#: Runs; their steps; or what the policy recorded of runs in a field that their owners may write.
Part = Literal["job", "step", "claims"]
JOBS: Final = "job"
STEPS: Final = "step"
CLAIMS: Final = "claims"


class SourceFailed(AdminkitError):
    """No whole answer came in `seconds`. `unreachable`: asking for less would not help."""

    def __init__(self, cause: AdminkitError, seconds: float, unreachable: bool) -> None:
        super().__init__(cause.message, cause.hint)
        self.seconds = seconds
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Spool:
    """One whole answer in a file, and how the helper reads it. Whoever stores it removes the file."""

    path: Path
    seconds: float  # that the source took
    reading: Statement  # its columns, delimiter and seal, and what a record must be to count; it stores nothing yet
    values: Mapping[str, str]  # column of the trace -> SQL over what `reading` binds; see cluster_parameter
    only_where: str = "1"  # SQL: which runs are kept
    partial: bool = False  # runs were left out that the source cannot spell yet: the window has to be asked for again
    revoked: int = 0  # runs of a closed window that `only_where` leaves out: another cluster of a federation took them
    job: int = 0  # the column, from 0, with the job of a record …
    user: int | None = None  # … and with its user, where there is one


def seen_parameter(columns: Sequence[Column]) -> str:
    """SQL: when the answer is read, as text.

    Behind a spool's columns three values are bound: the source's name, this time, and the cluster.
    """
    return f"?{outputs(columns) + 2}"


def cluster_parameter(columns: Sequence[Column]) -> str:
    """SQL: the cluster that was asked for."""
    return f"?{outputs(columns) + 3}"


class Source(ABC):
    """The accounting of one cluster. Questions raise SourceFailed, and leave no file then.

    Several threads may ask at once.
    """

    name: ClassVar[str]  # in the trace's tables of loads and of rejected rows
    cluster: str
    claims_apart: bool  # whether the policy's record has to be asked for by itself, as CLAIMS
    started_at: int | None  # epoch seconds: when the accounting database started; None: unknown

    @abstractmethod
    def closed(self, part: Part, window: Window, ids: Sequence[int] = ()) -> Spool:
        """Runs that ended in [since, until); only those of these JobIDRaws, if any are given."""

    @abstractmethod
    def open_snapshot(self, part: Part, moment: int, ids: Sequence[int] = ()) -> Spool:
        """Runs that are pending, running or suspended at `moment`, which is now; some may end meanwhile."""

    @abstractmethod
    def lookup(self, part: Part, window: Window, ids: Sequence[int]) -> Spool:
        """Runs of these JobIDRaws, in any state, that existed during the window."""

    @abstractmethod
    def digest(self, window: Window) -> Digest:
        """Counts and sums of the runs that ended in a window, as trace/runs.py computes them of the trace."""

    def step_digest(self, window: Window) -> tuple[int, int] | None:
        """Steps of the runs that ended in a window: their number, and the sum of their ends. None: that is too dear."""
        return None

    def changed(self, since: int, among: Window) -> list[int] | None:
        """The begins of the hours in which runs ended that were changed since then, of those that ended in `among`.

        None: this source cannot tell. It reads every row, so it is not to be asked often.
        """
        return None

    def kept_since(self) -> tuple[int, int] | None:
        """The earliest end of a run that it still has, and that of its first run with steps; None: it cannot tell."""
        return None

    @abstractmethod
    def backlog(self) -> int | None:
        """How many records have not reached the accounting database yet; None: unknown."""

    def clock(self) -> int | None:
        """The time of the cluster, by which its runs end, epoch seconds; None: unknown."""
        return None

    @abstractmethod
    def stop(self) -> None:
        """End the questions that other threads are asking."""


class Opener(Protocol):
    """Opens the source of a cluster, which spools into `folder`.

    `timeout`: seconds for a question. `record`: the field of the policy's decision, as policy.toml names it.
    """

    def __call__(self, cluster: str, folder: Path, *, timeout: float, record: str) -> Source: ...
