"""Replicates: today and every scenario with the same chance, many times, on all cores.

A finished one is kept in a file, whole or not at all. Its name is a digest of all that it was made from, so whoever
runs the same again, after a kill or not, gets the same result; and only a new scenario runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

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
        _refuse_somebody_elses(folder)
        _sweep(folder)
    counter, stop = _Counter(plan.today.count), threading.Event()
    total = len(plan.seeds) * (1 + len(plan.scenarios)) * max(plan.today.count, 1)
    with ThreadPoolExecutor(cores or _cores()) as pool:
        work = [pool.submit(_replicate, plan, seed, folder, program, counter, run, stop) for seed in plan.seeds]
        try:
            waiting = set(work)
            while waiting:
                done, waiting = wait(waiting, _LOOK, FIRST_EXCEPTION)
                for one in done:
                    one.result()
                tick(counter.total(), total, counter.total())
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    by_seed = [one.result() for one in work]
    return [list(several) for several in zip(*by_seed, strict=True)]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _replicate(
    plan: Plan, seed: int, folder: Path | None, program: bytes, counter: _Counter, run: Run, stop: threading.Event
) -> list[Summary]:
    """Every scenario with one seed. Today runs once, and only if some scenario has to."""
    luck = Luck(seed)
    today = shake(plan.today, luck)
    asked, before = _digests(today)
    schedule: Schedule | None = None
    summaries = []
    for number, (scenario, given) in enumerate(zip(plan.scenarios, plan.given, strict=True), start=1):
        if stop.is_set():
            break
        case = scenario.apply(today, given, luck)
        request, after = _digests(case)
        name = _name(plan, program, before, after)
        kept = None if folder is None else _read(folder / name)
        if kept is None:
            if schedule is None:
                schedule = run(today.request, counter.teller((seed, 0)))
            then = schedule if request == asked else run(case.request, counter.teller((seed, number)))
            text = json.dumps(summary((today, schedule), (case, then), plan.groups, plan.window)).encode()
            if folder is not None:
                _write(folder, name, text)
            kept = json.loads(text)
        counter.done[seed, number] = plan.today.count
        summaries.append(kept)
    counter.done[seed, 0] = plan.today.count
    return summaries


def _digests(case: Case) -> tuple[bytes, bytes]:
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
    """A summary that was kept; None where there is none, or none that can be read."""
    try:
        found = json.loads(read_named(path, MOST_KEPT, links=False))
        path.touch()
    except (AdminkitError, OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "parts" in found else None


def _write(folder: Path, name: str, text: bytes) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with folder_to_write(folder) as handle:
            replace_file(handle, name, text, mode=0o600)
    except OSError as error:
        raise AdminkitError(
            f"couldn't keep a replicate in {folder}: {cause(error)}", "name another folder with --keep"
        ) from error


def _refuse_somebody_elses(folder: Path) -> None:
    """Root keeps nothing in a folder of somebody else's, who could put other results there, or a link."""
    if os.geteuid() == 0 and (facts := of_somebody_else(folder / "any")) is not None:
        raise AdminkitError(f"{folder} belongs to uid {facts.st_uid}", "name a folder of root's own with --keep")


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
