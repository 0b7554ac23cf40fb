"""`sync --source slurmdbd` over jobs with a step each: its reading and its whole passes, against bare sacct calls of
the same windows; the job pass against the database's client writing the same rows to nowhere and an import of them from
files; and the memory of the whole command, with ten times as many jobs too. Writes docs/measured/slurmdbd.md.

Each comparison is of processor time, of all processes on either side and of the servers, and of wall time.

Needs root and Slurm's packages: it boots a private cluster, as tests/cluster does.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from adminkit.ingest.answer import take_in
from adminkit.ingest.sources.base import JOBS as JOB_PASS
from adminkit.ingest.sources.base import STEPS as STEP_PASS
from adminkit.ingest.sources.base import Part
from adminkit.ingest.sources.slurmdbd import Slurmdbd, opener
from adminkit.ingest.sync_run import Options, SyncRun
from adminkit.ingest.sync_windows import ask_windows
from adminkit.ingest.window_plan import Window
from adminkit.slurm.database import Database
from adminkit.slurm.release import FINISHED
from adminkit.slurm.sacct import Query
from adminkit.trace import connect
from tests.bench import pairs, slurmdbd_page
from tests.bench.bench_sync import DAYS, JOBS, fields, on_cluster, timed
from tests.bench.burden import Burden, Cost, peak_of_all, rounds
from tests.bench.slurmdbd_page import Found, Memory
from tests.bench.tools import fresh
from tests.cluster.harness.cluster import DATABASE, Cluster
from tests.cluster.harness.generated import add_jobs

#: Rounds of the pass of steps, each of which takes minutes.
_FEW = 3
#: Jobs of the larger run, and the most memory of either, bytes.
MANY, MEMORY = 3_000_000, 150e6
READING, PASS, SACCT, APART = "reading", "the whole pass", "sacct", "apart"


@dataclass
class _Kept(Slurmdbd):
    """Asks slurmctld for nothing."""

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
    ground = slurmdbd_page.ground_of(cluster.ask("sacct", "-V"), cluster.sql("SELECT VERSION()")[0][0])
    work = _Work(options, start, Burden.of(cluster.ledger.alive(), "mariadbd", "slurmdbd"))
    passes: tuple[tuple[Part, float, int], ...] = ((JOB_PASS, 6.0, pairs.PAIRS), (STEP_PASS, 30.0, _FEW))
    for part, bar, many in passes:
        ratios = list(_pass(work, cluster, folder, part, bar, many))
        slurmdbd_page.keep([Found.of(ratio, ground) for ratio in ratios])
        yield from ratios
    for jobs in (JOBS, MANY):
        if jobs > JOBS:
            add_jobs(cluster, jobs - JOBS, start - jobs, steps=True, first=2_000_000)
        peak, processor = _memory(work, cluster, fresh(folder / "slurmdbd.db"), start - jobs, jobs)
        slurmdbd_page.keep(memory=[Memory(jobs, peak, MEMORY, processor, ground)])


def _pass(work: _Work, cluster: Cluster, folder: Path, part: Part, bar: float, many: int) -> Iterator[pairs.Ratio]:
    """A pass against sacct, and that of jobs against its parts."""
    db = folder / "slurmdbd.db"
    windows = work.windows(fresh(db), part)
    calls = [
        Query("alpha", since, until, FINISHED, fields(cluster, part), steps=part == STEP_PASS).argv("\x1f")
        for since, until in windows
    ]
    sides = {
        READING: lambda: work.reading(fresh(db), part, windows),
        PASS: lambda: work.whole(fresh(db), part),
        SACCT: lambda: work.burden.of_call(lambda: timed(calls, cluster)),
    }
    if part == JOB_PASS:
        sides[APART] = lambda: work.apart(fresh(db), windows)
    costs = rounds(many, sides)
    against = f"{part}s of {JOBS} jobs"
    yield from _ratios(f"reading the {against}, against sacct", costs[READING], costs[SACCT], bar)
    yield from _ratios(f"the whole pass over the {against}, against sacct", costs[PASS], costs[SACCT], bar)
    if part == JOB_PASS:
        what = f"the whole pass over the {against}, against the client by itself and an import"
        yield from _ratios(what, costs[PASS], costs[APART], 2.0, at_most=True)


def _ratios(
    what: str, ours: Sequence[Cost], theirs: Sequence[Cost], target: float, at_most: bool = False
) -> Iterator[pairs.Ratio]:
    for kind in ("processor", "wall"):
        sides = [[getattr(cost, kind) for cost in side] for side in (ours, theirs)]
        ratio = pairs.Ratio(f"{what}, {kind} time", sides[0], sides[1], target, at_most)
        print(ratio.line(), flush=True)
        yield ratio


def _memory(work: _Work, cluster: Cluster, db: Path, since: int, jobs: int) -> tuple[int, float]:
    """Bytes at the peak, and seconds of processor time."""
    begun = time.perf_counter()
    with work.burden.metered() as spent:
        peak = peak_of_all(work.command(db, since, cluster))
    with closing(sqlite3.connect(db)) as trace:
        for table in ("job", "step"):
            assert trace.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == jobs, table
    met = "met" if peak <= MEMORY else "MISSED"
    print(
        f"sync over {jobs} jobs with a step each: {peak / 1e6:.0f} MB in all its processes at the peak,"
        f" target ≤ {MEMORY / 1e6:.0f} MB {met}   ({spent[0].processor:.0f} s of processor time,"
        f" {time.perf_counter() - begun:.0f} s)",
        flush=True,
    )
    return peak, spent[0].processor


@dataclass(frozen=True, slots=True)
class _Work:
    """The passes over the jobs since a time."""

    option_file: Path
    since: int
    burden: Burden

    @contextmanager
    def _run(self, db: Path) -> Iterator[SyncRun]:
        with connect.writer(db) as trace, tempfile.TemporaryDirectory(dir=db.parent) as spool:
            options = Options(db, steps_pause=0.0)
            found = opener(self.option_file)("alpha", Path(spool), timeout=options.timeout, record=options.record)
            assert isinstance(found, Slurmdbd)
            recorded = _Recorded(found.database.option_file, found.database.timeout)
            yield SyncRun(trace, _Kept(**{**vars(found), "database": recorded}), options, print)

    def whole(self, db: Path, part: Part) -> Cost:
        """A whole pass, in a trace made before."""
        with self._run(db) as run:
            return self.burden.of_call(lambda: ask_windows(run, part, self.since, int(time.time())))

    def reading(self, db: Path, part: Part, windows: Sequence[tuple[int, int]]) -> Cost:
        """The answers to these windows, each whole in a file, with the words that they need."""
        with self._run(db) as run, self.burden.metered() as spent:
            for since, until in windows:
                run.source.closed(part, Window(since, until)).path.unlink()
        return spent[0]

    def command(self, db: Path, since: int, cluster: Cluster) -> list[str]:
        """The whole command, as a timer runs it."""
        settings = {"ADMINKIT_SYNC_SOURCE": "slurmdbd", "ADMINKIT_SYNC_OPTION_FILE": str(self.option_file)}
        program = str(Path(sys.executable).with_name("adminkit"))
        named = [f"{name}={value}" for name, value in {**cluster.env(), **settings}.items()]
        return ["env", *named, program, "sync", "--steps", "--since", str(since), "--db", str(db)]

    def windows(self, db: Path, part: Part) -> Sequence[tuple[int, int]]:
        self.whole(db, part)
        with closing(sqlite3.connect(db)) as trace:
            return trace.execute("SELECT since, until FROM window WHERE pass = ? ORDER BY since", (part,)).fetchall()

    def apart(self, db: Path, windows: Sequence[tuple[int, int]]) -> Cost:
        """The client with the same questions and no reader, and storing the answers from files."""
        with self._run(db) as run:
            source = run.source
            assert isinstance(source, _Kept)
            assert isinstance(source.database, _Recorded)
            spools = []
            for since, until in windows:
                spool = source.closed(JOB_PASS, Window(since, until))
                copy = db.parent / f"apart-{since}"
                shutil.move(spool.path, copy)
                spools.append(replace(spool, path=copy))
            with self.burden.metered() as spent:
                for sql in list(source.database.asked):
                    Database.spool(source.database, sql, Path(os.devnull))
                for spool in spools:
                    take_in(run, JOB_PASS, spool, int(time.time()))
            return spent[0]
