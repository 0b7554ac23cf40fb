"""What was known of each job when it was submitted: from the trace's runs that had ended by then, and no others.

The history is the trace's, whatever a scenario would have changed of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.recommend.control import Steered
from adminkit.recommend.hints import DAY
from adminkit.recommend.menu import round_up
from adminkit.recommend.needs import LEVELS, QUANTILES, Cautions, Outcomes, quantiles
from adminkit.recommend.online import online
from adminkit.recommend.predict import Predictor, Rule
from adminkit.simulate.case import Column
from adminkit.simulate.core import NONE
from adminkit.sqlite import sqlite3
from adminkit.stats.runs import Kind, Run, runs

if TYPE_CHECKING:
    from adminkit.simulate.change import Sources

_MINUTE: Final = 60


def recommended(sources: Sources, scenario: str, risk: float, menu: Sequence[int]) -> Column:
    """The limit of the menu that would have been recommended for each of today's jobs; NONE for none."""
    asked = ("recommended", risk, tuple(menu))
    if asked not in sources.known:
        steered = Steered(Rule(risk=risk))

        def limit(run: Run) -> int | None:
            safe = steered.submitted(run).safe
            return None if safe is None else round_up(safe, menu)

        sources.known[asked] = _told(sources, scenario, limit, steered.ended)
    limits: Column = sources.known[asked]
    return limits


def expected(sources: Sources, scenario: str, cautions: Cautions) -> Column:
    """What backfill would have planned each of today's jobs with, by the table of needs of the day.

    In whole minutes, rounded up, as Slurm keeps --time-min; NONE where too few runs like it had ended.
    """
    asked = ("expected", cautions)
    if asked not in sources.known:
        sources.known[asked] = _planned(_needs(sources, scenario), cautions)
    planned: Column = sources.known[asked]
    return planned


#: What is known of a job at its submission: what runs like it needed, and how often its user's needed more.
_Known = tuple[tuple[int, ...], tuple[float, ...]]


def _needs(sources: Sources, scenario: str) -> Sequence[_Known | None]:
    """For each of today's jobs, from one walk through the history; None where too few runs like it had ended."""
    if ("needs",) not in sources.known:
        table, found = Needs(), list[_Known]()

        def number(run: Run) -> int | None:
            seconds, outlived = table.submitted(run)
            if seconds is None:
                return None
            found.append((seconds, outlived))
            return len(found) - 1

        places = _told(sources, scenario, number, table.ended)
        sources.known["needs",] = [None if place == NONE else found[place] for place in places.tolist()]
    known: Sequence[_Known | None] = sources.known["needs",]
    return known


def _planned(needs: Sequence[_Known | None], cautions: Cautions) -> Column:
    import numpy as np

    place = QUANTILES.index(cautions.quantile)
    rows = {known: cautions.row(*known) for known in set(needs) if known is not None}
    chosen = [None if known is None else rows[known] for known in needs]
    return np.array(
        [NONE if row is None else max(-(-row[place] // _MINUTE) * _MINUTE, _MINUTE) for row in chosen], np.int64
    )


class Needs:
    """The table of needs, made again every midnight (UTC) of the runs that had ended by then."""

    def __init__(self, levels: Sequence[tuple[str, ...]] = LEVELS) -> None:
        self._predictor, self._outcomes = Predictor(Rule(), levels), Outcomes()
        self._day, self._ended = 0, list[Run]()
        self._expected: dict[Kind, tuple[int, ...] | None] = {}
        self._shares: dict[str | None, tuple[float, ...]] = {}

    def submitted(self, run: Run) -> tuple[tuple[int, ...] | None, tuple[float, ...]]:
        """What runs like it needed, for each of QUANTILES, None for unknown; and how often its user's needed more."""
        self._turn(run.submit_time)
        kind, user = run.kind, run.kind.user
        alike = Kind(*kind[:4])
        if alike not in self._expected:
            curve = self._predictor.curve(kind)
            self._expected[alike] = None if curve is None else quantiles(curve)
        seconds = self._expected[alike]
        self._outcomes.submitted(run, seconds)
        if user not in self._shares:
            self._shares[user] = self._outcomes.shares(*kind[:2])
        return seconds, self._shares[user]

    def ended(self, run: Run) -> None:
        """Learn from it, at the next midnight."""
        self._turn(run.end_time)
        self._ended.append(run)

    def _turn(self, now: int) -> None:
        if self._day == now // DAY:
            return
        for run in self._ended:
            self._predictor.ended(run)
            self._outcomes.ended(run)
        self._day = now // DAY
        self._ended.clear()
        self._expected.clear()
        self._shares.clear()


def _told(
    sources: Sources, scenario: str, submitted: Callable[[Run], int | None], ended: Callable[[Run], None]
) -> Column:
    """What `submitted` says of each of today's jobs. AdminkitError where the trace cannot say."""
    import numpy as np

    if sources.db is None or sources.keys is None:
        raise AdminkitError(f"scenario {quote(scenario)} needs the history of a trace", "name a trace with --db")
    ids, submits = (sources.keys[name].tolist() for name in ("job_id_raw", "submit_time"))
    place = {key: number for number, key in enumerate(zip(ids, submits, strict=True))}
    told = np.full(len(ids), NONE, np.int64)
    seen = 0
    for has_ended, run in online(_history(sources.db, sources)):
        if has_ended:
            ended(run)
            continue
        seen += 1
        limit, at = submitted(run), place.get((run.job_id_raw, run.submit_time))
        if limit is not None and at is not None:
            told[at] = limit
    if not seen:
        raise AdminkitError(
            f"scenario {quote(scenario)} needs to know when jobs of the trace ended, and the trace does not say",
            "import a trace with starts and ends",
        )
    return told


def _history(db: sqlite3.Connection, sources: Sources) -> Iterable[Run]:
    return runs(db, clusters=[sources.cluster], checkpoint_code=sources.checkpoint_code)
