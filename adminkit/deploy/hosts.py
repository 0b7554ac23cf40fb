"""The other slurmctld hosts: the files get there by a command of the site's own, and are compared by checksum."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adminkit.deploy.files import SUBFOLDER, SUMS, checksums, differing, parse_sums
from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm.reload import command, run_command


@dataclass(frozen=True, slots=True)
class Host:
    """Another slurmctld host. `differs` names the files it has otherwise; None where they could not be got."""

    name: str
    pushed: bool
    differs: tuple[str, ...] | None = None
    problem: str = ""

    @property
    def state(self) -> str:
        """A word or two for the log and the table."""
        if self.problem:
            return f"failed: {self.problem}"
        if self.differs:
            return f"differs: {', '.join(self.differs)}"
        if self.differs is not None:
            return "the same"
        return "pushed" if self.pushed else "not reached"


def check_command(template: str, option: str) -> None:
    """UsageError for a command that could not be run for any host."""
    words = command(template, {"files": [], "host": "", "folder": ""})
    if "{host}" not in template:
        raise UsageError(f"{option} does not contain {{host}}", "for example: rsync -a {files} root@{host}:{folder}/")
    if not words:
        raise UsageError(f"{option} is empty", "for example: rsync -a {files} root@{host}:{folder}/")


def push(template: str, host: str, folder: Path, parts: Sequence[Path]) -> Host:
    """Run the command once per part, in this order: tables and modules have to be there before the entry is newer."""
    try:
        for part in parts:
            run_command(command(template, {"files": [str(part)], "host": host, "folder": str(folder)}))
    except AdminkitError as error:
        return Host(host, False, problem=error.message)
    return Host(host, True)


def compare(template: str, host: Host, folder: Path) -> Host:
    """The host with what it has otherwise; the command prints what sha256sum would."""
    if host.problem:
        return host
    try:
        output = run_command(command(template, {"host": host.name, "folder": str(folder)}))
    except AdminkitError as error:
        return Host(host.name, host.pushed, problem=error.message)
    theirs = parse_sums(output, folder)
    if not theirs:
        return Host(host.name, host.pushed, problem="the command printed no checksums")
    return Host(host.name, host.pushed, tuple(differing(checksums(folder), theirs)))


def steps(hosts: Iterable[str], folder: Path, entry: bool) -> list[str]:
    """What to type for each host where no command is set; the entry goes last."""
    lines = []
    for host in hosts:
        target = f"root@{host}"
        lines.append(["rsync", "-as", f"{folder}/{SUBFOLDER}", f"{target}:{folder}/"])
        script = shlex.quote(f"{folder}/job_submit.lua")  # Trap: a shell there reads it once more; -s spares rsync that
        if entry:
            lines.append(["rsync", "-as", f"{folder}/job_submit.lua", f"{target}:{folder}/"])
        else:
            lines.append(["ssh", target, f"touch {script}"])
        lines.append(["ssh", target, f"cd {shlex.quote(str(folder))} && sha256sum -c --quiet {SUMS}"])
    return [shlex.join(line) for line in lines]


def all_alike(hosts: Iterable[Host]) -> bool:
    """Whether no host is known to differ or to have been missed."""
    return not any(host.problem or host.differs for host in hosts)


def as_words(hosts: Iterable[Host]) -> dict[str, str]:
    """The host as the action log has it."""
    return {host.name: host.state for host in hosts}
