"""The job of a server that a hub starts: what is asked of Slurm's programs for it, and what they answer.

The hub runs the programs itself, beside its event loop, so this has their arguments and their answers only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.job import SERVER_NAME
from adminkit.slurm import squeue
from adminkit.slurm.keyvalue import number
from adminkit.slurm.seal import Marks

#: squeue's fields: none of them is text that a user wrote.
_FIELDS: Final = "%i|%T|%B|%S|%r"
#: States in which a job has not begun, and in which it runs. It is over in every other.
WAITING: Final = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")
RUNNING: Final = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT")


@dataclass(frozen=True, slots=True)
class Seen:
    """A job as slurmctld holds it. `start_time`: epoch seconds, expected where it waits; None: unknown."""

    state: str
    host: str | None
    start_time: int | None
    reason: str | None  # Slurm's code

    @property
    def waits(self) -> bool:
        return self.state in WAITING

    @property
    def runs(self) -> bool:
        return self.state in RUNNING


#: What slurmctld no longer knows.
GONE: Final = Seen("gone", None, None, None)


def states(job_ids: Sequence[str]) -> list[str]:
    """squeue's words for these jobs. Trap: asked for a single job that is long over, it says that its id is invalid."""
    return ["squeue", "-a", "-h", "-t", "all", "-j", ",".join(job_ids), "-o", _FIELDS]


def no_such_job(complaint: str) -> bool:
    """Whether squeue failed as the one job that it was asked of is forgotten."""
    return "Invalid job id" in complaint


def parse(text: str) -> dict[str, Seen]:
    """Job id -> what squeue says of it. Lines of another shape are left out."""
    cells = (line.strip().split("|", 4) for line in text.splitlines())
    return {
        job_id: Seen(state, None if host in ("", "n/a", "(null)") else host, _epoch(start), reason or None)
        for job_id, state, host, start, reason in (one for one in cells if len(one) == 5)
        if re.fullmatch(r"\d+", job_id)
    }


def _epoch(text: str) -> int | None:
    return number(text) if text.isdigit() and text != "0" else None


#: Slurm's own fields first; the comment, which is its user's, last.
_MARKED: Final = ("JobArrayID", "SubmitTime", "UserName", "Comment")


def marked(marks: Marks) -> list[str]:
    """squeue's words for all servers that are not over, with their comments. It has to be run with the seal."""
    return squeue.words(_MARKED, marks, f"--name={SERVER_NAME}")


def parse_marked(text: str, words: Collection[str], marks: Marks) -> dict[tuple[str, str], list[str]]:
    """(user, word) -> the jobs that have one of `words` in their comment.

    Trap: a comment is what its user typed, line breaks included, and may look like another's job. So only lines with
    the seal count.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for job in squeue.parse(text, _MARKED, marks):
        for word in job.comment.split():
            if word in words and job.listed_id.isdigit():
                found.setdefault((job.user, word), []).append(job.listed_id)
    return found


#: What Slurm's programs complain of when a message was lost: slurmctld may have taken the job.
_NO_WORD: Final = re.compile(
    r"timed out|Unable to contact slurm controller|Zero Bytes|[Cc]onnection (?:failure|refused|reset)"
    r"|Message (?:send|receive) failure|not connected",
)


def may_have_come(complaint: str) -> bool:
    """Whether sbatch failed without an answer of slurmctld's."""
    return _NO_WORD.search(complaint) is not None


def submission(options: Sequence[str]) -> list[str]:
    """sbatch's words; the script is its stdin."""
    return ["sbatch", "--parsable", *options]


def cancellation(job_id: str) -> list[str]:
    """scancel's words."""
    return ["scancel", job_id]


def job_id_of(said: str) -> str | None:
    """The id that sbatch printed; lines of a cli_filter may come before it."""
    found = re.search(r"^(\d+)(?:;[^\n]*)?$", said.strip(), re.MULTILINE)
    return found[1] if found else None


def why_of(complaint: str) -> str:
    """sbatch's own words, without the program's name; the lines of a job_submit script stay in their order."""
    lines = (line.strip().removeprefix("sbatch: ").removeprefix("error: ") for line in complaint.splitlines())
    return "; ".join(dict.fromkeys(line for line in lines if line)) or "sbatch did not say why"
