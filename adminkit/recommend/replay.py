"""A trace as it happened: at each submission only the runs that had ended by then are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import groupby
from typing import Final

from adminkit.recommend.groups import Features, size_of
from adminkit.recommend.predict import MENU, Predictor, Recommendation, Run, Settings
from adminkit.stats.similar import Ended

#: What the table compares, in its order.
PREDICTORS: Final = ("request", "last two", "expected", "safe", "limit")


@dataclass(slots=True)
class Measure:
    """How one way to set limits did: sums over the runs it had a number for."""

    runs: int = 0
    accuracy: float = 0.0
    over: int = 0

    def add(self, predicted: float, elapsed: int) -> None:
        self.runs += 1
        self.accuracy += elapsed / predicted if predicted > elapsed else predicted / elapsed
        self.over += predicted < elapsed


@dataclass(slots=True)
class Backtest:
    """`measures` are over runs with a request; where nothing was recommended, the request stands in."""

    measures: dict[str, Measure] = field(default_factory=lambda: {name: Measure() for name in PREDICTORS})
    runs: int = 0
    recommended: int = 0
    groups: dict[str, int] = field(default_factory=dict)


def features_of(one: Ended) -> Features:
    """All that was known of it at submission."""
    size = size_of(one.req_nodes, one.req_gpus, one.req_cpus)
    return Features(one.user, one.job_name, one.queue, size, one.request)


def run_of(one: Ended) -> Run:
    """How it ended. A run that reached its limit needed more, whatever its state is called."""
    reached = one.time_limit is not None and one.elapsed >= one.time_limit
    return Run(one.elapsed, one.state == "TIMEOUT" or reached)


class Replay:
    """One user's runs, fed as they were submitted. `known` says by which features runs are compared."""

    def __init__(
        self, settings: Settings, menu: Sequence[int], known: Callable[[Ended], Features] = features_of
    ) -> None:
        self._known = known
        self.predictor = Predictor(settings, menu)
        #: (when, whether it ends, number, …): what is to come of the runs submitted.
        self._open: list[tuple[int, bool, int, Features, Run, Recommendation | None]] = []
        self._count = 0
        self.last: tuple[int, ...] = ()  # the run times of the last two that ended

    def submit(self, one: Ended) -> Recommendation | None:
        """What would have been recommended at its submission."""
        self.until(one.submit_time)
        features, run = self._known(one), run_of(one)
        told = self.predictor.predict(features, one.submit_time)
        self._count += 1
        heappush(self._open, (one.end_time, True, self._count, features, run, told))
        heappush(self._open, (one.end_time - one.elapsed, False, self._count, features, run, told))
        return told

    def until(self, now: float) -> None:
        """What had begun and ended by then becomes known, in the order in which it did."""
        while self._open and self._open[0][0] <= now:
            at, over, number, features, run, told = heappop(self._open)
            if over:
                self.predictor.ended(features, run, told, number)
                self.last = (*self.last[-1:], run.elapsed)
            else:
                self.predictor.started(features, number, at)


def told(
    runs: Iterable[Ended], settings: Settings, menu: Sequence[int] = MENU
) -> Iterator[tuple[Ended, Recommendation | None, tuple[int, ...]]]:
    """Each run with what had been recommended for it, and the user's last two run times by then."""
    for _, mine in groupby(runs, key=lambda one: one.user):
        replay = Replay(settings, menu)
        for one in mine:
            found = replay.submit(one)
            yield one, found, replay.last


def backtest(runs: Iterable[Ended], settings: Settings = Settings(), menu: Sequence[int] = MENU) -> Backtest:  # noqa: B008
    """How the recommendations would have done on runs that come user by user, in the order of submission."""
    found = Backtest()
    ways = found.measures
    for one, told_, last in told(runs, settings, menu):
        found.runs += 1
        elapsed, request = one.elapsed, one.request
        given = told_ is not None and told_.safe is not None
        if told_ is not None and told_.limit is not None:
            found.recommended += 1
            found.groups[told_.group] = found.groups.get(told_.group, 0) + 1
        if request is None:
            continue
        ways["request"].add(request, elapsed)
        ways["last two"].add(sum(last) / len(last) if last else request, elapsed)
        ways["expected"].add(request if told_ is None else told_.expected, elapsed)
        ways["safe"].add(told_.safe if given and told_ and told_.safe else request, elapsed)
        ways["limit"].add(told_.limit if given and told_ and told_.limit else request, elapsed)
    return found
