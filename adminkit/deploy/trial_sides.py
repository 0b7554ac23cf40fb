"""The two configurations of a trial, each described once, in a folder of its own: what the switches put in place.

adminkit/trial/a and adminkit/trial/b have policy.lua, the other tables of points and needs where they differ, and
side.json. They do not change while the trial runs, and stand by themselves: where trial.json is lost, A can still be
put back.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from adminkit.deploy.files import FOLDER_MODE, TABLES, put_file, read_text, usable
from adminkit.deploy.refresh import rules_digest
from adminkit.deploy.rehearse import check_table
from adminkit.deploy.trial import FORMAT, INNER, Side
from adminkit.errors import AdminkitError, cause
from adminkit.slurm.run_time import SCHEDULER, check_parameter, check_queue, check_scheduler

#: Beside slurm.conf, which includes it. It is there from the start on and is never removed: Slurm's programs end where
#: a file that slurm.conf includes is missing.
INCLUDED: Final = "adminkit_trial.conf"
#: Its first line, on all hosts: slurmctld compares comments, too.
HEAD: Final = "# Written by adminkit trial; docs/trial.md. A change by hand ends the trial.\n"
_SIDE: Final = "side.json"


@dataclass(frozen=True, slots=True)
class Config:
    """One whole configuration. `rules`: the digest of `policy`, "" where the site has no policy.

    `slurm`: parameters that differ between A and B, as they are to be; `queues`: their keys, likewise. `included`:
    whether `slurm` stands in the included file (B), or in slurm.conf itself (A).
    """

    side: Side
    policy: str
    rules: str
    slurm: Mapping[str, str] = field(default_factory=dict)
    queues: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)  # incentives, hints, soft_limits: their texts

    @property
    def text(self) -> str:
        """What the included file has: nothing on A's side, where slurm.conf itself counts."""
        lines = self.slurm.items() if self.side == "b" else ()
        return HEAD + "".join(f"{name}={value}\n" for name, value in lines)

    @property
    def harmless(self) -> str:
        """What the included file has where this side could not be put in place."""
        return HEAD

    @property
    def digest(self) -> str:
        """The digest of everything in it."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Pair:
    """A and B, which have the same parameters, queues and keys."""

    a: Config
    b: Config

    def of(self, side: Side) -> Config:
        return self.a if side == "a" else self.b


def other(side: Side) -> Side:
    return "b" if side == "a" else "a"


def config(
    side: Side,
    policy: str,
    slurm: Mapping[str, str],
    queues: Mapping[str, Mapping[str, str]],
    tables: Mapping[str, str] | None = None,
) -> Config:
    rules = rules_digest(policy) if policy else ""
    return Config(side, policy, rules, dict(slurm), {name: dict(keys) for name, keys in queues.items()}, tables or {})


def write_pair(folder: Path, pair: Pair, group: int | None) -> None:
    """Below adminkit/trial; whoever holds `changing` calls it."""
    for one in (pair.a, pair.b):
        place = folder / INNER / one.side
        for made in (place.parent, place):
            _make(made)
        for name in TABLES:
            text = one.policy if name == "policy" else one.tables.get(name, "")
            put_file(place / f"{name}.lua", text, group)
        table = {"format": FORMAT, "slurm": one.slurm, "queues": one.queues, "digest": one.digest}
        put_file(place / _SIDE, json.dumps(table) + "\n", group)


def _make(place: Path) -> None:
    """A folder, with nobody's link in its place."""
    try:
        place.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if place.is_symlink():
            raise AdminkitError(f"{place} is a symbolic link, not a folder", f"look at it, then move {place} away")
    except OSError as error:
        raise AdminkitError(f"couldn't make {place}: {cause(error)}", "run it as root on slurmctld's host") from error


def read_pair(folder: Path) -> Pair:
    """AdminkitError where one of them is missing, or is not what adminkit writes."""
    pair = Pair(read_side(folder, "a"), read_side(folder, "b"))
    if pair.a.slurm.keys() != pair.b.slurm.keys() or _keys(pair.a) != _keys(pair.b):
        raise _damaged(folder / INNER)
    return pair


def _keys(one: Config) -> dict[str, set[str]]:
    return {queue: set(values) for queue, values in one.queues.items()}


def read_side(folder: Path, side: Side) -> Config:
    """AdminkitError as read_pair."""
    place = folder / INNER / side
    text, policy = read_text(place / _SIDE), read_text(place / "policy.lua")
    tables = {name: read_text(place / f"{name}.lua") or "" for name in TABLES[1:]}
    tables = {name: lua for name, lua in tables.items() if lua}
    if text is None or policy is None:
        raise AdminkitError(f"there is no trial in {place.parent}", "adminkit trial plan FILE previews one")
    try:
        table = json.loads(text)
        made = config(side, policy, _slurm(table["slurm"], side), _queues(table["queues"]), tables)
        texts = {**tables, **({"policy": policy} if policy else {})}
        sound = table["format"] == FORMAT and table["digest"] == made.digest
        sound = sound and all(usable(name, lua, check_table) for name, lua in texts.items())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, AdminkitError):
        sound = False
    if not sound:
        raise _damaged(place)
    return made


def _damaged(place: Path) -> AdminkitError:
    return AdminkitError(
        f"couldn't read {place}: not as adminkit writes it",
        f"put A back by hand: take the lines out of {INCLUDED}, scontrol reconfigure, adminkit policy install --apply",
    )


def _slurm(table: Mapping[str, Any], side: Side) -> dict[str, str]:
    """Parameters again as run_time.py lets them through; A's, which no file gets, only as words."""
    found: dict[str, str] = {}
    for name, value in table.items():
        if side == "a":
            found[name] = _word(value)
        elif name == SCHEDULER:
            found[name] = check_scheduler(_word(value))
        else:
            found[name] = check_parameter(name, value).value
    return found


def _queues(table: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        queue: {name: check_queue(queue, name, value).value for name, value in keys.items()}
        for queue, keys in table.items()
    }


def _word(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def put_included(folder: Path, text: str) -> bool:
    """Have this in the included file; whether that changed anything.

    It is written in its place, so that the unit needs no right to the folder of slurm.conf. All that adminkit writes
    there begins alike, and A's is only that beginning: one write that makes B's longer, or one cut, leaves A's or B's
    at any moment.
    """
    path = folder / INCLUDED
    if read_text(path) == text:
        return False
    data = text.encode("utf-8", "surrogateescape")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
                raise AdminkitError(f"{path} is not a plain file of one name", f"look at it, then make {path} again")
            _write(handle, data, path)
        finally:
            os.close(handle)
    except OSError as error:
        raise AdminkitError(f"couldn't write {path}: {cause(error)}", "run it as root on slurmctld's host") from error
    return True


def _write(handle: int, data: bytes, path: Path) -> None:
    """All of it; else only the beginning that all texts have: half a line would be another value, or no line at all."""
    try:
        if os.pwrite(handle, data, 0) != len(data):
            raise AdminkitError(f"couldn't write all of {path}", "free some space")
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    except (OSError, AdminkitError):
        if data.startswith(HEAD.encode()):
            os.ftruncate(handle, min(os.fstat(handle).st_size, len(HEAD)))
        raise


def without(text: str, lines: str) -> str:
    """`text`, which somebody changed, without the lines that are still those of `lines`; nothing of a text that is the
    beginning of `lines`, as a power failure may leave it.
    """
    if lines.startswith(text):
        return "".join(line for line in text.splitlines(keepends=True) if line.startswith("#") and line in lines)
    ours = {line for line in lines.splitlines() if "=" in line}
    return "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") not in ours)
