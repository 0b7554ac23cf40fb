"""The reading of `sync --source slurmdbd`, and its whole passes, over jobs with a step each, against the bare sacct
calls of the same windows; the job pass against the database's client writing the same rows to nowhere and an import of
them from files; and the memory of the whole command, with ten times as many jobs too.

A pass is its reading and its import, which happen side by side; the import costs the same whatever the source is.

Needs root and Slurm's packages: it boots a private cluster, as tests/cluster does.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from adminkit.ingest.answer import take_in
from adminkit.ingest.sources.base import JOBS as JOB_PASS
from adminkit.ingest.sources.base import STEPS as STEP_PASS
from adminkit.ingest.sources.base import Part, Spool
from adminkit.ingest.sources.slurmdbd import Slurmdbd, opener
from adminkit.ingest.sync_run import Options, SyncRun
from adminkit.ingest.sync_windows import ask_windows
from adminkit.ingest.window_plan import Window
from adminkit.slurm.database import Database
from adminkit.slurm.release import FINISHED
from adminkit.slurm.sacct import Query
from adminkit.trace import connect
from tests.bench import pairs
from tests.bench.bench_sync import DAYS, JOBS, fields, on_cluster, timed
from tests.bench.tools import fresh
from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.generated import add_jobs

#: Fewer pairs where one takes minutes.
_FEW = 3
#: Jobs of the larger run, and the most memory of either, bytes.
MANY, MEMORY = 3_000_000, 150e6


@dataclass
class _Kept(Slurmdbd):
    """Asks slurmctld for nothing, and keeps the SQL of each answer and a copy of it."""

    answers: list[tuple[str, Spool]] = field(default_factory=list)

    def backlog(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class _Recorded(Database):
    """Keeps the SQL of what it spools."""

    asked: list[str] = field(default_factory=list)

    def spool(self, sql: str, target: Path) -> float:
        self.asked.append(sql)
        return Database.spool(self, sql, target)


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    return on_cluster("sync from slurmdbd's database", _measure, folder)


def _measure(cluster: Cluster, folder: Path) -> Iterator[pairs.Ratio]:
    start = (int(time.time()) - DAYS * 86_400) // 3600 * 3600
    add_jobs(cluster, JOBS, start, steps=True)
    options = folder / "slurmdbd.cnf"
    options.touch(mode=0o600)
    options.write_text(f"[client]\nsocket={cluster.socket}\nuser=root\ndatabase={DATABASE}\n")
    db, work = folder / "slurmdbd.db", _Work(options, start)
    passes: tuple[tuple[Part, float, int], ...] = ((JOB_PASS, 1 / 6, pairs.PAIRS), (STEP_PASS, 1 / 30, _FEW))
    for part, bar, many in passes:
        windows = work.windows(fresh(db), part)
        calls = [
            Query("alpha", since, until, FINISHED, fields(cluster, part), steps=part == STEP_PASS).argv("\x1f")
            for since, until in windows
        ]
        theirs = _Once(lambda calls=calls: timed(calls, cluster))  # type: ignore[misc]
        yield pairs.compare(
            f"reading {JOBS} {part}s, against the bare sacct calls",
            lambda part=part, windows=windows: work.reading(fresh(db), part, windows),  # type: ignore[misc]
            theirs.again,
            bar,
            at_most=True,
            pairs=many,
        )
        pairs.compare(
            f"  the whole {part} pass, for information",
            lambda part=part: work.seconds(fresh(db), part),  # type: ignore[misc]
            theirs.kept,
            bar,
            at_most=True,
            pairs=many,
        )
    yield pairs.compare(
        f"job pass over {JOBS} jobs, against the client alone and an import from files",
        lambda: work.seconds(fresh(db), JOB_PASS),
        lambda: work.apart(fresh(db)),
        2.0,
        at_most=True,
    )
    for jobs in (JOBS, MANY):
        if jobs > JOBS:
            add_jobs(cluster, jobs - JOBS, start - jobs, steps=True, first=2_000_000)
        command = work.command(fresh(db), start - jobs, cluster)
        seconds, peak = pairs.cost(command)
        met = "met" if peak <= MEMORY else "MISSED"
        print(
            f"sync over {jobs} jobs with a step each: {peak / 1e6:.0f} MB resident at the peak,"
            f" target ≤ {MEMORY / 1e6:.0f} MB {met}   ({seconds:.0f} s of processor time)",
            flush=True,
        )


@dataclass
class _Once:
    """Seconds of what is too slow to be measured for two comparisons."""

    measure: Callable[[], float]
    seconds: list[float] = field(default_factory=list)
    used: int = 0

    def again(self) -> float:
        self.seconds.append(self.measure())
        return self.seconds[-1]

    def kept(self) -> float:
        self.used += 1
        return self.seconds[self.used - 1]


@dataclass(frozen=True, slots=True)
class _Work:
    """The passes over the jobs since a time."""

    option_file: Path
    since: int

    @contextmanager
    def _run(self, db: Path) -> Iterator[SyncRun]:
        with connect.writer(db) as trace, tempfile.TemporaryDirectory(dir=db.parent) as spool:
            options = Options(db, steps_pause=0.0)
            found = opener(self.option_file)("alpha", Path(spool), timeout=options.timeout, record=options.record)
            assert isinstance(found, Slurmdbd)
            recorded = _Recorded(found.database.option_file, found.database.timeout)
            yield SyncRun(trace, _Kept(**{**vars(found), "database": recorded}), options, print)

    def seconds(self, db: Path, part: Part) -> float:
        """Seconds of a whole pass, in a trace made before."""
        with self._run(db) as run:
            started = time.perf_counter()
            ask_windows(run, part, self.since, int(time.time()))
            return time.perf_counter() - started

    def reading(self, db: Path, part: Part, windows: Sequence[tuple[int, int]]) -> float:
        """Seconds of the answers to these windows, each whole in a file, with the words that they need."""
        with self._run(db) as run:
            started = time.perf_counter()
            for since, until in windows:
                run.source.closed(part, Window(since, until)).path.unlink()
            return time.perf_counter() - started

    def command(self, db: Path, since: int, cluster: Cluster) -> list[str]:
        """The whole command, as a timer runs it."""
        settings = {"ADMINKIT_SYNC_SOURCE": "slurmdbd", "ADMINKIT_SYNC_OPTION_FILE": str(self.option_file)}
        program = str(Path(sys.executable).with_name("adminkit"))
        named = [f"{name}={value}" for name, value in {**cluster.env(), **settings}.items()]
        return ["env", *named, program, "sync", "--steps", "--since", str(since), "--db", str(db)]

    def windows(self, db: Path, part: Part) -> Sequence[tuple[int, int]]:
        self.seconds(db, part)
        with closing(sqlite3.connect(db)) as trace:
            return trace.execute("SELECT since, until FROM window WHERE pass = ? ORDER BY since", (part,)).fetchall()

    def apart(self, db: Path) -> float:
        """Seconds of the client with the same questions and no reader, and of storing the answers from files."""
        with self._run(db) as run:
            source = run.source
            assert isinstance(source, _Kept)
            assert isinstance(source.database, _Recorded)
            spools = []
            for since, until in self.windows(db.with_name("apart.db"), JOB_PASS):
                spool = source.closed(JOB_PASS, Window(since, until))
                copy = db.parent / f"apart-{since}"
                shutil.move(spool.path, copy)
                spools.append(replace(spool, path=copy))
            started = time.perf_counter()
            for sql in list(source.database.asked):
                Database.spool(source.database, sql, Path(os.devnull))
            for spool in spools:
                take_in(run, JOB_PASS, spool, int(time.time()))
            return time.perf_counter() - started
