"""From the trace and policy.toml to the tables: standings, points of an hour of ageing, hints, needs, files."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminkit.deploy.files import put_file
from adminkit.deploy.rehearse import check_table
from adminkit.economy import points_file
from adminkit.economy.score import Standing, Weighed, as_well_off, criteria_of, standing, standings, weighed
from adminkit.economy.tables import Hint, MemoryRow, Points, hints_table, incentives_table, lua, points, soft_table
from adminkit.errors import AdminkitError, cause
from adminkit.lua.runtime import Lua
from adminkit.owner import as_owner
from adminkit.recommend.control import trace_control
from adminkit.recommend.hints import Hint as Found
from adminkit.recommend.hints import learn
from adminkit.recommend.memory import RISK, site_control
from adminkit.recommend.memory_hints import MemoryHint, memory_hints
from adminkit.recommend.needs import Need
from adminkit.slurm import priority
from adminkit.sqlite import sqlite3
from adminkit.stats import incentives
from adminkit.stats.peaks import Peaks
from adminkit.stats.runs import runs as ended_runs
from adminkit.stats.select import snapshot, span

if TYPE_CHECKING:
    from adminkit.policy.incentive_settings import Incentives
    from adminkit.policy.model import Policy

#: The tables that `adminkit incentives install` installs.
TABLES: Final = ("incentives", "hints", "soft_limits")


@dataclass(frozen=True, slots=True)
class Worth:
    """What hours of ageing are worth on this cluster. Where `spread` is None, `notes` say why."""

    points: Points
    spread: priority.Spread | None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table: `text` is the file to install, written from `data`; Lua 5.1 took `load_seconds` to load it."""

    name: str
    data: Mapping[str, Any]
    text: str
    rows: int
    load_seconds: float
    largest: int = 0  # the most points that one job gets by it

    @property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Computed:
    """Everybody's standing, by points; `left_out` counts the runs that do not weigh, by reason."""

    cluster: str
    window: tuple[int, int]
    span: tuple[int | None, int | None]
    standings: Sequence[Standing]
    left_out: Mapping[str, int]
    worth: Worth

    @property
    def largest(self) -> int:
        """The most points that one job gets by these standings."""
        return self.worth.points.largest(max((self.worth.points.of(one.hours) for one in self.standings), default=0))


@dataclass(frozen=True, slots=True)
class Advised:
    """What the trace says of each user's job names: hints, the largest excess first; needs, the newest first."""

    hints: Sequence[Hint] = ()
    needs: Sequence[Need] = ()
    memory: Sequence[MemoryRow] = ()  # the largest excess first


@dataclass(frozen=True, slots=True)
class Explained:
    """One user's standing, and those of the user's runs that weigh most."""

    cluster: str
    window: tuple[int, int]
    span: tuple[int | None, int | None]
    standing: Standing
    heaviest: Sequence[Weighed]
    worth: Worth


def worth(settings: Incentives, per_hour: float | None, *, past: bool = False) -> Worth:
    """Points of an hour of ageing: `per_hour` (--points-per-hour), else the setting, else as Slurm ranks jobs.

    Slurm has no data for `past`: `per_hour` and the setting are taken unchecked, and no priorities compared.

    AdminkitError where a site factor would have no effect, or the points of an hour are unknown.
    """
    given = per_hour or settings.points_per_hour
    if past and given is not None:
        return Worth(
            points(settings, given), None, ["Slurm was not asked how it ranks jobs: it only knows the present"]
        )
    notes = []
    try:
        ranking = priority.ranking()
    except AdminkitError as error:
        if given is None:
            raise AdminkitError(
                f"couldn't learn what an hour of ageing is worth: {error.message}",
                "run it where scontrol works, or give --points-per-hour: PriorityWeightAge / PriorityMaxAge in hours",
            ) from error
        notes.append(f"Slurm was not asked how it ranks jobs: {error.message}")
        return Worth(points(settings, given), None, notes)
    priority.refuse_ranking(ranking, settings.accept_foreign_site_factor)
    if ranking.site_plugin is not None:
        notes.append(f"{ranking.site_plugin} may overwrite what is set at submission")
    if past:
        notes.append("an hour of ageing counts with its present points; the priorities of that time are unknown")
        return Worth(points(settings, ranking.points_per_hour), None, notes)
    spread = None
    try:
        spread = priority.spread()
        if spread is None:
            notes.append("no job is pending, so there is no spread of priorities to compare with")
    except AdminkitError as error:
        notes.append(f"the spread of priorities is unknown: {error.message}")
    return Worth(points(settings, given or ranking.points_per_hour), spread, notes)


def compute(
    db: sqlite3.Connection,
    policy: Policy,
    cluster: str,
    now: int,
    value: Worth,
    held_out: Callable[[int], bool] = lambda uid: False,
    *,
    checkpoint_code: int,
) -> Computed:
    """Everybody's standing, the most points first. Users in the hold-out lose nothing by it: see as_well_off."""
    criteria = criteria_of(policy.incentives, policy.menu, cluster, now, checkpoint_code)
    counted: Counter[str] = Counter()
    with snapshot(db):
        everybody = as_well_off(list(standings(incentives.sums(db, criteria), policy.incentives, now)), held_out)
        passed_over, ends = incentives.passed_over(db, criteria), span(db)
    for one in everybody:
        counted.update(one.left_out)
    everybody.sort(key=lambda one: (-one.hours, -(one.score or 0), -one.weight, one.uid))
    left_out = {**passed_over, **{reason: counted[reason] for reason in incentives.LEFT_OUT}}
    return Computed(cluster, (criteria.since, criteria.until), ends, everybody, left_out, value)


def explain(
    db: sqlite3.Connection,
    policy: Policy,
    cluster: str,
    user: str,
    now: int,
    value: Worth,
    most: int = 20,
    held_out: Callable[[int], bool] = lambda uid: False,
    *,
    checkpoint_code: int,
) -> Explained:
    """One user's standing and heaviest runs. AdminkitError for a user whose runs the window does not have."""
    criteria = criteria_of(policy.incentives, policy.menu, cluster, now, checkpoint_code)
    with snapshot(db):
        uid = incentives.uid_of(db, user, cluster)
        rows = [] if uid is None else list(incentives.sums(db, criteria, uid))
        if uid is None or not rows:
            raise AdminkitError(
                f"no run of {user} ended on {cluster} in the last {policy.incentives.window_days} days",
                "check the name, or raise incentives.window_days in policy.toml",
            )
        own = standing(rows, policy.incentives, now)
        if held_out(uid):
            others = standings(incentives.sums(db, criteria, of_all=True), policy.incentives, now)
            own = next(one for one in as_well_off(list(others), held_out) if one.uid == uid)
        ends = span(db)
        heaviest = weighed(incentives.scored(db, criteria, uid), rows, policy.incentives, now, most)
    return Explained(cluster, (criteria.since, criteria.until), ends, own, heaviest, value)


def learnt(
    db: sqlite3.Connection,
    policy: Policy,
    computed: Computed,
    now: int,
    held_out: Callable[[int], bool] = lambda uid: False,
    *,
    checkpoint_code: int,
) -> Advised:
    """Hints for every user who wants them, and needs of everybody: backfill knows no hold-out."""
    if not policy.hints.enabled and not policy.soft_limits.enabled:
        return Advised()
    steered = trace_control(db, [computed.cluster], policy.risk, acting=True, checkpoint_code=checkpoint_code)
    ended = ended_runs(db, clusters=[computed.cluster], acting=True, checkpoint_code=checkpoint_code)
    found = learn(ended, now, policy.offer, control=steered)
    wanted = policy.hints.enabled

    def told(one: Found) -> bool:
        return wanted and one.user not in policy.hints.users_off and not held_out(one.uid)

    hints = [
        Hint(
            one.uid, one.job_name, one.queue, one.expected, one.limit, math.ceil(100 * one.risk), one.runs,
            one.excess_gpu_seconds,
        )
        for one in found.hints
        if told(one)
    ]  # fmt: skip
    sized = _sized(db, computed.cluster, now, checkpoint_code) if wanted and policy.hints.memory else []
    memory = [
        MemoryRow(
            one.hint.uid, one.hint.job_name, one.hint.queue, one.used, one.hint.limit, math.ceil(100 * one.hint.risk),
            one.runs, one.enough, one.hint.excess_gpu_seconds,
        )
        for one in sized
        if told(one.hint)
    ]  # fmt: skip
    return Advised(hints, found.needs if policy.soft_limits.enabled else (), memory)


def _sized(db: sqlite3.Connection, cluster: str, now: int, code: int) -> list[MemoryHint]:
    """Hints about memory, of runs that may have consequences for a person, as those about time."""
    steered = site_control(db, [cluster], RISK, acting=True, checkpoint_code=code)
    peaks = Peaks(db, (), [cluster], code, acting=True)
    return memory_hints(peaks.runs(), now, control=steered)


def tables(
    computed: Computed,
    advised: Advised,
    policy: Policy,
    now: int,
    opted_out: Collection[int] = (),
    unplanned: Collection[int] = (),
) -> list[Table]:
    """The tables, each loaded in Lua to check it. `opted_out` get no hints, `unplanned` no needs."""
    made = {
        "incentives": incentives_table(computed.standings, computed.worth.points, now),
        "hints": hints_table(advised.hints, policy.hints, opted_out, now, advised.memory),
    }
    if policy.soft_limits.enabled:
        made["soft_limits"] = soft_table(advised.needs, policy.soft_limits, unplanned, now)
    return [as_table(name, data) for name, data in made.items()]


def as_table(name: str, data: Mapping[str, Any]) -> Table:
    """A table, loaded in Lua as a check. AdminkitError where slurmctld could not use it."""
    text = lua(data)
    check_table(name, text)
    runtime = Lua()
    started = time.perf_counter()
    runtime.table(text.encode(), f"{name}.lua")
    seconds = time.perf_counter() - started
    users, largest = data["users"], 0
    if name == "incentives":
        most = max((row["points"] for row in users.values()), default=0)
        largest = min(
            most + max([*data["class_points"].values(), *data.get("size_points", {}).values()], default=0), data["cap"]
        )
    return Table(name, data, text, len(users), seconds, largest)


def read_tables(folder: Path, most: int | None = None) -> list[Table]:
    """The tables in a folder, whoever wrote it. AdminkitError where they are missing, malformed or above `most`.

    `most`: the cap in points by the reader's policy.toml.
    """
    loaded = {name: points_file.read(folder, name) for name in TABLES}
    if loaded["incentives"] is None:
        raise AdminkitError(
            f"there is no {points_file.json_path(folder, 'incentives')}",
            "write it on the host of the trace: adminkit incentives compute --out DIR",
        )
    if most is not None and (cap := loaded["incentives"]["cap"]) > most:
        raise AdminkitError(
            f"{points_file.json_path(folder, 'incentives')}: its cap, {cap} points, is above policy.toml's, {most}",
            "install it with the policy.toml that it was computed with: --policy FILE",
        )
    return [as_table(name, data) for name, data in loaded.items() if data is not None]


def write_tables(folder: Path, made: Iterable[Table]) -> list[Path]:
    """Write the tables into `folder`, to carry it to the slurmctld hosts. The paths written."""
    paths = []
    with as_owner(folder / "incentives.json"):
        try:
            folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        except OSError as error:
            raise AdminkitError(f"couldn't make {folder}: {cause(error)}", "name another folder") from error
        for table in made:
            paths.append(points_file.json_path(folder, table.name))
            put_file(paths[-1], points_file.dumped(table.data))
    return paths
