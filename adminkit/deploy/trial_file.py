"""The file that says what a trial compares: [a], [b], [b.slurm], [b.queues.NAME] and [guards].

docs/trial.md has every key.
A value goes into slurm.conf: it has passed run_time.py's forms, which let no line end through.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, cause, unknown_word
from adminkit.files import read_named
from adminkit.owner import of_somebody_else
from adminkit.slurm.lines import Place
from adminkit.slurm.release import Release
from adminkit.slurm.run_time import SCHEDULER, Line, check_option, check_parameter, check_queue
from adminkit.toml import table_of

_MOST_BYTES: Final = 256 << 10
#: Characters of a side's name.
LONGEST_NAME: Final = 40
#: Queues that one trial changes.
_MOST_QUEUES: Final = 100
_HINT: Final = "docs/trial.md has every key"
_HEADER: Final = re.compile(r"^\s*\[([^\[\]]+)\]")
_KEY: Final = re.compile(r"""^\s*([\w-]+|"[^"]+"|'[^']+')\s*=""")


@dataclass(frozen=True, slots=True)
class Guards:
    """Limits on the harm of a B day. None: no such guard."""

    widest_wait: float | None = 1.5
    p95_wait: float | None = 1.5
    cut: int | None = 0
    cycle: float | None = 2.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compared. `a` None: the policy in force; `b` None: the same policy as A's.

    `options` of SchedulerParameters: None takes one out.
    """

    path: Path
    a: Path | None = None
    b: Path | None = None
    slurm: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str | None] = field(default_factory=dict)
    queues: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    guards: Guards = Guards()
    tables: Path | None = None  # the folder of B's tables of points, hints and needs
    names: tuple[str, str] = ("A", "B")  # what the sides are called in reports


def load_plan(path: Path, release: Release) -> Plan:
    """AdminkitError names file, line and key of what is wrong."""
    data = read_named(path, _MOST_BYTES, "name a file that adminkit tune --write made; docs/trial.md has an example")
    raw = table_of(data, str(path))
    where = _Where(path, data.decode("utf-8"))
    where.keys((), raw, ("version", "a", "b", "guards"))
    if raw.get("version") != 1:
        raise where.wrong(("version",), "this release of adminkit knows version 1", "write version = 1")
    a, b = where.table((), raw, "a"), where.table((), raw, "b")
    where.keys(("a",), a, ("name", "policy"))
    where.keys(("b",), b, ("name", "policy", "tables", "slurm", "queues"))
    slurm, options = _slurm(where, where.table(("b",), b, "slurm"), release)
    plan = Plan(
        path,
        where.path(("a",), a, "policy"),
        where.path(("b",), b, "policy"),
        slurm,
        options,
        _queues(where, where.table(("b",), b, "queues")),
        _guards(where, where.table((), raw, "guards")),
        where.path(("b",), b, "tables"),
        _names(where, a, b),
    )
    if not (plan.b or plan.tables or slurm or options or plan.queues):
        raise where.wrong(("b",), "it changes nothing", "name a policy, parameters of slurm.conf or a queue's keys")
    return plan


def refuse_foreign(path: Path) -> None:
    """AdminkitError, for root, where somebody else may write the file or put another in its place."""
    if os.geteuid() != 0:
        return
    if (facts := of_somebody_else(path)) is not None:
        raise AdminkitError(
            f"{path} may have been written by uid {facts.st_uid}, and root puts only its own in place",
            "as root, copy it into a folder that only root can write",
        )
    for place in (path, *path.absolute().parents, *Path(os.path.realpath(path)).parents):
        try:
            mode = place.stat().st_mode
        except OSError as error:
            raise AdminkitError(
                f"couldn't read {place}: {cause(error)}", "its paths are relative to its folder"
            ) from None
        if mode & 0o022 and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
            raise AdminkitError(f"{place} is writable by others than root", f"chmod go-w {place}")


@dataclass(frozen=True, slots=True)
class _Where:
    """Names places of the file."""

    file: Path
    text: str

    def wrong(self, place: Place, message: str, hint: str | None = None) -> AdminkitError:
        line = _line_of(place, self.text)
        at = str(self.file) if line is None else f"{self.file}:{line}"
        key = ".".join(map(str, place))
        return AdminkitError(f"{at}: {key}: {message}" if key else f"{at}: {message}", hint or _HINT)

    def keys(self, place: Place, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                raise self.wrong((*place, key), "no such key", unknown_word("key", key, known).hint)

    def table(self, place: Place, within: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = within.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong((*place, key), "not a table")
        return value

    def path(self, place: Place, within: Mapping[str, Any], key: str) -> Path | None:
        """A path, relative to the file."""
        value = within.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value or "\0" in value:
            raise self.wrong((*place, key), "not a path")
        return self.file.parent / value


def _line_of(place: Place, text: str) -> int | None:
    """The line of a key, or of the nearest table around it, in a file of plain [tables]; None for the file."""
    inside: tuple[str, ...] = ()
    lines: dict[Place, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            inside = tuple(part.strip(" \t\"'") for part in header[1].split("."))
            lines.setdefault(inside, number)
        elif key := _KEY.match(line):
            lines.setdefault((*inside, key[1].strip("\"'")), number)
    return next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), None)


def _names(where: _Where, a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, str]:
    """One line each, short enough for a table; two names for two sides."""
    first, second = a.get("name", "A"), b.get("name", "B")
    for side, name in (("a", first), ("b", second)):
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= LONGEST_NAME:
            raise where.wrong((side, "name"), f"not a name of 1 to {LONGEST_NAME} characters")
    if first.strip() == second.strip():
        raise where.wrong(("b", "name"), "A has the same name", "give each side a name of its own")
    return first.strip(), second.strip()


def _slurm(where: _Where, table: Mapping[str, Any], release: Release) -> tuple[dict[str, str], dict[str, str | None]]:
    slurm: dict[str, str] = {}
    options: dict[str, str | None] = {}
    for name, value in table.items():
        place: Place = ("b", "slurm", name)
        if name != SCHEDULER:
            slurm[name] = _checked(where, place, partial(check_parameter, name, value)).value
            continue
        if not isinstance(value, dict):
            raise where.wrong(place, "not a table", f"{SCHEDULER} = {{ bf_window = 5760 }} changes one option")
        for one, wanted in value.items():
            line = _checked(where, (*place, one), partial(check_option, one, wanted, release))
            options[one] = None if wanted is False else "" if wanted is True else line.value
    return slurm, options


def _queues(where: _Where, table: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    if len(table) > _MOST_QUEUES:
        raise where.wrong(("b", "queues"), f"{len(table)} queues; at most {_MOST_QUEUES} are allowed")
    found: dict[str, dict[str, str]] = {}
    for queue in table:
        place: Place = ("b", "queues", queue)
        keys = where.table(("b", "queues"), table, queue)
        found[queue] = {
            key: _checked(where, (*place, key), partial(check_queue, queue, key, value)).value
            for key, value in keys.items()
        }
        if not found[queue]:
            raise where.wrong(place, "it changes nothing")
    return found


def _checked(where: _Where, place: Place, check: Callable[[], Line]) -> Line:
    try:
        return check()
    except AdminkitError as error:
        raise where.wrong(place, error.message, error.hint) from None


def _guards(where: _Where, table: Mapping[str, Any]) -> Guards:
    """A number each; false for none."""
    where.keys(("guards",), table, ("widest_wait", "p95_wait", "cut", "cycle"))
    found: dict[str, Any] = {}
    for name, value in table.items():
        is_count, least = name == "cut", 0 if name == "cut" else 1
        if value is False:
            found[name] = None
        elif type(value) is int or (type(value) is float and not is_count):
            if not least <= value <= 1000:
                raise where.wrong(("guards", name), f"{value:g} is not from {least} to 1000")
            found[name] = value if is_count else float(value)
        else:
            raise where.wrong(("guards", name), "not a whole number" if is_count else "not a number", "false for none")
    return Guards(**found)
