"""No walk through the doors of job_submit ends outside the rules: jobs of walking.py on a real slurmctld, several at a
time, judged by what each run of them was given."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from adminkit.lua.literal import module
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness import machine
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.cluster.harness.raw_client import Client, built
from tests.cluster.harness.ruled import Ruled, ruling
from tests.cluster.harness.spelling import CLASS_POINTS, MOST, Given
from tests.cluster.harness.walking import BUDGET, RULES, WITHOUT_BUDGET, Step, walks, wrong

pytestmark = pytest.mark.cluster

SEED = int(os.environ.get("ADMINKIT_SEED", "20261127"))
SHORT, LONG = 400, 20_000
#: Jobs at a time: enough to wait for Slurm together, few enough to leave nodes free.
TOGETHER = 16
#: Seconds that a job may wait for its start, and for its end.
PATIENCE = 6.0
PENDING, RUNNING, COMPLETING, REQUEUED = 0, 1, 0x8000, 0x400
POINTS = {
    "format": 1, "generation": "points000003", "made_at": 1, "cap": 9, "users": {}, "class_points": CLASS_POINTS,
}  # fmt: skip


@dataclass
class Tally:
    steps: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)  # not refused, by whomever
    escaped: list[tuple[list[Step], Given, list[str]]] = field(default_factory=list)
    fatal: list[list[Step]] = field(default_factory=list)

    def told(self) -> str:
        return f"seed {SEED}: {self.steps.total()} steps {dict(self.steps)}, taken {dict(self.taken)}"


class Walker:
    """One job and what is still to be done to it."""

    def __init__(self, client: Client, steps: list[Step], tally: Tally) -> None:
        self.client, self.left, self.tally = client, steps, tally
        self.trail: list[Step] = []  # Slurm may have taken over a part of what it refused
        self.job: int | None = None
        self.is_over = False
        self._waits, self._until = "", 0.0

    def go(self) -> None:
        """The next step, or a check whether the last one is done."""
        if self._waits == "run":
            self._look()
        elif self._waits:
            state, _ = self.client.given(self._job)
            if state & 0xFF == PENDING and not state & (COMPLETING | REQUEUED):
                self._waits = ""
            elif time.monotonic() > self._until:
                self.end()
        elif self.left:
            self._step(self.left.pop(0))
        else:
            self.end()

    @property
    def _job(self) -> int:
        assert self.job is not None
        return self.job

    def _step(self, step: Step) -> None:
        self.tally.steps[step.what] += 1
        if step.what == "submit":
            self.job, _ = self.client.submit(step.fields)
            is_taken = self.job is not None
            self.is_over = not is_taken
        elif step.what == "update":
            is_taken = self.client.update(self._job, step.fields)
        elif step.what == "run":
            is_taken = self.client.update(self._job, {"priority": str(0xFFFFFFFF)})
            self._wait("run")
        else:
            is_taken = self.client.requeue(self._job)
            self._wait("requeue")
        self.trail.append(step if is_taken else Step(f"{step.what}, refused:", step.fields))
        self.tally.taken[step.what] += is_taken and step.what != "run"

    def _wait(self, what: str) -> None:
        self._waits, self._until = what, time.monotonic() + PATIENCE

    def _look(self) -> None:
        state, given = self.client.given(self._job)
        is_late = time.monotonic() > self._until
        if is_late and state & 0xFF == PENDING:  # it may have no nodes at all: held again, unless it just starts
            self.client.update(self._job, {"priority": "0"})
            state, given = self.client.given(self._job)
        if given is not None and state & 0xFF == RUNNING:
            self.tally.taken["run"] += 1
            found = wrong(given)
            if found:
                self.tally.escaped.append((self.trail.copy(), given, found))
            self._waits = ""
        elif is_late and state & 0xFF == PENDING:
            self._waits = ""
            self.left = [step for step in self.left if step.what != "requeue"]
        elif is_late or state & 0xFF > RUNNING:
            self.end()

    def end(self) -> None:
        if self.job is not None:
            self.client.end(self.job)
        self.is_over = True


def followed(ruled: Ruled, coming: Iterator[list[Step]], count: int) -> Tally:
    """So many steps of these walks, or all."""
    tally, client = Tally(), Client(ruled, built(ruled), "games")
    walkers, more = list[Walker](), True
    while more or walkers:
        while more and len(walkers) < TOGETHER:
            steps = next(coming, None) if tally.steps.total() < count else None
            more = steps is not None
            walkers += [Walker(client, steps, tally)] if steps else []
        try:
            for walker in walkers:
                walker.go()
        except Exception:
            if ruled.cluster.ledger.find(f"{ruled.cluster.name}-slurmctld") is not None:
                raise
            tally.fatal += [walker.trail for walker in walkers]
            ruled.cluster.start_ctld()
            ruled.clear()
            ruled.cluster.until_idle()
            walkers.clear()
        walkers = [walker for walker in walkers if not walker.is_over]
        if walkers and all(walker._waits for walker in walkers):
            time.sleep(0.02)
    client.close()
    print(tally.told())
    for steps, given, found in tally.escaped:
        print("escaped", found, given, *(f"\n    {step.what} {dict(step.fields)}" for step in steps))
    return tally


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    """The rules, a power budget, points for each class, a queue of whole nodes and a QOS."""
    settings = {
        "SchedulerParameters": "sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=2,bf_licenses",
        "Licenses": f"watts:{100 * BUDGET}",
    }
    with private_slurm(SlurmUser=SLURM_USER, **settings) as booted:
        booted.run("sacctmgr", "-i", "add", "qos", "brief")
        booted.run("sacctmgr", "-i", "modify", "user", "games", "set", "qos+=brief")
        with ruling(booted, "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=1-0") as made:
            (made.inner / "incentives.lua").write_text(module(POINTS, "a test"))
            made.rules(RULES)
            yield made


def judged(ruled: Ruled, count: int) -> Tally:
    tally = followed(ruled, walks(SEED), count)
    # Trap: any user ends 24.11.5's slurmctld by --spread-job with --ntasks-per-gpu; it was seen in eval_nodes_gres.
    assert tally.fatal == [] or machine.release()[:2] == (24, 11), "slurmctld ended"
    assert tally.escaped == [], "ran outside a rule, with another class's points or without its watts"
    assert "adminkit: error" not in ruled.log(), re.findall(r".*adminkit: error.*", ruled.log())[:3]
    return tally


#: What is typed at submission, and then in updates; the last of them is refused, why.
DOORS = [
    ("-p gq --gpus=1", "NumNodes=4", "every GPU of four nodes"),
    ("-p gq --gpus=1", "NumNodes=1-4", "of up to four"),
    ("-p gq --gpus=1", "NumCPUs=32", "of as many as these CPUs need"),
    ("-p gq --gpus=1", "NumTasks=32", "or these tasks"),
    ("-p gq --ntasks-per-gpu=1 -n1", "NumNodes=4", "GPUs by tasks"),
    ("-p gq --gres=gpu:1 -N1", "NumNodes=1-4", "a GPU on each of four nodes, the watts of one"),
    ("-p free --gres=gpu:1 -N1", "NumNodes=1-4", "without a rule, too"),
    ("-p free --gres=gpu:1 -N1", "TresPerNode=gres:gpu:1,gres:gpu:8", "eight GPUs, the watts of one"),
    ("-p gq-short --gres=gpu:1 -N1 --mem-per-gpu=900", "MinMemoryNode=60000", "Slurm takes the node's"),
    ("-p gq-short --gres=gpu:1 -N1 --mem-per-gpu=900", "MinMemoryCPU=30000", "the CPU's"),
    ("-p gq-short --gpus-per-node=1 --spread-job -n2 --mem-per-gpu=900", "MinMemoryCPU=0", "all of each node"),
    ("-p free --gres=gpu:1 -N1 --mem=0", "Partition=gq-short", "it had all of a node"),
    ("-p free -N4", "Partition=gq-short NumNodes=1-1 Features=nonsense", "the queue would come, the nodes would not"),
    ("-p free -N4", "NumNodes=1-1 CoreSpec=1", "it would keep the points of several nodes"),
]


@pytest.mark.parametrize(("options", "change", "why"), DOORS, ids=[door[-1] for door in DOORS])
def test_a_door_is_shut(ruled: Ruled, options: str, change: str, why: str) -> None:
    job = ruled.sbatch("-t", "5", *options.split())
    assert job.accepted, job
    before = ruled.job(job.job)
    assert not ruled.update(job.job, *change.split()).accepted, why
    assert ruled.job(job.job) == before, f"nothing was taken over: {why}"
    ruled.clear()


def test_no_submission_takes_more_nodes_than_gpus(ruled: Ruled) -> None:
    assert not ruled.sbatch("-t", "5", "-p", "gq", "--gpus=1", "-n32").accepted
    few = ruled.sbatch("-t", "5", "-p", "gq", "--gpus=1", "-n4")
    assert few.accepted and ruled.job(few.job)["NumNodes"] == "1-1", few
    ruled.clear()


#: More nodes than tasks, each of which Slurm gives a task and its GPUs; as no client of Slurm's asks for them.
PLACED = [
    ({"min_nodes": "2"}, True), ({"req_nodes": "n1,n2"}, True), ({"req_nodes": "n1,n2", "max_nodes": "1"}, None),
    ({"min_nodes": "1", "max_nodes": "4"}, False),
]  # fmt: skip


def test_gpus_of_tasks_are_counted_on_each_node(ruled: Ruled) -> None:
    client, prefix = Client(ruled, built(ruled), "games"), "gres:" if machine.release() < (23, 11) else "gres/"
    plain = {"partition": "gq", "time_limit": "5", "num_tasks": "1", "min_cpus": "1", "priority": "0"}
    for fields, is_refused in PLACED:
        job, why = client.submit({**plain, "tres_per_task": f"{prefix}gpu:2", **fields})
        assert is_refused is None or (job is None) == is_refused, (fields, why)
    client.close()
    ruled.clear()


@pytest.fixture(scope="module")
def featured(ruled: Ruled) -> None:
    """Two nodes are odd and two are even."""
    for number in range(1, 5):
        ruled.cluster.ask("scontrol", "update", f"NodeName=n{number}", f"Features={'odd' if number % 2 else 'even'}")


@pytest.mark.usefixtures("featured")
@pytest.mark.parametrize("options", ["--gres=gpu:2", "--gpus=2", "-n2 --gpus-per-task=1"])
def test_nodes_by_counts_of_features_are_counted(ruled: Ruled, options: str) -> None:
    assert ruled.sbatch("-t", "5", "-p", "gq", *options.split(), "-C", "[odd|even]").accepted
    said = ruled.sbatch("-t", "5", "-p", "gq", *options.split(), "-C", "[odd*2&even*2]")
    assert not said.accepted and ("jobs in gq" in said.text or "for a job in gq" in said.text), said
    ruled.clear()


def started(ruled: Ruled, job: int | None) -> dict[str, str] | None:
    """The job, once it runs; or once it never will: 24.11 starts none that prefers more nodes than it takes."""
    facts = ruled.job(job)
    return facts if facts["JobState"] == "RUNNING" or facts["Reason"] == "BadConstraints" else None


@pytest.mark.usefixtures("featured")
@pytest.mark.parametrize("rules", [RULES, WITHOUT_BUDGET], ids=["a budget", "none"])
@pytest.mark.parametrize("options", ["-n1", "-n1 -N1", "-n2"])
def test_nodes_that_an_update_prefers_by_counts_are_held_to_the_rules(ruled: Ruled, rules: str, options: str) -> None:
    """Slurm gives a job all nodes of such a preference where it may take them: four for a job of one task."""
    ruled.rules(rules)
    try:
        said = ruled.sbatch("-t", "5", "-p", "gq", "--gres=gpu:1", *options.split(), script="sleep 300")
        assert said.job is not None, said
        assert ruled.update(said.job, "Prefer=odd").accepted
        ruled.update(said.job, "Prefer=[odd*2&even*2]")
        ruled.cluster.ask("scontrol", "release", str(said.job))
        given = until("it to start, or never to", lambda: started(ruled, said.job), 60)
        assert given["JobState"] == "PENDING" or int(given["NumNodes"]) <= MOST["gq"]["gpus"], "a GPU on each"
        ruled.clear()
    finally:
        ruled.rules(RULES)


def test_tasks_for_each_gpu_take_no_watts_away(ruled: Ruled) -> None:
    job = ruled.sbatch("-t", "5", "-p", "free", "-N1", "-n1", "--gres=gpu:8", "--ntasks-per-gpu=1")
    assert not job.accepted or ruled.job(job.job)["Licenses"] == "watts:2000", job
    ruled.clear()


#: Walks that once ended outside the rules, and why.
#: A job of a GPU that ran once.
SMALL = [
    Step("submit", {"time_limit": "5", "partition": "gq-short", "priority": "0", "num_tasks": "4",
                    "tres_per_node": "gres:gpu:1", "min_nodes": "1", "max_nodes": "1", "min_cpus": "4"}),
    Step("update", {"time_limit": "1"}), Step("update", {"qos": "brief"}), Step("run"), Step("requeue"),
]  # fmt: skip
ONCE = [
    ("more GPUs than the nodes have", [
        Step("submit", {"time_limit": "60", "partition": "free", "priority": "0", "num_tasks": "4",
                        "tres_per_node": "gres:gpu:4", "min_cpus": "4"}),
        Step("update", {"min_nodes": "1", "max_nodes": "4"}), Step("update", {"min_cpus": "8"}),
        Step("update", {"pn_min_cpus": "1"}), Step("run"), Step("requeue"), Step("update"),
        Step("update", {"min_nodes": "2", "max_nodes": "2", "max_cpus": "4294967294", "num_tasks": "32",
                        "pn_min_memory": "9223372036854795808"}), Step("run"), Step("requeue"),
        Step("update", {"tres_per_job": "gres:gpu:8"}),
        Step("update", {"min_nodes": "1", "max_nodes": "1", "pn_min_cpus": "1"}), Step("run"),
    ]),
    ("GPUs of tasks, then of nodes", [
        Step("submit", {"time_limit": "1", "partition": "free", "priority": "0", "num_tasks": "1",
                        "tres_per_task": "gres:gpu:8", "mem_per_tres": "gres:gpu:900", "min_cpus": "1"}),
        Step("run"), Step("requeue"), Step("update", {"qos": "brief"}), Step("run"), Step("requeue"),
        Step("update", {"tres_per_task": "gres/gpu:2", "tres_per_node": "gres/gpu:8"}),
        Step("update", {"min_nodes": "2"}), Step("run"),
    ]),
    ("tasks that have a GPU each become more", [
        Step("submit", {"time_limit": "60", "partition": "gq-long", "priority": "0", "num_tasks": "2", "min_nodes": "0",
                        "max_nodes": "2", "ntasks_per_tres": "1", "min_cpus": "2"}),
        Step("update", {"min_nodes": "1", "max_nodes": "4"}), Step("run"), Step("requeue"),
        Step("update", {"min_nodes": "4", "max_nodes": "4", "num_tasks": "32"}), Step("run"),
    ]),
    ("numbers that are named again", [
        Step("submit", {"time_limit": "1", "partition": "free", "priority": "0", "num_tasks": "32", "min_cpus": "32"}),
        Step("update", {"min_nodes": "1", "licenses": "nonsense:1"}), Step("run"), Step("requeue"), Step("run"),
        Step("requeue"), Step("update", {"min_nodes": "4", "max_nodes": "4", "num_tasks": "0"}),
        Step("update", {"min_nodes": "1", "pn_min_cpus": "1", "licenses": ""}), Step("run"),
    ]),
    ("GPUs of a list that was taken away", [
        Step("submit", {"time_limit": "5", "partition": "whole", "priority": "0", "num_tasks": "1", "min_cpus": "1"}),
        Step("update", {"tres_per_node": "gres:gpu:1,gres:gpu:0"}),
        Step("update", {"tres_per_node": "", "time_limit": "1"}), Step("update", {"partition": "gq-short,free"}),
        Step("run"),
    ]),
    ("more GPUs of a node, within the watts of one", [
        Step("submit", {"time_limit": "1", "partition": "gq-middle", "priority": "0", "num_tasks": "2",
                        "tres_per_node": "gres:gpu:4", "min_cpus": "2"}),
        Step("run"), Step("requeue"), Step("update", {"tres_per_node": "gres:gpu:8"}), Step("run"),
    ]),
    ("all memory of a node, where the record has 0 after a run", [
        Step("submit", {"time_limit": "60", "partition": "gq-short", "priority": "0", "num_tasks": "1",
                        "tres_per_node": "gres:gpu:2", "mem_per_tres": "gres:gpu:900", "min_cpus": "1"}),
        Step("run"), Step("requeue"), Step("update", {"pn_min_memory": "9223372036854775808"}), Step("run"),
    ]),
    ("fewer nodes than the tasks of each make", [
        Step("submit", {"time_limit": "60", "partition": "free", "priority": "0", "num_tasks": "32", "min_nodes": "1",
                        "ntasks_per_node": "2", "min_cpus": "32"}),
        Step("run"),
    ]),
    ("GPUs of tasks beside tasks of GPUs", [
        Step("submit", {"time_limit": "60", "partition": "free", "priority": "0", "num_tasks": "1", "min_nodes": "1",
                        "max_nodes": "1", "ntasks_per_node": "4", "ntasks_per_tres": "1", "min_cpus": "1",
                        "tres_per_task": "gres/gpu:1"}),
        Step("run"),
    ]),
    ("a list by sockets beside the GPUs of the job", [
        Step("submit", {"time_limit": "60", "partition": "gq", "priority": "0", "num_tasks": "4",
                        "tres_per_job": "gres:gpu:2", "min_cpus": "4"}),
        Step("update", {"exc_nodes": "n[1-3]", "max_cpus": "32", "ntasks_per_core": "2", "sockets_per_node": "1",
                        "tres_per_socket": "gres/gpu:0,gres/gpu:1"}), Step("run"),
    ]),
    ("tasks of two CPUs each, named after the CPUs were made fewer", [
        Step("submit", {"time_limit": "5", "partition": "gq-middle", "priority": "0", "num_tasks": "8",
                        "max_nodes": "1", "min_cpus": "8"}),
        Step("update", {"ntasks_per_node": "4"}), Step("run"), Step("requeue"),
        Step("update", {"min_nodes": "0", "cores_per_socket": "2", "licenses": "nonsense:1"}),
        Step("update", {"min_cpus": "1"}), Step("update", {"min_nodes": "1", "pn_min_cpus": "1"}),
        Step("update", {"min_nodes": "2", "max_nodes": "4", "cpus_per_task": "2", "plane_size": "2"}), Step("run"),
    ]),
    ("a list by sockets beside the GPUs of a job that is submitted", [
        Step("submit", {"time_limit": "1", "partition": "free", "priority": "0", "num_tasks": "1", "max_nodes": "2",
                        "core_spec": "0", "ntasks_per_node": "4", "tres_per_job": "gres/gpu:1",
                        "tres_per_socket": "gres:gpu", "mem_per_tres": "gres:gpu:900", "sockets_per_node": "1",
                        "min_cpus": "1"}),
        Step("update", {"pn_min_memory": "9223372036854805808"}),
        Step("update", {"min_nodes": "1", "max_nodes": "1", "time_limit": "120"}),
        Step("update", {"tres_per_job": "gres:gpu:2"}), Step("update", {"min_nodes": "0", "num_tasks": "9"}),
        Step("run"),
    ]),
    ("CPUs of four nodes, made fewer, then one node in an update that Slurm refuses", [
        Step("submit", {"time_limit": "1", "partition": "gq", "priority": "0", "num_tasks": "1", "min_cpus": "32"}),
        Step("update", {"qos": "normal"}), Step("update", {"licenses": ""}), Step("update", {"min_cpus": "2"}),
        Step("update", {"max_nodes": "1", "cpus_per_tres": "gres:gpu:a:1", "num_tasks": "1", "plane_size": "2",
                        "tres_per_node": "gres/gpu:1", "min_nodes": "1", "cpus_per_task": "2", "pn_min_cpus": "1"}),
        Step("run"),
    ]),
    ("a blank before the words of a refused update", [
        *SMALL, Step("update", {"min_nodes": "1", "max_nodes": "1", "tres_per_node": " gres:gpu:1", "min_cpus": "0"}),
        Step("update", {"partition": "debug"}), Step("run"),
    ]),
    ("GPUs without a gres in a refused update", [
        *SMALL, Step("update", {"min_nodes": "2", "ntasks_per_core": "1", "pn_min_cpus": "8", "sockets_per_node": "8",
                                "tres_per_node": "gpu,gpu:4", "site_factor": "2147483700"}),
        Step("update", {"partition": "debug"}), Step("run"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "steps"), ONCE, ids=[why for why, _ in ONCE])
def test_a_walk_that_once_escaped(ruled: Ruled, why: str, steps: list[Step]) -> None:
    tally = followed(ruled, iter([list(steps)]), len(steps))
    assert tally.escaped == [], why


def test_gpus_of_tasks_are_counted_without_a_power_budget(ruled: Ruled) -> None:
    """Without the licences of a budget Slurm's own count is all that shows the GPUs of --ntasks-per-gpu."""
    ruled.rules(WITHOUT_BUDGET)
    try:
        for why, steps in ONCE:
            tally = followed(ruled, iter([list(steps)]), len(steps))
            assert [found for _, _, found in tally.escaped if found != ["watts"]] == [], why
    finally:
        ruled.rules(RULES)


def test_no_walk_ends_outside_the_rules(ruled: Ruled) -> None:
    tally = judged(ruled, int(os.environ.get("ADMINKIT_WALK", SHORT)))
    assert tally.taken["run"] > SHORT // 20, tally.told()
    assert tally.taken["update"] > SHORT // 20, tally.told()


@pytest.mark.soak
def test_no_walk_of_twenty_thousand_steps_ends_outside_the_rules(ruled: Ruled) -> None:
    judged(ruled, LONG)
