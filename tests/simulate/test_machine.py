"""A site as the core gets it: classes of like nodes, masks, outages, and jobs with the numbers of the site's things."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.simulate.core import NONE
from adminkit.simulate.jobs import Jobs, jobs_of
from adminkit.simulate.machine import NEVER, machine_of, placed, pool, request
from adminkit.slurm.site import Site, SiteNode, SiteQos, SiteQueue, SiteScheduler
from adminkit.stats.machine import Outage
from adminkit.stats.workload import Runs

GIB = 1 << 30
BOTH = frozenset({"gq", "short"})
SITE = Site(
    "alpha",
    (
        SiteQueue("gq", 3600, 86_400, is_default=True, priority_tier=2),
        SiteQueue("short", None, 3600, max_nodes=2, whole=True, up=False, priority_factor=5),
    ),
    nodes=(
        SiteNode("n1", 40, 256 * GIB, {"a100": 4}, frozenset({"ib"}), BOTH),
        SiteNode("n2", 40, 256 * GIB, {"a100": 4}, frozenset({"ib"}), BOTH),
        SiteNode("n3", 80, 512 * GIB, {}, frozenset({"fat", "ib"}), frozenset({"gq"}), weight=9),
        SiteNode("n4", 8, None, {"gpu": 1}),
    ),
    qos=(SiteQos("normal"), SiteQos("high", 10, max_user_tres={"cpu": 80, "gres/gpu": 8}, group_jobs=5)),
    scheduler=SiteScheduler("24.11", bf_window=172_800, bf_continue=True, other=frozenset({"bf_busy_nodes"})),
)


def jobs(**columns: list[Any]) -> Jobs:
    """Runs of an hour on one CPU; `queue`, `qos`, `gpu_type`, `limit_kind` are words."""
    count = len(next(iter(columns.values())))
    numbers = {
        "id": list(range(1, count + 1)), "submit": [100] * count, "eligible": [100] * count, "start": [200] * count,
        "end": [3800] * count, "elapsed": [3600] * count, "suspended": [0] * count, "limit": [7200] * count,
        "nodes": [1] * count, "cpus": [1] * count, "gpus": [0] * count, "mem": [NONE] * count,
        "priority": [NONE] * count, "array": [NONE] * count, "het": [NONE] * count,
    }  # fmt: skip
    words = dict.fromkeys(("class", "user", "account", "qos", "gpu_type", "state", "reason"), [None] * count)
    words |= {"queue": ["gq"] * count, "limit_kind": ["finite"] * count}
    for name, values in columns.items():
        (numbers if name in numbers else words)[name] = values  # type: ignore[index]
    names = {name: sorted({word for word in listed if word}) for name, listed in words.items()}
    codes = {
        name: np.array([names[name].index(word) if word else NONE for word in listed], dtype=np.int32)
        for name, listed in words.items()
    }
    columns_of = {name: np.array(values, dtype=np.int64) for name, values in numbers.items()}
    return jobs_of(Runs(columns_of, codes, names, "alpha", {}, (None, None)), arrival="eligible")


@pytest.mark.parametrize(
    ("mem", "mib", "why"),
    [
        (NONE, 0, "unknown"),
        (GIB, 1024, "MiB of a node"),
        (1 << 46, 1 << 26, "64 TiB"),
        (1 << 52, 2**31 - 1, "4 PiB: more than any node has"),
        (1 << 62, 2**31 - 1, "however much"),
    ],
)
def test_no_memory_drops_a_job(mem: int, mib: int, why: str) -> None:
    made = jobs(mem=[mem, GIB])
    assert (made.columns["mem"].tolist(), made.missing) == ([mib, 1024], ()), why


def test_like_nodes_are_counted_and_numbered_by_their_class() -> None:
    machine = machine_of(SITE)
    assert machine.members == [["n1", "n2"], ["n3"], ["n4"]]
    assert machine.nodes == [
        {"count": 2, "cpus": 40, "mem": 256 * 1024, "gpus": 4, "gpu_type": 0, "features": 0b10, "queues": 0b11},
        {"count": 1, "cpus": 80, "mem": 512 * 1024, "gpus": 0, "gpu_type": -1, "features": 0b11, "queues": 0b01,
         "weight": 9},
        {"count": 1, "cpus": 8, "mem": 0, "gpus": 1, "gpu_type": -1, "features": 0, "queues": 0},
    ]  # fmt: skip
    assert (machine.gpu_types, machine.features) == (["a100"], ["fat", "ib"])
    assert (machine.units("cpus"), machine.units("gpus")) == (168, 9)


def test_queues_qos_and_settings_have_the_core_s_names() -> None:
    machine = machine_of(SITE)
    assert machine.queues == [
        {"tier": 2, "max_limit": 86_400, "default_limit": 3600, "whole": 0, "up": 1},
        {"factor": 5, "max_limit": 3600, "default_limit": 3600, "max_nodes": 2, "whole": 1, "up": 0},
    ]
    assert machine.qos == [
        {"priority": 0},
        {"priority": 10, "max_user_cpus": 80, "max_user_gpus": 8, "group_jobs": 5},
    ]
    assert machine.settings == {"release": 2411, "bf_window": 172_800, "bf_continue": 1}


def test_outages_of_one_node_that_meet_are_one() -> None:
    outages = [
        Outage("n2", 50, 60), Outage("n1", 10, 20), Outage("n1", 15, 30), Outage("n3", 5, None), Outage("gone", 1, 2),
        Outage("n1", 40, 40),
    ]  # fmt: skip
    assert machine_of(SITE, outages).down == [
        {"nodes": 1, "count": 1, "start": 5, "end": NEVER},
        {"nodes": 0, "count": 1, "start": 10, "end": 30},
        {"nodes": 0, "count": 1, "start": 50, "end": 60},
    ]


def test_jobs_get_the_numbers_of_the_site_s_things() -> None:
    given = jobs(
        queue=["gq", "short", "gq,short", None],
        qos=["high", "unknown", None, "normal"],
        gpus=[2, 0, 1, 0],
        gpu_type=["a100", "a100", "gpu", None],
        mem=[5 * GIB, NONE, GIB + 1, GIB],
        nodes=[2, 1, 1, 1],
    )
    found = placed(given, machine_of(SITE))
    assert found.columns["queues"].tolist() == [0b01, 0b10, 0b11, 0b01]
    assert found.columns["qos"].tolist() == [1, NONE, NONE, 0]
    assert found.columns["gpu_type"].tolist() == [0, NONE, NONE, NONE]
    assert found.columns["mem"].tolist() == [2560, 0, 1025, 1024]


def test_memory_counts_only_where_it_is_handed_out() -> None:
    machine = machine_of(replace(SITE, scheduler=SiteScheduler(memory=False)))
    assert placed(jobs(mem=[GIB]), machine).columns["mem"].tolist() == [0]


def test_jobs_that_the_site_cannot_have_are_named() -> None:
    found = placed(jobs(queue=["gq", "old", "old"], gpus=[1, 0, 0], gpu_type=["a100", None, None]), machine_of(SITE))
    assert len(found) == 1
    assert [(one.reason, one.jobs, one.ids) for one in found.missing] == [
        ("in queues that the site does not have: old", 2, (2, 3))
    ]
    with pytest.raises(AdminkitError, match=r"no job of the trace can run on this site: 1 job in queues .* have: old"):
        placed(jobs(queue=["old"]), machine_of(SITE))


@pytest.mark.parametrize(
    ("site", "error"),
    [
        (replace(SITE, nodes=()), "the nodes of the site are not known"),
        (replace(SITE, nodes=(SiteNode("n1"), SiteNode("n2", 4))), "1 nodes have no CPUs in the site: n1"),
        (Site("a", tuple(SiteQueue(f"q{n}") for n in range(70)), nodes=(SiteNode("n", 1),)), "70 queues"),
    ],
)
def test_a_site_that_says_too_little_is_refused(site: Site, error: str) -> None:
    with pytest.raises(AdminkitError, match=error) as refused:
        machine_of(site)
    assert refused.value.hint


def test_nodes_are_made_of_the_sizes_of_queues() -> None:
    site = Site("a", (SiteQueue("gq", total_nodes=3, node_cpus=8, node_mem=GIB, node_gpus=2),))
    machine = machine_of(site)
    assert machine.nodes[0] == {
        "count": 3,
        "cpus": 8,
        "mem": 1024,
        "gpus": 2,
        "gpu_type": -1,
        "features": 0,
        "queues": 1,
    }
    assert machine.notes == ["the nodes are made up from the sizes of the queues: no two queues share a node"]


def test_the_plain_models_get_no_more_than_they_read() -> None:
    asked = request("easy", jobs(cpus=[2, 3]), pool(8, order=1))
    assert set(asked.jobs) == {"id", "submit", "run", "limit", "procs"}
    assert (asked.settings, asked.queues, asked.nodes) == ({"procs": 8, "order": 1}, (), ())


def test_a_job_without_a_limit_has_its_queue_s_or_a_year() -> None:
    found = jobs(limit=[NONE, NONE, 60], limit_kind=["unlimited", "partition", "finite"])
    assert found.columns["limit"].tolist() == [365 * 86_400, NONE, 60]
