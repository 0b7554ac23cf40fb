"""One run of sync for one cluster: its options, its connections, its summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from adminkit.gres import GpuSettings
from adminkit.ingest.helper import Counts
from adminkit.ingest.sources.base import Source
from adminkit.ingest.window_plan import HOUR
from adminkit.sqlite import sqlite3

#: (seconds of time asked for so far, seconds in all or None, jobs read)
Tick = Callable[[float, float | None, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run; times in seconds."""

    db: Path
    since: int | None = None  # where a first run begins, epoch seconds
    overlap: int = 2 * HOUR
    budget: int = 50_000
    jobs: int = 1
    steps: bool = True
    steps_pause: float = 0.5
    timeout: float = 300.0
    acts: Path | None = None  # this host's action log, if there is one
    gpus: GpuSettings = field(default_factory=GpuSettings)
    verify: int | None = None  # runs to compare with sacct; None: the usual number, where it has not been done
    record: str = "admin_comment"  # the field with the policy's record, as policy.toml names it


@dataclass(slots=True)
class Summary:
    """What one run did for one cluster."""

    cluster: str
    closed: Counts = field(default_factory=Counts)
    open: Counts = field(default_factory=Counts)
    steps: Counts = field(default_factory=Counts)
    windows: int = 0
    provisional: int = 0
    revoked: int = 0
    looked_up: int = 0
    lost: int = 0
    rebuilt: int = 0
    reconciled: int = 0


@dataclass(slots=True)
class SyncRun:
    """One run for one cluster: the trace's connection, the source, the summary."""

    db: sqlite3.Connection
    source: Source
    options: Options
    talk: Callable[[str], None]
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    tick: Tick = lambda done, total, jobs: None
    summary: Summary = field(init=False)
    told: set[bytes] = field(default_factory=set)  # records set aside in this run, so that each is said once

    def __post_init__(self) -> None:
        self.summary = Summary(self.cluster)

    @property
    def cluster(self) -> str:
        return self.source.cluster
