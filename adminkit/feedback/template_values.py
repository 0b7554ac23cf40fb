"""What a letter's template may say: plain values in base units, and names of jobs that are harmless already.

docs/letters.md lists them; a test compares it with these classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adminkit.feedback.chart import Bar
from adminkit.feedback.format import SUBJECT_NAME, harmless
from adminkit.findings.estimate import LETTERS, safe_enough, worth_typing
from adminkit.recommend.advice import Advice
from adminkit.stats.runs import Kind
from adminkit.stats.weeks import Reserved
from adminkit.units import show_duration


@dataclass(frozen=True, slots=True)
class Recommended:
    """A limit to paste, and how often it has been too short when it was tried on earlier runs."""

    limit: int  # seconds
    paste: str  # the same as Slurm has it: 06:00:00
    risk: float | None
    tried: int
    over: int
    alike: bool  # those runs had this one's name; else they are its user's


@dataclass(frozen=True, slots=True)
class Ran:
    """A run, or an array: then `elapsed` and what depends on it are of its longest task."""

    name: str
    short_name: str  # for the subject
    id: str
    queue: str
    state: str
    verdict: str  # of findings/estimate.py
    elapsed: int  # seconds
    limit: int | None
    share: float | None  # elapsed / limit
    unused: Reserved
    cpus: int | None
    cpu_share: float | None  # of the CPUs' time, used
    memory: str | None  # the largest peak of any task
    memory_asked: str | None


@dataclass(frozen=True, slots=True)
class Tasked:
    """The tasks of an array that ran; seconds."""

    tasks: int
    shortest: int
    median: int
    longest: int
    states: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Weekly:
    """A week, or several: [since, last], both days of it."""

    since: int  # epoch seconds
    last: int
    runs: int
    used: int  # seconds
    asked: int
    share: float | None  # used / asked
    accuracy: float | None  # the mean of elapsed / limit
    unused: Reserved
    cut: int = 0  # ran into their limit


@dataclass(frozen=True, slots=True)
class Named:
    """The runs of one job name in the week."""

    name: str
    runs: int
    used: int
    asked: int
    share: float
    unused: Reserved
    advice: Recommended | None


@dataclass(frozen=True, slots=True)
class Missed:
    """A run whose own letter was too late."""

    name: str
    id: str
    elapsed: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars of the letter; `of` says what one is: run, task, week, cluster."""

    of: str
    bars: Sequence[Bar]


def recommended(advice: Advice, kind: Kind, verdict: str) -> tuple[Recommended | None, str]:
    """A limit worth typing, else why there is none: few, cut, most (the queue's maximum is too short), fine, varied.

    The last four speak of runs like this one. Where there are too few of its name, other runs of its user were asked:
    they may give a limit, but no reason.
    """
    given = advice.given
    alike = kind.job_name is None or "job_name" in given.level
    if advice.limit is None:
        why = "cut" if given.safe is None else "most"
    elif not worth_typing(advice.limit, kind.req_limit, verdict, LETTERS):
        why = "fine"
    elif not safe_enough(advice.risk, LETTERS):
        why = "varied" if advice.over else "few"
    else:
        paste = show_duration(advice.limit)
        return Recommended(advice.limit, paste, advice.risk, advice.tried, advice.over, alike), ""
    return None, why if alike and given.enough and given.runs > 1 else "few"


def named(name: str | None) -> tuple[str, str]:
    """A job's name for the text and for the subject."""
    return harmless(name), harmless(name, SUBJECT_NAME)
