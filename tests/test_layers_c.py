"""The shape of the C: who includes what, and how long a file is. A breach is named with its file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Where C lives. A folder `common` there is for all folders beside it.
HOUSES = ("adminkit/native", "spank")

#: Headers of libraries, and the files that may include them.
LIBRARIES = {
    r"slurm/spank\.h": r"spank/common/job_log\.c|spank/\w+/adminkit_\w+\.c",
    r"slurm/.*": r"spank/common/slurm_compat\.h",
    r"sqlite3\.h": r"adminkit/native/ingest/store\.h",
    r"sqlite3ext\.h": r"adminkit/native/columns/columns\.c",
    r"pthread\.h": r"adminkit/native/ingest/batch\.c|spank/common/(async_call|clock)\.h",
}

#: Text and values in, values out: neither files nor processes, threads or clocks, nor Slurm.
PURE = re.compile(
    r"adminkit/native/(common/.*|columns/(column|texts)\..*|ingest/(hours|image|sha256|waits)\..*)|spank/common/(proc_parse|slurmctld\.h).*"
    r"|spank/data/(index|mounts|record|request|site|word)\..*|spank/io/(proc_texts|sums)\..*"
    r"|spank/ckpt/(deadline|known_programs|note|options|progress_word|requeue|resize|targets)\..*"
)
VALUES = {
    *("inttypes.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h", "strings.h"),
    *("sys/types.h", "emmintrin.h"),
    "stdio.h",  # snprintf
    "signal.h",  # the signals' numbers
}

#: Lines, as for Python.
LONGEST = 350


@dataclass(frozen=True)
class Include:
    line: int
    name: str
    system: bool  # <name>


@dataclass(frozen=True)
class Source:
    house: str
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def room(self) -> str:
        """Its folder in the house; "" for the house itself."""
        return self.path.parent.relative_to(ROOT / self.house).as_posix().removeprefix(".")

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        lines = enumerate(self.path.read_text("utf-8").splitlines(), 1)
        found = ((number, re.match(r'\s*#\s*include\s+([<"])([^">]+)', line)) for number, line in lines)
        return tuple(Include(number, match[2], match[1] == "<") for number, match in found if match)


SOURCES = [Source(house, path) for house in HOUSES for path in sorted((ROOT / house).rglob("*.[ch]"))]


def own(source: Source, include: Include) -> Source | None:
    """The file of ours that is included: beside the source, by its path in the house, or in another folder of it."""
    house = ROOT / source.house
    for path in (source.path.parent / include.name, house / include.name, *sorted(house.glob(f"*/{include.name}"))):
        if path.exists():
            return next(one for one in SOURCES if one.path == path.resolve())
    return None


def reach(source: Source) -> Iterator[tuple[Source, Include]]:
    """Every include of a library that the source's own files bring in."""
    waiting, seen = [source], {source.name}
    while waiting:
        one = waiting.pop()
        for include in one.includes:
            if include.system:
                yield one, include
            elif (below := own(one, include)) is not None and below.name not in seen:
                seen.add(below.name)
                waiting.append(below)


def test_the_sources_are_found_with_their_includes() -> None:
    assert {source.house for source in SOURCES} == set(HOUSES)
    assert {"common", "ckpt"} <= {source.room for source in SOURCES}
    (compat,) = [source for source in SOURCES if source.name == "spank/common/slurm_compat.h"]
    assert {include.name for include in compat.includes} >= {"slurm/slurm.h", "slurm/slurm_errno.h"}


def test_what_is_included_in_quotes_is_ours() -> None:
    assert [
        f"{source.name}:{include.line}: {include.name}"
        for source in SOURCES
        for include in source.includes
        if not include.system and own(source, include) is None
    ] == []


def test_a_library_has_one_door() -> None:
    breaches = []
    for source in SOURCES:
        for include in source.includes:
            doors = next((doors for header, doors in LIBRARIES.items() if re.fullmatch(header, include.name)), ".*")
            if include.system and not re.fullmatch(doors, source.name):
                breaches.append(f"{source.name}:{include.line}: {include.name}")
    assert breaches == []


def test_a_plugin_or_a_program_includes_what_is_common_and_none_beside_it() -> None:
    breaches = []
    for source in SOURCES:
        for include in source.includes:
            below = None if include.system else own(source, include)
            if below is not None and below.room not in (source.room, "common"):
                breaches.append(f"{source.name}:{include.line}: {below.name}")
    assert breaches == []


def test_pure_files_reach_no_file_no_process_no_clock_and_no_slurm() -> None:
    pure = [source for source in SOURCES if PURE.fullmatch(source.name)]
    assert len(pure) > 12
    assert [
        f"{source.name}: {include.name}, in {where.name}:{include.line}"
        for source in pure
        for where, include in reach(source)
        if include.name not in VALUES
    ] == []


def test_no_file_is_longer_than_a_sitting() -> None:
    assert {
        source.name: lines for source in SOURCES if (lines := len(source.path.read_text().splitlines())) > LONGEST
    } == {}
