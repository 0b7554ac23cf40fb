"""What would have been recommended at each submission, compared with what the job then needed.

Online: at a submission only the runs that had ended before that second are known.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from adminkit.recommend.control import Steered
from adminkit.recommend.menu import Offer, round_up
from adminkit.recommend.online import online
from adminkit.recommend.predict import Rule, at_limit, needed
from adminkit.stats.runs import Run

REQUEST: Final = "own request"
LAST_TWO: Final = "last two"
EXPECTED: Final = "expected"
SAFE: Final = "safe"
ROUNDED: Final = "safe, rounded"
METHODS: Final = (REQUEST, LAST_TWO, EXPECTED, SAFE, ROUNDED)
#: Users with fewer runs are left out of the shares by user.
MANY: Final = 200


@dataclass(slots=True)
class Score:
    """One method over all runs. Where it gives no limit the own request stays, and no limit is above the request."""

    method: str
    given: int = 0  # runs for which it gave a limit
    prediction_accuracy_sum: float = 0.0  # of min(limit / need, need / limit)
    over: int = 0  # runs that needed more
    asked: int = 0  # seconds
    short: bytearray = field(default_factory=bytearray)  # for each run, whether it needed more

    def add(self, need: int, request: int, limit: int | None) -> None:
        """Count a run that needed `need` and would have been given `limit`."""
        self.given += limit is not None
        used = request if limit is None or limit > request else max(limit, 1)
        self.prediction_accuracy_sum += used / need if used < need else need / used
        self.over += used < need
        self.short.append(used < need)
        self.asked += used

    def worst_tenth(self) -> float | None:
        """The share over in the worst tenth of the trace. The first tenth is left out: its history is short."""
        runs = len(self.short)
        if runs < 10:
            return None
        edges = [runs * tenth // 10 for tenth in range(1, 11)]
        return max(sum(self.short[begin:end]) / (end - begin) for begin, end in pairwise(edges))

    def by_user(self, users: Sequence[int]) -> float | None:
        """The 90th percentile of the share over among those with MANY runs; `users` has a number for each run."""
        runs, over = Counter(users), Counter[int]()
        for user, short in zip(users, self.short, strict=True):
            over[user] += short
        shares = sorted(over[user] / many for user, many in runs.items() if many >= MANY)
        return shares[math.ceil(0.9 * len(shares)) - 1] if shares else None


@dataclass(frozen=True, slots=True)
class Backtest:
    """`runs` counted; `at_limit` of them did not end before their own limit; `no_limit` had none and count nowhere."""

    scores: Sequence[Score]
    runs: int
    at_limit: int
    no_limit: int
    needed: int  # seconds
    span: tuple[int | None, int | None]
    users: Sequence[int]  # for each run counted, a number of its user


#: Is called with each run and the rounded limit that it would have been given; None where it keeps its own.
Given = Callable[[Run, int | None], None]


def backtest(runs: Iterable[Run], offer: Offer, told: Given | None = None) -> Backtest:
    """Every method over `runs`, which come by submission."""
    steered, last_two = Steered(Rule(risk=offer.risk)), _LastTwo()
    numbers: dict[tuple[str | None, str | None], int] = {}
    users = array("I")
    request, last, expected, safe, rounded = scores = [Score(method) for method in METHODS]
    cut = no_limit = total = need_total = 0
    first = latest = None
    for has_ended, run in online(runs):
        if has_ended:
            steered.ended(run)
            last_two.ended(run)
            latest = run.end_time
            first = first or run.end_time
            continue
        limit, given = run.kind.req_limit, steered.submitted(run)
        if limit is None:
            no_limit += 1
            continue
        need = needed(run)
        total += 1
        users.append(numbers.setdefault(run.kind[:2], len(numbers)))
        cut += at_limit(run)
        need_total += need
        request.add(need, limit, limit)
        last.add(need, limit, last_two.predict(run))
        expected.add(need, limit, given.expected)
        safe.add(need, limit, given.safe)
        paste = None if given.safe is None else round_up(given.safe, offer.menu)
        rounded.add(need, limit, paste)
        if told is not None:
            told(run, paste if paste is not None and paste < limit else None)
    return Backtest(scores, total, cut, no_limit, need_total, (first, latest), users)


class _LastTwo:
    """The mean of the user's last two runs, the baseline of the literature: Tsafrir, Etsion, Feitelson: Backfilling
    using system-generated predictions rather than user runtime estimates, IEEE TPDS 18 (2007).
    """

    def __init__(self) -> None:
        self.runs: dict[tuple[str | None, str | None], tuple[int, ...]] = {}

    def ended(self, run: Run) -> None:
        key = run.kind[:2]
        self.runs[key] = (*self.runs.get(key, ())[-1:], needed(run))

    def predict(self, run: Run) -> int | None:
        known = self.runs.get(run.kind[:2])
        return round(sum(known) / len(known)) if known else None
