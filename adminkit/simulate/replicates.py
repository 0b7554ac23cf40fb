"""Replicates: today and every scenario with the same chance, many times, on all cores.

A finished one is kept in a file, whole or not at all. Its name is a digest of all that it was made from, so whoever
runs the same again, after a kill or not, gets the same result; and only a new scenario runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from adminkit import __version__
from adminkit.errors import AdminkitError, cause
from adminkit.files import ASIDE, folder_to_write, read_named, replace_file
from adminkit.owner import of_somebody_else
from adminkit.simulate.case import Case
from adminkit.simulate.change import Given
from adminkit.simulate.core import Request, Schedule, simulate
from adminkit.simulate.groups import Groups
from adminkit.simulate.luck import Luck, shake
from adminkit.simulate.outcome import Summary, summary
from adminkit.simulate.scenario import Scenario

#: The fewest replicates that an answer is made of.
LEAST: Final = 20
#: Days for which a replicate that nobody asked for again is kept.
DAYS: Final = 30
#: Raised when a summary has another form.
FORM: Final = 3
#: Bytes of a summary that is kept.
MOST_KEPT: Final = 64 << 20
#: Seconds between two looks at how far it is.
_LOOK: Final = 0.2
#: Shares of the work for each core, so that none waits long for the last one of another.
_SHARES: Final = 4

Run = Callable[[Request, Callable[[int], None] | None], Schedule]
Tick = Callable[[float, float | None, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compared. `given` is what prepare() found out for each scenario; `window` as in summary()."""

    today: Case
    scenarios: Sequence[Scenario]
    given: Sequence[Sequence[Given]]
    groups: Groups
    window: tuple[int, int]
    seeds: Sequence[int]


@dataclass(slots=True)
class _Counter:
    """Jobs that have started, of each run, `most` at most: told by threads, read by another one."""

    most: int
    done: dict[tuple[int, int], int] = field(default_factory=dict)

    def teller(self, key: tuple[int, int]) -> Callable[[int], None]:
        """For a run, of which there may be more jobs than `most`: the total never falls."""
        return lambda started: self.done.__setitem__(key, min(started, self.most))

    def total(self) -> int:
        return sum(list(self.done.values()))


def replicates(
    plan: Plan, folder: Path | None, program: bytes, tick: Tick, cores: int | None = None, run: Run = simulate
) -> list[list[Summary]]:
    """A summary for each scenario and seed, whatever was kept of them.

    `folder` None: nothing is kept. `program`: what stands for the core. Trap: the summaries are read back from JSON
    even when they were not kept, so that both ways give the same numbers.
    """
    if folder is not None:
        refuse_somebody_elses(folder)
        _sweep(folder)
    counter, stop = _Counter(plan.today.count), threading.Event()
    total = len(plan.seeds) * (1 + len(plan.scenarios)) * max(plan.today.count, 1)
    cores = cores or _cores()
    made: dict[tuple[int, int], Summary] = {}
    with ThreadPoolExecutor(cores) as pool:
        work = [
            pool.submit(_replicates, plan, chance, places, (folder, program, run), counter, stop)
            for chance, places in _shares(plan, cores)
        ]
        try:
            waiting = set(work)
            while waiting:
                done, waiting = wait(waiting, _LOOK, FIRST_EXCEPTION)
                for one in done:
                    made |= one.result()
                tick(counter.total(), total, counter.total())
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [[made[seed, place] for seed in plan.seeds] for place in range(len(plan.scenarios))]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


class _Chance:
    """Today with one seed, for every scenario: it runs once, and only if some scenario has to."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.seed, self._plan, self._lock = seed, plan, threading.Lock()
        self._today: tuple[Case, bytes, bytes] | None = None
        self._schedule: Schedule | None = None
        self._left = len(plan.scenarios)

    def today(self) -> tuple[Case, bytes, bytes]:
        """The case, and its digests."""
        with self._lock:
            if self._today is None:
                case = shake(self._plan.today, Luck(self.seed))
                self._today = (case, *digests(case))
            return self._today

    def schedule(self, run: Run, told: Callable[[int], None]) -> Schedule:
        """What becomes of it."""
        case, _, _ = self.today()
        with self._lock:
            if self._schedule is None:
                self._schedule = run(case.request, told)
            return self._schedule

    def is_over(self, finished: int) -> bool:
        """Whether all scenarios are finished, with these: the jobs of many seeds would fill the memory."""
        with self._lock:
            self._left -= finished
            if not self._left:
                self._today = self._schedule = None
            return not self._left


def _shares(plan: Plan, cores: int) -> Iterator[tuple[_Chance, Sequence[int]]]:
    """Each seed with places of scenarios: those of one seed are divided only where seeds are too few for the cores."""
    many = min(-(-_SHARES * cores // max(len(plan.seeds), 1)), max(len(plan.scenarios), 1))
    for seed in plan.seeds:
        chance = _Chance(plan, seed)
        yield from ((chance, range(first, len(plan.scenarios), many)) for first in range(many))


def _replicates(
    plan: Plan,
    chance: _Chance,
    places: Sequence[int],
    means: tuple[Path | None, bytes, Run],
    counter: _Counter,
    stop: threading.Event,
) -> dict[tuple[int, int], Summary]:
    """The scenarios at these places with one seed, by seed and place. `means`: folder, program, run."""
    (folder, program, run), seed, made = means, chance.seed, dict[tuple[int, int], Summary]()
    for place in places:
        if stop.is_set():
            break
        today, asked, before = chance.today()
        case = plan.scenarios[place].apply(today, plan.given[place], Luck(seed))
        request, after = digests(case)
        name = _name(plan, program, before, after)
        kept = None if folder is None else _read(folder / name)
        if kept is None:
            schedule = chance.schedule(run, counter.teller((seed, 0)))
            then = schedule if request == asked else run(case.request, counter.teller((seed, place + 1)))
            text = json.dumps(summary((today, schedule), (case, then), plan.groups, plan.window)).encode()
            if folder is not None:
                keep_file(folder, name, text)
            kept = json.loads(text)
        counter.done[seed, place + 1] = plan.today.count
        made[seed, place] = kept
    if chance.is_over(len(places)):
        counter.done[seed, 0] = plan.today.count
    return made


def digests(case: Case) -> tuple[bytes, bytes]:
    """The digests of what the core is given, and of the whole case."""
    digest = hashlib.sha256()
    for piece in case.request.to_bytes():
        digest.update(piece)
    request = digest.digest()
    for name in sorted(case.facts):
        digest.update(name.encode() + b"\0" + case.facts[name].astype("<i8").tobytes())
    return request, digest.digest()


def _name(plan: Plan, program: bytes, before: bytes, after: bytes) -> str:
    digest = hashlib.sha256(f"{FORM} {__version__} {plan.window} ".encode())
    for part in (program, plan.groups.to_bytes(), before, after):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest() + ".json"


def _read(path: Path) -> Summary | None:
    found = kept_file(path)
    return found if isinstance(found, dict) and "parts" in found else None


def kept_file(path: Path) -> Any:
    """What was kept there, of JSON, a summary or a standing; None where nothing is, or nothing that can be read."""
    try:
        found = json.loads(read_named(path, MOST_KEPT, links=False))
        path.touch()
    except (AdminkitError, OSError, ValueError):
        return None
    return found


def keep_file(folder: Path, name: str, text: bytes) -> None:
    """Whole or not at all. AdminkitError where that fails."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with folder_to_write(folder) as handle:
            replace_file(handle, name, text, mode=0o600)
    except OSError as error:
        raise AdminkitError(
            f"couldn't keep a replicate in {folder}: {cause(error)}", "name another folder with --keep"
        ) from error


def refuse_somebody_elses(folder: Path) -> None:
    """Nobody takes results from a folder in which others may put them, and root keeps nothing where there may be a
    link.
    """
    if os.geteuid() == 0 and (facts := of_somebody_else(folder / "any")) is not None:
        raise AdminkitError(f"{folder} belongs to uid {facts.st_uid}", "name a folder of root's own with --keep")
    try:
        there = folder.stat()
    except OSError:
        return
    if there.st_uid not in (0, os.geteuid()) or there.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise AdminkitError(
            f"others may write in {folder}, and so choose the answer", "name a new folder with --keep, or chmod go-w it"
        )


def _sweep(folder: Path) -> None:
    """Remove replicates that nobody asked for in DAYS, and what a kill left aside."""
    oldest = time.time() - DAYS * 86_400
    for path in _ours(folder):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _ours(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(ASIDE) or (path.suffix == ".json" and len(path.stem) == 64):
                yield path
