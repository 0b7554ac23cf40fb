"""A look-alike of a site's own trace: as many users, jobs of such sizes, limits and run times, and nobody's.

Pure and deterministic: the same past and seed give the same jobs. docs/demo-fit.md says what is kept and merged.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist
from typing import Final, NamedTuple, TypeVar

from adminkit.errors import AdminkitError
from adminkit.stats.workload import Runs

T = TypeVar("T", bound=Hashable)

#: A value (a limit, a size, a queue, a state) is kept where at least this number of jobs and users have it.
JOBS: Final = 10
USERS: Final = 3
#: This number of run times, or gaps, become one: their mean.
TOGETHER: Final = 5
#: A look-alike of fewer jobs has nobody to hide among.
LEAST_JOBS: Final = 200
LEAST_USERS: Final = 5
#: How much the number of a user's jobs is blurred: the standard deviation of its logarithm.
BLUR: Final = 0.1
CLUSTER: Final = "look-alike"
#: 2001-01-01, a Monday: the look-alike begins there, whenever the original did.
BEGIN: Final = 978_307_200

_WEEK: Final = 7 * 86_400
_BATCH: Final = 600  # seconds between two submissions of one user that belong together, at most
_UNLIMITED: Final = {"unlimited": -2, "partition": -3}
_NORMAL: Final = NormalDist()


class Shape(NamedTuple):
    """What a job asks for; -1 is unknown. A limit of -2 is unlimited, -3 the partition's."""

    queue: str
    nodes: int
    cpus: int
    gpus: int
    req_limit: int


class One(NamedTuple):
    """A job of the past, or of the look-alike. `user` is a rank, 0 the busiest; times are seconds, -1 unknown."""

    user: int
    shape: Shape
    submit_time: int
    wait: int
    elapsed: int
    state: str


@dataclass(frozen=True, slots=True)
class Merged:
    """How many jobs had a value that was replaced by a commoner one, by what it is of."""

    limits: int
    sizes: int
    queues: int
    users: int


def past_of(runs: Runs, keep_queues: bool) -> tuple[list[One], list[One], Merged]:
    """The jobs that ran as they are, and with rare values merged; AdminkitError where there are too few."""
    number = {name: column.tolist() for name, column in runs.numbers.items()}
    code = {name: column.tolist() for name, column in runs.codes.items()}
    ran = [row for row, elapsed in enumerate(number["elapsed"]) if elapsed >= 0]
    users = [code["user"][row] for row in ran]
    busy = {user: rank for rank, (user, _) in enumerate(Counter(users).most_common())}
    if len(ran) < LEAST_JOBS or len(busy) < LEAST_USERS:
        raise AdminkitError(
            f"{len(ran)} jobs of {len(busy)} users are too few to hide anybody",
            f"a look-alike needs at least {LEAST_JOBS} jobs of {LEAST_USERS} users; does the trace have the names of"
            " users?",
        )
    ranks = [busy[user] for user in users]
    kinds = runs.names["limit_kind"]
    limits = []
    for row in ran:
        limit, kind = number["limit"][row], code["limit_kind"][row]
        limits.append(-(-limit // 60) * 60 if limit > 0 else _UNLIMITED.get(kinds[kind] if kind >= 0 else "", -1))
    sizes = [[number[name][row] for row in ran] for name in ("nodes", "cpus", "gpus")]
    columns = [_above(size, ranks) for size in sizes]
    fewer_limits, rare_limits = _above(limits, ranks)
    own_queues, own_states = ([code[name][row] for row in ran] for name in ("queue", "state"))
    queues, rare_queues = _commonest(own_queues, ranks)
    names = _queue_names(queues, runs.names["queue"] if keep_queues else None)
    states, _ = _commonest(own_states, ranks)
    words = {-1: "", **dict(enumerate(runs.names["state"]))}
    real, past = [], []
    for place, row in enumerate(ran):
        submit, start = number["submit"][row], number["start"][row]
        wait = max(start - submit, 0) if start >= 0 else -1
        nodes, cpus, gpus = (size[place] for size in sizes)
        own = Shape(names.get(own_queues[place], "(rare)"), nodes, cpus, gpus, limits[place])
        real.append(One(ranks[place], own, submit, wait, number["elapsed"][row], words[own_states[place]]))
        nodes, cpus, gpus = (column[place] for column, _ in columns)
        shape = Shape(names[queues[place]], nodes, cpus, gpus, fewer_limits[place])
        past.append(real[-1]._replace(shape=shape, state=words[states[place]]))
    few = sum(jobs for jobs in Counter(ranks).values() if jobs < JOBS)
    return real, past, Merged(rare_limits, sum(rare for _, rare in columns), rare_queues, few)


def _common(values: Sequence[T], users: Sequence[int]) -> list[T]:
    """The values that enough jobs of enough users have, the commonest first."""
    jobs, whose = Counter(values), defaultdict(set)
    for value, user in zip(values, users, strict=True):
        whose[value].add(user)
    return [value for value, many in jobs.most_common() if many >= JOBS and len(whose[value]) >= USERS]


def _above(values: Sequence[int], users: Sequence[int]) -> tuple[list[int], int]:
    """Rare numbers become the next common one above, or the largest; how many did."""
    common = sorted(value for value in _common(values, users) if value > 0)
    kept = set(_common(values, users))
    into: dict[int, int] = {}
    for value in set(values) - kept:
        into[value] = next((one for one in common if one >= value), common[-1] if common else -1) if value > 0 else -1
    return [into.get(value, value) for value in values], sum(value in into for value in values)


def _commonest(values: Sequence[int], users: Sequence[int]) -> tuple[list[int], int]:
    """Rare codes become the commonest one; how many did."""
    common = _common(values, users) or [-1]
    kept = set(common)
    return [value if value in kept else common[0] for value in values], sum(value not in kept for value in values)


def _queue_names(queues: Sequence[int], own: Sequence[str] | None) -> dict[int, str]:
    """Code -> q1, q2 … by jobs, or the queue's own name."""
    ranked = [code for code, _ in Counter(queues).most_common() if code >= 0]
    names = {code: own[code] if own else f"q{place}" for place, code in enumerate(ranked, 1)}
    return {-1: "", **names}


def _mixed(values: Iterable[int]) -> list[int]:
    """Sorted, each group of TOGETHER neighbours replaced by its mean: nobody's value is left."""
    ordered = sorted(values)
    groups = [ordered[i : i + TOGETHER] for i in range(0, len(ordered), TOGETHER)]
    if len(groups) > 1 and len(groups[-1]) < TOGETHER:
        groups[-2:] = [groups[-2] + groups[-1]]
    return [round(sum(group) / len(group)) for group in groups]


def _at(values: Sequence[int], share: float) -> int:
    """The value below which `share` of them is, between neighbours on a straight line."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2) if len(values) > 1 else 0
    return round(values[low] + (place - low) * (values[low + 1] - values[low])) if len(values) > 1 else values[0]


class Durations:
    """Run times by state of the smallest group that has enough: a user's shape, a user's limit, a limit, all."""

    def __init__(self, past: Sequence[One]) -> None:
        self._states: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
        raw: defaultdict[tuple[Hashable, str], list[int]] = defaultdict(list)
        for one in past:
            for group in self._groups(one.user, one.shape):
                self._states[group][one.state] += 1
                raw[group, one.state].append(one.elapsed)
        self._times = {key: _mixed(times) for key, times in raw.items() if len(times) >= TOGETHER}

    @staticmethod
    def _groups(user: int, shape: Shape) -> tuple[Hashable, ...]:
        return (user, shape), (user, shape.req_limit), (shape.req_limit, shape.gpus), shape.req_limit, ()

    def draw(self, user: int, shape: Shape, share: float, rng: Random) -> tuple[int, str]:
        """(elapsed, state) of a job; `share` of such jobs end sooner."""
        groups = self._groups(user, shape)
        enough = next(group for group in groups if sum(self._states[group].values()) >= JOBS)
        states = self._states[enough]
        state = rng.choices(list(states), list(states.values()))[0]
        times = next((self._times[group, state] for group in groups if (group, state) in self._times), [60])
        elapsed = _at(times, share)
        if shape.req_limit > 0:
            elapsed = shape.req_limit if state == "TIMEOUT" else min(elapsed, shape.req_limit)
        return elapsed, state


def draw(past: Sequence[One], jobs: int, seed: int) -> list[One]:
    """`jobs` jobs like these, by submission."""
    rng = Random(seed)
    by_user: defaultdict[int, list[One]] = defaultdict(list)
    for one in sorted(past, key=lambda one: one.submit_time):
        by_user[one.user].append(one)
    pooled = {user: user if len(own) >= JOBS else -1 for user, own in by_user.items()}
    past = [one._replace(user=pooled[one.user]) for one in past]
    durations, when = Durations(past), _arrivals(past, rng)
    shapes, waits = _shapes(past), _waits(past)
    batches, gaps = _batches(by_user, pooled)
    tie = math.sqrt(max(0.0, min(0.95, lag_one(list(by_user.values())) or 0.0)))
    made: list[One] = []
    many = {user: len(own) * rng.lognormvariate(0, BLUR) for user, own in sorted(by_user.items())}
    for user, left in _portions(many, jobs).items():
        while left > 0:
            pool = pooled[user]
            size = min(left, rng.choice(batches[pool]))
            shape = shapes(pool, rng)
            submit, together = when(), rng.gauss(0, 1)
            for _ in range(size):
                share = _NORMAL.cdf(tie * together + math.sqrt(1 - tie * tie) * rng.gauss(0, 1))
                elapsed, state = durations.draw(pool, shape, share, rng)
                made.append(One(user, shape, submit, waits(shape, rng), elapsed, state))
                submit += _at(gaps, rng.random())
            left -= size
    return sorted(made, key=lambda one: (one.submit_time, one.user))


def _portions(many: dict[int, float], jobs: int) -> dict[int, int]:
    """`jobs` split as `many` is, by the largest remainder; users who would have none get one of the busiest's."""
    whole = math.fsum(many.values())
    exact = {user: jobs * share / whole for user, share in many.items()}
    portions = {user: int(share) for user, share in exact.items()}
    by_remainder = sorted(exact, key=lambda user: (int(exact[user]) - exact[user], user))
    for user in by_remainder[: jobs - sum(portions.values())]:
        portions[user] += 1
    for user in [user for user, portion in portions.items() if not portion]:
        busiest = max(portions, key=lambda one: portions[one])
        if portions[busiest] > 1:
            portions[busiest] -= 1
            portions[user] = 1
    return portions


def _shapes(past: Sequence[One]) -> Callable[[int, Random], Shape]:
    """What a user's jobs ask for; of what fewer than TOGETHER of the user's jobs ask for, what many jobs do.

    Where no combination is that of many, its values are drawn one by one: each of them is.
    """
    everybody = _common([one.shape for one in past], [one.user for one in past])
    values = [Counter(column) for column in zip(*(one.shape for one in past), strict=True)]
    jobs = Counter(one.shape for one in past)
    weights = [jobs[shape] for shape in everybody]
    own: defaultdict[int, Counter[Shape | None]] = defaultdict(Counter)
    for (user, shape), many in Counter((one.user, one.shape) for one in past).items():
        own[user][shape if many >= TOGETHER else None] += many

    def drawn(user: int, rng: Random) -> Shape:
        shape = rng.choices(list(own[user]), list(own[user].values()))[0]
        if shape is None and everybody:
            return rng.choices(everybody, weights)[0]
        return shape or Shape(*(rng.choices(list(many), list(many.values()))[0] for many in values))

    return drawn


def _waits(past: Sequence[One]) -> Callable[[Shape, Random], int]:
    """Waits of jobs of the same queue and size, or of all; -1 where nobody's is known."""
    raw: defaultdict[Hashable, list[int]] = defaultdict(list)
    for one in past:
        if one.wait >= 0:
            for group in ((one.shape.queue, one.shape.nodes, one.shape.cpus), one.shape.queue, ()):
                raw[group].append(one.wait)
    mixed = {group: _mixed(waits) for group, waits in raw.items() if len(waits) >= JOBS}

    def drawn(shape: Shape, rng: Random) -> int:
        for group in ((shape.queue, shape.nodes, shape.cpus), shape.queue, ()):
            if group in mixed:
                return _at(mixed[group], rng.random())
        return -1

    return drawn


def batches_of(own: Sequence[One]) -> Iterator[list[One]]:
    """A user's jobs, in the order of submission, where a gap ends a batch."""
    batch: list[One] = []
    for one in own:
        if batch and one.submit_time - batch[-1].submit_time > _BATCH:
            yield batch
            batch = []
        batch.append(one)
    yield batch


def _batches(by_user: dict[int, list[One]], pooled: dict[int, int]) -> tuple[dict[int, list[int]], list[int]]:
    """Sizes of a user's batches, in groups of TOGETHER where there are enough; the gaps inside all of them."""
    sizes: defaultdict[int, list[int]] = defaultdict(list)
    gaps: list[int] = []
    for user, own in by_user.items():
        for batch in batches_of(own):
            sizes[pooled[user]].append(len(batch))
            gaps += [b.submit_time - a.submit_time for a, b in itertools.pairwise(batch)]
    return dict(sizes), _mixed(gaps) if len(gaps) >= TOGETHER else [1]


def _arrivals(past: Sequence[One], rng: Random) -> Callable[[], int]:
    """Moments of submission: a week by how busy it was, an hour of the week by how busy that is."""
    first = min(one.submit_time for one in past)
    monday = first - (first - BEGIN) % _WEEK
    firsts: dict[tuple[int, int], int] = {}  # batches, roughly: a user's jobs of one slot
    for one in past:
        firsts.setdefault((one.user, one.submit_time // _BATCH), one.submit_time)
    weeks = Counter((submit - monday) // _WEEK for submit in firsts.values())
    hours = Counter((submit - monday) % _WEEK // 3600 for submit in firsts.values())

    def moment() -> int:
        week = rng.choices(list(weeks), list(weeks.values()))[0]
        hour = rng.choices(list(hours), list(hours.values()))[0]
        return BEGIN + week * _WEEK + hour * 3600 + rng.randrange(3600)

    return moment


def lag_one(users: Sequence[Sequence[One]]) -> float | None:
    """The correlation of log run times of jobs that a user submitted one after the other."""
    pairs = [
        (math.log(max(a.elapsed, 1)), math.log(max(b.elapsed, 1))) for own in users for a, b in itertools.pairwise(own)
    ]
    return correlation(pairs)


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None where it is not defined."""
    if len(pairs) < 2:
        return None
    x, y = (math.fsum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    spread = [math.fsum((pair[i] - (x, y)[i]) ** 2 for pair in pairs) for i in (0, 1)]
    both = math.fsum((a - x) * (b - y) for a, b in pairs)
    return both / math.sqrt(spread[0] * spread[1]) if min(spread) > 0 else None
