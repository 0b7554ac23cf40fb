"""What letters know of the memory that a user's runs needed: read for many users at a time, as letter_data.py does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.recommend.advice import Advice, History, levels_of
from adminkit.recommend.control import Control
from adminkit.recommend.memory import MENU, RISK, site_control
from adminkit.recommend.memory_hints import LAST, LIMITS
from adminkit.recommend.menu import MEMORY_FLOOR, MEMORY_RATIO, Offer
from adminkit.recommend.recent import Recent
from adminkit.sqlite import sqlite3
from adminkit.stats.peaks import Peaks
from adminkit.stats.runs import Kind, Run

_OFFER: Final = Offer(MENU, RISK)


@dataclass(frozen=True, slots=True)
class Sized:
    """What is known of runs alike, MiB on a node. The last run asked for `asked`; none of late used over `used`."""

    advice: Advice
    asked: int | None
    used: int

    @property
    def is_far_less(self) -> bool:
        """Whether a size that is far below what is asked for was hardly ever too small."""
        size, asked, risk = self.advice.limit, self.asked, self.advice.risk
        if size is None or asked is None or risk is None or risk > LIMITS.risk or self.advice.batches < LIMITS.batches:
            return False
        return asked >= MEMORY_RATIO * size and asked >= size + MEMORY_FLOOR


class MemoryKnown:
    """The last runs of users whose need is known, those of PEOPLE at a time, and what follows from them."""

    def __init__(self, db: sqlite3.Connection, since: int, runs: int, code: int) -> None:
        """`runs` of each user that ended `since` then, at most."""
        self._db, self._since, self._most, self._code = db, since, runs, code
        self._runs: dict[tuple[str, str], Sequence[Run]] = {}
        self._controls: dict[str, Control] = {}

    def of_name(self, cluster: str, people: Sequence[str], name: str) -> Sized | None:
        """What is known of jobs of that name of the first of `people`; None for nothing. Others may be asked for next.

        The advice is about a job like the last one of that name.
        """
        mine = self._of(cluster, people)
        alike = [run for run in mine if run.kind.job_name == name]
        if not alike:
            return None
        kind = alike[-1].kind
        risk = self._control(cluster).risk(cluster, people[0])
        advice = History(mine, _OFFER, levels_of(kind), risk).advice(kind)
        return Sized(advice, kind.req_limit, max(run.elapsed for run in alike[-LAST:]))

    def for_kind(self, kind: Kind) -> Advice:
        """A size for the next job of this kind, whatever it asks for; its limit of time is not looked at."""
        cluster, user = kind.cluster or "", kind.user or ""
        free = kind._replace(req_limit=None)
        risk = self._control(cluster).risk(cluster, user)
        return History(self._of(cluster, [user]), _OFFER, levels_of(free), risk).advice(free)

    def _of(self, cluster: str, people: Sequence[str]) -> Sequence[Run]:
        if (cluster, people[0]) not in self._runs:
            last = {name: Recent(self._most) for name in people}
            for run in Peaks(self._db, people, [cluster], self._code, acting=True, since=self._since).runs():
                last[run.kind.user or ""].add(run)
            self._runs = {(cluster, name): one.runs() for name, one in last.items()}
        return self._runs[cluster, people[0]]

    def _control(self, cluster: str) -> Control:
        if cluster not in self._controls:
            self._controls[cluster] = site_control(self._db, [cluster], RISK, acting=True, checkpoint_code=self._code)
        return self._controls[cluster]
