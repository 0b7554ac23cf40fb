"""`adminkit fit` on nodes that sleep, on long lists of nodes, and on GPUs that are cut, against a real Slurm."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from adminkit.fit import ask
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import MARK, release
from tests.cluster.harness.processes import ClusterError, until
from tests.cluster.harness.requests import USER, emptied
from tests.cluster.test_fit_nodes import fit

#: Seconds until a node of no queue's own timeout is up at the latest, and those of the queue debug.
RESUME, RESUME_DEBUG, SUSPEND = 240, 300, 8
#: Nodes of a cloud that nobody ever starts: a job has them and waits for them.
CLOUD = [f"compute{number:06d}" for number in range(100_001, 100_401)]


class Sleeping(Cluster):
    """n1 stays up and has two GPUs of four shards each; n2 and n3 sleep after ten seconds; the cloud always does."""

    def _configure(self) -> None:
        super()._configure()
        conf, gres = self.home / "slurm.conf", self.home / "gres.conf"
        lines = conf.read_text().splitlines()
        for place, line in enumerate(lines):
            if line.startswith("NodeName=n1 "):
                lines[place] = line.replace("Gres=gpu:8", "Gres=gpu:2,shard:8")
            if line.startswith("PartitionName="):
                own = f" ResumeTimeout={RESUME_DEBUG}" if line.startswith("PartitionName=debug ") else ""
                inside = "n3" if own else "n1" if line.startswith("PartitionName=gq-short ") else "n[1-3]"
                lines[place] = line.replace("Nodes=ALL", f"Nodes={inside}") + own
        numbers = f"{CLOUD[0].removeprefix('compute')}-{CLOUD[-1].removeprefix('compute')}"
        lines += [
            f"NodeName=compute[{numbers}] NodeAddr=127.0.0.1 Port=1 CPUs=2 RealMemory=1000 State=CLOUD",
            f"PartitionName=wide Nodes=compute[{numbers}] DefaultTime=60 MaxTime=600 State=UP",
        ]
        conf.write_text("\n".join(lines) + "\n")
        cards = f"{self.folder}/dev/gpu"
        gres.write_text(
            f"NodeName=n1 Name=gpu File={cards}[0-1]\nNodeName=n1 Name=shard Count=8\n"
            f"NodeName=n[2-3] Name=gpu File={cards}[0-7]\n"
        )

    def until_idle(self) -> None:
        until("n1 to be idle", lambda: self.state("n1") == "IDLE", 120.0)

    def state(self, node: str) -> str:
        return self.ask("scontrol", "-o", "show", "node", node).partition("State=")[2].split()[0]

    def wake(self, node: str) -> None:
        """As a host that was started: its slurmd tells slurmctld that it has just booted, again if that was missed."""
        for _ in range(4):
            self._boot(node)
            with suppress(ClusterError):
                until(f"{node} to be up", lambda: "POWERING_UP" not in self.state(node), 20.0)
                return
        raise ClusterError(f"{node} does not wake: it is {self.state(node)}")

    def _boot(self, node: str) -> None:
        name = f"{self.name}-slurmd-{node}"
        process = self.ledger.find(name)
        assert process is not None
        self.ledger.stop(process)
        env = {**self.env(), MARK: str(self.folder)}
        self.ledger.start(name, ["slurmd", "-D", "-b", "-N", node], env, self.home / "log" / f"slurmd-{node}.out")


@pytest.fixture(scope="module")
def sleeping(outside: Listing) -> Iterator[Sleeping]:
    settings = {
        "GresTypes": "gpu,shard",
        "AccountingStorageTRES": "gres/gpu,gres/shard",
        "SuspendProgram": "/bin/true",
        "ResumeProgram": "/bin/true",
        "SuspendTime": "10",
        "SuspendTimeout": str(SUSPEND),
        "ResumeTimeout": str(RESUME),
        "SuspendExcNodes": "n1",
        "SuspendRate": "0",
        "PrivateData": "cloud",
    }
    with private_slurm(nodes=3, kind=Sleeping, **settings) as booted:
        assert isinstance(booted, Sleeping)
        yield booted


@pytest.fixture
def site(sleeping: Sleeping, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sleeping]:
    monkeypatch.setenv("SLURM_CONF", str(sleeping.home / "slurm.conf"))
    yield sleeping
    emptied(sleeping)


def test_a_job_over_two_hundred_nodes_whose_names_are_far_apart_has_all_of_them(site: Sleeping) -> None:
    odd = CLOUD[::2]
    job = site.submit("sleep 9", "-p", "wide", "-N", "200", "-w", ",".join(odd), "-t", "50", user=USER)
    site.wait(job, "CONFIGURING")
    ask.forget()
    (found,) = (one for one in ask.current().room.jobs if one.job_id == job)
    assert sorted(found.nodes) == odd and found.many == 200
    row, _ = fit(site, "--user", USER, "-p", "wide", "-N", "201", "-c", "2", "-t", "10")
    assert (row["verdict"], row["why"]) == ("later", "busy"), row
    assert row["at"] is not None and row["at"] >= found.ends and "nobody knows" not in row["text"], row
    row, _ = fit(site, "--user", USER, "-p", "wide", "-N", "200", "-c", "2", "-t", "10")
    assert (row["verdict"], row["why"], row["test_only"]) == ("wakes", "wakes", "now"), row


def test_nodes_that_sleep_are_offered_and_a_job_starts_there(site: Sleeping) -> None:
    until("n2 and n3 to sleep", lambda: all("POWERED_DOWN" in site.state(node) for node in ("n2", "n3")), 120.0)
    row, notes = fit(site, "--user", USER, "-N", "2", "--gpus-per-node", "8", "-t", "20")
    assert (row["verdict"], row["why"], row["test_only"], notes) == ("wakes", "wakes", "now", []), row
    assert abs(row["at"] - time.time() - RESUME_DEBUG) < 30, "n3 is in the queue debug too, which has a longer one"
    row, _ = fit(site, "--user", USER, "--gpus", "2", "-t", "20")
    assert (row["verdict"], row["why"]) == ("now", None), "n1 is up"
    job = site.submit("sleep 1", "-N", "2", "--gpus-per-node", "8", "-t", "20", user=USER)
    site.wait(job, "CONFIGURING")
    row, _ = fit(site, "--job", str(job))
    assert (row["verdict"], row["text"]) == ("wakes", "it has its nodes, and waits until they are up: n2, n3"), row
    assert abs(row["at"] - time.time() - RESUME_DEBUG) < 60, row
    for node in ("n2", "n3"):
        until(f"{node} to be woken", lambda node=node: "POWERING_UP" in site.state(node), 30.0)
        site.wake(node)
    site.wait(job, "COMPLETED")


def test_a_node_on_its_way_down_is_to_be_woken_then(site: Sleeping) -> None:
    for node in ("n2", "n3"):
        if "POWER" in site.state(node):
            continue
        site.run("scontrol", "update", f"NodeName={node}", "State=POWER_DOWN")
    words = ("-p", "debug", "--gpus", "8", "-t", "2")

    def falls() -> bool:
        row, _ = fit(site, "--user", USER, *words)
        assert row["verdict"] in ("now", "wakes", "later"), row
        return (row["verdict"], row["why"]) == ("later", "wakes") and row["at"] is not None

    if "POWERED_DOWN" not in site.state("n3"):
        until("n3 to be on its way down", falls, 60.0, pause=0.2)
    job = site.submit("sleep 1", *words, user=USER)
    site.wait(job, "CONFIGURING")
    until("n3 to be woken", lambda: "POWERING_UP" in site.state("n3"), 30.0)
    site.wake("n3")
    site.wait(job, "COMPLETED")


def test_a_gpu_is_whole_or_shards(site: Sleeping) -> None:
    def said(*words: str) -> tuple[str, str]:
        row, _ = fit(site, "--user", USER, "-p", "gq-short", "-t", "20", *words)
        return row["verdict"], row["vectors"]

    assert said("--gres", "shard:5") == ("never", "never"), "one job's shards are of one GPU"
    assert said("--gres", "shard:4") == said("--gpus", "2") == ("now", "now")
    for shards in (3, 2):
        job = site.submit("sleep 900", "-p", "gq-short", f"--gres=shard:{shards}", "-t", "30", user=USER)
        site.wait(job, "RUNNING")
    assert said("--gres", "shard:2") == ("now", "now")
    assert said("--gres", "shard:3") == ("later", "later"), "three are free, of two GPUs"
    assert said("--gpus", "1") == ("later", "later"), "each GPU is cut"
    (node,) = (one for one in ask.current().room.nodes if one.name == "n1")
    assert (dict(node.cut), dict(node.taken.shares)) == ({"gpu": 2}, {"shard": 5})
    fits = site.submit("sleep 900", "-p", "gq-short", "--gres=shard:2", "-t", "30", user=USER)
    site.wait(fits, "RUNNING")
    waits = site.submit("sleep 900", "-p", "gq-short", "--gres=shard:3", "-t", "30", user=USER)
    until("it to wait", lambda: site.ask("squeue", "-h", "-j", str(waits), "-o", "%r") == "Resources", 60.0)
    row, _ = fit(site, "--job", str(waits))
    assert (row["verdict"], row["why"]) == ("later", "busy") and "--gres shard:3" in row["request"], row


def test_a_cloud_s_nodes_that_are_not_shown_are_unknown(site: Sleeping) -> None:
    """The last one. Trap: without PrivateData=cloud 22.05 hides what sleeps in a cloud, even from --all."""
    conf, hides = site.home / "slurm.conf", release() < (24, 11)
    conf.write_text(conf.read_text().replace("PrivateData=cloud\n", ""))
    site.ask("scontrol", "reconfigure")

    def hidden() -> bool:
        return CLOUD[-1] not in site.ask("scontrol", "-o", "--all", "show", "node")

    until("it to be as the release has it", lambda: hidden() is hides, 30.0)
    row, _ = fit(site, "--user", USER, "-p", "wide", "-N", "400", "-c", "2", "-t", "10")
    assert (row["vectors"] == "unknown") is hides and row["verdict"] != "never", row
    assert not hides or (row["verdict"] == "unknown" and "Slurm hides such nodes" in row["text"]), row
