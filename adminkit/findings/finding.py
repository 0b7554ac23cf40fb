"""Finding: what a judgement of a measure says; Kind: what all findings of one file have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

#: good: keep it so. info: worth knowing, no more. warn: somebody can do better by the advice.
Severity = Literal["good", "info", "warn"]
SEVERITIES: Final[tuple[Severity, ...]] = ("good", "info", "warn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a finding is about. None: not about one; about a user's runs of one name, `user` and `name` are set."""

    cluster: str | None = None
    queue: str | None = None
    user: str | None = None
    name: str | None = None  # the job's name; of the kind effect, the measure's
    run: str | None = None  # 4711@1796083200, JobIDRaw (of an array its number) and submission


@dataclass(frozen=True, slots=True)
class Stake:
    """What a finding is about in GPU-seconds, in node-seconds where there are no GPUs.

    `low` and `high` are the 95 % interval of an estimate; None where the hours were added up and are no estimate.
    """

    unit_seconds: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judgement. `verdict` is one word of its kind's; severity and advice follow from it.

    `evidence` has the numbers that were compared, in base units, under names that the kind documents; what is unknown
    is left out. `command` is a line for a shell that shows more, or acts; empty where there is none.
    """

    kind: str
    subject: Subject
    verdict: str
    severity: Severity
    evidence: Mapping[str, float]
    advice: str  # a sentence without its full stop; empty where nothing is to be done
    command: str = ""
    stake: Stake | None = None  # None: not known in these units

    @property
    def at_stake(self) -> float:
        """Unit-seconds by which findings are ordered; 0 where they are unknown."""
        return self.stake.unit_seconds if self.stake else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The meaning of one word of a kind."""

    severity: Severity
    advice: str = ""


#: What the description of a number begins with, before a comma or semicolon, where the number has a unit.
UNITS: Final = ("seconds", "epoch seconds", "GPU-seconds", "byte-seconds", "year × 100 + month")
#: Numbers whose names begin so are shares of a whole.
_SHARES: Final = ("share", "used_fraction", "accuracy", "change", "median", "p90")


@dataclass(frozen=True, slots=True)
class Kind:
    """The findings of one file: their name, their verdicts by word, and what their evidence may hold, by name."""

    name: str
    what: str
    verdicts: Mapping[str, Verdict]
    evidence: Mapping[str, str]

    def unit(self, name: str) -> str:
        """What a number of the evidence is in: one of UNITS, share, or "" for a count."""
        first = re.split(r"[,;]", self.evidence[name], maxsplit=1)[0]
        return first if first in UNITS else "share" if name.startswith(_SHARES) else ""

    def finding(
        self,
        verdict: str,
        subject: Subject,
        evidence: Mapping[str, float | None],
        stake: Stake | None = None,
        command: str = "",
    ) -> Finding:
        """A finding of this kind. KeyError for a verdict or a name that it does not document: a bug."""
        meaning = self.verdicts[verdict]
        if undocumented := evidence.keys() - self.evidence.keys():
            raise KeyError(f"{self.name} documents no evidence {', '.join(sorted(undocumented))}")
        known = {name: value for name, value in evidence.items() if value is not None}
        return Finding(
            kind=self.name, subject=subject, verdict=verdict, severity=meaning.severity, evidence=known,
            advice=meaning.advice, command=command, stake=stake,
        )  # fmt: skip
