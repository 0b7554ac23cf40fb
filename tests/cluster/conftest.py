"""The clusters that the tests of this folder run on."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adminkit.deploy.planning import is_fit
from adminkit.slurm.release import parse_release
from tests.cluster.harness import order
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.ending import TEMPORARY, clear_abandoned
from tests.cluster.harness.listing import Listing, listing
from tests.cluster.harness.machine import PROCTRACK
from tests.cluster.harness.requests import USER, emptied
from tests.cluster.harness.ruled import Ruled, ruling
from tests.cluster.harness.workload import Workload, submit
from tests.setup import guard

#: Debian's packages bring it; a Slurm that was built from its source has whom its site chose.
SLURM_USER = "slurm" if any(who.pw_name == "slurm" for who in pwd.getpwall()) else "daemon"

#: What a Slurm on this host would touch; compared before and after.
OUTSIDE = tuple(Path(path) for path in ("/etc/slurm", "/etc/munge", "/var/lib/slurm", "/var/log/slurm", "/run/munge"))
OUTSIDE += tuple(Path(path) for path in ("/var/spool/slurmd", "/var/spool/slurmctld", "/run/mysqld", "/var/lib/mysql"))
OUTSIDE += tuple(Path(path) for path in ("/var/spool/slurm", "/var/log/munge", "/var/lib/munge", "/var/log/mysql"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whatever uses a cluster, by its fixture `outside`, carries the marker `cluster`; the longest files run first.

    What needs soft limits is no test of a release where they are refused.
    """
    if not _may_plan():
        refused = [item for item in items if "on" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=refused)
        items[:] = [item for item in items if item not in refused]
    for item in items:
        if "outside" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)
    order.sort(items)


@pytest.fixture(scope="session")
def outside() -> Listing:
    """What lay outside the private folder before the cluster was booted."""
    return listing(OUTSIDE)


def _may_plan() -> bool:
    """Whether the Slurm of this host is of a release that may plan by need."""
    if shutil.which("slurmctld") is None:
        return False
    said = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout
    return is_fit(parse_release(said))


@contextmanager
def private_slurm(
    proctrack: str = PROCTRACK, nodes: int = 4, kind: type[Cluster] = Cluster, **settings: str
) -> Iterator[Cluster]:
    """A booted cluster in a temporary private folder, stopped and removed at the end."""
    verdict = guard.check()
    if not verdict.allowed:
        pytest.fail(str(verdict), pytrace=False)
    clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    cluster = kind(folder, nodes=nodes, proctrack=proctrack, settings=settings)
    try:
        cluster.boot(owner=os.getpid())
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def cluster(outside: Listing) -> Iterator[Cluster]:
    """The cluster of the whole run. Leave it as it was: what hurts others belongs on `spare`."""
    with private_slurm() as booted:
        yield booted


@pytest.fixture(scope="module")
def spare(outside: Listing) -> Iterator[Cluster]:
    """A cluster of the test file's own: its slurmdbd may be stopped, its accounting rebuilt."""
    with private_slurm() as booted:
        yield booted


@contextmanager
def featured_slurm(nodes: int) -> Iterator[Cluster]:
    """A cluster that holds users to the limits of their QOS, whose nodes have features, and which has licences."""
    settings = {
        "AccountingStorageEnforce": "associations,limits,qos",
        "SchedulerParameters": "sched_interval=1,batch_sched_delay=0,bf_interval=2",
        "Licenses": "tool:3",
    }
    with private_slurm(nodes=nodes, **settings) as booted:
        booted.ask("sacctmgr", "-i", "add", "qos", "capped")
        booted.ask("sacctmgr", "-i", "modify", "qos", "capped", "set", "MaxTRESPerUser=gres/gpu=4")
        booted.ask("sacctmgr", "-i", "modify", "user", USER, "set", "qos+=capped")
        for number in range(1, nodes + 1):
            features = ["odd" if number % 2 else "even", *(["first"] if number == 1 else [])]
            booted.ask("scontrol", "update", f"NodeName=n{number}", f"Features={','.join(features)}")
        yield booted


@pytest.fixture(scope="module")
def featured(outside: Listing) -> Iterator[Cluster]:
    """A small cluster of the test file's own, for what `adminkit fit` says."""
    with featured_slurm(nodes=3) as booted:
        yield booted


@pytest.fixture(scope="module")
def featured_wide(outside: Listing) -> Iterator[Cluster]:
    with featured_slurm(nodes=12) as booted:
        yield booted


@pytest.fixture
def empty(featured: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The small one as this process's Slurm, with nothing in its queues before and afterwards."""
    monkeypatch.setenv("SLURM_CONF", str(featured.home / "slurm.conf"))
    yield featured
    emptied(featured)


@pytest.fixture
def empty_wide(featured_wide: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("SLURM_CONF", str(featured_wide.home / "slurm.conf"))
    yield featured_wide
    emptied(featured_wide)


@pytest.fixture(scope="session")
def ruled_session(outside: Listing) -> Iterator[Ruled]:
    """A cluster whose submissions adminkit decides, for every test of rules and points. slurmctld is not root's."""
    more = (
        "PartitionName=closed Nodes=ALL MaxTime=20:00:00 AllowAccounts=chemistry",
        "PartitionName=down Nodes=ALL MaxTime=00:30:00 State=DOWN",
        "PartitionName=small Nodes=n1 MaxTime=12:00:00 MaxNodes=1",
        "PriorityMaxAge=00:20:00",
        "PriorityCalcPeriod=1",
        "ScronParameters=enable",
    )
    with private_slurm(SlurmUser=SLURM_USER) as booted, ruling(booted, *more) as ruled:
        yield ruled


@pytest.fixture
def ruled(ruled_session: Ruled) -> Iterator[Ruled]:
    """The same, with nothing in its queues afterwards."""
    yield ruled_session
    ruled_session.clear()


@pytest.fixture(scope="session")
def submitted(cluster: Cluster) -> Workload:
    """The mix of jobs of workload.py, submitted; it ends while other tests run."""
    return submit(cluster)


@pytest.fixture(scope="session")
def workload(cluster: Cluster, submitted: Workload) -> Workload:
    """The mix of jobs of workload.py, all ended and accounted for."""
    submitted.finish()
    return submitted
