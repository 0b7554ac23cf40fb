"""From scenarios and today's case to the rows of an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adminkit.errors import UsageError
from adminkit.installed import simulator_path
from adminkit.simulate.calibrate import Calibration, NoStarts, calibrate, refuse_without_basis
from adminkit.simulate.change import Sources
from adminkit.simulate.compare import Row, compare
from adminkit.simulate.core import Request, Schedule, simulate
from adminkit.simulate.groups import groups_of
from adminkit.simulate.outcome import Summary
from adminkit.simulate.replicates import Plan, Tick, replicates
from adminkit.simulate.scenario import Scenario, prepare
from adminkit.simulate.subject import Subject
from adminkit.simulate.today import window_of


@dataclass(frozen=True, slots=True)
class Effort:
    """How an answer is made: replicates and the first one's seed, processes at a time, where replicates are kept."""

    replicates: int
    seed: int = 1
    cores: int | None = None
    keep: Path | None = None


def worth(subject: Subject, force: bool, progress: Callable[[int], None] | None = None) -> Calibration | None:
    """What answers are worth here; None where that cannot be told, and `force` says to answer all the same.

    AdminkitError where there is no basis for an answer, or no start to compare with, unless it is forced.
    """
    try:
        calibration = calibrate(subject, progress)
    except NoStarts:
        if force:
            return None
        raise
    refuse_without_basis(calibration, force)
    return calibration


@dataclass(frozen=True, slots=True)
class Slice:
    """The `number`-th of `many` parts of the replicates, from 1."""

    number: int
    many: int


def slice_of(text: str, replicates: int) -> Slice:
    """I/N of the command line. UsageError for another text, and where a slice would have no replicate."""
    number, _, many = text.partition("/")
    if not all(one.isascii() and one.isdigit() and len(one) <= 6 for one in (number, many)):
        raise UsageError(f"--slice {text!r} is not I/N", "write --slice 1/10 for the first of ten")
    found = Slice(int(number), int(many))
    if not 1 <= found.number <= found.many:
        raise UsageError(f"--slice {text}: there is no such slice", "slices are numbered from 1: --slice 1/10")
    if found.many > replicates:
        raise UsageError(
            f"--slice {text}: {replicates} replicates are fewer than {found.many} slices",
            "ask for more with --replicates, or for fewer slices",
        )
    return found


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of all scenarios, the summaries of each, and the time in which use is measured."""

    rows: Sequence[Row]
    summaries: Mapping[str, Sequence[Summary]]
    window: tuple[int, int]


def plan_of(scenarios: Sequence[Scenario], sources: Sources, effort: Effort) -> Plan:
    """What is to be run. AdminkitError for what does not go with the site or the trace."""
    given, groups, window = prepare(scenarios, sources), groups_of(sources.case), window_of(sources.case)
    seeds = range(effort.seed, effort.seed + effort.replicates)
    return Plan(sources.case, scenarios, given, groups, window, seeds)


def answer(
    plan: Plan,
    effort: Effort,
    tick: Tick = lambda done, total, jobs: None,
    run: Callable[[Request, Callable[[int], None] | None], Schedule] = simulate,
) -> Answer:
    """Compare the scenarios with today."""
    made = replicates(plan, effort.keep, program_digest(), tick, effort.cores, run)
    names = [one.name for one in plan.scenarios]
    return Answer(compare(names, made, plan.groups), dict(zip(names, made, strict=True)), plan.window)


def work_on(plan: Plan, effort: Effort, share: Slice, tick: Tick = lambda done, total, jobs: None) -> int:
    """Make the replicates of one slice, those that are not kept yet, and keep them. Returns how many the slice has.

    Seeds are dealt out in turn, so that answer() of the whole plan finds each where it looks.
    """
    mine = replace(plan, seeds=plan.seeds[share.number - 1 :: share.many])
    replicates(mine, effort.keep, program_digest(), tick, effort.cores)
    return len(mine.seeds)


def program_digest() -> bytes:
    """What stands for the core that is installed: another one makes other replicates."""
    return hashlib.sha256(Path(simulator_path()).read_bytes()).digest()
