"""What would have been recommended at each submission, held against what the job then needed.

Online: at a submission only the runs that had ended before that second are known.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.recommend.menu import Offer, round_up
from adminkit.recommend.predict import Predictor, Rule, at_limit, needed
from adminkit.stats.runs import Run

REQUEST: Final = "own request"
LAST_TWO: Final = "last two"
EXPECTED: Final = "expected"
SAFE: Final = "safe"
ROUNDED: Final = "safe, rounded"
METHODS: Final = (REQUEST, LAST_TWO, EXPECTED, SAFE, ROUNDED)


@dataclass(slots=True)
class Score:
    """One method over all runs. Where it gives nothing the own request stays; nothing above the request is asked."""

    method: str
    given: int = 0  # runs for which it had something to say
    prediction_accuracy_sum: float = 0.0  # of min(limit / need, need / limit)
    over: int = 0  # runs that needed more
    asked: int = 0  # seconds

    def add(self, need: int, request: int, limit: int | None) -> None:
        """Count a run that needed `need` and would have been given `limit`."""
        self.given += limit is not None
        used = request if limit is None or limit > request else max(limit, 1)
        self.prediction_accuracy_sum += used / need if used < need else need / used
        self.over += used < need
        self.asked += used


@dataclass(frozen=True, slots=True)
class Backtest:
    """`runs` counted; `at_limit` of them did not end before their own limit; `no_limit` had none and count nowhere."""

    scores: Sequence[Score]
    runs: int
    at_limit: int
    no_limit: int
    needed: int  # seconds
    span: tuple[int | None, int | None]


def online(runs: Iterable[Run]) -> Iterator[tuple[bool, Run]]:
    """(False, run) at its submission, (True, run) once it has ended, in the order in which a clock would see it.

    `runs` come by submission. Held in memory: the runs that have not ended yet.
    """
    waiting: list[tuple[int, int, Run]] = []
    for number, run in enumerate(runs):
        while waiting and waiting[0][0] < run.submit_time:
            yield True, heapq.heappop(waiting)[2]
        yield False, run
        heapq.heappush(waiting, (run.end_time, number, run))
    while waiting:
        yield True, heapq.heappop(waiting)[2]


def backtest(runs: Iterable[Run], offer: Offer) -> Backtest:
    """Every method over `runs`, which come by submission."""
    predictor, last_two = Predictor(Rule(risk=offer.risk)), _LastTwo()
    request, last, expected, safe, rounded = scores = [Score(method) for method in METHODS]
    cut = no_limit = total = need_total = 0
    first = latest = None
    for has_ended, run in online(runs):
        if has_ended:
            predictor.ended(run)
            last_two.ended(run)
            latest = run.end_time
            first = first or run.end_time
            continue
        limit = run.kind.req_limit
        if limit is None:
            no_limit += 1
            continue
        need, given = needed(run), predictor.predict(run.kind)
        total += 1
        cut += at_limit(run)
        need_total += need
        request.add(need, limit, limit)
        last.add(need, limit, last_two.predict(run))
        expected.add(need, limit, given.expected)
        safe.add(need, limit, given.safe)
        rounded.add(need, limit, None if given.safe is None else round_up(given.safe, offer.menu))
    return Backtest(scores, total, cut, no_limit, need_total, (first, latest))


class _LastTwo:
    """The mean of the user's last two runs, the yardstick of the literature."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str | None, str | None], tuple[int, ...]] = {}

    def ended(self, run: Run) -> None:
        key = run.kind[:2]
        self.runs[key] = (*self.runs.get(key, ())[-1:], needed(run))

    def predict(self, run: Run) -> int | None:
        known = self.runs.get(run.kind[:2])
        return round(sum(known) / len(known)) if known else None
