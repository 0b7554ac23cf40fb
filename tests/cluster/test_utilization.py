"""`report utilization` beside slurmdbd's own hours, which `sreport cluster utilization` shows.

Some seconds of a real cluster are stretched to hours that are over, in its accounting; slurmdbd adds
those up as it starts.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from adminkit.stats.clip import overlap
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.soak

HOUR = 3600
#: What a second of the cluster becomes.
STRETCH = 1200
#: The tables that slurmdbd adds up -> their columns with times.
TIMES = {
    "job_table": ("time_submit", "time_eligible", "time_start", "time_end"),
    "step_table": ("time_start", "time_end"),
    "suspend_table": ("time_start", "time_end"),
    "event_table": ("time_start", "time_end"),
    "resv_table": ("time_start", "time_end"),
}
#: sreport's names of resources -> adminkit's.
RESOURCES = {"cpu": "cpu", "gres/gpu": "gpu"}
Span = tuple[int, int]


@dataclass(frozen=True)
class Seen:
    """Whole hours, each from its begin: sreport's (hour, resource) -> seconds by column, and the rows of the report."""

    hours: list[int]
    sreport: dict[tuple[int, str], dict[str, int]]
    rows: dict[int, dict[str, Any]]
    slept: Span  # the job of two CPUs and a GPU that was suspended
    suspended: Span
    kept: Span  # a reservation of a node that nobody used
    mended: Span  # a maintenance reservation of a node
    events: list[tuple[str, str, int, int]]  # of nodes, as the trace has them: node, state, start, end

    def drained(self, hour: int, mark: str = "") -> int:
        """Seconds of that hour in which n4 was, with this mark in Slurm's word for its state."""
        return sum(overlap(*one[2:], hour, hour + HOUR) for one in self.events if one[0] == "n4" and mark in one[1])


def some_seconds(cluster: Cluster) -> int:
    """Jobs, one of them suspended, drained nodes and reservations, all of it over. The job that was suspended."""
    jobs = [
        cluster.submit("sleep 5", "-w", "n1", "-c4", "--gres=gpu:2"),
        cluster.submit("sleep 3", "-w", "n2", "--exclusive", "--gres=gpu:8", user="games"),
        cluster.submit("sleep 2", "-w", "n1", "--array=1-2", user="news"),
        cluster.submit("sleep 4", "-w", "n1", "-c2", "--gres=gpu:1"),
    ]
    for job in jobs:
        cluster.wait(job, "RUNNING")
    reserve = ("scontrol", "create", "start=now", "duration=60")
    cluster.ask(*reserve, "reservation=mend", "nodes=n4", "users=root", "flags=maint")
    cluster.ask(*reserve, "reservation=kept", "nodes=n3", "users=games")
    cluster.ask("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    cluster.ask("scontrol", "suspend", str(jobs[-1]))
    time.sleep(1.1)
    cluster.ask("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=test")
    time.sleep(1.1)
    cluster.ask("scontrol", "update", "NodeName=n4", "State=RESUME")
    cluster.ask("scontrol", "resume", str(jobs[-1]))
    time.sleep(1.1)
    for name in ("mend", "kept"):
        cluster.ask("scontrol", "delete", f"reservation={name}")
    for job in jobs:
        cluster.wait(job)
    time.sleep(1.1)
    cluster.resume_node("n2")
    cluster.settle()
    return jobs[-1]


def stretch(cluster: Cluster, first: int, begin: int) -> None:
    """Move every time of the accounting: `first` becomes `begin`, and each second after it STRETCH of them."""
    table = f"{cluster.name}_{{}}".format
    moved = []
    for name, columns in TIMES.items():
        for column in columns:
            at = f"{begin} + cast({column} as signed) * {STRETCH} - {first * STRETCH}"
            moved.append(f"update {table(name)} set {column} = {at} where {column} <> 0")
    moved += [
        f"update {table('job_table')} set time_suspended = time_suspended * {STRETCH}",
        f"delete from {table('event_table')} where node_name = '' and time_end <> 0",
        f"update {table('event_table')} set time_start = {begin} where node_name = ''",
        f"delete from {table('last_ran_table')}",  # as if it had never added up anything
    ]
    cluster.stop_dbd()
    cluster.sql("; ".join(moved))
    cluster.start_dbd()


def added_up(cluster: Cluster, since: int) -> dict[str, dict[str, int]]:
    """What sreport says of an hour: resource -> column -> seconds."""
    at = [time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(one)) for one in (since, since + HOUR)]
    names = ("Cluster", "TresName", "Allocated", "Down", "PlannedDown", "Reported")
    words = ("cluster", "utilization", f"start={at[0]}", f"end={at[1]}", f"format={','.join(names)}")
    lines = cluster.ask("sreport", "-P", "-t", "seconds", "-T", "cpu,gres/gpu", *words).splitlines()
    begins = next(place for place, line in enumerate(lines) if line.startswith("Cluster|"))
    found = [dict(zip(names, line.split("|"), strict=True)) for line in lines[begins + 1 :]]
    return {row["TresName"]: {name: int(row[name]) for name in names[2:]} for row in found}


def spans(cluster: Cluster, table: str, where: str) -> list[Span]:
    rows = cluster.sql(f"select time_start, time_end from {cluster.name}_{table} where {where} order by 1")
    return [(int(start), int(end)) for start, end in rows]


@pytest.fixture(scope="module")
def seen(spare: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    first = int(time.time())
    slept = some_seconds(spare)
    end = int(time.time()) // HOUR * HOUR
    many = -(-(int(time.time()) + 1 - first) * STRETCH // HOUR)
    hours = list(range(end - many * HOUR, end, HOUR))
    stretch(spare, first, hours[0])
    last = f"select 1 from {spare.name}_usage_hour_table where time_start = {hours[-1]} and id_tres = 1"
    until("slurmdbd to have added up the hours", lambda: spare.sql(last), 30.0)
    db = tmp_path_factory.mktemp("utilization") / "trace.db"
    adminkit(spare, db, "sync", "--since", f"{many + 2}h")
    with closing(sqlite3.connect(db)) as trace, trace:
        trace.execute("UPDATE node SET since = ?", (hours[0],))  # as if the first sync had been then
        columns = "node, state, start_time, end_time"
        events = trace.execute(f"SELECT {columns} FROM node_event WHERE start_time >= ?", (hours[0],)).fetchall()
    window = ("--since", str(hours[0]), "--until", str(end))
    said = adminkit(spare, db, "report", "utilization", "--by", "hour", *window, "--format", "json")
    yield Seen(
        hours,
        {(hour, RESOURCES[name]): row for hour in hours for name, row in added_up(spare, hour).items()},
        {int(row["begin"]): row for row in json.loads(said.stdout)["rows"][:-1]},
        *spans(spare, "job_table", f"id_job = {slept}"),
        *spans(spare, "suspend_table", "true"),
        *spans(spare, "resv_table", "resv_name = 'kept'"),
        *spans(spare, "resv_table", "resv_name = 'mend'"),
        sorted(events),
    )


def cells(seen: Seen) -> Iterator[tuple[int, str, dict[str, int], dict[str, int]]]:
    """Of each hour and resource what sreport says, and what the report does, in seconds."""
    assert len(seen.hours) >= 3
    assert list(seen.rows) == seen.hours
    for (hour, name), row in seen.sreport.items():
        ours = {kind: round(seen.rows[hour][f"{name}_{kind}"] * HOUR) for kind in ("hours", "capacity", "down")}
        yield hour, name, row, ours


def test_the_capacity_is_what_sreport_reports(seen: Seen) -> None:
    for hour, name, row, ours in cells(seen):
        assert ours["capacity"] == row["Reported"] == 4 * 8 * HOUR, (hour, name)


def test_hours_in_use_are_what_sreport_allocates_but_for_reservations_and_suspension(seen: Seen) -> None:
    """It allocates an unused reservation, of which it has the CPUs alone. It knows when a job was suspended, where the
    trace knows how long, and lets it keep its GPUs meanwhile."""
    start, end = seen.slept
    rest = (end - start) - (seen.suspended[1] - seen.suspended[0])
    used = 0
    for hour, name, row, ours in cells(seen):
        ran = overlap(start, end, hour, hour + HOUR)
        asleep = overlap(*seen.suspended, hour, hour + HOUR)
        if name == "cpu":
            theirs = 2 * (ran - asleep) + 8 * overlap(*seen.kept, hour, hour + HOUR)
            mine = 2 * rest * ran / (end - start)
        else:
            theirs, mine = ran, rest * ran / (end - start)
        assert row["Allocated"] - theirs == pytest.approx(ours["hours"] - mine, abs=1), (hour, name)
        used += row["Allocated"] if name == "cpu" else 0
    assert used - 8 * (seen.kept[1] - seen.kept[0]) == sum(
        ours["hours"] for _, name, _, ours in cells(seen) if name == "cpu"
    )


def test_down_is_what_sreport_has_down_or_planned_down_but_for_maintenance_reservations(seen: Seen) -> None:
    """Their CPUs are down for it, whether the nodes are up or not, and their GPUs only by the drain of a node that was
    drained before Slurm marked its state."""
    assert {event[0] for event in seen.events} == {"n2", "n4"}
    for hour, name, row, ours in cells(seen):
        drained = seen.drained(hour, "" if name == "cpu" else "$")
        reserved = overlap(*seen.mended, hour, hour + HOUR) if name == "cpu" else 0
        assert row["Down"] + row["PlannedDown"] - 8 * reserved == ours["down"] - 8 * drained, (hour, name)
    assert sum(row["PlannedDown"] for _, _, row, _ in cells(seen)) > 0
    assert sum(ours["down"] for *_, ours in cells(seen)) > 0
