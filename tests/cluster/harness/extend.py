"""A cluster whose running jobs may be given more time, and `adminkit extend` on it, a round at a time."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adminkit.deploy import extend_round
from adminkit.deploy.extend_state import State, read_state
from adminkit.extend.words import Given, given_of
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import ADMINKIT, Ruled, ruling

#: A job of two minutes is near its end from its start, and is given two more.
ASKED, STEP = 120, 120
GIVEN = ("given", "free")
SCHEDULER = "sched_interval=1,batch_sched_delay=0,bf_interval=2"
QUEUES = ("PartitionName=tiny Nodes=ALL MaxTime=00:03:00 DefaultTime=00:01:00",)
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")


def policy(**changes: object) -> str:
    """The text of policy.toml behind its head; `changes` are keys of [extend]."""
    keys = {"enabled": True, "step": "00:02:00", "lead": "00:02:00", "most": 10.0, "budget": "24h", **changes}
    return "\n".join(
        ['record = "admin_comment"', "[extend]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items()), ""]
    )


@dataclass(frozen=True)
class Shown:
    """What slurmctld has of a job: its limit in seconds, and the word of `adminkit extend`."""

    state: str
    limit: int
    given: Given | None
    start: int = 0
    comment: str = ""


@dataclass
class Extending:
    ruled: Ruled

    @property
    def cluster(self) -> Cluster:
        return self.ruled.cluster

    def submit(
        self,
        *options: str,
        user: str = "games",
        script: str = "sleep 900",
        extend: str | None = None,
        runs: bool = True,
    ) -> int:
        """A job of two minutes on one CPU unless `options` say otherwise, that runs."""
        words = ("sbatch", "--mem=100", "-t", "2", "-o", "/dev/null", *options, "--wrap", script)
        said = self.ruled.run(*words, user=user, env={"ADMINKIT_EXTEND": extend} if extend else {})
        assert said.job is not None, said
        if runs:
            self.cluster.wait(said.job, "RUNNING", 30)
        return said.job

    def planned(self, *options: str, user: str = "news") -> int:
        """A job that waits, and that backfill has planned on nodes."""
        job = self.submit(*options, user=user, runs=False)

        def has_plan() -> bool:
            shown = self.ruled.job(job)
            return shown["StartTime"] != "Unknown" and shown.get("SchedNodeList", "(null)") != "(null)"

        until("backfill to have planned it", has_plan, 30)
        return job

    def all(self) -> dict[int, Shown]:
        """Every job that slurmctld knows, by its raw id."""
        shape = "JobID:20,State:20,TimeLimit:20,StartTime:40,admin_comment:500"
        words = ("squeue", "-h", "-a", "-r", "-t", "all", "-O", shape)
        text = self.cluster.run(*words, env={"SLURM_TIME_FORMAT": "%s"}).text
        found = {}
        for line in text.splitlines():
            job, state, limit, start, *comment = line.split(maxsplit=4)
            words_ = comment[0].strip() if comment else ""
            begun = int(start) if start.isdigit() else 0
            found[int(job)] = Shown(state, seconds(limit), given_of(words_), begun, words_)
        return found

    def shown(self, job: int) -> Shown:
        return self.all()[job]

    def round(self, code: int | None = 0, path: Path | None = None) -> dict[int, tuple[str, str]]:
        """A round, as the timer runs it; by job what it did and why. `path` is a folder that comes first in PATH."""
        env = {} if path is None else {"PATH": f"{path}:{ADMINKIT.parent}:{self.cluster.env()['PATH']}"}
        before = len(self.acts())
        self.ruled.adminkit("extend", "run", "--apply", code=code, env=env)
        return {act["job"]: (act["did"], act["why"]) for act in self.acts()[before:]}

    def ahead(self, seconds: int) -> dict[int, tuple[str, str]]:
        """A round by a clock that is so many seconds ahead: jobs are as near to their ends."""
        before = len(self.acts())
        extend_round.once(self.ruled.folder, int(time.time()) + seconds, self.ruled.acts)
        return {act["job"]: (act["did"], act["why"]) for act in self.acts()[before:]}

    def acts(self) -> list[dict[str, Any]]:
        lines = self.ruled.acts.read_text().splitlines() if self.ruled.acts.exists() else []
        return [act for act in map(json.loads, lines) if act["what"] == extend_round.WHAT]

    def state(self) -> State:
        """What the rounds keep."""
        return read_state(self.ruled.folder, int(time.time()), True, 0)

    def given(self) -> dict[int, int]:
        """Seconds by user that count for the budgets of this month."""
        return dict(self.state().given)

    def audit(self, asked: int = ASKED) -> None:
        """No job has a limit that nobody decided, or none of what was decided; none has less than it asked for. What
        users were given is counted, and never too little.
        """
        limits: dict[int, int] = {}
        given: dict[int, int] = {}
        for act in self.acts():
            if act["becomes"] is not None:
                assert act["becomes"] >= act["asked"], act
            if act["held"]:
                limits[act["job"]] = act["becomes"]
                given[act["uid"]] = given.get(act["uid"], 0) + act["becomes"] - act["was"]
        for job, shown in self.all().items():
            if shown.state in ("RUNNING", "COMPLETED", "TIMEOUT"):
                word = shown.given
                assert shown.limit == (asked if word is None else word.limit) >= asked, (job, shown)
                assert limits.get(job, asked) == shown.limit, (job, shown, limits.get(job))
        counted = self.given()
        assert all(counted.get(uid, 0) >= seconds_ for uid, seconds_ in given.items()), (counted, given)

    def clear(self) -> None:
        self.ruled.clear()
        for name in re.findall(r"ReservationName=(\S+)", self.cluster.run("scontrol", "show", "reservation").text):
            self.cluster.run("scontrol", "delete", f"ReservationName={name}")
        until("the nodes to be empty", lambda: self.cluster.ask("squeue", "-h", "-a") == "", 60, pause=0.2)


def seconds(clock: str) -> int:
    """Of squeue's 1-02:03:04."""
    found = _CLOCK.fullmatch(clock)
    assert found, clock
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


@contextmanager
def extending(nodes: int = 4, **settings: str) -> Iterator[Extending]:
    """A booted cluster with [extend] in force; no timer runs."""
    whole = {
        "SchedulerParameters": SCHEDULER,
        "AccountingStorageEnforce": "associations,limits,qos",
        "MessageTimeout": "5",
        **settings,
    }
    with private_slurm(nodes=nodes, SlurmUser=SLURM_USER, **whole) as cluster, ruling(cluster, *QUEUES) as ruled:
        ruled.rules(policy())
        yield Extending(ruled)
