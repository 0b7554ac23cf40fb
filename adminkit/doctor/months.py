"""doctor's check of the files of months: whether reports can read them, and how much of the trace they cover."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from adminkit.config import Config
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.trace import connect
from adminkit.trace.months import duck, manifest, place, write
from adminkit.trace.months.write import NOT_WRITTEN, Listed

_WHEELS = "pip install duckdb, which has wheels for x86_64 and aarch64; reports are the same without it"
_WRITE = "run `adminkit trace months --write` as the trace's owner"


def months(settings: Config, db: Path, now: int) -> Iterator[Check]:
    """One check; empty where the trace cannot be read. `now`: epoch seconds."""
    wanted = settings.months
    if not wanted.keep:
        yield Check("months", "ok", "not kept ([months] keep = false): reports read SQLite")
        return
    try:
        if not connect.is_there(db):
            return
        with connect.reader(db) as trace:
            found = write.listed(trace, db, now - wanted.quiet)
            large = write.is_large(trace, wanted)
            other = manifest.of_other_releases(trace)
    except AdminkitError:
        return  # the check `database` says why
    if not large:
        yield Check("months", "ok", f"none: the trace has fewer than {plural(wanted.least, 'run')}")
    elif not duck.is_there():
        yield Check("months", "warn", "DuckDB is not installed: reports read SQLite, and are slower", _WHEELS)
    elif why := _folder(db):
        yield why
    else:
        yield _covered(found, other)


def _folder(db: Path) -> Check | None:
    """What is wrong with the folder; None where it is in order or does not exist yet."""
    folder = place.folder_of(db)
    if not os.path.lexists(folder):
        return None
    facts, owner = folder.lstat(), db.stat().st_uid
    if not stat.S_ISDIR(facts.st_mode):
        return Check("months", "warn", f"{folder} is not a folder, so no month is written", "look at it, then move it")
    if facts.st_uid != owner:
        found = f"{folder} belongs to uid {facts.st_uid}, the trace to uid {owner}, so no month is written"
        return Check("months", "warn", found, "look at it, then move it")
    mode = stat.S_IMODE(facts.st_mode)
    if mode & (stat.S_IWGRP | stat.S_IRWXO):
        found = f"{folder} has mode {mode:04o}: its files have everybody's jobs"
        return Check("months", "warn", found, f"as the trace's owner, chmod {place.FOLDER_MODE:o} {folder}")
    return None


def _covered(found: Sequence[Listed], other: int) -> Check:
    right = [one for one in found if one.why is None]
    refused = [one for one in found if one.why not in (None, NOT_WRITTEN)]
    runs = sum(one.rows or 0 for one in right)
    said = f"{len(right)} of {plural(len(found), 'month')} that are over have files, with {plural(runs, 'run')}"
    if refused:
        first = refused[0]
        said += f"; {len(refused)} refused: {first.month} of {quote(first.cluster)}, {quote(first.why or '', 100)}"
        return Check("months", "warn", said, _WRITE)
    if other:
        return Check("months", "warn", f"{said}; the files of {other} are of another release of adminkit", _WRITE)
    if found and not right:
        return Check("months", "warn", f"{said}: reports read SQLite, and are slower", _WRITE)
    stale = len(found) - len(right)
    return Check("months", "ok", f"{said}; the next sync writes {stale}" if stale else said)
