"""From the trace and policy.toml to the two tables: everybody's standing, what an hour is worth here, the files."""

from __future__ import annotations

import math
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminkit.deploy.files import put_file
from adminkit.deploy.rehearse import check_table
from adminkit.economy import points_file
from adminkit.economy.score import Standing, Weighed, as_well_off, criteria_of, standing, standings, weighed
from adminkit.economy.tables import Hint, Points, hints_table, incentives_table, lua, points
from adminkit.errors import AdminkitError, cause
from adminkit.lua.runtime import Lua
from adminkit.owner import as_owner
from adminkit.recommend.hints import hints
from adminkit.slurm import priority
from adminkit.stats import incentives
from adminkit.stats.runs import runs as ended_runs
from adminkit.stats.select import snapshot, span

if TYPE_CHECKING:
    from adminkit.policy.incentive_settings import Incentives
    from adminkit.policy.model import Policy

#: What `incentives install` puts in place.
TABLES: Final = ("incentives", "hints")


@dataclass(frozen=True, slots=True)
class Worth:
    """What hours of ageing are here. Where `spread` is None, `notes` say why."""

    points: Points
    spread: priority.Spread | None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """One table: `text` is the file that is put in place, `load_seconds` what Lua 5.1 took to read it here.

    `data` is what the text was written of.
    """

    name: str
    data: Mapping[str, Any]
    text: str
    rows: int
    load_seconds: float
    largest: int = 0  # points that one job can get by it

    @property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Computed:
    """Everybody, by points; `left_out` sums up why runs do not weigh."""

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
class Explained:
    """One user, with the heaviest of the runs that weigh."""

    cluster: str
    window: tuple[int, int]
    span: tuple[int | None, int | None]
    standing: Standing
    heaviest: Sequence[Weighed]
    worth: Worth


def worth(settings: Incentives, per_hour: float | None, *, past: bool = False) -> Worth:
    """Ask Slurm. `per_hour` (--points-per-hour) or the setting stand in for what it does not say.

    Of the `past` Slurm knows nothing: what stands in for it goes first, and no priorities are compared.

    AdminkitError where a site factor would do nothing, or nothing says what an hour is worth.
    """
    given = per_hour or settings.points_per_hour
    if past and given is not None:
        return Worth(
            points(settings, given), None, ["Slurm was not asked how it ranks jobs: it knows that of now alone"]
        )
    notes = []
    try:
        found = priority.ranking()
    except AdminkitError as error:
        if given is None:
            raise AdminkitError(
                f"couldn't learn what an hour of ageing is worth: {error.message}",
                "run it where scontrol works, or give --points-per-hour (PriorityWeightAge / PriorityMaxAge in hours)",
            ) from error
        notes.append(f"Slurm was not asked how it ranks jobs: {error.message}")
        return Worth(points(settings, given), None, notes)
    priority.refuse_ranking(found, settings.accept_foreign_site_factor)
    if found.site_plugin is not None:
        notes.append(f"{found.site_plugin} may overwrite what is set at submission")
    if past:
        notes.append("an hour of ageing is worth what it is now; the priorities of then are not known")
        return Worth(points(settings, found.points_per_hour), None, notes)
    spread = None
    try:
        spread = priority.spread()
        if spread is None:
            notes.append("no job waits, so there is no spread of priorities to compare with")
    except AdminkitError as error:
        notes.append(f"the spread of priorities is unknown: {error.message}")
    return Worth(points(settings, given or found.points_per_hour), spread, notes)


def compute(
    db: sqlite3.Connection,
    policy: Policy,
    cluster: str,
    now: int,
    found: Worth,
    held_out: Callable[[int], bool] = lambda uid: False,
    *,
    checkpoint_code: int,
) -> Computed:
    """Everybody's standing, the most points first. Who is `held_out` of letters and hints loses nothing by it."""
    criteria = criteria_of(policy.incentives, policy.menu, cluster, now, checkpoint_code)
    counted: Counter[str] = Counter()
    with snapshot(db):
        everybody = as_well_off(list(standings(incentives.sums(db, criteria), policy.incentives, now)), held_out)
        passed_over, ends = incentives.passed_over(db, criteria), span(db)
    for one in everybody:
        counted.update(one.left_out)
    everybody.sort(key=lambda one: (-one.hours, -(one.score or 0), -one.weight, one.uid))
    left_out = {**passed_over, **{reason: counted[reason] for reason in incentives.LEFT_OUT}}
    return Computed(cluster, (criteria.since, criteria.until), ends, everybody, left_out, found)


def explain(
    db: sqlite3.Connection,
    policy: Policy,
    cluster: str,
    user: str,
    now: int,
    found: Worth,
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
                "look at the name; incentives.window_days says how far back runs are looked at",
            )
        own = standing(rows, policy.incentives, now)
        if held_out(uid):
            others = standings(incentives.sums(db, criteria, of_all=True), policy.incentives, now)
            own = next(one for one in as_well_off(list(others), held_out) if one.uid == uid)
        ends = span(db)
        heaviest = weighed(incentives.scored(db, criteria, uid), rows, policy.incentives, now, most)
    return Explained(cluster, (criteria.since, criteria.until), ends, own, heaviest, found)


def learnt(
    db: sqlite3.Connection,
    policy: Policy,
    found: Computed,
    now: int,
    held_out: Callable[[int], bool] = lambda uid: False,
    *,
    checkpoint_code: int,
) -> Iterator[Hint]:
    """What similar jobs of each user needed, largest waste first."""
    if not policy.hints.enabled:
        return
    ended = ended_runs(db, clusters=[found.cluster], acting=True, checkpoint_code=checkpoint_code)
    for one in hints(ended, now, policy.offer):
        if one.user in policy.hints.users_off or held_out(one.uid):
            continue
        percent = math.ceil(100 * one.risk)
        yield Hint(one.uid, one.job_name, one.queue, one.expected, one.limit, percent, one.runs, one.waste)


def tables(
    found: Computed, advised: Iterable[Hint], policy: Policy, now: int, opted_out: Collection[int] = ()
) -> list[Table]:
    """The files, each tried in Lua."""
    made = {
        "incentives": incentives_table(found.standings, found.worth.points, now),
        "hints": hints_table(advised, policy.hints, opted_out, now),
    }
    return [as_table(name, data) for name, data in made.items()]


def as_table(name: str, data: Mapping[str, Any]) -> Table:
    """A table's text with what loading it shows. AdminkitError where slurmctld could not use it."""
    text = lua(data)
    check_table(name, text)
    runtime = Lua()
    started = time.perf_counter()
    runtime.table(text.encode(), f"{name}.lua")
    seconds = time.perf_counter() - started
    users, largest = data["users"], 0
    if name == "incentives":
        most = max((row["points"] for row in users.values()), default=0)
        largest = min(most + max(data["class_points"].values(), default=0), data["cap"])
    return Table(name, data, text, len(users), seconds, largest)


def read_tables(folder: Path, most: int | None = None) -> list[Table]:
    """The tables that `write_tables` put there, whoever did. AdminkitError where there are none, or no such ones.

    `most` is what a job may get by the policy.toml of whoever reads them.
    """
    found = {name: points_file.read(folder, name) for name in TABLES}
    if found["incentives"] is None:
        raise AdminkitError(
            f"there is no {points_file.json_path(folder, 'incentives')}",
            "make it where the trace is: adminkit incentives compute --out DIR",
        )
    if most is not None and (cap := found["incentives"]["cap"]) > most:
        raise AdminkitError(
            f"{points_file.json_path(folder, 'incentives')}: its cap of {cap} points is above {most}, policy.toml's",
            "install it by the policy.toml that it was computed by: --policy FILE",
        )
    return [as_table(name, data) for name, data in found.items() if data is not None]


def write_tables(folder: Path, made: Iterable[Table]) -> list[Path]:
    """Put them into a folder of their own, to be carried to the slurmctld hosts. The paths written."""
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
