"""Finding: what a judgement of a measure says; Kind: what all findings of one file have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from adminkit.stats.weeks import Reserved

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
    """What a finding is about: GPU-seconds of runs with GPUs, CPU-seconds of runs without, or of unknown GPUs.

    None: no such run, or unknown. The two are never added up.
    """

    gpu_seconds: float | None = None
    cpu_seconds: float | None = None

    @classmethod
    def of(cls, seconds: float, resource: str | None) -> Stake | None:
        """The stake of runs of one resource of stats/weeks.py; None where it is unknown."""
        return None if resource is None else cls(**{f"{resource}_seconds": seconds})

    @classmethod
    def both(cls, reserved: Reserved) -> Stake:
        """The stake of runs of either resource. Where all are on GPUs, no CPUs are named, and the reverse."""
        gpu, cpu = reserved
        return cls(None if cpu and not gpu else gpu, cpu or None)

    @property
    def weight(self) -> float:
        """One number to order findings by; it is never shown."""
        return Reserved(self.gpu_seconds or 0, self.cpu_seconds or 0).weight


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
    stake: Stake | None = None  # None: unknown, or no hours

    @property
    def at_stake(self) -> float:
        """What findings are ordered by, in GPU-seconds; 0 where it is unknown. It is never shown."""
        return self.stake.weight if self.stake else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The meaning of one word of a kind."""

    severity: Severity
    advice: str = ""


def of_resource(resource: str | None, **seconds: float) -> dict[str, float]:
    """Evidence in GPU-seconds under its names, in CPU-seconds under cpu_NAME; of an unknown resource there is none."""
    prefix = "cpu_" if resource == "cpu" else ""
    return {} if resource is None else {f"{prefix}{name}": value for name, value in seconds.items()}


class Number(NamedTuple):
    """A number of the evidence: what it is of, and what it is in."""

    of: str
    #: "": a count, or what `of` says.
    unit: Literal[
        "", "share", "seconds", "epoch seconds", "GPU-seconds", "CPU-seconds", "byte-seconds", "year × 100 + month"
    ] = ""

    @property
    def described(self) -> str:
        """The name as its page has it: seconds, the queue's maximum."""
        return ", ".join(part for part in (self.unit if self.unit != "share" else "", self.of) if part)


@dataclass(frozen=True, slots=True)
class Kind:
    """The findings of one file: their name, their verdicts by word, and what their evidence may hold, by name."""

    name: str
    what: str
    verdicts: Mapping[str, Verdict]
    evidence: Mapping[str, Number]

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
