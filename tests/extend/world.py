"""slurmctld with a few jobs, where anything may fail, and the host on which rounds are at work."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adminkit import actions
from adminkit.deploy import extend_round
from adminkit.deploy.extend_round import once
from adminkit.deploy.extend_state import State, read_state
from adminkit.errors import AdminkitError
from adminkit.slurm import extending
from adminkit.slurm.extending import Queue
from adminkit.slurm.room import Room, RoomJob
from adminkit.slurm.squeue import QueuedJob
from tests.extend.jobs import RECORD, listed, run
from tests.fit.rooms import NOW, make, node, taken

MARGIN = 120
AWAY = AdminkitError("couldn't reach slurmctld", "scontrol ping")
MINE = (run(1), RECORD)


@dataclass
class World:
    """slurmctld: its jobs in both views, and the calls that fail, by name; `acting`: whether this host's is at work."""

    jobs: dict[int, tuple[RoomJob, QueuedJob]]
    fails: set[str] = field(default_factory=set)
    calls: list[tuple[int, int]] = field(default_factory=list)
    acting: bool = True
    meanwhile: dict[int, dict[str, Any]] = field(default_factory=dict)  # what becomes of jobs behind the snapshot
    afterwards: dict[int, dict[str, Any]] = field(default_factory=dict)  # and behind an update
    overwrites: str = ""  # the comment that another writes just behind an update

    def queue(self, now: int) -> Queue:
        self._may("queue")
        rooms, found = zip(*self.jobs.values(), strict=True) if self.jobs else ((), ())
        return Queue(now, {}, rooms, found)

    def room_around(self, of: Queue, names: Collection[str]) -> tuple[Room, str]:
        self._may("room")
        there = [node(name, taken(*(job for job in of.jobs if name in job.nodes and job.runs))) for name in names]
        return make(there, *of.jobs), ""

    def again(self, job_ids: Collection[int]) -> dict[int, QueuedJob]:
        self._may("after" if self.calls else "again")
        for number, changes in (self.afterwards if self.calls else self.meanwhile).items():
            room, one = self.jobs[number]
            self.jobs[number] = room, replace(one, **changes)
        return {number: self.jobs[number][1] for number in job_ids if number in self.jobs}

    def move_limit(self, job: QueuedJob, by: int, comment: str) -> None:
        self._may("update")
        self.calls.append((job.job_id, by))
        room, one = self.jobs[job.job_id]
        if "held" not in self.fails:
            limit = (one.time_limit or 0) + by
            self.jobs[job.job_id] = (
                replace(room, time_limit=limit),
                replace(one, time_limit=limit, admin_comment=self.overwrites or comment),
            )
        self._may("killed")

    def set_comment(self, job: QueuedJob, comment: str) -> None:
        self._may("comment")
        room, one = self.jobs[job.job_id]
        self.jobs[job.job_id] = room, replace(one, admin_comment=comment)

    def is_acting(self, others: Collection[str]) -> bool:
        return self.acting

    def _may(self, what: str) -> None:
        if what in self.fails:
            raise KeyboardInterrupt if what == "killed" else AWAY


@dataclass
class Host:
    """slurmctld's host: the folder of job_submit.lua and the action log."""

    folder: Path
    log: Path

    def once(self, now: int = NOW, others: tuple[str, ...] = ()) -> extend_round.Round:
        return once(self.folder, now, self.log, None, others)

    def recorded(self) -> list[tuple[str, int, int | None, str, bool | None]]:
        acts = actions.read(self.log)
        return [(one["did"], one["job"], one["becomes"], one["why"], one["held"]) for one in acts]

    def state(self, now: int = NOW) -> State:
        return read_state(self.folder, now, True, MARGIN)


def world(monkeypatch: pytest.MonkeyPatch, *jobs: tuple[RoomJob, str], **more: Any) -> World:
    made = World({room.job_id: (room, listed(room, comment)) for room, comment in jobs}, **more)
    for name in ("queue", "room_around", "again", "move_limit", "set_comment", "is_acting"):
        monkeypatch.setattr(extending, name, getattr(made, name))
    return made
