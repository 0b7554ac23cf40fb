"""How the commands of policy_install.py say what would be done, what was, and what is."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adminkit.cli.options import Format
from adminkit.errors import AdminkitError

if TYPE_CHECKING:
    from adminkit.deploy.bundle import Bundle
    from adminkit.deploy.install import Change, Done, Target
    from adminkit.deploy.status import Status


def emit_preview(
    changes: Sequence[Change], bundle: Bundle, target: Target, format: Format, output: Path | None
) -> None:
    """The files that would be written, and for each table the generation now and then."""
    from adminkit.deploy.install import installed, rule_changes
    from adminkit.render.sink import Way, emit
    from adminkit.reports.deploy import PREVIEW_FIELDS, listing

    there = installed(target.folder)
    said = [f"into {target.folder}; nothing was written: --apply does it", *bundle.notes]
    for name, generation in bundle.generations.items():
        before = there.get(name, {}).get("") or "none"
        now = generation or "of no generation"
        said.append(f"{name}: generation {now}, as installed" if now == before else f"{name}: {before}, then {now}")
    said += [
        f"{one.place} {one.change}: {one.installed or '-'}, then {one.file or '-'}"
        for one in rule_changes(bundle, target)
    ]
    said += _entry_notes(changes, bundle, target)
    if target.others:
        how = "by --push" if target.push else "by hand: --apply prints the steps"
        said.append(f"also for {', '.join(target.others)}, {how}")
    rows = [(change.file, change.kind, change.size) for change in changes if change.kind != "same"]
    if len(rows) < len(changes):
        said.append(f"{len(changes) - len(rows)} files are there already")
    emit(listing("What would be installed", target.cluster, PREVIEW_FIELDS, rows, said), Way(format.value, output))


def _entry_notes(changes: Sequence[Change], bundle: Bundle, target: Target) -> list[str]:
    from adminkit.deploy.program import ENTRY, entry_lines, entry_state

    if not any(change.file == ENTRY and change.kind == "the site's own" for change in changes):
        return []
    if entry_state(target.folder, bundle.program[ENTRY]) == "calls us":
        return [f"{ENTRY} is the site's own and calls adminkit: it is only touched"]
    lines = "; ".join(entry_lines(target.folder))
    return [f"{ENTRY} is the site's own: add to it, before `return slurm.SUCCESS`: {lines}"]


def emit_done(done: Done, target: Target, notes: Sequence[str], format: Format, output: Path | None) -> None:
    """A row per host and table; AdminkitError when it is not known to be in use everywhere."""
    from adminkit.deploy.program import entry_lines
    from adminkit.render.sink import Way, emit
    from adminkit.reports.deploy import DONE_FIELDS, listing

    here = socket.gethostname().partition(".")[0]
    state = "confirmed" if done.confirmed else "not confirmed"
    states = {here: state, **dict.fromkeys(target.others, "by hand"), **{one.name: one.state for one in done.hosts}}
    rows = [(host, put.name, put.before, put.generation, said) for host, said in states.items() for put in done.puts]
    said = [*notes, f"in {target.folder}; {len(done.changed)} files of the program were new or changed"]
    said += [f"on the other hosts: {step}" for step in done.steps]
    if done.entry == "foreign":
        said += [f"add to job_submit.lua: {line}" for line in entry_lines(target.folder)]
    emit(listing("What was installed", target.cluster, DONE_FIELDS, rows, said), Way(format.value, output))
    if not done.confirmed:
        raise AdminkitError(f"in place, but not in use: {done.doubt}", "adminkit doctor says what is missing")
    wrong = [f"{host.name}: {host.state}" for host in done.hosts if host.problem or host.differs]
    if wrong:
        raise AdminkitError(f"in use here, but {'; '.join(wrong)}", "run it again, or carry the files there by hand")


def emit_rollback(there: Mapping[str, str | None], target: Target, format: Format, output: Path | None) -> None:
    """What rollback would bring back."""
    from adminkit.render.sink import Way, emit
    from adminkit.reports.deploy import DONE_FIELDS, listing

    back = there.get("previous")
    if back is None:
        raise AdminkitError(f"there is nothing to go back to in {target.folder}", "only one install is kept")
    rows = [(host, "policy", there.get(""), back, "would be") for host in (socket.gethostname(), *target.others)]
    note = f"in {target.folder}; nothing was written: --apply does it"
    emit(listing("What would be brought back", target.cluster, DONE_FIELDS, rows, [note]), Way(format.value, output))


def emit_status(seen: Status, cluster: str, format: Format, output: Path | None) -> None:
    """A row per table; what else is wrong as notes."""
    from adminkit.render.sink import Way, emit
    from adminkit.reports.deploy import STATUS_FIELDS, listing

    rows = [
        (one.name, one.installed, one.running, one.good, one.previous, one.written_at, one.state) for one in seen.tables
    ]
    said = [f"{seen.folder}, job_submit.lua {seen.entry}", *([seen.doubt] if seen.doubt else []), *seen.notes]
    for files, what in (
        (seen.outdated, "not of this adminkit; install brings them up to date"),
        (seen.changed, "changed since they were installed"),
        (seen.unreadable, "not readable by SlurmUser"),
    ):
        if files:
            said.append(f"{what}: {', '.join(files)}")
    said += [f"{host.name}: {host.state}" for host in seen.hosts]
    emit(listing("What slurmctld decides by", cluster, STATUS_FIELDS, rows, said), Way(format.value, output))
