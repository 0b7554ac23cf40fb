"""What the cluster was made of, in the trace: nodes and events as sync finds them, a described cluster as imported."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.ingest.machine import store_nodes, store_queues
from adminkit.ingest.sync import EVENTS_LATE, sync
from adminkit.ingest.sync_run import Options
from adminkit.slurm.site import SiteNode, SiteQueue
from adminkit.stats.machine import known_site
from adminkit.trace import connect
from tests.ingest.fake_slurm import FakeSlurm

NOW = int(time.time())
DAY = 86_400
N1 = SiteNode("n1", 40, 1 << 38, {"v100": 2, "a100": 4}, frozenset({"ib", "fast"}), frozenset({"gq"}))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


def run(slurm: FakeSlurm, db: Path, said: list[str] | None = None, since: int | None = NOW - DAY) -> None:
    slurm.write()
    sync(Options(db, since=since, steps=False, timeout=5.0), [], (said if said is not None else []).append)


def rows(db: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("seen", "expected", "why"),
    [
        ([(1, [N1]), (2, [N1])], [(1, 1, 40)], "nothing changed: one row"),
        ([(1, [N1]), (2, [SiteNode("n1", 80)])], [(1, 1, 40), (2, 1, 80)], "it was changed"),
        ([(1, [N1]), (2, []), (3, [])], [(1, 1, 40), (2, 0, None)], "it is gone, which is said once"),
        ([(1, [N1]), (2, []), (3, [N1])], [(1, 1, 40), (2, 0, None), (3, 1, 40)], "it is back"),
        ([(1, []), (1, [N1])], [(1, 1, 40)], "it was never there before"),
        ([(5, [N1]), (0, [SiteNode("n1", 8)])], [(0, 1, 8), (5, 1, 40)], "what it was before is told later"),
    ],
)
def test_a_node_has_a_row_for_each_time_it_changed(
    db: Path, seen: Sequence[tuple[int, list[SiteNode]]], expected: list[tuple[object, ...]], why: str
) -> None:
    connect.create(db)
    with connect.writer(db) as trace:
        for since, nodes in seen:
            store_nodes(trace, "alpha", nodes, since)
        store_nodes(trace, "beta", [], 9)
    assert rows(db, "SELECT since, present, cpus FROM node ORDER BY since") == expected, why


def test_a_nodes_lists_are_in_order_and_a_queue_has_the_limit_that_a_job_gets(db: Path) -> None:
    connect.create(db)
    with connect.writer(db) as trace:
        store_nodes(trace, "alpha", [N1], 1)
        store_queues(trace, "alpha", [SiteQueue("gq", None, 7200, total_nodes=1)], 1)
    assert rows(db, "SELECT * FROM node") == [
        ("alpha", "n1", 1, 1, 40, 1 << 38, 6, "a100:4,v100:2", None, "fast,ib", "gq")
    ]
    assert rows(db, "SELECT default_limit, max_limit, nodes FROM queue") == [(7200, 7200, 1)]


def test_sync_keeps_nodes_with_the_time_since_when(slurm: FakeSlurm, db: Path) -> None:
    run(slurm, db)
    run(slurm, db)
    slurm.nodes = slurm.nodes.replace("CPUTot=40", "CPUTot=80") + "\nNodeName=n2 CPUTot=4"
    time.sleep(1.1)
    run(slurm, db)
    found = rows(db, "SELECT node, cpus, mem, gpus, gpu_types FROM node ORDER BY node, since")
    assert found == [
        ("n1", 40, 1000 << 20, 4, "a100:4"),
        ("n1", 80, 1000 << 20, 4, "a100:4"),
        ("n2", 4, None, 0, ""),
    ]
    since = rows(db, "SELECT since FROM node ORDER BY since")
    assert NOW <= int(str(since[0][0])) < int(str(since[1][0])) <= time.time()


def test_an_event_is_one_row_from_its_beginning_to_its_end(slurm: FakeSlurm, db: Path) -> None:
    start = NOW - 3600
    slurm.events = [("n1", start, None, "DOWN*", "slurm(64030)", "Not responding")]
    run(slurm, db)
    slurm.events = [("n1", start, start + 60, "DOWN*", "slurm(64030)", "Not responding"),
                    ("n1", start + 60, None, "DRAIN", "root(0)", "disk | see\nthe log")]  # fmt: skip
    run(slurm, db)
    assert rows(db, "SELECT node, start_time, end_time, state, reason, user, uid FROM node_event ORDER BY 2") == [
        ("n1", start, start + 60, "DOWN*", "Not responding", "slurm", 64030),
        ("n1", start + 60, None, "DRAIN", "disk | see\nthe log", "root", 0),
    ]


def test_events_are_asked_for_from_the_beginning_and_then_from_a_while_before_the_last_run(
    slurm: FakeSlurm, db: Path
) -> None:
    run(slurm, db, since=NOW - 100 * DAY)
    assert slurm.events_since() == [NOW - 100 * DAY]
    run(slurm, db, since=None)
    (again,) = slurm.events_since()
    assert NOW - EVENTS_LATE - 60 <= again <= time.time() - EVENTS_LATE


def test_where_slurmctld_or_slurmdbd_does_not_answer_the_rest_goes_on(slurm: FakeSlurm, db: Path) -> None:
    said: list[str] = []
    run(slurm, db)
    slurm.rules = [{"program": "scontrol", "exit": 1, "says": "Unable to contact slurm controller"}]
    run(slurm, db, said)
    assert rows(db, "SELECT present FROM node") == [(1,)], "a node is not gone because nobody answers"
    assert any("queue limits are as last seen" in line for line in said)


def test_queues_are_kept_up_where_slurmctld_shows_nodes_to_operators_only(slurm: FakeSlurm, db: Path) -> None:
    """PrivateData=nodes: an error for nodes, an answer for queues."""
    said: list[str] = []
    slurm.rules = [{"program": "scontrol", "has": "node", "exit": 1, "says": "Access/permission denied"}]
    run(slurm, db, said)
    assert rows(db, "SELECT queue, default_limit, max_limit FROM queue") == [("gq", 3_600, 3 * DAY)]
    assert rows(db, "SELECT * FROM node") == []
    assert any("nodes are as last seen" in line for line in said)


def test_nodes_that_slurmctld_hides_are_not_gone(slurm: FakeSlurm, db: Path) -> None:
    run(slurm, db)
    slurm.nodes = ""
    run(slurm, db)
    assert rows(db, "SELECT present FROM node") == [(1,)]


def test_how_jobs_are_scheduled_is_kept_with_the_queues(slurm: FakeSlurm, db: Path) -> None:
    """The simulator needs it; the tables of queues and nodes have no columns for it."""
    run(slurm, db)
    with closing(sqlite3.connect(db)) as trace:
        site, _ = known_site(trace, "alpha")
    assert (site.scheduler.release, site.scheduler.bf_window) == ("24.11", 172_800)
    assert site.queues[0].max_limit == 3 * DAY
    assert [node.name for node in site.nodes] == ["n1"]
