"""incentives.lua, hints.lua and soft_limits.lua: points, hints and needs as the tables that decide.lua reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from adminkit.economy.needs_text import texts
from adminkit.economy.score import Standing
from adminkit.errors import AdminkitError
from adminkit.lua.literal import module, quoted
from adminkit.policy.compile import generation
from adminkit.recommend.needs import QUANTILES, Need, newest

if TYPE_CHECKING:
    from adminkit.policy.incentive_settings import Hints, Incentives
    from adminkit.policy.soft_settings import SoftLimits

FORMAT: Final = 1
#: A site factor has 31 bits above Slurm's own offset; a priority has 32 in all.
MOST_POINTS: Final = 2**30
#: Trap: one Lua 5.1 function holds 262,143 different constants, and a table file is one function.
_MOST_CONSTANTS: Final = 250_000
#: The most bytes of hints as Lua; well below what data.lua accepts, as JSON writes some names longer.
_MOST_ROOM: Final = 10 * 1024 * 1024
#: Rows of needs: those of a user stand in one text, which slurmctld searches at each of their submissions.
_MOST_OF_USER: Final = 200

_COMMENT: Final = "Written by `adminkit incentives`; edit [incentives], [hints] and [soft_limits] of policy.toml."


@dataclass(frozen=True, slots=True)
class Points:
    """The bonuses of policy.toml in points."""

    per_hour: float
    cap: int
    classes: Mapping[str, int]  # multi-node, multi-gpu
    sizes: Mapping[int, int] = field(default_factory=dict)  # GPUs or more, of a job of these classes

    def of(self, hours: float) -> int:
        """Whole points, half up, never above the cap."""
        return min(int(hours * self.per_hour + 0.5), self.cap)

    def largest(self, earned: int) -> int:
        """The most points that one job gets, where the best user has earned `earned`."""
        return min(earned + max([*self.classes.values(), *self.sizes.values()], default=0), self.cap)


class Hint(NamedTuple):
    """What similar jobs of one user needed. `excess_gpu_seconds`: see recommend/hints.py."""

    uid: int
    job_name: str  # empty: any
    queue: str  # empty: any
    expected: int  # seconds
    safe: int  # seconds: the limit to paste
    risk_percent: int
    runs: int
    excess_gpu_seconds: float

    @property
    def row(self) -> list[int]:
        """Its row in the table."""
        return [self.expected, self.safe, self.risk_percent, self.runs]


class MemoryRow(NamedTuple):
    """What similar jobs of one user used of memory, MiB on a node. `excess`: see recommend/hints.py, in MiB."""

    uid: int
    job_name: str
    queue: str
    used: int  # none of the last `runs` used more
    safe: int  # the size to paste
    risk_percent: int
    runs: int
    enough: int  # of these runs, needed no more than `safe`
    excess: float

    @property
    def row(self) -> list[int]:
        """Its row in the table."""
        return [self.used, self.safe, self.risk_percent, self.runs, self.enough]


class Row(NamedTuple):
    """What similar jobs of one user needed: seconds for each of QUANTILES."""

    uid: int
    job_name: str
    queue: str
    seconds: tuple[int, ...]

    @property
    def row(self) -> list[str]:
        """Its row in the table."""
        return ["-".join(map(str, self.seconds))]


_Entry = TypeVar("_Entry", bound=Hint | MemoryRow | Row)


def points(settings: Incentives, per_hour: float) -> Points:
    """AdminkitError where an hour of ageing is 0 points, or the cap is not from 1 to MOST_POINTS."""
    if per_hour <= 0:
        raise AdminkitError(
            "age does not count on this cluster (PriorityWeightAge is 0), so a bonus in hours would be 0 points",
            "set PriorityWeightAge in slurm.conf, or incentives.points_per_hour in policy.toml",
        )
    cap = int(settings.cap_hours * per_hour + 0.5)
    if not 1 <= cap <= MOST_POINTS:
        raise AdminkitError(
            f"cap_hours = {settings.cap_hours:g} at {per_hour:g} points per hour is {settings.cap_hours * per_hour:g}"
            " points",
            f"a cap is from 1 to {MOST_POINTS} points: change incentives.cap_hours or PriorityWeightAge",
        )
    bare = Points(per_hour, cap, {})
    return Points(
        per_hour,
        cap,
        {"multi-node": bare.of(settings.multi_node_hours), "multi-gpu": bare.of(settings.multi_gpu_hours)},
        {int(size): bare.of(hours) for size, hours in settings.size_hours.items()},
    )


def incentives_table(found: Iterable[Standing], worth: Points, now: int) -> dict[str, Any]:
    """The data of incentives.lua. A user with neither points nor bundles has no row."""
    users = {
        one.uid: {"points": worth.of(one.hours), "class": one.earns_class}
        for one in sorted(found, key=lambda one: one.uid)
        if one.uid >= 0 and (worth.of(one.hours) > 0 or not one.earns_class)
    }
    sizes = {"size_points": dict(worth.sizes)} if worth.sizes else {}
    head = {"format": FORMAT, "made_at": now, "cap": worth.cap, "class_points": dict(worth.classes), **sizes}
    return {**head, "users": users}


def hints_table(
    found: Iterable[Hint], settings: Hints, opted_out: Collection[int], now: int, memory: Iterable[MemoryRow] = ()
) -> dict[str, Any]:
    """The data of hints.lua: the largest excess first, as many as `max_entries` and Lua 5.1 allow, without users who
    opted out. Hints about memory take at most half of `max_entries`."""
    sized = [one for one in memory if one.uid not in opted_out] if settings.enabled and settings.memory else []
    sized = nsmallest(settings.max_entries // 2, sized, key=lambda one: (-one.excess, one[:3]))
    wanted = (one for one in found if one.uid not in opted_out) if settings.enabled else ()
    most = settings.max_entries - len(sized)
    timed = nsmallest(most, wanted, key=lambda one: (-one.excess_gpu_seconds, one[:3]))
    kept = [*_that_fit(_in_turn(sized, timed))]
    head = {
        "format": FORMAT, "made_at": now, "ratio": settings.ratio, "floor": settings.floor,
        "accounts_off": {account.lower() for account in settings.accounts_off},
    }  # fmt: skip
    if settings.memory:
        users = _by_user(one for one in kept if isinstance(one, MemoryRow))
        head["memory"] = {"ratio": settings.memory_ratio, "floor": settings.memory_floor, "users": users}
    return {**head, "users": _by_user(one for one in kept if isinstance(one, Hint))}


def _in_turn(*lists: Sequence[_Entry]) -> Iterator[_Entry]:
    """The first of each, then the second of each …"""
    for place in range(max(map(len, lists))):
        yield from (one[place] for one in lists if place < len(one))


def _by_user(rows: Iterable[Hint | MemoryRow]) -> dict[int, dict[str, dict[str, list[int]]]]:
    """uid -> job name -> queue -> row."""
    users: dict[int, dict[str, dict[str, list[int]]]] = {}
    for one in sorted(rows):
        users.setdefault(one.uid, {}).setdefault(one.job_name, {})[one.queue] = one.row
    return users


def soft_table(needs: Iterable[Need], settings: SoftLimits, opted_out: Collection[int], now: int) -> dict[str, Any]:
    """The data of soft_limits.lua: the newest first, as many as `max_entries` and Lua 5.1 allow.

    Users who opted out are not in it, nor is what is too long or too uncertain to plan with (Cautions). A row has the
    seconds of each quantile.
    """
    cautions = settings.cautions
    wanted = (one for one in needs if one.uid not in opted_out) if settings.enabled else ()
    sure = (
        replace(one, seconds=safe) for one in wanted if (safe := cautions.row(one.seconds, one.outlived)) is not None
    )
    kept = [
        Row(one.uid, one.job_name, one.queue, one.seconds)
        for one in islice(_few_of_each([*sure]), settings.max_entries)
    ]
    users: dict[int, dict[str, dict[str, str]]] = {}
    for one in sorted(_that_fit(kept)):
        (row,) = one.row
        users.setdefault(one.uid, {}).setdefault(one.job_name, {})[one.queue] = row
    return {"format": FORMAT, "made_at": now, "quantiles": list(QUANTILES), "users": users}


def _few_of_each(needs: Sequence[Need]) -> Iterator[Need]:
    """The newest first, of each user no more than what slurmctld finds at once."""
    counts: Counter[int] = Counter()
    for one in newest(needs, len(needs)):
        counts[one.uid] += 1
        if counts[one.uid] <= _MOST_OF_USER:
            yield one


def lua(table: Mapping[str, Any]) -> str:
    """The text of the file that slurmctld loads."""
    if "quantiles" in table:
        head = {key: value for key, value in table.items() if key != "users"}
        return module({**head, "rows": texts(table["users"]), "generation": generation(table)}, _COMMENT)
    return module({**table, "generation": generation(table)}, _COMMENT)


def _that_fit(kept: Iterable[_Entry]) -> Iterator[_Entry]:
    """The first of `kept`, as many as one Lua function and the file may hold."""
    constants: set[int | str] = set()
    room = _MOST_ROOM
    for one in kept:
        constants.update((one.uid, one.job_name, one.queue, *one.row))
        room -= len(quoted(one.job_name)) + len(quoted(one.queue)) + 120
        if len(constants) > _MOST_CONSTANTS or room < 0:
            return
        yield one
