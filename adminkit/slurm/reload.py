"""Make slurmctld reload its script, ask which tables it decides by, and run the site's commands for its other hosts."""

from __future__ import annotations

import os
import re
import shlex
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, UsageError, cause
from adminkit.slurm.process import NoSuchProgram, Refused, ask

#: The job name that job_submit/adminkit answers with its generations instead of deciding.
PROBE: Final = "adminkit:generation?"
#: Seconds a command of the site's own may take, per host.
COMMAND_TIMEOUT: Final = 300.0

_ANSWER: Final = re.compile(r"adminkit generation (\S+) incentives (\S+) hints (\S+)(?: soft (\S+))?")
_NONE: Final = ("none", "-", "nil")


@dataclass(frozen=True, slots=True)
class Running:
    """The generations of the tables that slurmctld has loaded; None for a table that is not loaded."""

    policy: str | None
    incentives: str | None
    hints: str | None
    soft_limits: str | None = None


def touch(entry: Path, at_least: int = 0, now: float | None = None) -> int:
    """Make slurmctld load job_submit.lua again at the next submission. Returns the time given to the file.

    Trap: it loads again only when its mtime, in whole seconds, is later than that of the file it loaded last. So
    the mtime always grows, by a second at least, even where the file is from the future; `at_least` is one that the
    file had before it was replaced.
    """
    try:
        facts = entry.lstat()
        if stat.S_ISLNK(facts.st_mode) and facts.st_uid not in (0, os.geteuid()):
            whose = f"it is a symbolic link that belongs to uid {facts.st_uid}, neither root nor you"
            hint = "check where it points, then move it away and install again"
            raise AdminkitError(f"didn't touch {entry}: {whose}", hint)
        before = int(entry.stat().st_mtime)
        stamp = max(int(time.time() if now is None else now), before + 1, at_least + 1)
        os.utime(entry, (stamp, stamp))
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't touch {entry}: {why}", "run it as root on the slurmctld host") from error
    return stamp


def probe() -> Running | None:
    """The tables of the running slurmctld; None where it answers, but without adminkit's script.

    It submits with --test-only, so no job is queued. AdminkitError when slurmctld is away.
    """
    try:
        ask(["sbatch", "--test-only", f"--job-name={PROBE}", "--output=/dev/null", "--chdir=/", "--wrap=true"])
    except NoSuchProgram:
        raise
    except Refused as error:
        if re.search(r"contact slurm|slurmctld|Unable to", error.output) and not _ANSWER.search(error.output):
            raise
        return parse_answer(error.output)
    return None


def parse_answer(text: str) -> Running | None:
    """The generations in what sbatch printed."""
    match = _ANSWER.search(text)
    if match is None:
        return None
    return Running(*(None if word in _NONE else word for word in match.groups()))


def command(template: str, values: Mapping[str, str | Sequence[str]]) -> list[str]:
    """The words of a command of the site's own: split as a shell would, but run without one.

    {name} is replaced by its value within a word; a word that is only the {name} of a list becomes a word per item.
    """
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise UsageError(f"{template!r} is not a command: {error}", "quote it as for a shell") from error
    if not words:
        raise UsageError("the command is empty", "such as: rsync -a {files} root@{host}:{folder}/")
    filled: list[str] = []
    for word in words:
        whole = values.get(word[1:-1]) if word[:1] == "{" and word[-1:] == "}" else None
        if whole is not None and not isinstance(whole, str):
            filled += whole
            continue
        filled.append(re.sub(r"\{(\w+)\}", lambda match: _value(match.group(1), values), word))
    return filled


def run_command(argv: Sequence[str]) -> str:
    """Run a command of the site's own and return what it printed. AdminkitError with its error."""
    try:
        return ask(argv, COMMAND_TIMEOUT)
    except AdminkitError as error:
        raise AdminkitError(error.message, f"run it by hand: {shlex.join(argv)}") from error


def _value(name: str, values: Mapping[str, str | Sequence[str]]) -> str:
    if name not in values:
        known = ", ".join(f"{{{one}}}" for one in values)
        raise UsageError(f"{{{name}}} has no meaning here", f"known: {known}")
    value = values[name]
    return value if isinstance(value, str) else " ".join(value)
