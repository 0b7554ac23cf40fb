"""sacct: a query, its command line, and the answer in a spool file."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.process import NoRoom, NoSuchProgram, spool
from adminkit.slurm.seal import SEALED_WIDTH, Marks, draw

#: Fields that are points in time.
TIMES: Final = ("Submit", "Eligible", "Start", "End")

#: Output of sacct after which a smaller question would fail too.
_UNREACHABLE: Final = re.compile(
    r"Connection refused|[Uu]nable to contact|talking to the database|No route to host|[Mm]unge"
)


class SacctFailed(AdminkitError):
    """sacct gave no whole answer in `seconds`. `unreachable`: asking for less would not help."""

    def __init__(self, cause: AdminkitError, seconds: float) -> None:
        super().__init__(cause.message, cause.hint)
        self.seconds = seconds
        self.unreachable = isinstance(cause, (NoSuchProgram, NoRoom)) or bool(_UNREACHABLE.search(cause.message))


@dataclass(frozen=True, slots=True)
class Query:
    """Jobs of one cluster in some states during [since, until]; epoch seconds, sacct counts both ends in.

    The last field has to be a time, so that no text of a user ends a record.

    With finished states it selects by End, with open ones by the state during the window, with none whatever was
    eligible before `until` and had not ended before `since`.
    """

    cluster: str
    since: int
    until: int
    states: Sequence[str]
    fields: Sequence[str]
    steps: bool = False
    job_ids: Sequence[int] = ()
    uid: int | None = None  # whose jobs; None: everybody's

    def argv(self, delimiter: str) -> list[str]:
        """-D keeps requeued runs; -X leaves steps out, for which slurmdbd would make one query per job.

        -p ends each record with a delimiter, so that newlines inside fields do no harm.
        """
        whose = ["-a"] if self.uid is None else ["-u", str(self.uid)]  # -a would undo -u
        args = ["sacct", *whose, "-D", "-n", "-p", "--noconvert", f"--delimiter={delimiter}", "-M", self.cluster]
        args += [] if self.steps else ["-X"]
        args += ["-S", _clock(self.since), "-E", _clock(self.until), "-o", ",".join(map(_wide, self.fields))]
        args += ["-s", ",".join(self.states)] if self.states else []
        args += ["-j", ",".join(map(str, self.job_ids))] if self.job_ids else []
        return args


@dataclass(frozen=True, slots=True)
class Answer:
    """sacct's whole answer: its file, the seconds it took, and the marks of its genuine records."""

    path: Path
    seconds: float
    marks: Marks


def fetch(query: Query, target: Path, timeout: float) -> Answer:
    """Write sacct's whole answer to `target`, with marks of its own. Raises SacctFailed, leaving no file."""
    started, marks = time.monotonic(), draw()
    try:
        with target.open("wb") as answer:
            return Answer(target, spool(query.argv(marks.delimiter), answer, timeout, marks.seal), marks)
    except AdminkitError as error:
        target.unlink(missing_ok=True)
        raise SacctFailed(error, time.monotonic() - started) from error


def _wide(field: str) -> str:
    """Trap: until 22.05 at least, sacct cuts a time to the width of its field, even where nothing is lined up."""
    return f"{field}%{SEALED_WIDTH}" if field in TIMES else field


def _clock(epoch: int) -> str:
    """A time as sacct reads it under TZ=UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch))
