"""Finding: what a judgement of a measure says; Kind: what all findings of one file have in common."""

from __future__ import annotations

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
    user: str | None = None
    name: str | None = None  # the job's name; of the kind effect, the measure's
    run: str | None = None  # 4711@1796083200, JobIDRaw (of an array its number) and submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judgement. `verdict` is one word of its kind's; severity and advice follow from it.

    `evidence` has the numbers that were compared, in base units, under names that the kind documents; what is unknown
    is left out.
    """

    kind: str
    subject: Subject
    verdict: str
    severity: Severity
    evidence: Mapping[str, float]
    advice: str  # a sentence without its full stop; empty where nothing is to be done


@dataclass(frozen=True, slots=True)
class Verdict:
    """The meaning of one word of a kind."""

    severity: Severity
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """The findings of one file: their name, their verdicts by word, and what their evidence may hold, by name."""

    name: str
    what: str
    verdicts: Mapping[str, Verdict]
    evidence: Mapping[str, str]

    def finding(self, verdict: str, subject: Subject, evidence: Mapping[str, float | None]) -> Finding:
        """A finding of this kind. KeyError for a verdict or a name that it does not document: a bug."""
        meaning = self.verdicts[verdict]
        if undocumented := evidence.keys() - self.evidence.keys():
            raise KeyError(f"{self.name} documents no evidence {', '.join(sorted(undocumented))}")
        known = {name: value for name, value in evidence.items() if value is not None}
        return Finding(
            kind=self.name, subject=subject, verdict=verdict, severity=meaning.severity, evidence=known,
            advice=meaning.advice,
        )  # fmt: skip
