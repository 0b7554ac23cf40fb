"""sacct: the question, the command line, and its answer in a spool file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.run import environment

DELIMITER: Final = "\x1f"

#: What a dead or unreachable accounting daemon makes sacct say. Asking for less does not help then.
UNREACHABLE: Final = (
    "connection refused",
    "unable to contact",
    "problem talking to the database",
    "connection timed out",
    "no route to host",
    "slurmdbd: connection",
    "sending persistinit",
    "unspecified error",
)


class SacctFailed(AdminkitError):
    """sacct gave no whole answer. `unreachable`: no question would have been answered."""

    def __init__(self, message: str, hint: str, unreachable: bool) -> None:
        super().__init__(message, hint)
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True)
class Query:
    """Jobs of one cluster in some states during [since, until]; epoch seconds, sacct counts both ends in.

    With finished states it selects by End, with open ones by the state during the window.
    """

    cluster: str | None
    since: int
    until: int
    states: Sequence[str]
    fields: Sequence[str]
    steps: bool = False
    job_ids: Sequence[int] = ()

    def argv(self) -> list[str]:
        """-D keeps requeued runs, -X leaves steps out (with them slurmdbd makes one query per job)."""
        args = ["sacct", "-a", "-D", "-n", "-p", "--noconvert", f"--delimiter={DELIMITER}"]
        args += [] if self.steps else ["-X"]
        args += ["-M", self.cluster] if self.cluster else ["-L"] if False else []
        args += ["-S", _clock(self.since), "-E", _clock(self.until), "-o", ",".join(self.fields)]
        args += ["-s", ",".join(self.states)] if self.states else []
        args += ["-j", ",".join(map(str, self.job_ids))] if self.job_ids else []
        return args


def fetch(query: Query, spool: Path, timeout: float) -> int:
    """Write sacct's whole answer to `spool`; returns its size in bytes. Raises SacctFailed, leaving no file."""
    try:
        with spool.open("wb") as out:
            done = subprocess.run(
                query.argv(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=timeout,
                env=environment(),
            )
    except FileNotFoundError as error:
        raise SacctFailed(
            "sacct is not installed here", "run adminkit on a host with Slurm's client programs", True
        ) from error
    except subprocess.TimeoutExpired as error:
        spool.unlink(missing_ok=True)
        raise SacctFailed(
            f"sacct gave no answer within {timeout:.0f} s", "the accounting database is busy; try later", False
        ) from error
    said = done.stderr.decode(errors="replace").strip()
    # Trap: with slurmdbd gone some releases complain and still exit 0, with an empty answer.
    if done.returncode or "error:" in said or "fatal:" in said:
        spool.unlink(missing_ok=True)
        last = said.splitlines()[-1] if said else f"exit code {done.returncode}"
        unreachable = any(word in said.lower() for word in UNREACHABLE)
        hint = "is slurmdbd running? `sacctmgr ping` tells" if unreachable else "run the same command again later"
        raise SacctFailed(f"couldn't ask sacct: {last.removeprefix('sacct: ')}", hint, unreachable)
    return spool.stat().st_size


def _clock(epoch: int) -> str:
    """A time as sacct reads it under TZ=UTC."""
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch))
