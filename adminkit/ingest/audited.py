"""The result of an audit of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.trace.audit import Letter, StoredRun

#: What a row may be judged to be.
VERDICTS: Final = ("confirmed", "contradicted", "unknown", "beyond", "open")
#: Runs of each verdict that are named, at most.
EXAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class Example:
    """One run that is not confirmed. `differs`: the columns in which slurmdbd contradicts it."""

    verdict: str
    stored: StoredRun
    differs: Sequence[str] = ()


@dataclass(slots=True)
class Audited:
    """What an audit of one cluster found. `before`: rows that an earlier audit had confirmed."""

    cluster: str
    known: bool = True  # slurmdbd keeps accounts of it
    before: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    ends: dict[str, tuple[int, int]] = field(default_factory=dict)  # verdict -> first and last end
    users: dict[str, set[str]] = field(default_factory=dict)  # of the rows that are set aside
    examples: list[Example] = field(default_factory=list)
    due: int = 0  # letters that were not sent and are cancelled
    sent: list[Letter] = field(default_factory=list)  # letters that were sent
    purge_unsaid: int = 0  # rows that are beyond because it is unknown when slurmdbd purges jobs

    def add(self, verdict: str, stored: StoredRun, differs: Sequence[str] = ()) -> None:
        self.count(verdict, 1, stored.end_time, stored.end_time)
        if verdict in ("contradicted", "unknown"):
            self.users.setdefault(verdict, set()).add(stored.user or f"uid {stored.uid}")
        if sum(one.verdict == verdict for one in self.examples) < EXAMPLES:
            self.examples.append(Example(verdict, stored, differs))

    def count(self, verdict: str, many: int, first: int | None, last: int | None) -> None:
        self.counts[verdict] += many
        if first is not None and last is not None:
            least, most = self.ends.get(verdict, (first, last))
            self.ends[verdict] = min(least, first), max(most, last)
