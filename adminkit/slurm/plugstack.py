"""The plugins that slurmd and slurmstepd would load: the lines of plugstack.conf, and the release each is built for.

A plugin is read here, never loaded: its ELF symbols have what Slurm itself would look up.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause
from adminkit.slurm.keyvalue import given, settings
from adminkit.slurm.process import ask
from adminkit.slurm.release import Release
from adminkit.slurm.show_config import show_config

#: A node's name, its host's, the release of its slurmd.
_NODES: Final = "%N %n %v"
_DEEPEST: Final = 8  # files that include files


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration of steps in slurmctld. None is unknown."""

    plugstack: Path | None
    folders: tuple[Path, ...]  # PluginDir
    proctrack: str
    cgroup: str | None  # CgroupPlugin


@dataclass(frozen=True, slots=True)
class Line:
    """One line of plugstack.conf or of a file that it includes. `path` is as Slurm would resolve it."""

    file: Path
    number: int
    required: bool
    path: Path
    arguments: tuple[str, ...] = ()

    def value(self, key: str) -> str | None:
        """What its last argument KEY=… says, as the plugin reads it; None where there is no such argument."""
        values = [word.removeprefix(f"{key}=") for word in self.arguments if word.startswith(f"{key}=")]
        return values[-1] if values else None


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    host: str
    release: str  # of its slurmd, as Slurm writes it; N/A while it is down


def setup() -> Setup:
    """Ask slurmctld. AdminkitError when it is away."""
    return parse_setup(show_config())


def parse_setup(text: str) -> Setup:
    """`scontrol show config`; its second part tells of cgroups."""
    words = settings(text)
    conf = given(words.get("PlugStackConfig"))
    return Setup(
        Path(conf) if conf else None,
        tuple(Path(folder) for folder in (given(words.get("PluginDir")) or "").split(":") if folder),
        given(words.get("ProctrackType")) or "",
        given(words.get("CgroupPlugin")),
    )


def nodes() -> list[Node]:
    """Every node. AdminkitError when slurmctld is away."""
    return parse_nodes(ask(["sinfo", "-a", "-h", "-N", "-o", _NODES]))


def parse_nodes(text: str) -> list[Node]:
    """A node is listed once per queue that it is in."""
    rows = dict.fromkeys(tuple(line.split()) for line in text.splitlines())
    return [Node(*words) for words in rows if len(words) == 3]


def plugin_lines(conf: Path, name: str, folders: tuple[Path, ...], depth: int = 0) -> Iterator[Line]:
    """The lines that load a plugin file of this name, in the order in which Slurm reads them.

    A file that is not there has none; AdminkitError for one that may not be read.
    """
    try:
        text = conf.read_text("utf-8", "replace")
    except (FileNotFoundError, IsADirectoryError):
        return
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't read {conf}: {why}", "run it as a user who may, root for instance") from error
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if len(words) < 2:
            continue
        if words[0] == "include" and depth < _DEEPEST:
            for file in _included(conf, words[1]):
                yield from plugin_lines(file, name, folders, depth + 1)
        elif words[0] in ("optional", "required") and Path(words[1]).name == name:
            path = _resolved(Path(words[1]), folders)
            yield Line(conf, number, words[0] == "required", path, tuple(words[2:]))


def _included(conf: Path, pattern: str) -> list[Path]:
    """Trap: a relative pattern counts from the folder of the file that includes."""
    whole = conf.parent / pattern
    return sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))


def _resolved(path: Path, folders: tuple[Path, ...]) -> Path:
    if path.is_absolute() or not folders:
        return path
    return next((folder / path for folder in folders if (folder / path).exists()), folders[0] / path)


def built_for(plugin: Path) -> Release:
    """The release of Slurm whose headers the plugin was built with. AdminkitError where the file is not a plugin."""
    try:
        data = plugin.read_bytes()
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't read {plugin}: {why}", "build and install it: make -C spank install") from error
    try:
        number = _symbol(data, b"plugin_version")
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        number = None
        why = f": {error}"
    else:
        why = ": it has no plugin_version"
    if number is None:
        raise AdminkitError(f"{plugin} is not a Slurm plugin{why}", "build it again: make -C spank install")
    return number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF


def _symbol(data: bytes, name: bytes) -> int | None:
    """The 32 bits of a dynamic symbol of a 64-bit ELF file; None where it has none. struct.error for a broken file."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    order = "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(order + "Q", data, 40)
    size, count = struct.unpack_from(order + "HH", data, 58)
    # of a section: type, address, offset, size, link
    sections = [struct.unpack_from(order + "4xI8xQQQI", data, table + nth * size) for nth in range(count)]
    for kind, _, at, length, link in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        names = sections[link][2]
        for place in range(at, at + length, 24):
            start, section, value = struct.unpack_from(order + "I2xHQ", data, place)
            if data[names + start : names + start + len(name) + 1] == name + b"\0" and 0 < section < count:
                _, address, offset, _, _ = sections[section]
                return int(struct.unpack_from(order + "I", data, offset + value - address)[0])
    return None
