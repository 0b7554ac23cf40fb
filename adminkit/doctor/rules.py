"""doctor's checks of the rules at submission: installed, in use, the same on every slurmctld host, recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit import config
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.render.format import plural
from adminkit.slurm import release
from adminkit.slurm.controller import Controller, controller_or_conf, site_folder
from adminkit.sqlite import sqlite3
from adminkit.stats import status
from adminkit.trace import connect

#: `record` of policy.toml -> (its word in AccountingStoreFlags, the first release that has the field)
STORES: Final[Mapping[str, tuple[str, release.Release]]] = {
    "comment": ("job_comment", (20, 11, 0)),
    "extra": ("job_extra", (23, 2, 0)),
}
INSTALL: Final = "adminkit policy install --apply"


@dataclass(frozen=True, slots=True)
class _Site:
    """What the checks are made from."""

    controller: Controller
    folder: Path
    settings: config.Policy


def rules(settings: config.Policy) -> Iterator[Check]:
    """Every check; a single one where no rules are installed. AdminkitError without both slurmctld and slurm.conf."""
    controller = controller_or_conf()
    site = _Site(controller, site_folder(controller, settings.folder), settings)
    inner = site.folder / "adminkit"
    if (site.folder.exists() and not os.access(site.folder, os.R_OK | os.X_OK)) or (
        inner.exists() and not os.access(inner, os.R_OK | os.X_OK)
    ):
        yield Check("rules", "ok", f"not checked: this user may not read {inner}")
        return
    if not inner.is_dir() and "lua" not in controller.plugins:
        yield Check("rules", "ok", f"none is installed in {site.folder}")
        return
    yield _in_use(site)
    yield _of_file(site)
    if controller.others():
        yield _hosts(site)
    yield from _record(site)


def foreign_comments(db: Path) -> Iterator[Check]:
    """How many runs of the trace have a record of Jobstats in place of adminkit's; empty where there is no trace."""
    try:
        with connect.reader(db) as trace:
            theirs, whole = status.with_jobstats(trace)
    except (AdminkitError, sqlite3.Error, OSError):
        return
    if theirs:
        yield Check(
            "comments",
            "warn",
            f"{theirs} of {plural(whole, 'run')} have JS1: in AdminComment, where Jobstats overwrote adminkit's record",
            "sync while jobs run, so that the trace has it first, or set another `record`: docs/policy/record.md",
        )


def _in_use(site: _Site) -> Check:
    from adminkit.deploy import status as deployed

    now = deployed.status(site.controller, site.folder)
    policy = now.tables[0]
    damaged = [f"{table.name}.lua" for table in now.tables if table.state == "damaged"]
    what = f"policy {policy.installed or 'none'} in {site.folder}"
    if now.entry in ("absent", "foreign"):
        why = "there is no job_submit.lua" if now.entry == "absent" else "job_submit.lua does not call adminkit"
        return Check("rules", "missing", f"{what}: {why}", f"run {INSTALL}: it says what to do")
    if policy.installed in (None, "damaged") and policy.good in (None, "damaged"):
        return Check(
            "rules", "missing", f"no undamaged policy in {site.folder}: every submission is accepted", f"run {INSTALL}"
        )
    if now.outdated:
        names = ", ".join(now.outdated)
        return Check("rules", "missing", f"{what}; of another release of adminkit: {names}", f"run {INSTALL}")
    if now.unreadable:
        return Check("rules", "missing", f"{what}; SlurmUser cannot read {', '.join(now.unreadable)}", f"run {INSTALL}")
    if now.doubt:
        hint = (
            "look at slurmctld.log" if "lua" in site.controller.plugins else f"then run {INSTALL}, which asks slurmctld"
        )
        return Check("rules", "missing", f"{what}: {now.doubt}", hint)
    if damaged:
        return Check(
            "rules", "warn", f"{what}: {', '.join(damaged)} damaged, the good copy is in use", f"run {INSTALL}"
        )
    other = [table for table in now.tables if table.state == "not in use"]
    if other:
        tables = "; ".join(
            f"{one.name} {one.running or 'none'}, but {one.installed or 'none'} is installed" for one in other
        )
        hint = f"run {INSTALL}: it has slurmctld load what is installed"
        return Check("rules", "missing", f"slurmctld uses {tables}", hint)
    if now.changed:
        return Check(
            "rules",
            "warn",
            f"{what}; changed by hand: {', '.join(now.changed)}",
            f"run {INSTALL}: it puts adminkit's back",
        )
    return Check("rules", "ok", f"{what}, in use")


def _of_file(site: _Site) -> Check:
    """The installed policy against its file."""
    from adminkit.deploy.bundle import compile_bundle
    from adminkit.deploy.files import generation_of, read_text, table_path
    from adminkit.policy.load import find_policy

    path, example = find_policy(None)
    if example:
        return Check(
            "policy",
            "warn",
            "there is no /etc/adminkit/policy.toml on this host",
            "put the source of the installed rules there",
        )
    if site.controller.away:
        return Check("policy", "ok", f"{path}, not compared: slurmctld is not responding")
    made = compile_bundle(path, site.controller, 0, config.load().gpus).generations["policy"]
    there = generation_of(read_text(table_path(site.folder, "policy")) or "")
    if made == there:
        return Check("policy", "ok", f"{path}, as installed")
    return Check(
        "policy",
        "warn",
        f"{path} makes generation {made}, installed is {there or 'none'}",
        "to see what differs: adminkit policy diff",
    )


def _hosts(site: _Site) -> Check:
    from adminkit.deploy.hosts import Host, compare

    others, fetch = site.controller.others(), site.settings.fetch
    if fetch is None:
        names = ", ".join(others)
        return Check(
            "hosts",
            "warn",
            f"not compared with those of {names}",
            "set [policy] fetch in adminkit.toml: how to fetch them",
        )
    compared = [compare(fetch, Host(name, False), site.folder) for name in others]
    wrong = [f"{host.name} {host.state}" for host in compared if host.problem or host.differs]
    if wrong:
        return Check(
            "hosts", "missing", "; ".join(wrong), f"set [policy] push and run {INSTALL}, or copy the files there"
        )
    return Check("hosts", "ok", f"the same files on {', '.join(others)}")


def _record(site: _Site) -> Iterator[Check]:
    """Whether slurmdbd keeps what the policy records."""
    from adminkit.deploy.files import table_path
    from adminkit.lua.runtime import load_table

    try:
        table: Mapping[str, Any] = load_table(table_path(site.folder, "policy"))
    except AdminkitError:
        return  # the check `rules` says why
    field = str(table.get("record", "none"))
    if field in STORES:
        flag, since = STORES[field]
        if release.release() < since:
            yield Check(
                "record",
                "missing",
                f"this release of Slurm has no field {field}",
                'set record = "admin_comment" in policy.toml',
            )
            return
        if flag not in site.controller.store:
            yield Check(
                "record",
                "missing",
                f"in {field}, which slurmdbd does not store",
                f"add {flag} to AccountingStoreFlags in slurm.conf, or set another `record` in policy.toml",
            )
            return
    yield Check("record", "ok", "not kept" if field == "none" else f"in {field}")
