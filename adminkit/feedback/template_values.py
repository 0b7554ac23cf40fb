"""The values of letters' templates, in base units; names of jobs are made harmless already.

docs/letters.md lists them; a test compares it with these classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """A limit to paste, and how often it would have been too short for earlier runs."""

    limit: int  # seconds
    paste: str  # the same in Slurm's format: 06:00:00
    risk: float | None
    tried: int  # earlier runs
    too_short: int  # of these, needed more than the limit
    alike: bool  # those runs had this one's name; else they are its user's


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run, or an array; of an array, `elapsed` and what depends on it are its longest task's."""

    name: str
    short_name: str  # for the subject
    id: str
    queue: str
    state: str
    verdict: str  # of findings/estimate.py: hit_limit, overestimated, accurate, unlimited
    elapsed: int  # seconds
    limit: int | None
    used_fraction: float | None  # elapsed / limit
    unused: Reserved
    cpus: int | None
    cpu_share: float | None  # CPU time / (elapsed * cpus)
    memory: str | None  # the largest peak of any task
    memory_asked: str | None


@dataclass(frozen=True, slots=True)
class Tasked:
    """The tasks of an array that ran; times in seconds."""

    tasks: int
    shortest: int
    median: int
    longest: int
    states: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly:
    """One week or several, from the day of `since` to the day of `last`."""

    since: int  # epoch seconds
    last: int
    runs: int
    used: int  # seconds
    asked: int
    used_fraction: float | None  # used / asked
    accuracy: float | None  # the mean of elapsed / limit
    unused: Reserved
    hit_limit: int = 0  # runs that ran into their limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The week's runs of one job name."""

    name: str
    runs: int
    used: int
    asked: int
    used_fraction: float
    unused: Reserved
    advice: Recommended | None


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of feedback/site_findings.py. `evidence` has the numbers that its kind documents."""

    kind: str
    verdict: str
    queue: str
    user: str  # of a finding about one
    other: str  # of the kind queue_fit the queue that would do, of failing the job's name, of effect the measure
    evidence: Mapping[str, float]
    advice: str  # in English; words.ja.j2 has its own
    command: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A run whose own letter could not be sent in time."""

    name: str
    id: str
    elapsed: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars of the letter. `of` is what each stands for: run, task, week (a user's), cluster (a cluster's week)."""

    of: str
    bars: Sequence[Bar]


def recommended(advice: Advice, kind: Kind, verdict: str) -> tuple[Recommended | None, str]:
    """A limit worth typing, else why there is none: few_runs, cut_off, queue_limit (too short), varied, fits.

    All but few_runs speak of runs of the same name. Where there are too few of these, other runs of its user may give a
    limit, but no reason.
    """
    given = advice.given
    alike = kind.job_name is None or "job_name" in given.level
    if advice.limit is None:
        why_not = "cut_off" if given.safe is None else "queue_limit"
    elif not worth_typing(advice.limit, kind.req_limit, verdict, LETTERS):
        why_not = "fits"
    elif not safe_enough(advice.risk, LETTERS):
        why_not = "varied" if advice.over else "few_runs"
    else:
        paste = show_duration(advice.limit)
        return Recommended(advice.limit, paste, advice.risk, advice.tried, advice.over, alike), ""
    return None, why_not if alike and given.enough and given.runs > 1 else "few_runs"


def named(name: str | None) -> tuple[str, str]:
    """A job's name, made harmless, for the text and for the subject."""
    return harmless(name), harmless(name, SUBJECT_NAME)
