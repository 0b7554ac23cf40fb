"""etc/profiles.toml: the interactive environments that a site offers, and whether its nodes can hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, UsageError, unknown_word
from adminkit.fit.place import Board, by_vectors
from adminkit.fit.request import Request, parse_mem, request, show_mem
from adminkit.messages import LANGUAGES
from adminkit.quote import quote
from adminkit.slurm.shares import matching
from adminkit.toml import read_toml
from adminkit.units import parse_duration

SYSTEM_PROFILES: Final = Path("/etc/adminkit/profiles.toml")
#: How much more than its request an environment may use before that is a warning.
OVERRUN: Final = 1.5
#: Seconds that the user of an idle server is warned before its end, where `warn` does not say; and the least.
WARN: Final = 600
WARN_LEAST: Final = 10

_MOST: Final = 500
#: A path, or a reference such as docker://name:tag; nothing that a program could take for an option.
_IMAGE: Final = re.compile(r"[A-Za-z0-9/._][A-Za-z0-9/._:@+-]{0,499}")
#: As jupyter_client takes it. Trap: it becomes a word of the server's command line.
_KERNEL: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_TEXTS: Final = (
    "partition",
    "mem",
    "time",
    "gpus",
    "gres",
    "account",
    "qos",
    "max_mem",
    "image",
    "kernel",
    "idle",
    "warn",
)
_COUNTS: Final = ("cpus", "max_cpus")
_KEYS: Final = (*_TEXTS, *_COUNTS, "name", "modules")


@dataclass(frozen=True, slots=True)
class Profile:
    """`titles` by language; `max_cpus` and `max_mem` (bytes): what it may use at most, None: what it asks for.

    `idle`: seconds after which an idle server ends, None: never; `warn`: of them, how many its user is warned before.
    """

    key: str
    titles: Mapping[str, str]
    request: Request
    max_cpus: int | None = None
    max_mem: int | None = None
    image: str | None = None
    modules: tuple[str, ...] = ()
    kernel: str | None = None
    idle: int | None = None
    warn: int | None = None

    def title(self, language: str) -> str:
        return self.titles.get(language) or self.titles.get("en") or self.key


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a profile: an error keeps it from ever starting, a warning may hurt others on its node."""

    profile: str
    severity: str  # error, warning
    text: str


def load_profiles(path: Path = SYSTEM_PROFILES) -> tuple[Profile, ...]:
    """The profiles in the order of the file. AdminkitError for what is not a profile."""
    raw = read_toml(path, "name a file of profiles; etc/profiles.toml is an example")
    if len(raw) > _MOST:
        raise UsageError(f"{path} has more than {_MOST} profiles", "leave out profiles that nobody picks")
    return tuple(_profile(path, key, value) for key, value in raw.items())


def named(profiles: Sequence[Profile], key: str) -> Profile:
    """The profile of this name; UsageError with the nearest one."""
    found = next((one for one in profiles if one.key == key), None)
    if found is None:
        raise unknown_word("profile", key, [one.key for one in profiles])
    return found


def smaller_profiles(profiles: Sequence[Profile], than: Profile) -> list[Profile]:
    """The profiles that ask for no more of anything and for less of something, the nearest first."""
    asked = than.request
    found = []
    for one in profiles:
        less = one.request
        most = asked.shares if less.share == asked.share else less.shares if less.gpus < asked.gpus else 0
        sizes = [(less.gpus, asked.gpus), (less.shares, most), (less.cpus, asked.cpus), (less.mem or 0, asked.mem or 0)]
        if one.key != than.key and all(a <= b for a, b in sizes) and any(a < b for a, b in sizes):
            found.append(one)
    return sorted(found, key=lambda one: (-one.request.gpus, -one.request.cpus, -(one.request.mem or 0)))


def check(profiles: Sequence[Profile], board: Board) -> list[Problem]:
    """What no node can hold, and what may take more than its node has."""
    return [problem for one in profiles for problem in _problems(one, board)]


def _problems(profile: Profile, board: Board) -> Iterator[Problem]:
    said = by_vectors(board, profile.request)
    if said.word == "never":
        yield Problem(profile.key, "error", f"it never starts: {said.text}")
        return
    for what, most, asked in _maxima(profile):
        if asked and most > OVERRUN * asked:
            yield Problem(
                profile.key,
                "warning",
                f"it may use {most / asked:.1f} times the {what} it asks for ({OVERRUN} at most)",
            )
    yield from _crowded(profile, board)
    if profile.image is not None:
        yield Problem(
            profile.key,
            "warning",
            "it has an image: JupyterHub refuses the profile unless c.Spawner.container says how to start images",
        )


def _maxima(profile: Profile) -> Iterator[tuple[str, int, int]]:
    """(what, at most, asked for), of what has a maximum."""
    if profile.max_cpus is not None:
        yield "CPUs", profile.max_cpus, profile.request.cpus
    if profile.max_mem is not None and profile.request.mem:
        yield "memory", profile.max_mem, profile.request.mem


def _crowded(profile: Profile, board: Board) -> Iterator[Problem]:
    """A node full of this profile whose maxima add up to more than it has; the worst of its queue's nodes."""
    queue = board.room.queue(profile.request.queue)
    asked = profile.request
    worst: dict[str, tuple[float, str]] = {}
    for node in board.inside(queue) if queue is not None else ():
        parts = [(node.has.cpus, asked.cpus), (node.has.mem, asked.mem or 0), (sum(node.has.gpus.values()), asked.gpus)]
        parts += [(node.has.shares[key], asked.shares) for key in matching(asked.share or "", node.has.shares)[:1]]
        copies = min(has // each for has, each in parts if each)
        for what, most, _ in _maxima(profile):
            has = node.has.cpus if what == "CPUs" else node.has.mem
            share = copies * most / has if has else 0.0
            shown = (
                f"{copies * most} of {has} CPUs" if what == "CPUs" else f"{show_mem(copies * most)} of {show_mem(has)}"
            )
            if share > max(1.0, worst.get(what, (0.0, ""))[0]):
                worst[what] = share, f"as many as fit on {node.name} ({copies}) may together use {shown}"
    for _, text in worst.values():
        yield Problem(profile.key, "warning", text)


def _profile(path: Path, key: str, raw: Any) -> Profile:
    where = f"{path}: [{quote(key)}]"
    if not isinstance(raw, dict):
        raise UsageError(f"{where} is not a section", "write [NAME], then its keys; etc/profiles.toml is an example")
    for word, value in raw.items():
        if word not in _KEYS:
            raise unknown_word(f"key of a profile in {where}", word, _KEYS)
        kind = int if word in _COUNTS else dict if word == "name" else list if word == "modules" else str
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageError(f"{where}: {word} is not a {_KINDS[kind]}", "etc/profiles.toml is an example")
    titles = raw.get("name", {})
    for language, title in titles.items():
        if language not in LANGUAGES or not isinstance(title, str):
            raise UsageError(f"{where}: name.{quote(language)} is not a name", f"languages are {', '.join(LANGUAGES)}")
    modules = raw.get("modules", [])
    if not all(isinstance(one, str) for one in modules):
        raise UsageError(f"{where}: modules is not a list of names", "etc/profiles.toml is an example")
    try:
        asked = request(
            raw.get("partition"), raw.get("cpus", 1), raw.get("mem"), raw.get("gpus"), raw.get("time"),
            raw.get("account"), raw.get("qos"), gres=raw.get("gres"),
        )  # fmt: skip
        max_mem = None if "max_mem" not in raw else parse_mem(raw["max_mem"])
        idle = _idle(raw.get("idle"), raw.get("warn"))
    except AdminkitError as error:
        raise UsageError(f"{where}: {error.message}", error.hint) from error
    if (kernel := raw.get("kernel")) is not None and not _KERNEL.fullmatch(kernel):
        raise UsageError(
            f"{where}: {quote(kernel)} is not the name of a kernel", "jupyter kernelspec list shows the kernels"
        )
    if (image := raw.get("image")) is not None and not _IMAGE.fullmatch(image):
        raise UsageError(f"{where}: {quote(image)} is not an image", "a path, or a reference such as docker://name:tag")
    return Profile(key, titles, asked, raw.get("max_cpus"), max_mem, image, tuple(modules), kernel, *idle)


def _idle(idle: str | None, warn: str | None) -> tuple[int | None, int | None]:
    """`idle` and `warn` in seconds."""
    if idle is None:
        if warn is not None:
            raise UsageError("warn is set without idle", 'set both: idle = "2h", warn = "10m"')
        return None, None
    for text in (idle, warn or ""):
        if text.strip().isdigit():
            raise UsageError(f"{quote(text)} has no unit", "write 90m, 2h or 45s: only `time` is in minutes")
    after, before = parse_duration(idle), WARN if warn is None else parse_duration(warn)
    if before < WARN_LEAST or after <= before:
        raise UsageError(
            f"idle = {quote(idle)} with a warning of {before} s",
            f"warn is {WARN_LEAST} s or more, and idle is longer than it",
        )
    return after, before


_KINDS: Final = {int: "number", dict: "table of names", list: "list", str: "text"}
