"""The machine that the trace knows: queues and nodes as they last were, and when nodes could not be used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from adminkit.ingest.machine import store_events, store_nodes, store_queues, store_site
from adminkit.slurm.events import NodeEvent
from adminkit.slurm.site import Association, Site, SiteNode, SiteQos, SiteQueue, SiteScheduler
from adminkit.stats.machine import Outage, known_site
from adminkit.trace.windows import SITE, fact
from tests.support.builders import make_trace

N1 = SiteNode("n1", 8, 1 << 30, {"a100": 2}, frozenset({"ib"}), frozenset({"gq"}), weight=5)
N2 = SiteNode("n2", 16, 1 << 30, {}, frozenset(), frozenset({"gq"}))
GQ = SiteQueue("gq", 3600, 86_400, priority_tier=3, is_default=True)


def test_what_sync_keeps_is_the_site(tmp_path: Path) -> None:
    whole = Site(
        "alpha", (GQ,), frozenset({0, 7}), {"alice": 7}, (N1, N2), (SiteQos("high", 10),),
        (Association("physics", "alice"),), SiteScheduler("24.11", bf_window=60),
    )  # fmt: skip
    with closing(sqlite3.connect(make_trace(tmp_path / "trace.db"))) as db:
        store_queues(db, "alpha", whole.queues, 100)
        store_nodes(db, "alpha", [N1], 100)
        store_nodes(db, "alpha", [N1, N2], 200)
        store_nodes(db, "alpha", [N2], 300)
        store_site(db, whole, 300)
        store_events(db, "alpha", [NodeEvent("n2", 210, 220, "DOWN", None, None, None)])
        before = fact(db, "alpha", SITE)
        store_site(db, whole, 400)
        assert fact(db, "alpha", SITE) == before, "written where it changed"
        assert "alice" not in before[0]  # type: ignore[index]
        site, outages = known_site(db, "alpha")
    assert site.nodes == (N1, N2)
    assert site.scheduler == SiteScheduler("24.11", bf_window=60)
    assert site.qos == (SiteQos("high", 10),)
    assert (site.queues[0].priority_tier, site.queues[0].node_cpus) == (3, 16)
    assert outages == [Outage("n2", 0, 200), Outage("n1", 300, None), Outage("n2", 210, 220)]


def test_an_older_trace_has_queues_with_limits_alone(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db", queues=[("alpha", "gq", 1, 60, 600), ("alpha", "gq", 2, 120, 1200)])
    with closing(sqlite3.connect(path)) as db:
        site, outages = known_site(db, "alpha")
        assert known_site(db, "beta") == (Site("beta"), [])
    assert (site.queues, site.nodes, outages) == ((SiteQueue("gq", 120, 1200),), (), [])
