"""`sbatch --test-only`: what slurmctld says of a request, through job_submit and with the user's own rights.

Traps: it prints on stderr, among the lines of job_submit and cli_filter; 26.05 puts an `a` behind the time. It burns
a job id. It says *now* to a job that a QOS or a limit of an association will hold, and looks past jobs that wait, for
which it adds a rough sum to the time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError, UsageError
from adminkit.quote import quote
from adminkit.slurm.process import User, told
from adminkit.slurm.seal import draw
from adminkit.users import by_name, by_uid

#: Seconds: backfill holds slurmctld's locks for two at a time.
PATIENCE: Final = 8.0

_START: Final = r"^sbatch: Job \d+ to start at (\d+){seal}(?: a)? using .* on nodes (\S+) in partition"
_REFUSAL: Final = re.compile(r"^(?:sbatch: error: |allocation failure: )(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WillRun:
    """`start`: epoch seconds, None where it was refused; `refusal`: Slurm's sentence, or the site's own."""

    start: int | None
    refusal: str = ""
    nodes: str = ""


def user_of(name: str | None) -> User:
    """A user of this host, the caller for None. UsageError for an unknown one; NamesAway."""
    who = by_uid(os.geteuid()) if name is None else by_name(name)
    if who is None:
        unknown = quote(name or str(os.geteuid()))
        raise UsageError(f"this host has no user {unknown}", "name one that `getent passwd` lists")
    groups = tuple(os.getgrouplist(who.pw_name, who.pw_gid))
    return User(who.pw_name, who.pw_uid, who.pw_gid, groups, who.pw_dir)


def why_not(who: User) -> str:
    """Why this process may not ask as that user; "" where it may. Root asks as that user, never as root for another."""
    if who.uid == os.geteuid():
        return ""
    return "" if os.geteuid() == 0 else f"only root and {quote(who.name)} may ask Slurm as {quote(who.name)}"


def will_run(options: Sequence[str], who: User) -> WillRun:
    """Ask as that user. AdminkitError when slurmctld is away."""
    if refused := why_not(who):
        raise AdminkitError(refused, "leave out --user, or run it as root")
    marks = draw()
    # The seal is in the environment, which other users cannot read; a line without it is not slurmctld's.
    code, text = told(["sbatch", "--test-only", *options, "--wrap=true"], who, PATIENCE, marks.seal)
    return parse(code, text, marks.seal)


def parse(code: int, text: str, seal: str) -> WillRun:
    """The sealed line is the answer; else the first sentence that refuses it. AdminkitError without either."""
    match = re.search(_START.format(seal=re.escape(seal)), text, re.MULTILINE)
    if match is not None and code == 0:
        return WillRun(int(match[1]), "", match[2])
    sentences = list(dict.fromkeys(line.strip() for line in _REFUSAL.findall(text)))
    if any("contact slurm controller" in line or "timed out" in line.lower() for line in sentences):
        raise AdminkitError(
            "couldn't run sbatch: slurmctld is not responding", "check that it is running: scontrol ping"
        )
    if code == 0 or not sentences:
        raise AdminkitError("couldn't read what sbatch --test-only said", "run it by hand: sbatch says more")
    return WillRun(None, quote("; ".join(sentences[:3]), 300))
