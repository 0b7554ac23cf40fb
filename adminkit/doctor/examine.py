"""Every Check of `adminkit doctor`, in order. Changes nothing."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import adminkit
from adminkit import config, sqlite
from adminkit.doctor import (
    archive,
    audit,
    ckpt,
    clocks,
    database,
    extend,
    letters,
    months,
    power,
    rules,
    sees,
    soft_limits,
    staging,
    trial,
)
from adminkit.doctor.check import Check, guarded, guarded_all
from adminkit.doctor.gpus import gpus
from adminkit.errors import AdminkitError, cause
from adminkit.ingest.sources.sacct_fields import JOB_FIELDS, KEY_FIELDS, STEP_FIELDS, fields_of
from adminkit.installed import HELPER, helper_path
from adminkit.owner import as_owner, of_own_child
from adminkit.render.format import plural
from adminkit.slurm import bindings, cluster, partitions, process, release
from adminkit.stats import status
from adminkit.trace import connect, location, permissions
from adminkit.trace.schema import SCHEMA_VERSION
from adminkit.units import show_bytes, show_time

#: Less free space than this is a warning; bytes.
LITTLE_SPACE: Final = 1 << 30


def examine(flag: Path | None) -> tuple[Path, list[Check]]:
    """The trace in use, and every check in the order in which to correct things. `flag` is --db."""
    settings, broken = config.Config(), None
    try:
        settings = config.load()
    except AdminkitError as error:
        broken = Check("config", "missing", error.message, error.hint)
    source = str(settings.file) if settings.file else "no file: the defaults apply"
    db, why = location.find_with_reason(flag, settings.db)
    checks = [broken or Check("config", "ok", source), *_ours(), *_trace(db, why), *_slurm(db)]
    if all(check.status != "missing" for check in checks if check.name == "sacct"):
        # Trap: damaged rules may be why slurmctld is away, so they are looked at without it.
        checks += guarded_all("database", database.database(settings))
        checks += guarded_all("rules", rules.rules(settings.policy))
        checks += rules.foreign_comments(db)
        checks += guarded_all("soft limits", soft_limits.soft_limits(settings.policy))
        checks += guarded_all("extend", extend.extend(settings))
        checks += guarded_all("trial", trial.trial(settings))
        checks += guarded_all("power", power.power(settings.policy))
        checks += guarded_all("ckpt", ckpt.checkpoints(settings.checkpoint.code))
        checks += guarded_all("staging", staging.staging())
    checks += clocks.synced(db)
    checks += audit.audits(db)
    checks += months.months(settings, db, int(time.time()))
    checks += archive.archived(db)
    checks += letters.letters(settings, db)
    return db, [*checks, *_extras()]


def _ours() -> Iterator[Check]:
    yield Check("adminkit", "ok", f"{adminkit.__version__}, Python {platform.python_version()}")
    yield guarded("helper", _helper)
    old = sqlite.is_too_old()
    yield Check("sqlite", "missing" if old else "ok", sqlite.version(), sqlite.hint() if old else "")


def _helper() -> Check:
    path = helper_path()
    try:
        with of_own_child(path) as start:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True, **start)
    except (OSError, subprocess.SubprocessError) as error:
        return Check(
            "helper", "missing", f"{path} does not run: {error}", "install adminkit again: pip builds the helper"
        )
    words = done.stdout.split()
    version = words[1] if len(words) > 1 else "?"
    if words[:1] != [HELPER] or version != adminkit.__version__:
        return Check(
            "helper", "missing", f"{path} is {version}, adminkit is {adminkit.__version__}",
            "install adminkit again, or take the other helper off PATH",
        )  # fmt: skip
    return Check("helper", "ok", f"{path} {version}")


def _trace(db: Path, why: str) -> Iterator[Check]:
    with as_owner(db):
        rights = list(_rights(db))  # before the trace is opened: opening it as its owner puts a lost -wal back
        checks = [guarded("database", lambda: _database(db, why)), *rights, _disk(db)]
    yield from checks


def _database(db: Path, why: str) -> Check:
    if not connect.is_there(db):
        return Check(
            "database", "warn", f"none yet at {db} ({why})", "run `adminkit sync`, `adminkit import` or `adminkit demo`"
        )
    with connect.reader(db) as trace:
        jobs = status.any_jobs(trace)
    size = show_bytes(db.stat().st_size)
    return Check("database", "ok", f"{db} ({why}), schema {SCHEMA_VERSION}, {size}{'' if jobs else ', no jobs yet'}")


def _join_group(db: Path) -> str:
    return f"join the group of {db.parent}, or name another trace with --db or ADMINKIT_DB"


def _rights(db: Path) -> Iterator[Check]:
    """Who may read and write the trace; empty where there is none, or its folder is closed to this user."""
    try:
        if not connect.is_there(db):
            return
        file, folder = db.stat(), db.parent.stat()
        beside = [one for one in permissions.sidecars(db) if os.path.lexists(one)]
        lost = permissions.missing_sidecar(db)
    except (AdminkitError, OSError):
        return  # the check `database` says why
    found = f"{_mode(file)} {permissions.owner_name(db)}:{permissions.group_name(db)} in a {_mode(folder)} folder"
    found += "".join(f", {one.name} {_mode(one.lstat())} {permissions.owner_name(one)}" for one in beside)
    owner = permissions.owner_name(db)
    hint = ""
    if foreign := permissions.foreign_sidecar(db):
        hint = permissions.remedy(db, foreign)
    elif lost:
        hint = f"{lost.name} is missing, so the group cannot read the trace: run `adminkit trace upgrade` as {owner}"
    elif file.st_mode & stat.S_IRWXO:
        hint = f"anybody can read who ran what: as {owner}, chmod 0640 {db}*"
    elif folder.st_mode & stat.S_IWGRP:
        hint = f"a reader could take over -wal and -shm: as {owner}, chmod 2750 {db.parent}"
    yield Check("rights", "warn" if hint else "ok", found, hint)


def _mode(facts: os.stat_result) -> str:
    return f"{stat.S_IMODE(facts.st_mode):04o}"


def _disk(db: Path) -> Check:
    """The file system of the trace, or of the nearest folder above it that exists."""
    try:
        folder = next(one for one in (db.absolute(), *db.absolute().parents) if one.exists())
        kind, free = location.trace_mount(folder), shutil.disk_usage(folder).free
        size = db.stat().st_size if db.exists() else 0
    except OSError as error:
        return Check("disk", "warn", f"{db.parent}: {cause(error)}", _join_group(db))
    found = f"{kind or 'of unknown type'}, {show_bytes(free)} free at {folder}"
    if kind and location.is_network(kind):
        return Check("disk", "missing", found, "keep the trace on a local disk of one host: SQLite's locks need it")
    if free < max(LITTLE_SPACE, size):
        return Check("disk", "warn", found, "free some space: the trace grows, and an upgrade may need as much again")
    return Check("disk", "ok", found)


def _slurm(db: Path) -> Iterator[Check]:
    """Slurm's checks. Where sacct or slurmdbd is not responding, those that need it are left out."""
    sacct = guarded("sacct", _sacct)
    yield sacct
    if sacct.status == "missing":
        return
    slurmdbd = guarded("slurmdbd", _slurmdbd)
    yield slurmdbd
    if slurmdbd.status != "missing":
        yield guarded("fields", _fields)
        yield guarded("sees", lambda: sees.sees(db))
    yield (slurmctld := guarded("slurmctld", _slurmctld, "warn"))
    if slurmctld.status == "ok":
        yield from gpus()
    yield from clocks.clock()


def _sacct() -> Check:
    running = release.release()
    sacct = process.find("sacct")
    text = f"{sacct or 'scontrol only'}, Slurm {release.show_release(running)}"
    if sacct is None:
        return Check("sacct", "missing", text, "sync needs it: install Slurm's client programs")
    if running < release.OLDEST:
        return Check(
            "sacct", "warn", text, f"adminkit is tested with Slurm {release.show_release(release.OLDEST)} and later"
        )
    return Check("sacct", "ok", text)


def _fields() -> Check:
    have = release.sacct_fields()
    wanted = dict.fromkeys((*JOB_FIELDS, *STEP_FIELDS))
    absent = [name for name in wanted if name not in have]
    if not absent:
        return Check("fields", "ok", f"sacct has all {len(wanted)} that adminkit reads")
    found = (
        f"sacct has {len(wanted) - len(absent)} of the {len(wanted)} that adminkit reads; absent: {', '.join(absent)}"
    )
    if any(name in KEY_FIELDS for name in absent):
        return Check(
            "fields", "missing", found, "without them a run has no key, so adminkit cannot sync from this sacct"
        )
    surprising = any(name in fields_of(release.release()) for name in absent)
    return Check("fields", "warn" if surprising else "ok", found, "their columns stay empty" if surprising else "")


def _slurmdbd() -> Check:
    slurmdbd = cluster.accounting()
    text = f"{slurmdbd.release or 'of unknown release'}, keeps {', '.join(cluster.known_clusters()) or 'no cluster'}"
    if slurmdbd.booted_at is not None:
        text += f", up since {show_time(slurmdbd.booted_at)}"
    return Check("slurmdbd", "ok", text)


def _slurmctld() -> Check:
    source, name = partitions.source(), cluster.local_cluster()
    queues, backlog = partitions.queues(), cluster.dbd_backlog()
    found = f"{name}, {plural(len(queues), 'queue')} through {source}"
    if backlog:
        return Check(
            "slurmctld",
            "warn",
            f"{found}, still holds {plural(backlog, 'record')} for slurmdbd",
            "wait, or look at slurmdbd: until they arrive, what sync reads is provisional",
        )
    return Check("slurmctld", "ok", found)


def _extras() -> Iterator[Check]:
    lacking = [name for name in ("matplotlib",) if importlib.util.find_spec(name) is None]
    yield Check(
        "plots",
        "warn" if lacking else "ok",
        f"{' and '.join(lacking)} not installed" if lacking else "matplotlib",
        "pip install 'adminkit[plots]'" if lacking else "",
    )
    yield _pyslurm()


def _pyslurm() -> Check:
    module, why = bindings.usable()
    if module is not None:
        return Check("pyslurm", "ok", f"{module.__version__}, in use for queues, nodes and open jobs")
    if not why:
        return Check("pyslurm", "ok", "not installed; scontrol is used in its place")
    hint = "install the pyslurm of this Slurm's release (25.11.x for 25.11; docs/releases.md), or remove it"
    return Check("pyslurm", "warn", f"{why}; scontrol is used in its place", hint)


def lacking(checks: Sequence[Check]) -> int:
    """How many checks are `missing`."""
    return sum(check.status == "missing" for check in checks)
