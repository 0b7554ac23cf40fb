"""docs/reliability.md, and a line for each fault as it is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.faults.catalogue import FAULTS
from tests.faults.results import Outcome, Result
from tests.matrix.rows import ROOT

PAGE: Final = ROOT / "docs/reliability.md"
_HEAD: Final = """# Faults, and what they lose

<!-- Made by `make faults` and `make docs` from tests/data/faults.json and tests/faults/; do not edit. -->

`make faults RELEASE=…` ([CONTRIBUTING](../CONTRIBUTING.md)) breaks a test site while jobs are running, repairs the
site, and counts what was lost. The site consists of containers, which `make cluster-up RELEASE=…` starts: MariaDB,
slurmdbd, slurmctld, three nodes, a mail server and a login node. Every run that sacct shows must be in the trace
exactly once, with the same value in every column, and every letter (adminkit's email to a user) must be in the mailbox
exactly once. The site's hosts are in New York's time zone; adminkit asks Slurm for times in UTC.

Each cell below counts runs that are only in sacct (*lost*), runs that are only in the trace, such as a second copy of a
run (*duplicated*), and runs whose values in sacct and in the trace differ (*different*). If the fault concerns letters,
the cell also counts letters that are missing, and letters that arrived twice without a report from adminkit
(*duplicated without notice*).
"""


def told(one: Result) -> str:
    """One line: what was counted, or why it failed."""
    said = f"{one.state}: {one.release} {one.fault} ({one.seconds} s): {counted(one.outcome)}"
    return "\n   ".join(part for part in (said, one.outcome.line, *one.outcome.notes, one.reason) if part)


def counted(found: Outcome) -> str:
    """25 runs: 0 lost, 0 duplicated, 0 different; 12 letters: …"""
    said = f"{found.runs} runs: {found.lost} lost, {found.doubled} duplicated, {found.different} different"
    if found.letters is None:
        return said
    return f"{said}; {found.letters} letters: {found.unsent} missing, {found.twice} duplicated without notice"


def markdown(found: Sequence[Result]) -> str:
    """The page: a table for each release, then each fault with what was done and its line."""
    parts = [_HEAD, "## Outcomes\n", _table(found), "## What was done\n"]
    for fault in FAULTS:
        here = [one for one in found if one.fault == fault.name]
        parts.append(f"### {fault.title}\n\n{fault.done}\n")
        for one in here:
            parts.append(_about(one))
        if not here:
            parts.append("Not run.\n")
    return "\n".join(parts)


def write(found: Sequence[Result], path: Path = PAGE) -> None:
    path.write_text(markdown(found))


def _table(found: Sequence[Result]) -> str:
    releases = sorted({(one.release, one.slurm) for one in found})
    lines = ["| fault | " + " | ".join(f"{name} {slurm}" for name, slurm in releases) + " |"]
    lines.append("| --- |" + " --- |" * len(releases))
    for fault in FAULTS:
        cells = []
        for name, _ in releases:
            one = next((one for one in found if (one.release, one.fault) == (name, fault.name)), None)
            cells.append("not run" if one is None else _cell(one))
        lines.append(f"| {fault.title} | " + " | ".join(cells) + " |")
    commits = ", ".join(sorted({one.commit for one in found}))
    tested = f"These faults were tested on the commits {commits}; a `+` means that there were uncommitted changes.\n"
    return "\n".join([*lines, "", tested])


def _cell(one: Result) -> str:
    if one.state == "passed":
        return counted(one.outcome)
    return f"FAILED: {_escaped(one.reason or counted(one.outcome))}"


def _about(one: Result) -> str:
    """What one release said of a fault."""
    shown = f", and {one.outcome.where} showed" if one.outcome.where else ""
    head = f"On {one.release} {one.slurm}, the test took {one.seconds} s{shown}:\n"
    lines = [head, f"    {one.outcome.line or one.reason}", ""]
    lines += [f"- {_escaped(note)}" for note in one.outcome.notes]
    return "\n".join(lines) + ("\n" if one.outcome.notes else "")


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
