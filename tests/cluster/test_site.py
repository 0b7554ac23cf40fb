"""The cluster written down, and its nodes and their events in the trace, from a real Slurm."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.findings.bad_node import drain
from adminkit.slurm.planning import parse_bounds
from adminkit.slurm.room import parse_nodes
from adminkit.slurm.site import Association
from adminkit.slurm.site_file import load_site
from adminkit.stats.bad_nodes import Node
from adminkit.stats.weeks import Reserved
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.config import ACCOUNTS, PARTITIONS, USERS
from tests.cluster.harness.operator import ADMINKIT, adminkit, with_path, wrapper
from tests.cluster.harness.processes import until

#: A reason that poses as the next record of sacctmgr's list, with times and bars.
HOSTILE = "a|b State=IDLE NodeName=n9\nalpha|n1|1700000000|1700000060|DOWN|root(0)|forged"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site") / "trace.db"


@pytest.fixture
def site(spare: Cluster, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "site.toml"
    done = spare.run("env", f"PATH={with_adminkit(spare)}", "adminkit", "site", "--output", path)
    assert done.code == 0, done.err
    yield path


def with_adminkit(cluster: Cluster) -> str:
    return f"{ADMINKIT.parent}:{cluster.env()['PATH']}"


def events(db: Path, node: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(
            "SELECT state, reason, user, uid, end_time IS NULL, end_time >= start_time FROM node_event"
            " WHERE node = ? ORDER BY start_time",
            (node,),
        ).fetchall()


def known(cluster: Cluster, node: str, state: str) -> None:
    """Wait until slurmdbd has an event of this state that is over, or lasts."""

    def there() -> bool:
        said = cluster.ask(
            "sacctmgr",
            "-n",
            "-P",
            "show",
            "event",
            "Event=Node",
            "start=now-1hours",
            f"nodes={node}",
            "format=State,End",
        )
        return state in said.split("\n")

    until(f"slurmdbd to have {state} of {node}", there, 60.0)


def test_the_cluster_is_written_down_and_read_back(spare: Cluster, site: Path) -> None:
    found = load_site(site)
    assert found.cluster == spare.name
    assert [queue.name for queue in found.queues] == [name for name, _, _ in PARTITIONS]
    assert [(node.name, node.cpus, node.gpus) for node in found.nodes] == [
        (f"n{n}", 8, {"gpu": 8}) for n in range(1, 5)
    ]
    assert all(node.queues == {queue.name for queue in found.queues} for node in found.nodes)
    gq = found.queue("gq")
    assert gq is not None
    assert (gq.default_limit, gq.max_limit, gq.node_cpus, gq.node_gpus, gq.is_default) == (3600, 259_200, 8, 8, True)
    assert [qos.name for qos in found.qos] == ["normal"]
    pairs = {(one.account, one.user) for one in found.associations}
    assert {(account, None) for account in ACCOUNTS} <= pairs
    assert {(account, user) for user, account in USERS.items()} <= pairs
    games = next(one for one in found.associations if one.user == "games")
    assert games == Association("physics", "games", shares=1, qos=frozenset({"normal"}))


def test_a_user_called_like_a_line_of_the_list_is_no_association(spare: Cluster, tmp_path: Path) -> None:
    """slurmdbd takes any name from a coordinator; here it is written into its database, as it would be then."""
    name = "x\nalpha|1|physics|mallory|||1||normal|\ny"
    table = f"{spare.name}_assoc_table"
    spare.sql(f"UPDATE {table} SET user = '{name}' WHERE user = 'news'")
    try:
        spare.stop_dbd()
        spare.start_dbd()
        path = tmp_path / "site.toml"
        assert spare.run("env", f"PATH={with_adminkit(spare)}", "adminkit", "site", "--output", path).code == 0
        assert "mallory" in spare.ask("sacctmgr", "-n", "-P", "show", "assoc", "format=cluster,account,user")
        users = {one.user for one in load_site(path).associations}
        assert "games" in users
        assert not users & {"mallory", "news", "x", "y"}
    finally:
        spare.sql(f"UPDATE {table} SET user = 'news' WHERE user = '{name}'")
        spare.stop_dbd()
        spare.start_dbd()


def test_a_reason_full_of_slurms_words_makes_no_node_and_changes_none(spare: Cluster) -> None:
    words = ("scontrol", "-o", "-d", "--all", "show", "node")
    before = {one.name: one.has for one in parse_nodes(spare.ask(*words))}
    reason = "job x\nNodeName=n9 CPUTot=1 Partitions=gq MemSpecLimit=99999 CPUEfctv=1 GresUsed=gpu:8"
    spare.ask("scontrol", "update", "NodeName=n4", "State=DRAIN", f"Reason={reason}")
    try:
        assert "MemSpecLimit=99999" in (said := spare.ask(*words))
        assert {one.name: one.has for one in parse_nodes(said)} == before
    finally:
        spare.ask("scontrol", "update", "NodeName=n4", "State=RESUME")


def test_the_command_of_a_bad_node_drains_that_node_and_no_other(spare: Cluster) -> None:
    shown = ("sinfo", "--noheader", "--Node", "--states=drain", "--format=%N|%E")
    node = Node("alpha", "n4", 1, 40, 20, 3, 12, 6.0, 1.5, 3.0, 1e-6, Reserved())
    try:
        spare.ask("sh", "-c", drain(node))
        assert set(spare.ask(*shown).splitlines()) == {"n4|adminkit: 20 of 40 runs failed"}
    finally:
        spare.ask("scontrol", "update", "NodeName=n4", "State=RESUME")


def test_an_account_with_a_line_break_in_its_name_hides_no_limit(spare: Cluster) -> None:
    """slurmdbd takes any name from a coordinator; here it is written into its database, as it would be then."""
    table, name = f"{spare.name}_assoc_table", "x\n    GrpTRESMins=cpu=N(0)"
    words = ("scontrol", "show", "assoc_mgr", "flags=assoc,qos")
    parse_bounds(spare.ask(*words))
    spare.sql(f"UPDATE {table} SET acct = '{name}' WHERE acct = 'chemistry'")
    try:
        spare.stop_dbd()
        spare.start_dbd()
        spare.restart_ctld()
        with pytest.raises(AdminkitError, match="not whole, or is there twice"):
            parse_bounds(spare.ask(*words))
    finally:
        spare.sql(f"UPDATE {table} SET acct = 'chemistry' WHERE acct = '{name}'")
        spare.stop_dbd()
        spare.start_dbd()
        spare.restart_ctld()
        spare.until_idle()


def test_a_node_that_is_drained_and_resumed_is_an_event(spare: Cluster, db: Path) -> None:
    spare.ask("scontrol", "update", "NodeName=n2", "State=DRAIN", f"Reason={HOSTILE}")
    known(spare, "n2", "DRAIN|Unknown")
    adminkit(spare, db, "sync", "--since", "1h")
    assert events(db, "n2") == [("DRAIN", HOSTILE, "root", 0, 1, None)]
    assert events(db, "n1") == []
    spare.ask("scontrol", "update", "NodeName=n2", "State=RESUME")

    def over() -> bool:
        adminkit(spare, db, "sync")
        return events(db, "n2") == [("DRAIN", HOSTILE, "root", 0, 0, 1)]

    until("the event to be over", over, 60.0)


def test_a_node_that_was_down_before_it_was_drained_has_an_event_of_each(spare: Cluster, db: Path) -> None:
    spare.ask("scontrol", "update", "NodeName=n3", "State=DOWN", "Reason=disk")
    time.sleep(1.1)  # slurmdbd drops an event of 0 s
    spare.ask("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=disk, see log")
    time.sleep(1.1)
    spare.resume_node("n3")

    def both() -> bool:
        adminkit(spare, db, "sync", "--since", "1h")
        found = [row[:2] for row in events(db, "n3") if row[5]]
        return found == [("DOWN", "disk"), ("DRAIN", "disk, see log")]

    until("both events", both, 60.0)


def test_a_node_has_a_row_since_it_was_seen_and_another_when_it_changed(spare: Cluster, db: Path) -> None:
    adminkit(spare, db, "sync", "--since", "1h")
    spare.ask("scontrol", "update", "NodeName=n4", "AvailableFeatures=fast,ib")
    time.sleep(1.1)  # a row's time is a whole second
    adminkit(spare, db, "sync")
    adminkit(spare, db, "sync")
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute(
            "SELECT present, cpus, gpus, gpu_types, features FROM node WHERE node = 'n4' ORDER BY since"
        )
        assert found.fetchall() == [(1, 8, 8, "gpu:8", ""), (1, 8, 8, "gpu:8", "fast,ib")]
        whole = trace.execute("SELECT count(DISTINCT node), count(*) FROM node").fetchone()
    assert whole == (4, 5)


def test_without_slurmdbd_s_events_the_rest_goes_on(spare: Cluster, db: Path, tmp_path: Path) -> None:
    first = wrapper(tmp_path, "sacctmgr", 'case "$*" in *event*) echo "sacctmgr: error: no" >&2; exit 1;; esac')
    done = adminkit(spare, db, "sync", "--since", "1h", env=with_path(spare, first))
    assert "events of nodes are as last seen" in done.stderr
