"""What the users of each account used in a period."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.lost import UNSAVED
from adminkit.stats.weeks import Reserved
from adminkit.trace.run_view import TOO_LONG

_GPUS: Final = "coalesce(size_gpus, 0)"
_CPUS: Final = f"CASE WHEN {_GPUS} = 0 THEN coalesce(size_cpus, 0) ELSE 0 END"
_UNUSED: Final = "CASE WHEN req_limit > elapsed THEN req_limit - elapsed ELSE 0 END"
#: As in letters of the week, a run of unknown GPUs counts with its CPUs.
_MEMBERS: Final = f"""
SELECT account, user, count(*), total(elapsed * {_GPUS}), total(elapsed * {_CPUS}),
    total(CASE WHEN study_counted THEN elapsed END), total(CASE WHEN study_counted THEN req_limit END),
    total({_UNUSED} * {_GPUS}), total({_UNUSED} * {_CPUS}), total({UNSAVED}),
    total(CASE WHEN {UNSAVED} THEN elapsed * {_GPUS} END), total(CASE WHEN {UNSAVED} THEN elapsed * {_CPUS} END),
    total(size_gpus IS NULL)
FROM run
WHERE end_time >= :since AND end_time < :until AND +cluster = :cluster AND acting
    AND account IS NOT NULL AND user IS NOT NULL AND start_time IS NOT NULL AND elapsed > 0 AND elapsed < {TOO_LONG}
GROUP BY account, user
"""


class Member(NamedTuple):
    """The runs of one user under one account, or of all of its users. Seconds; GPUs in equivalents."""

    runs: int = 0
    used: Reserved = Reserved()
    ran: int = 0  # of the runs that reports count, like the next
    asked: int = 0
    unused: Reserved = Reserved()
    lost: int = 0  # runs that lost their work, as far as is known
    lost_hours: Reserved = Reserved()
    unsized: int = 0  # runs whose GPUs are unknown: they count with their CPUs

    @property
    def used_fraction(self) -> float | None:
        return self.ran / self.asked if self.asked else None

    def plus(self, other: Member) -> Member:
        """Both together."""
        return Member(*(_added(one, two) for one, two in zip(self, other, strict=True)))  # type: ignore[arg-type]


def _added(one: int | Reserved, two: int | Reserved) -> int | Reserved:
    if isinstance(one, Reserved) and isinstance(two, Reserved):
        return Reserved(one.gpu_seconds + two.gpu_seconds, one.cpu_seconds + two.cpu_seconds)
    return one + two  # type: ignore[operator, return-value]


def groups(db: sqlite3.Connection, cluster: str, since: int, until: int) -> Mapping[str, Mapping[str, Member]]:
    """Account -> user -> the runs that ended in [since, until), epoch seconds."""
    found: dict[str, dict[str, Member]] = {}
    for account, user, runs, *sums in db.execute(_MEMBERS, {"cluster": cluster, "since": since, "until": until}):
        gpu, cpu, ran, asked, unused_gpu, unused_cpu, lost, lost_gpu, lost_cpu, unsized = sums
        found.setdefault(account, {})[user] = Member(
            runs, Reserved(gpu, cpu), int(ran), int(asked), Reserved(unused_gpu, unused_cpu), int(lost),
            Reserved(lost_gpu, lost_cpu), int(unsized),
        )  # fmt: skip
    return found
