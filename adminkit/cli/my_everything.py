"""adminkit my --everything: where adminkit keeps what about the caller."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adminkit import config
from adminkit.errors import AdminkitError
from adminkit.files import read_plain
from adminkit.render.format import plural
from adminkit.reports.kept import Place, kept_report, trace_places
from adminkit.stats.kept import Kept, kept
from adminkit.trace import private_copy
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import own_name
from adminkit.units import show_time

if TYPE_CHECKING:
    from adminkit.render.report import Report

#: Where the tables of slurmctld are, on its hosts.
_TABLES: Final = Path("/etc/slurm/adminkit")
#: Bytes of a file of choices that are shown.
_MOST: Final = 4096


def everything(db: Path | None, format: str) -> dict[str, Report]:
    """The places, and with JSON the rows; nothing is asked of Slurm."""
    settings, user = config.load(), own_name()
    path = find_trace(db, settings.db)
    places, tables = _trace(path, user)
    written, letters = _own_file(settings)
    tables = tables or letters
    places += [written, _copy(), _choices(settings, path), *_of_slurmctld(), _acts(settings.acts)]
    return kept_report(user, places, tables if format == "json" else {})


def _trace(path: Path, user: str) -> tuple[list[Place], dict[str, Kept]]:
    try:
        with reader(path) as trace:
            tables = kept(trace, os.geteuid(), user)
    except AdminkitError as error:
        there = "no" if _hidden(path) else "none"
        return [Place(str(path), "your jobs, letters to you", there, says=error.message)], {}
    return trace_places(str(path), tables), tables


def _own_file(settings: config.Config) -> tuple[Place, dict[str, Kept]]:
    """What an operator's timer wrote down for this user, and the letters in it."""
    from adminkit.reports.own_file import read_back
    from adminkit.trace import own_file

    path = own_file.path_of(settings.own, os.geteuid())
    what = "your points, what you were charged, letters to you"
    try:
        found = own_file.read(settings.own, os.geteuid())
        if found is None:
            return Place(str(path), what, "no" if _hidden(path) else "none"), {}
        mine = read_back(found, str(path))
    except AdminkitError as error:
        return Place(str(path), what, "no", says=error.message), {}
    number = len(mine.lines) + len(mine.letters.rows)
    return Place(str(path), what, "yes", number, f"made {show_time(mine.made)}"), {"outbox": mine.letters}


def _hidden(path: Path) -> bool:
    """Whether something is there, or cannot be seen."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _copy() -> Place:
    folder = private_copy.cache_home()
    path, what = folder / private_copy.NAME, "a copy of your jobs, for recommend and my: yours, remove it as you like"
    try:
        data = private_copy.read(folder)
        if data is None:
            return Place(str(path), what, "none")
        with private_copy.opened(data) as copy:
            found = kept(copy, os.geteuid(), own_name())
        made = show_time(int(path.stat().st_mtime))
        return Place(
            str(path),
            what,
            "yes",
            len(found["run"].rows),
            f"made {made}, with {plural(len(found['step'].rows), 'step')}",
        )
    except AdminkitError as error:
        return Place(str(path), what, "no", says=error.message)


def _choices(settings: config.Config, trace: Path) -> Place:
    from adminkit.feedback.prefs import folder_of

    path, what = folder_of(settings, trace) / f"{os.geteuid()}.toml", "what you chose about letters and hints"
    try:
        text = read_plain(path, _MOST).decode("utf-8", "replace")
    except FileNotFoundError:
        return Place(str(path), what, "none")
    except (OSError, AdminkitError) as error:
        return Place(str(path), what, "no", says=str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    return Place(str(path), what, "yes", 1, "; ".join(lines))


def _of_slurmctld() -> list[Place]:
    """Say that they are on slurmctld's hosts, and only SlurmUser may read them."""
    names = {"incentives.lua": "your points for short limits", "hints.lua": "the hint that you get at submission"}
    return [
        _plain(_TABLES / name, what, "on slurmctld's host, for SlurmUser only: ask an operator")
        for name, what in names.items()
    ]


def _acts(path: Path) -> Place:
    return _plain(
        path,
        "what operators did to Slurm, with their names",
        "on each host that makes the changes, for the group adminkit only",
    )


def _plain(path: Path, what: str, whose: str) -> Place:
    readable = "none"
    with suppress(OSError):
        if _hidden(path):
            readable = "yes" if os.access(path, os.R_OK) else "no"
    return Place(str(path), what, readable, says=whose)
