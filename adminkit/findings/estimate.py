"""How good one limit was for what the run needed, and whether another is worth typing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.findings.finding import Finding, Kind, Number, Subject, Verdict
from adminkit.messages import message


@dataclass(frozen=True, slots=True)
class Limits:
    """What separates the verdicts, and what makes advice worth giving."""

    #: A run that used this share of its limit, or more, was estimated well: the menu's steps are about so far apart.
    accurate: float = 0.5
    #: A recommended limit is worth typing where it is at most this share of the one that was asked for.
    worth: float = 0.8
    #: A limit that is too short for more than this share of runs is not recommended.
    risky: float = 0.25


#: Verdicts on a limit that was too short.
TOO_SHORT: Final = ("hit_limit", "ran_over")
#: What the letters judge by.
LETTERS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Measure:
    """A run; of an array its longest task, and the run times of all of its tasks, ascending. Seconds."""

    subject: Subject
    elapsed: int
    req_limit: int | None  # None: it had none
    state: str | None
    tasks: Sequence[int] = ()
    more: int | None = None  # seconds past the limit that were used because more time was given; None: none was given


KIND: Final = Kind(
    "estimate",
    "how well a run's limit matched what it needed",
    {
        "hit_limit": Verdict("warn", message("ask for more time, or write checkpoints: the job reached its limit")),
        "ran_over": Verdict(
            "warn", message("ask for more time: the job ran past its limit only because nobody waited for its nodes")
        ),
        "overestimated": Verdict("info", message("ask for less time: most of the limit was not used")),
        "unlimited": Verdict("info", message("set a limit: without one, backfill cannot place the job")),
        "accurate": Verdict("good"),
    },
    {
        "elapsed": Number(
            "the run time; for an array, that of its longest task, or of its median task if the longest hit its limit",
            "seconds",
        ),
        "req_limit": Number("the limit that was asked for", "seconds"),
        "used_fraction": Number("elapsed / req_limit", "share"),
    },
)


def check(measure: Measure, limits: Limits) -> list[Finding]:
    """One finding. An array's longest task speaks for it; where that one hit its limit, the median task does."""
    elapsed, limit = measure.elapsed, measure.req_limit
    verdict = _verdict(elapsed, limit, measure.state, limits)
    if verdict == "hit_limit" and measure.state != "TIMEOUT" and measure.more and not measure.tasks:
        verdict = "ran_over"
    if verdict == "hit_limit" and measure.tasks:
        elapsed = measure.tasks[len(measure.tasks) // 2]
        verdict = _verdict(elapsed, limit, None, limits)
    evidence = {"elapsed": elapsed, "req_limit": limit or None, "used_fraction": elapsed / limit if limit else None}
    return [KIND.finding(verdict, measure.subject, evidence)]


def _verdict(elapsed: int, limit: int | None, state: str | None, limits: Limits) -> str:
    if not limit:
        return "unlimited"
    if state == "TIMEOUT" or elapsed >= limit:
        return "hit_limit"
    return "accurate" if elapsed >= limits.accurate * limit else "overestimated"


def safe_enough(risk: float | None, limits: Limits) -> bool:
    """Whether a limit of that measured risk may be recommended to somebody; None where it was not tried."""
    return risk is None or risk <= limits.risky


def worth_typing(recommended: int, asked: int | None, verdict: str, limits: Limits) -> bool:
    """Whether people gain by the recommended limit: a much shorter one, or a longer one after a run was cut off."""
    if asked is None:
        return True
    return recommended > asked if verdict in TOO_SHORT else recommended <= limits.worth * asked
