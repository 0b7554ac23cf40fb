"""What work costs beside a server: processor time of its own processes and of the servers, wall time, and memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.harness.processes import Process, parent, pids

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
#: Seconds between two looks at the memory of processes.
_LOOK: Final = 0.05


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds. `processor`: of this process, of the programs that it ran, and of the servers."""

    processor: float
    wall: float


@dataclass(frozen=True, slots=True)
class Burden:
    """Measures what is done here and by these servers. Nobody else may use the servers meanwhile."""

    servers: tuple[int, ...]  # pids

    @classmethod
    def of(cls, processes: Iterable[Process], *names: str) -> Burden:
        """The servers of these names."""
        found = tuple(process.pid for process in processes if process.name in names)
        if len(found) != len(names):
            raise SystemExit(f"{len(found)} of the servers {', '.join(names)} run")
        return cls(found)

    @contextmanager
    def metered(self) -> Iterator[list[Cost]]:
        """The cost of the block is in the list when the block has ended."""
        cost: list[Cost] = []
        before, begun = self._spent(), time.perf_counter()
        yield cost
        cost.append(Cost(self._spent() - before, time.perf_counter() - begun))

    def of_call(self, call: Callable[[], object]) -> Cost:
        with self.metered() as cost:
            call()
        return cost[0]

    def _spent(self) -> float:
        own = os.times()
        return own.user + own.system + own.children_user + own.children_system + sum(map(_seconds, self.servers))


def _seconds(pid: int) -> float:
    """Processor time of a process that is still there."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def rounds(many: int, sides: Mapping[str, Callable[[], Cost]]) -> dict[str, list[Cost]]:
    """Each side once a round; who is first changes with each round."""
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(many):
        at = number % len(names)
        for name in names[at:] + names[:at]:
            costs[name].append(sides[name]())
    return costs


def peak_of_all(argv: Sequence[str]) -> int:
    """The most bytes that a command and all that it started had resident at once, seen 20 times a second."""
    peak = 0
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_resident, _family(process.pid))))
            time.sleep(_LOOK)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)[-200:]}: exit {process.returncode}")
    return peak


def _family(first: int) -> list[int]:
    """A process and its descendants."""
    above = {pid: parent(pid) for pid in pids()}
    family = {first}
    while more := {pid for pid, its in above.items() if its in family} - family:
        family |= more
    return sorted(family)


def _resident(pid: int) -> int:
    """Bytes. What processes share is counted for each, so a sum is never too small."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0
