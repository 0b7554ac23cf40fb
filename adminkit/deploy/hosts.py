"""The other slurmctld hosts: the files get there by a command of the site's own, and are compared by checksum."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.deploy.files import SUBFOLDER, checksums, differing, put_file, read_text
from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm.reload import command, run_command

#: The checksums of what was installed, as sha256sum writes and checks them; below the folder of job_submit.lua.
SUMS: Final = f"{SUBFOLDER}/SHA256SUMS"
_SUM: Final = re.compile(r"^\\?([0-9a-f]{64}) [ *](.+)$", re.MULTILINE)


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


def check_command(template: str | None, option: str) -> None:
    """UsageError for a command that could not be run for any host."""
    if template is None:
        return
    words = command(template, {"files": [], "host": "", "folder": ""})
    if "{host}" not in template:
        raise UsageError(f"{option} does not say {{host}}", "such as: rsync -a {files} root@{host}:{folder}/")
    if not words:
        raise UsageError(f"{option} is empty", "such as: rsync -a {files} root@{host}:{folder}/")


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
        said = run_command(command(template, {"host": host.name, "folder": str(folder)}))
    except AdminkitError as error:
        return Host(host.name, host.pushed, problem=error.message)
    theirs = parse_sums(said, folder)
    if not theirs:
        return Host(host.name, host.pushed, problem="no checksums in what the command printed")
    return Host(host.name, host.pushed, tuple(differing(checksums(folder), theirs)))


def parse_sums(text: str, folder: Path) -> dict[str, str]:
    """sha256sum's lines, of paths from the folder or absolute ones; previous tables do not count."""
    found = {}
    for digest, name in _SUM.findall(text):
        path = name.removeprefix(f"{folder}/").removeprefix("./")
        if path.endswith(".lua") and not path.endswith(".previous.lua"):
            found[path] = digest
    return found


def write_sums(folder: Path, names: Iterable[str], group: int | None = None, drop: Iterable[str] = ()) -> None:
    """Write down what these files are now, for `sha256sum -c` and for doctor; the others stay as they were noted.

    `drop` are no longer ours to answer for.
    """
    known, now = noted(folder) or {}, checksums(folder)
    known.update({name: now[name] for name in names if name in now})
    text = "".join(f"{known[name]}  {name}\n" for name in sorted(known.keys() - set(drop)) if name in now)
    put_file(folder / SUMS, text, group)


def noted(folder: Path) -> dict[str, str] | None:
    """The checksums of what was installed; None where nothing was written down."""
    text = read_text(folder / SUMS)
    return None if text is None else parse_sums(text, folder)


def changed_since(folder: Path) -> list[str]:
    """The files that are no longer what was installed; empty where nothing was written down."""
    known, now = noted(folder) or {}, checksums(folder)
    return sorted(name for name, digest in known.items() if now.get(name) != digest)


def steps(hosts: Iterable[str], folder: Path, entry: bool) -> list[str]:
    """What to type for each host where no command is set; the entry goes last."""
    lines = []
    for host in hosts:
        lines.append(f"rsync -a {folder}/{SUBFOLDER} root@{host}:{folder}/")
        if entry:
            lines.append(f"rsync -a {folder}/job_submit.lua root@{host}:{folder}/")
        else:
            lines.append(f"ssh root@{host} touch {folder}/job_submit.lua")
        lines.append(f"ssh root@{host} 'cd {folder} && sha256sum -c --quiet {SUMS}'")
    return lines


def all_alike(hosts: Iterable[Host]) -> bool:
    """Whether no host is known to differ or to have been missed."""
    return not any(host.problem or host.differs for host in hosts)


def as_words(hosts: Iterable[Host]) -> dict[str, str]:
    """For the log of acts."""
    return {host.name: host.state for host in hosts}
