"""slurmctld's host, with Slurm and the sources replaced, for whole rounds of `adminkit idle`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adminkit import actions
from adminkit.config import Config
from adminkit.deploy import idle_round
from adminkit.deploy.idle_state import State, read_state
from adminkit.errors import AdminkitError
from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.slurm.squeue import QueuedJob
from adminkit.usage.held import Held, held
from adminkit.usage.settings import Settings
from adminkit.usage.usage import Answer, GpuUse
from tests.usage.jobs import NOW, use

AWAY = "couldn't ask http://prom:9090: connection refused"
IDLE = (use(0), use(1))
USED = (use(0, quiet=0), use(1, quiet=0))


@dataclass
class World:
    """slurmctld's host: its jobs, what a source measures of them, and each call that changed something."""

    folder: Path
    settings: Settings | None
    jobs: dict[int, GpuJob]
    uses: dict[int, Sequence[GpuUse]]
    away: bool = False
    refuses: set[str] = field(default_factory=set)
    calls: list[tuple[str, int, str]] = field(default_factory=list)
    looks: list[list[int]] = field(default_factory=list)
    second: dict[int, Sequence[GpuUse]] | None = None  # what the second look measures

    @property
    def config(self) -> Config:
        return Config(acts=self.folder / "acts.jsonl")

    def once(self, now: int = NOW, **more: Any) -> idle_round.Round:
        return idle_round.once(self.folder, self.config, now, **more)

    def recorded(self) -> list[tuple[str, int, bool | None]]:
        return [(one["did"], one["job"], one["held"]) for one in actions.read(self.config.acts)]

    def state(self) -> State:
        return read_state(self.folder, NOW)

    def gpu_jobs(self, only: Collection[int] = (), user: str | None = None) -> list[GpuJob]:
        there = [one for number, one in self.jobs.items() if not only or number in only]
        return [one for one in there if user in (None, one.listed.user)]

    def measure(self, jobs: Sequence[GpuJob], now: int) -> tuple[list[Held], list[str]]:
        self.looks.append([one.job_id for one in jobs])
        uses = self.uses if self.second is None or len(self.looks) % 2 else self.second
        given = Answer(source="dcgm", at=None, uses={} if self.away else uses)
        return held(jobs, [given], NOW, 300), [AWAY] if self.away else []

    def now_of(self, job_ids: Sequence[int]) -> dict[int, QueuedJob]:
        return {number: self.jobs[number].listed for number in job_ids if number in self.jobs}

    def call(self, what: str, of: QueuedJob, text: str = "") -> None:
        if what in self.refuses:
            raise AdminkitError(f"couldn't {what}")
        self.calls.append((what, of.job_id, text))
        if what == "comment":
            self.jobs[of.job_id] = replace(self.jobs[of.job_id], listed=replace(of, admin_comment=text))


def did(done: idle_round.Round) -> list[tuple[int, str, str]]:
    return [(one.act.held.job.job_id, one.act.did, one.act.why) for one in done.done]
