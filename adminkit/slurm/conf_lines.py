"""What slurm.conf itself says, file by file: parameters by name, and which files it includes.

Trap: names are of any case; a later line of a name counts, as slurmctld has it; a line that ends in \\ continues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause

_DEEPEST: Final = 8
_INCLUDE: Final = re.compile(r"include\s+(\S+)\s*", re.IGNORECASE)
_SETTING: Final = re.compile(r"([A-Za-z]\w*)\s*=\s*(.*)", re.ASCII)


def conf_lines(path: Path, names: Iterable[str], without: str) -> dict[str, str]:
    """The values of these parameters, without those of the included file of the name `without`.

    AdminkitError where slurm.conf cannot be read.
    """
    known = {name.lower(): name for name in names}
    found: dict[str, str] = {}
    for file, line in _lines(path, 0, frozenset({without})):
        match = _SETTING.fullmatch(line)
        if file.name != without and match and match[1].lower() in known:
            found[known[match[1].lower()]] = match[2].strip()
    return found


def place_of_include(path: Path, name: str, parameters: Iterable[str]) -> str:
    """Why the file `name` would not count: it is not included, or a parameter is set behind it; "" where it counts.

    AdminkitError where slurm.conf cannot be read.
    """
    known, is_included = {one.lower() for one in parameters}, False
    behind: list[str] = []
    for file, line in _lines(path, 0, frozenset()):
        match = _INCLUDE.fullmatch(line)
        if file == path and match and match[1] in (name, str(path.parent / name)):
            is_included, behind = True, []
        setting = _SETTING.fullmatch(line)
        if setting and file.name != name and setting[1].lower() in known:
            behind.append(setting[1])
    if not is_included:
        return f"{path} does not include {name}"
    return f"{path} sets {', '.join(behind)} after the line that includes {name}" if behind else ""


def _lines(path: Path, depth: int, without: frozenset[str]) -> Iterator[tuple[Path, str]]:
    """Each line with the file that it stands in, without comments; an Include before what it brings."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        if depth:
            return
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "run it as root on slurmctld's host") from error
    for raw in re.sub(r"\\\n", "", text).splitlines():
        line = raw.partition("#")[0].strip()
        yield path, line
        match = _INCLUDE.fullmatch(line)
        if match and depth < _DEEPEST and Path(match[1]).name not in without:
            yield from _lines(path.parent / match[1], depth + 1, without)
