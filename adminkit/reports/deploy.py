"""What an install would do, did, and what is installed, as Reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report

if TYPE_CHECKING:
    from adminkit.deploy.bundle import Bundle
    from adminkit.deploy.install import Change, Done, Target
    from adminkit.deploy.program import Entry
    from adminkit.deploy.status import Status
    from adminkit.policy.diff import Difference

#: What is said of job_submit.lua, by whose it is.
_ENTRIES: Final[Mapping[Entry, str]] = {
    "absent": "is absent",
    "ours": "is adminkit's",
    "calls us": "is the site's own and calls adminkit",
    "foreign": "is the site's own",
}
PREVIEW_FIELDS: Final = (
    Field("file", help="the file, below the folder of job_submit.lua"),
    Field("change", help="new, changed, same; the site's own: left alone"),
    Field("bytes", "count", "its size"),
)
DONE_FIELDS: Final = (
    Field("host", help="a slurmctld host"),
    Field("table", help="policy, incentives or hints"),
    Field("before", help="the previous generation"),
    Field("generation", help="the generation that was installed"),
    Field("state", help="confirmed: slurmctld reported that it uses it"),
)
REFRESH_FIELDS: Final = (
    Field("uid", help="the uid of a user"),
    Field("user", help="the user's name on this host"),
    Field("change", help="no longer exempt: is not an operator any more; exempt from now on: has become an operator"),
)
STATUS_FIELDS: Final = (
    Field("table", help="policy, incentives or hints"),
    Field("installed", help="the generation of the file; damaged: slurmctld could not use it"),
    Field("running", help="the generation that slurmctld uses"),
    Field("good", help="the generation of the copy that is used when the file is damaged"),
    Field("previous", help="the generation that a rollback would restore"),
    Field("written_at", "time", "when the file was written"),
    Field("state", help="in use; not in use; damaged; absent; unknown: slurmctld was not asked"),
)


def preview_report(
    changes: Sequence[Change],
    bundle: Bundle,
    target: Target,
    *,
    installed: Mapping[str, Mapping[str, str | None]],
    rules: Sequence[Difference],
    entry: Entry,
) -> Report:
    """The files that an install would write; each table's generation, now and then, and each changed rule as notes.

    `installed`: what deploy.install.installed says. `entry`: whose job_submit.lua is in place.
    """
    notes = [f"into {target.folder}; nothing was written; add --apply to write it", *bundle.notes]
    for table, generation in bundle.generations.items():
        before, after = installed.get(table, {}).get("") or "none", generation or "a table of no generation"
        now = f"generation {after}, as installed" if after == before else f"{before} becomes {after}"
        notes.append(f"{table}: {now}")
    notes += [f"{one.place} {one.change}: {' becomes '.join(filter(None, (one.installed, one.file)))}" for one in rules]
    notes += _entry_notes(changes, target, entry)
    if target.others:
        how = "by --push" if target.push else "by hand: --apply prints the steps"
        notes.append(f"also for {', '.join(target.others)}, {how}")
    rows = [(change.file, change.kind, change.size) for change in changes if change.kind != "same"]
    if len(rows) < len(changes):
        notes.append(f"{plural(len(changes) - len(rows), 'file')} already there")
    return _report("What would be installed", target.cluster, PREVIEW_FIELDS, rows, notes)


def _entry_notes(changes: Sequence[Change], target: Target, entry: Entry) -> list[str]:
    from adminkit.deploy.program import ENTRY, entry_lines

    if not any(change.file == ENTRY and change.kind == "the site's own" for change in changes):
        return []
    if entry == "calls us":
        return [f"{ENTRY} is the site's own and calls adminkit: only its time stamp changes"]
    lines = "; ".join(entry_lines(target.folder))
    return [f"{ENTRY} is the site's own: add to it, before `return slurm.SUCCESS`: {lines}"]


def done_report(done: Done, target: Target, notes: Sequence[str], host: str) -> Report:
    """A row per host and table; `host` is this one."""
    from adminkit.deploy.program import ENTRY, entry_lines

    states = {host: "confirmed" if done.confirmed else "not confirmed", **dict.fromkeys(target.others, "by hand")}
    states |= {one.name: one.state for one in done.hosts}
    rows = [(name, put.name, put.before, put.generation, state) for name, state in states.items() for put in done.puts]
    files = f"{len(done.changed)} {'was' if len(done.changed) == 1 else 'were'}"
    notes = [*notes, f"in {target.folder}; of adminkit's own files, {files} new or changed"]
    notes += [f"on the other hosts: {step}" for step in done.steps]
    if done.entry == "foreign":
        notes += [f"add to {ENTRY}: {line}" for line in entry_lines(target.folder)]
    return _report("What was installed", target.cluster, DONE_FIELDS, rows, notes)


def rollback_report(before: str | None, previous: str, target: Target, host: str) -> Report:
    """The generation of the policy that would come back, and the one that it would replace; `host` is this one."""
    rows = [(name, "policy", before, previous, "would be") for name in (host, *target.others)]
    note = f"in {target.folder}; nothing was written; add --apply to write it"
    return _report("What would be brought back", target.cluster, DONE_FIELDS, rows, [note])


def refresh_report(passing: Sequence[tuple[int, str | None, str]], cluster: str, notes: Sequence[str]) -> Report:
    """The users, as (uid, name, change), whom the rules would hold from now on, or no longer."""
    rows = [(str(uid), name, change) for uid, name, change in passing]
    return _report("Who is exempt from the rules", cluster, REFRESH_FIELDS, rows, notes)


def status_report(status: Status, cluster: str) -> Report:
    """A row per table; what else is wrong as notes."""
    rows = [
        (one.name, one.installed, one.running, one.good, one.previous, one.written_at, one.state)
        for one in status.tables
    ]
    notes = [f"{status.folder}, job_submit.lua {_ENTRIES[status.entry]}", *([status.doubt] if status.doubt else [])]
    notes += status.notes
    for files, what in (
        (status.outdated, "of another release of adminkit; `adminkit policy install --apply` replaces them"),
        (status.changed, "changed by hand since they were installed"),
        (status.unreadable, "not readable by SlurmUser"),
    ):
        if files:
            notes.append(f"{what}: {', '.join(files)}")
    notes += [f"{host.name}: {host.state}" for host in status.hosts]
    return _report("The tables that slurmctld uses", cluster, STATUS_FIELDS, rows, notes)


def _report(
    title: str, cluster: str, fields: Sequence[Field], rows: Sequence[Sequence[Cell]], notes: Sequence[str]
) -> Report:
    return Report(Meta.plain(title, notes, [cluster]), fields, rows)
