"""The values of letters' templates, in base units; names of jobs are made harmless already.

docs/letters.md lists them; a test compares it with these classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.feedback.chart import Bar
from adminkit.feedback.format import SUBJECT_NAME, harmless
from adminkit.findings.estimate import LETTERS, safe_enough, worth_typing
from adminkit.recommend.advice import Advice
from adminkit.stats.runs import Kind
from adminkit.stats.weeks import Reserved
from adminkit.units import show_duration

#: The words of templates for the states of stats/lost.py.
OUTCOMES: Final = {"TIMEOUT": "timeout", "OUT_OF_MEMORY": "memory", "NODE_FAIL": "node"}


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
    verdict: str  # of findings/estimate.py: hit_limit, ran_over, overestimated, accurate, unlimited
    elapsed: int  # seconds
    limit: int | None  # that was asked for
    used_fraction: float | None  # elapsed / limit
    unused: Reserved
    cpus: int | None
    cpu_share: float | None  # CPU time / (elapsed * cpus)
    memory: str | None  # of all its tasks together, at most
    memory_asked: str | None
    gpus: float | None = None  # equivalents
    gpu_share: float | None = None  # of its GPUs, busy; as far as it is measured
    file_waits: float | None = None  # of samples, it only waited for files; None: not bound by files, or unknown
    energy: float | None = None  # joules
    more: int | None = None  # seconds past the limit, of a single run that was given more time; None for none
    last_limit: int | None = None  # what would have ended it then
    ask: int | None = None  # of a run past its limit: the limit of the menu that is long enough for it


@dataclass(frozen=True, slots=True)
class Tasked:
    """The tasks of an array that ran; times in seconds."""

    tasks: int
    shortest: int
    median: int
    longest: int
    states: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What a run, or the tasks of an array, lost that were ended before they were done."""

    outcome: str  # of the run that lost most: timeout, memory, node
    elapsed: int | None  # seconds, added up; None: what was saved is not known, as all of them were warned in time
    reserved: Reserved  # for that time
    outcomes: Sequence[tuple[str, int]]  # (outcome, runs), most first
    worst: str  # the id of the task that lost most; empty where others lost about as much
    worst_elapsed: int
    again: str  # an array's tasks of that outcome, to submit again, as --array takes them: 3,7-9; empty where too many
    warned: bool  # by the checkpoint plugin, and a process caught the signal
    unheard: bool  # the plugin found no process that catches the signal
    lead: int | None  # seconds from that signal to the end
    code: int  # a program exits with it that wants to be put back
    plugin: bool  # whether the site has the checkpoint plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreTime:
    """A limit after a run reached its own; None where nothing is longer."""

    limit: int | None  # seconds
    paste: str  # the same in Slurm's format; empty for none
    enough: bool  # for most runs like this one; else it is the next of the menu
    usual: int | None  # seconds: what runs like this one need at most, where that is much less than this one's limit
    queue: str  # another queue, where this one allows no more; empty for none
    known_queue: bool  # whether the user has run jobs there
    most: int | None  # seconds: the queue's maximum, where it is why there is no longer limit


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreMemory:
    """Memory after a run had too little. Per node, as text; None for unknown."""

    had: str | None
    reached: str | None  # of all its tasks, as it was sampled
    limit: str | None
    paste: str  # as --mem takes it; empty for none
    why: str  # used, had, doubled, node, as in recommend/again.py; safe where its risk is known; unknown where `had` is
    runs: int  # of that name that completed, and whose memory is known
    nodes: int
    risk: float | None = None  # of `safe`


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The node that failed, and what became of the job."""

    node: str  # its name; empty where the run had several nodes or it is unknown
    put_back: str  # waits, runs, completed, ended; empty where Slurm did not put it back
    failures: int  # of that node, under jobs of one node, within 30 days
    exclude: str  # as --exclude takes it; empty where it has not failed again


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


@dataclass(frozen=True, slots=True)
class LostWeekly:
    """What a user's runs of the week lost."""

    outcomes: Sequence[tuple[str, int]]  # (outcome, runs), most first
    reserved: Reserved  # while they ran


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
    advice: str  # a message
    command: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A run whose own letter could not be sent in time."""

    name: str
    id: str
    elapsed: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class OtherGpus:
    """A name whose runs would take less on another number of GPUs. Changes are signed shares: -0.31 is 31 % less."""

    name: str
    gpus: int
    present: int
    time: float
    energy: float | None
    gpu_hours: float


@dataclass(frozen=True, slots=True)
class LessMemory:
    """A name whose runs ask for far more memory than they use. Per node, as text."""

    name: str
    asked: str  # by the last run
    used: str  # at most, by the last runs
    paste: str  # as --mem takes it
    risk: float
    tried: int  # earlier runs
    too_small: int  # of these, needed more


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
