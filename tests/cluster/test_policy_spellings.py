"""No rule is passed by spelling: requests of spelling.py on a real slurmctld, judged by what started jobs got."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adminkit.lua.literal import module
from tests.cluster.harness import machine
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until
from tests.cluster.harness.raw_client import Client, built
from tests.cluster.harness.ruled import Ruled
from tests.cluster.harness.spelling import CLASS_POINTS, RULES, Case, Given, broken, cases, doubts, kinds

pytestmark = pytest.mark.cluster

SEED = int(os.environ.get("ADMINKIT_SEED", "20261122"))
SHORT, LONG = 500, 20_000
#: So many requests meet empty nodes, then so many nodes of which a job has the most.
TURN = 60
POINTS = {
    "format": 1, "generation": "points000002", "made_at": 1, "cap": 9, "users": {}, "class_points": CLASS_POINTS,
}  # fmt: skip
RUNNING = 1
#: Jobs that wait for the scheduler at a time.
TOGETHER = 10
COMPLETING = 0x8000
#: What a job is answered that could start, but not at once: nodes are not free, or a job of ours waits before it.
BUSY = re.compile("Requested nodes are busy|insufficient priority")
#: Seconds in which a job that waits for the scheduler starts, beside other work too.
PATIENCE = 6.0


@dataclass
class Tally:
    """What became of the cases."""

    tried: Counter[str] = field(default_factory=Counter)
    started: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    strict: list[tuple[Case, Given]] = field(default_factory=list)  # refused, and Slurm would have kept the rule
    escaped: list[tuple[Case, Given, list[str]]] = field(default_factory=list)  # ran outside a rule that let it pass
    overpaid: list[tuple[Case, Given]] = field(default_factory=list)
    unkind: list[tuple[Case, str]] = field(default_factory=list)  # plain, within the rules, and refused
    fatal: list[tuple[Case, str]] = field(default_factory=list)  # slurmctld ended by itself; who had asked last

    def told(self) -> str:
        started, refused = self.started.total(), self.refused.total()
        return (
            f"seed {SEED}: {self.tried.total()} requests, {started} started, {refused} refused by a rule,"
            f" of which Slurm would have run {len(self.strict)} within it"
        )


class Trial:
    """The cases, one after another, on nodes that are empty or nearly so."""

    def __init__(self, ruled: Ruled, program: Path) -> None:
        self.ruled = ruled
        self.user, self.exempt = Client(ruled, program, "games"), Client(ruled, program, "www-data")
        self.tally = Tally()
        self._asker = self.user
        self._ending: list[int] = []
        self._waiting: list[tuple[Case, int, Client]] = []
        self._crowd: int | None = None

    def run(self, case: Case) -> None:
        """Ask for it."""
        self._survive(lambda: self._ask(case), case)

    def begin_turn(self, crowded: bool, case: Case) -> None:
        """Before this case: as `crowd`."""
        self._survive(lambda: self.crowd(crowded), case)

    def _survive(self, act: Callable[[], None], case: Case) -> None:
        """Where slurmctld ends by itself that is noted, and it is started again."""
        try:
            act()
        except Exception:
            if self._is_up():
                raise
        if not self._is_up():
            self.tally.fatal.append((case, self._asker.user))
            self._ending.clear()
            self._waiting.clear()
            self._crowd = None
            self.ruled.cluster.start_ctld()
            self.ruled.clear()
            create_whole(self.ruled.cluster)  # Trap: what scontrol created is not in slurm.conf
            self.ruled.cluster.until_idle()

    def _is_up(self) -> bool:
        return self.ruled.cluster.ledger.find(f"{self.ruled.cluster.name}-slurmctld") is not None

    def _ask(self, case: Case) -> None:
        """Jobs that have to wait for the scheduler wait together."""
        self.tally.tried[case.kind] += 1
        since = self.ruled.log_size()
        job, answer = self._start(case, self.user)
        if job is not None:
            self._look(case, job, self.user)
        elif case.update or self._refused(since):  # an update that is refused is not logged
            self.tally.refused[case.kind] += not case.update
            self._ask_slurm(case, answer)

    def _look(self, case: Case, job: int, client: Client) -> None:
        """See what a job is given, at once or when its turn has come."""
        if case.update or case.program == "sbatch":
            self._waiting.append((case, job, client))
            if len(self._waiting) >= TOGETHER:
                self.wait()
        else:
            self._judge(case, job, client)

    def crowd(self, crowded: bool) -> None:
        """Have three CPUs left on each node, so that Slurm spreads what it may; or none of that."""
        self.wait()
        if self._crowd is not None:
            self._end(self.exempt, self._crowd)
            self._crowd = None
        self.settle()
        if crowded:
            each = {"num_tasks": "20", "min_cpus": "20", "ntasks_per_node": "5", "min_nodes": "4", "max_nodes": "4"}
            self._crowd, answer = self.exempt.allocate({**each, "partition": "gq", "time_limit": "600"})
            assert self._crowd is not None, answer

    def wait(self) -> None:
        """Let the jobs start that wait, and judge them."""
        self.settle()
        deadline = time.monotonic() + PATIENCE
        waiting, self._waiting = self._waiting, []
        for case, job, client in waiting:
            if case.update:
                client.ask(f"update {job}\tpriority=4294967295")
        for case, job, client in waiting:
            self._judge(case, job, client, deadline)

    def _judge(self, case: Case, job: int, client: Client, deadline: float = 0.0) -> None:
        tally = self.tally
        given = self._given(client, job, deadline)
        self._end(client, job)
        if given is None:
            return
        if client is self.exempt:
            if not broken(given):
                tally.strict.append((case, given))
            return
        tally.started[case.kind] += 1
        wrong = broken(given)
        if wrong:
            tally.escaped.append((case, given, wrong))
        if given.overpaid:
            tally.overpaid.append((case, given))

    def _refused(self, since: int) -> bool:
        """Whether it was adminkit that refused the last request."""
        return re.search(r"adminkit: refused job", self.ruled.log(since)) is not None

    def _ask_slurm(self, case: Case, answer: str) -> None:
        """What Slurm would have done with a request that was refused."""
        job, _ = self._start(case, self.exempt)
        if job is not None:
            self.tally.refused[case.kind] += bool(case.update)
            self._look(case, job, self.exempt)
        if case.within:
            self.tally.unkind.append((case, answer))

    def _start(self, case: Case, client: Client) -> tuple[int | None, str]:
        """The job, or what was answered. Nothing of a job that does not start is left."""
        self._asker = client
        if case.update:
            return self._start_updated(case, client)
        job, answer = self._start_at_once(case, client)
        if job is None and BUSY.search(answer) and (self._ending or self._waiting):
            self.wait()  # Trap: beside other work the scheduler comes late to those that wait
            self.settle()
            job, answer = self._start_at_once(case, client)
        return job, answer

    def _start_at_once(self, case: Case, client: Client) -> tuple[int | None, str]:
        return client.allocate(case.fields) if case.program == "raw" else self._start_typed(case, client)

    def _start_typed(self, case: Case, client: Client) -> tuple[int | None, str]:
        self.settle()
        more = {
            "salloc": ("--no-shell", "-I"),
            "sbatch": ("-o", "/dev/null", "--wrap", "sleep 60"),
            "srun": ("-I", "true"),
        }
        before = (case.program, *more[case.program][:2]) if case.program == "sbatch" else (case.program,)
        tail = more["sbatch"][2:] if case.program == "sbatch" else more[case.program]
        options = (*before, *case.words, *tail) if case.program != "salloc" else (*before, *tail, *case.words)
        said = self.ruled.run(*options, user=client.user, env={"SLURM_JOB_NAME": "spelt", **case.env})
        if case.program == "srun":
            jobs = self.ruled.cluster.ask("squeue", "-h", "-a", "-t", "all", "-u", client.user, "-o", "%A", "-S", "-i")
            newest = jobs.split()[0] if jobs else None
            return (int(newest), "") if said.accepted and newest else (None, said.text)
        return (said.job, "") if said.accepted else (None, said.text)

    def _start_updated(self, case: Case, client: Client) -> tuple[int | None, str]:
        job, answer = client.allocate(case.fields, at_once=False)
        if job is None:
            return None, answer
        change = "\t".join(f"{name}={value}" for name, value in case.update.items())
        answer = client.ask(f"update {job}\t{change}")
        if answer.startswith("error"):
            client.end(job)
            return None, answer
        return job, ""

    def _given(self, client: Client, job: int, deadline: float) -> Given | None:
        """What the job was given, which may start until then."""
        while True:
            state, given = client.given(job)
            if given is not None or state & 0xFF > RUNNING or time.monotonic() > deadline:
                return given
            time.sleep(0.05)

    def _end(self, client: Client, job: int) -> None:
        client.end(job)
        self._ending.append(job)

    def settle(self) -> None:
        """Wait until the nodes of ended jobs are free again."""
        for job in self._ending:
            until("a node to be free", lambda job=job: not self.user.given(job)[0] & COMPLETING, 20, pause=0.01)
        self._ending.clear()

    def close(self) -> None:
        self.settle()
        self.user.close()
        self.exempt.close()


@pytest.fixture(scope="module")
def program(ruled_session: Ruled) -> Path:
    return built(ruled_session)


def create_whole(cluster: Cluster) -> None:
    cluster.ask("scontrol", "create", "PartitionName=whole", "Nodes=ALL", "OverSubscribe=EXCLUSIVE", "MaxTime=1-0")


@pytest.fixture(scope="module")
def spelt(ruled_session: Ruled) -> Iterator[Ruled]:
    """The rules, points for each class, a queue of whole nodes and a QOS; gone afterwards."""
    ruled, cluster = ruled_session, ruled_session.cluster
    create_whole(cluster)
    cluster.run("sacctmgr", "-i", "add", "qos", "brief")
    cluster.run("sacctmgr", "-i", "modify", "user", "games,www-data", "set", "qos+=brief")
    (ruled.inner / "incentives.lua").write_text(module(POINTS, "a test"))
    ruled.rules(RULES)
    yield ruled
    ruled.clear()
    (ruled.inner / "incentives.lua").unlink()
    ruled.text = ""
    until("the queues to be empty", lambda: cluster.ask("squeue", "-h") == "", 30)
    cluster.ask("scontrol", "delete", "PartitionName=whole")


def judged(spelt: Ruled, program: Path, count: int) -> Tally:
    trial = Trial(spelt, program)
    for number, case in enumerate(cases(SEED, count)):
        if number % TURN == 0:
            trial.begin_turn(number % (3 * TURN) == TURN, case)
        try:
            trial.run(case)
        except Exception as error:
            error.add_note(f"number {number} of seed {SEED}: {case}")
            raise
    trial.crowd(False)
    trial.close()
    tally = trial.tally
    print(tally.told())
    if "ADMINKIT_SPELLINGS" in os.environ:
        for what, lot in (
            ("strict", tally.strict),
            ("escaped", tally.escaped),
            ("over", tally.overpaid),
            ("unkind", tally.unkind),
            ("fatal", tally.fatal),
        ):
            for one in lot:
                print(what, *one)
        print({k: (tally.tried[k], tally.started[k], tally.refused[k]) for k in kinds()})
    # Trap: any user ends 24.11.5's slurmctld by --spread-job with --ntasks-per-gpu; it was seen in eval_nodes_gres.
    assert tally.fatal == [] or machine.release()[:2] == (24, 11), "slurmctld ended"
    assert tally.escaped == [], "ran outside a rule that let them pass"
    assert tally.overpaid == [], "got points for a class that they are not of"
    assert tally.unkind == [], "plain, within the rules, and refused"
    unexplained = [(case, given) for case, given in tally.strict if not doubts(case)]
    assert unexplained == [], "refused for a reason that docs/policy/numbers.md does not name"
    return tally


def test_no_spelling_passes_a_rule(spelt: Ruled, program: Path) -> None:
    tally = judged(spelt, program, int(os.environ.get("ADMINKIT_SPELLINGS", SHORT)))
    assert tally.started.total() > SHORT // 6, tally.told()
    assert tally.refused.total() > SHORT // 10, tally.told()


@pytest.mark.soak
def test_no_spelling_of_twenty_thousand_passes_a_rule(spelt: Ruled, program: Path) -> None:
    tally = judged(spelt, program, LONG)
    assert tally.started.total() >= LONG // 5, tally.told()
    assert {kind: tally.tried[kind] for kind in kinds() if tally.tried[kind] < 20} == {}
