"""doctor's lines on the rules at submission: in place, in use, the same everywhere, and on record."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit import config
from adminkit.doctor.check import Line
from adminkit.errors import AdminkitError
from adminkit.slurm import release
from adminkit.slurm.controller import Controller, controller_or_conf, site_folder
from adminkit.stats import status
from adminkit.trace import connect

#: record -> (what AccountingStoreFlags needs for it, the first release that has the field)
STORES: Final[Mapping[str, tuple[str, release.Release]]] = {
    "comment": ("job_comment", (20, 11, 0)),
    "extra": ("job_extra", (23, 2, 0)),
}
INSTALL: Final = "adminkit policy install --apply"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the lines are drawn from."""

    found: Controller
    folder: Path
    settings: config.Policy


def rules(settings: config.Policy) -> Iterator[Line]:
    """Every line; one alone where no rules are installed. AdminkitError without slurmctld and its slurm.conf."""
    found = controller_or_conf()
    seen = _Seen(found, site_folder(found, settings.folder), settings)
    inner = seen.folder / "adminkit"
    if (seen.folder.exists() and not os.access(seen.folder, os.R_OK | os.X_OK)) or (
        inner.exists() and not os.access(inner, os.R_OK | os.X_OK)
    ):
        yield "rules", "ok", f"not looked at: {inner} is not for this user", ""
        return
    if not inner.is_dir() and "lua" not in found.plugins:
        yield "rules", "ok", f"none installed in {seen.folder}", ""
        return
    yield _in_use(seen)
    yield _of_file(seen)
    if found.others():
        yield _hosts(seen)
    yield from _record(seen)


def foreign_comments(db: Path) -> Iterator[Line]:
    """How many runs of the trace have a record of Jobstats where ours was; nothing where there is no trace."""
    try:
        with connect.reader(db) as trace:
            theirs, whole = status.with_jobstats(trace)
    except (AdminkitError, sqlite3.Error, OSError):
        return
    if theirs:
        yield (
            "comments", "warn", f"{theirs} of {whole} runs have JS1: (Jobstats) in AdminComment",
            "sync while they run keeps what was asked for; or keep the record elsewhere: docs/policy/record.md",
        )  # fmt: skip


def _in_use(seen: _Seen) -> Line:
    from adminkit.deploy import status as deployed

    now = deployed.status(seen.found, seen.folder)
    policy = now.tables[0]
    damaged = [f"{table.name}.lua" for table in now.tables if table.state == "damaged"]
    what = f"policy {policy.installed or 'none'} in {seen.folder}"
    if now.entry in ("absent", "foreign"):
        why = "there is no job_submit.lua" if now.entry == "absent" else "job_submit.lua does not call adminkit"
        return "rules", "missing", f"{what}: {why}", f"{INSTALL} says what to do"
    if policy.installed in (None, "damaged") and policy.good in (None, "damaged"):
        return "rules", "missing", f"no whole policy in {seen.folder}: every submission is accepted", INSTALL
    if now.outdated:
        names = ", ".join(now.outdated)
        return "rules", "missing", f"{what}, but not of this adminkit: {names}", f"{INSTALL} brings them up to date"
    if now.unreadable:
        return "rules", "missing", f"{what}; SlurmUser cannot read {', '.join(now.unreadable)}", INSTALL
    if now.doubt:
        hint = "look at slurmctld.log" if "lua" in seen.found.plugins else f"then {INSTALL}, which asks slurmctld"
        return "rules", "missing", f"{what}: {now.doubt}", hint
    if damaged:
        return "rules", "warn", f"{what}: damaged, the good copy counts: {', '.join(damaged)}", INSTALL
    other = [table for table in now.tables if table.state == "not in use"]
    if other:
        said = "; ".join(f"{one.name} {one.running or 'none'}, installed {one.installed or 'none'}" for one in other)
        hint = f"{INSTALL}, which has slurmctld load it"
        return "rules", "missing", f"slurmctld decides by {said}", hint
    if now.changed:
        return "rules", "warn", f"{what}; changed by hand: {', '.join(now.changed)}", f"{INSTALL} puts them right"
    return "rules", "ok", f"{what}, in use", ""


def _of_file(seen: _Seen) -> Line:
    """The installed policy against its file."""
    from adminkit.deploy.bundle import build
    from adminkit.deploy.files import generation_of, read_text, table_path
    from adminkit.policy.load import find_policy

    path, example = find_policy(None)
    if example:
        return "policy", "warn", "there is no /etc/adminkit/policy.toml on this host", "keep the rules' source there"
    if seen.found.away:
        return "policy", "ok", f"{path}, not compared: slurmctld is away", ""
    made = generation_of(build(path, seen.found, 0).text)
    there = generation_of(read_text(table_path(seen.folder, "policy")) or "")
    if made == there:
        return "policy", "ok", f"{path}, as installed", ""
    return (
        "policy",
        "warn",
        f"{path} would be {made}, installed is {there or 'of no generation'}",
        "adminkit policy diff shows it",
    )


def _hosts(seen: _Seen) -> Line:
    from adminkit.deploy.hosts import Host, compare

    others, fetch = seen.found.others(), seen.settings.fetch
    if fetch is None:
        names = ", ".join(others)
        return (
            "hosts",
            "warn",
            f"not compared with {names}",
            "[policy] fetch in adminkit.toml says how",
        )
    compared = [compare(fetch, Host(name, False), seen.folder) for name in others]
    wrong = [f"{host.name} {host.state}" for host in compared if host.problem or host.differs]
    if wrong:
        return "hosts", "missing", "; ".join(wrong), f"{INSTALL} with [policy] push, or carry the files there"
    return "hosts", "ok", f"the same files on {', '.join(others)}", ""


def _record(seen: _Seen) -> Iterator[Line]:
    """Whether slurmdbd keeps what the policy records."""
    from adminkit.deploy.files import table_path
    from adminkit.lua.runtime import load_table

    try:
        table: Mapping[str, Any] = load_table(table_path(seen.folder, "policy"))
    except AdminkitError:
        return  # said above
    field = str(table.get("record", "none"))
    if field in STORES:
        flag, since = STORES[field]
        if release.release() < since:
            yield "record", "missing", f"this Slurm has no {field}", 'record = "admin_comment" in policy.toml'
            return
        if flag not in seen.found.store:
            yield (
                "record", "missing", f"in {field}, which slurmdbd does not keep",
                f"AccountingStoreFlags={flag} in slurm.conf, or another record in policy.toml",
            )  # fmt: skip
            return
    yield "record", "ok", "none is kept" if field == "none" else f"in {field}", ""
