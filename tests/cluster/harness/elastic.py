"""A cluster whose jobs can opt in to other numbers of GPUs: the plugin, the rules, and `adminkit elastic` on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.checkpoint import Job, Watched, watched
from tests.cluster.harness.cluster import Word
from tests.cluster.harness.processes import until
from tests.cluster.harness.ruled import ADMINKIT, Ruled, ruling

#: Seconds: the lead, twice which a run must last before it may be changed.
WISH = "TERM@3,requeue=9"
RULES = 'record = "admin_comment"\n'
#: No hour has to pass here, and an order is void soon.
QUICK = {"ADMINKIT_ELASTIC_BETWEEN": "0", "ADMINKIT_ELASTIC_RESTART": "5", "ADMINKIT_ELASTIC_PATIENCE": "60"}
HELD = "job_requeued_in_held_state"


@dataclass
class Elastic:
    """`db`: a trace that need not be there."""

    watched: Watched
    ruled: Ruled
    db: Path

    def submit(
        self, script: str, *options: Word, opts: str | None = "1-4", wish: str = WISH, user: str = "games"
    ) -> Job:
        """A job with one GPU, or as many as `options` say, that opted in to `opts`."""
        env = {} if opts is None else {"ADMINKIT_ELASTIC": opts}
        gpus = () if any(str(one).startswith("--g") for one in options) else ("--gres=gpu:1",)
        return self.watched.submit(
            script, "-t", "20", "--open-mode=append", *gpus, *options, wish=wish, user=user, env=env
        )

    def adminkit(self, *words: Word, code: int | None = 0, **env: str) -> subprocess.CompletedProcess[str]:
        more = () if "revoke" in words else ("--db", self.db)
        return self.ruled.adminkit("elastic", *words, *more, code=code, env={**QUICK, **env})

    def rows(self, *words: Word, code: int | None = 0, **env: str) -> list[dict[str, Any]]:
        return json.loads(self.adminkit(*words, "--format", "json", code=code, **env).stdout)["rows"]  # type: ignore[no-any-return]

    def begin(self, *words: Word, **env: str) -> subprocess.Popen[bytes]:
        """`adminkit elastic …` that goes on, to be killed."""
        cluster = self.ruled.cluster
        whole = {
            **cluster.env(), **QUICK, "ADMINKIT_CONFIG": "", "ADMINKIT_ACTS": str(self.ruled.acts),
            "PATH": f"{ADMINKIT.parent}:{cluster.env()['PATH']}", **env,
        }  # fmt: skip
        return subprocess.Popen(
            [str(word) for word in (ADMINKIT, "elastic", *words, "--db", self.db)],
            env=whole, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def field(self, job: Job, name: str) -> str:
        return self.watched.shown(job).get(name, "").strip()

    def comment(self, job: Job) -> str:
        return self.ruled.cluster.ask("squeue", "-h", "-a", "-j", str(job.id), "-O", "admin_comment:400").strip()

    def gpus(self, job: Job) -> int:
        return int(self.field(job, "TresPerNode").rpartition(":")[2])

    def runs_for(self, job: Job, seconds: float, run: int = 1) -> None:
        """Wait until its run of that number has lasted so long."""
        until(f"run {run} of job {job.id}", lambda: len(job.times("start")) >= run, 120)
        time.sleep(max(0.0, job.times("start")[run - 1] + seconds - time.time()))

    def acts(self) -> list[dict[str, Any]]:
        lines = self.ruled.acts.read_text().splitlines() if self.ruled.acts.exists() else []
        return [act for act in map(json.loads, lines) if act["what"] == "elastic"]


def kill(process: subprocess.Popen[bytes]) -> None:
    """As a crash does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def elastic(**settings: str) -> Iterator[Elastic]:
    with private_slurm(nodes=1, **settings) as booted:
        seen = watched(booted)
        seen.configure("quiet=5", "poll=5")
        with ruling(booted) as ruled:
            ruled.rules(RULES)
            yield Elastic(seen, ruled, booted.folder / "trace.db")
