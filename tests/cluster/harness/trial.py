"""A cluster on which a trial may run: what is in place, rounds by a moved clock, and what the record says."""

from __future__ import annotations

import json
import os
import pwd
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adminkit.deploy import trial_round
from adminkit.deploy.extend_state import alone_here
from adminkit.deploy.install import Target
from adminkit.deploy.trial import TRIAL, WHAT, Side, Trial
from adminkit.deploy.trial_sides import INCLUDED
from adminkit.deploy.trial_state import LIVE, Whole, read_whole, write_whole
from adminkit.deploy.trial_work import Round
from adminkit.errors import AdminkitError
from adminkit.slurm.planning import PARAMETER
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import HEAD, Ruled, at_most, ruling

DAY = 86_400
#: Trap: of a file without a line each program of Slurm says that it is empty.
COMMENT = "# adminkit trial\n"
#: What A and B have of each part: gq takes so many hours by the policy, and so on.
A = {"policy": 20, "PriorityWeightAge": "1000", "bf_window": "1440", "MaxTime": "3-00:00:00"}
B = {"policy": 12, "PriorityWeightAge": "20000", "bf_window": "5760", "MaxTime": "1-00:00:00"}
FILE = """version = 1
[b]
policy = "policy-b.toml"
[b.slurm]
PriorityWeightAge = 20000
SchedulerParameters = { bf_window = 5760 }
[b.queues.gq]
MaxTime = "1-00:00:00"
"""
#: Soft limits of B's policy, and what games' jobs of the name `train` needed.
SOFT = '[soft_limits]\nenabled = true\nleast = "00:05:00"\ngap = "00:10:00"\nquantile = 50\noutlived = 60\nwide = 0\n'
NEEDS: dict[str, Any] = {
    "format": 1, "made_at": 1, "quantiles": [50, 75, 90],
    "users": {pwd.getpwnam("games").pw_uid: {"train": {"gq": "300-600-900"}}},
}  # fmt: skip


@dataclass
class Trying:
    ruled: Ruled
    skip: int = 0  # seconds by which the clock of the rounds is ahead

    @property
    def cluster(self) -> Cluster:
        return self.ruled.cluster

    @property
    def folder(self) -> Path:
        return self.ruled.folder

    @property
    def file(self) -> Path:
        return self.cluster.folder / "trial.toml"

    @property
    def target(self) -> Target:
        group = pwd.getpwnam(SLURM_USER).pw_gid
        return Target(self.folder, self.cluster.name, group=group, log=self.ruled.acts)

    def now(self) -> int:
        return int(time.time()) + self.skip

    def start(self, text: str = FILE, code: int = 0, more: str = "") -> str:
        """The trial that `trial start` writes; its own errors where `code` says so. `more`: of B's policy."""
        self.file.write_text(text)
        (self.cluster.folder / "policy-b.toml").write_text(HEAD + at_most(12) + more)
        said = self.ruled.adminkit(
            "trial", "start", self.file, "--days", "14", "--seed", "1", "--carry-over", "1h", "--apply", code=code
        )
        return said.stderr if code else said.stdout

    def to(self, side: Side, nth: int = 0) -> Trial:
        """Move the clock into a day of this side: its noon."""
        day = [one for one in self.whole.trial.days if one.on is (side == "b")][nth]
        self.skip = day.since + DAY // 2 - int(time.time())
        return self.whole.trial

    def move_here(self, side: Side) -> Trial:
        """Move the days instead of the clock: it is noon of the second day of this side, for jobs of these minutes."""
        self.skip, whole = 0, self.whole
        trial = whole.trial
        day = [one for one in trial.days if one.on is (side == "b")][1]
        shift = day.since + DAY // 2 - int(time.time())
        days = [replace(one, since=one.since - shift, until=one.until - shift) for one in trial.days]
        write_whole(self.folder, replace(whole, trial=replace(trial, days=days)), self.target.group)
        return self.whole.trial

    def round(self, ok: bool = True) -> Round:
        done = trial_round.once(self.target, self.now())
        assert done.ok is ok, done.notes
        return done

    def restore(self) -> Round:
        return trial_round.restore(self.target, self.now())

    @property
    def whole(self) -> Whole:
        found = read_whole(self.folder)
        assert found is not None
        return found

    def there(self) -> dict[str, Any]:
        """What slurmctld goes by."""
        config = self.cluster.ask("scontrol", "show", "config")
        words = dict(line.split("=", 1) for line in config.splitlines() if "=" in line)
        words = {name.strip(): value.strip() for name, value in words.items()}
        options = dict(word.partition("=")[::2] for word in words["SchedulerParameters"].split(","))
        queue = self.cluster.ask("scontrol", "-o", "show", "partition", "gq")
        keys = dict(word.partition("=")[::2] for word in queue.split())
        return {
            "policy": self.ruled.most(),
            "PriorityWeightAge": words["PriorityWeightAge"],
            "bf_window": options["bf_window"],
            "MaxTime": keys["MaxTime"],
        }

    def acts(self) -> list[tuple[str, str]]:
        lines = self.ruled.acts.read_text().splitlines()
        acts = [act for act in map(json.loads, lines) if act["what"] == WHAT]
        return [(act["did"], act.get("side") or act.get("why") or "") for act in acts]

    def end(self) -> None:
        """No trial, and A in place."""
        self.skip = 0
        if (self.folder / TRIAL).exists():
            whole = self.whole
            if whole.trial.ended is None:
                trial_round.stop(self.target, self.now(), "the test is over")
            (self.folder / TRIAL).unlink()
        (self.folder / LIVE).unlink(missing_ok=True)
        self.ruled.acts.write_text("")
        if self.there() == A:
            return
        (self.folder / INCLUDED).write_text(COMMENT)
        self.cluster.ask("scontrol", "reconfigure")
        self.ruled.text = ""
        self.ruled.rules(at_most(20))
        self.cluster.ask("scontrol", "update", "PartitionName=gq", f"MaxTime={A['MaxTime']}")


@contextmanager
def trying() -> Iterator[Trying]:
    """A booted cluster with A in place, and slurm.conf that includes the trial's file; no timer runs."""
    settings: dict[str, str] = {
        "SchedulerParameters": f"sched_interval=1,bf_interval=2,bf_window=1440,{PARAMETER}",
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": "1000",
        "AccountingStorageEnforce": "associations,limits,qos",
        "EnforcePartLimits": "ALL",
        "MessageTimeout": "2",
    }
    with private_slurm(nodes=2, kind=Cluster, SlurmUser=SLURM_USER, **settings) as cluster:
        (cluster.home / INCLUDED).write_text(COMMENT)
        conf = cluster.home / "slurm.conf"
        conf.write_text(conf.read_text().replace("DefaultTime=UNLIMITED", "DefaultTime=02:00:00"))
        with ruling(cluster, f"Include {INCLUDED}") as ruled:
            found = Trying(ruled)
            found.end()
            yield found


def kill_round(site: Trying, seconds: float) -> None:
    """A round in a process of its own, killed with all that it started."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, none of which the child needs
        child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            site.round()
        finally:
            os._exit(0)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(child, child)  # whoever of the two is first
    time.sleep(seconds)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # Trap: a program that the round was about to start has the lock too, until it is that program.
    until("the lock of the round to be free", lambda: is_free(site), 30, pause=0.05)


def is_free(site: Trying) -> bool:
    try:
        with alone_here(site.folder, trial_round.LOCK):
            return True
    except AdminkitError:
        return False
