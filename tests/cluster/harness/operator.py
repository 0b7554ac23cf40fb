"""What an operator of the private Slurm does, and what the trace then holds: for the tests of sync."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from tests.cluster.harness import warm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until
from tests.cluster.harness.sacct_rows import COLUMNS, Row

ADMINKIT = warm.ADMINKIT


def adminkit(
    cluster: Cluster, db: Path, *words: str, code: int | None = 0, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command on the trace `db`, as an operator of the cluster would; `env` is added to that environment."""
    env = {**cluster.env(), "PATH": f"{ADMINKIT.parent}:{cluster.env()['PATH']}", **(env or {})}
    done = warm.run([*words, "--db", db], env, seconds=300)
    assert code is None or done.returncode == code, done.stderr + done.stdout
    return done


@contextmanager
def private_data(cluster: Cluster, what: str) -> Iterator[None]:
    """A slurmdbd that shows these (`jobs,users`, as PrivateData names them) to their owners and to operators only."""
    conf = cluster.folder / "dbd" / "slurmdbd.conf"
    before = conf.read_text()
    conf.write_text(f"{before}PrivateData={what}\n")
    cluster.stop_dbd()
    cluster.start_dbd()
    try:
        yield
    finally:
        conf.write_text(before)
        cluster.stop_dbd()
        cluster.start_dbd()


def rows(db: Path, cluster: str = "alpha") -> dict[tuple[int, int], Row]:
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    with closing(sqlite3.connect(db)) as trace:
        found = trace.execute(f"SELECT {names} FROM job WHERE cluster = ? AND end_time IS NOT NULL", (cluster,))
        return {(row[0], row[1]): dict(zip(COLUMNS, row, strict=True)) for row in found}


def one(db: Path, sql: str, *values: object) -> object:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql, values).fetchone()[0]


def accounted(cluster: Cluster, job: int, state: str) -> None:
    """Wait until slurmdbd says so too, of its first run or task where it has several.

    Traps: slurmctld's queue to it may be empty a second before; sync leaves what ended in its own second to the next.
    """
    task_of(cluster, str(job), state)


def task_of(cluster: Cluster, job: str, state: str) -> None:
    """As `accounted`, of a job as sacct names it: 12, 12_3."""
    command = ("sacct", "-X", "-n", "-P", "-o", "State,End", "-j", job)

    def stored() -> bool:
        now, said = int(time.time()), cluster.run(*command, env={"SLURM_TIME_FORMAT": "%s"}).text
        known, _, end = said.partition("\n")[0].partition("|")
        return known.startswith(state) and (not end.isdigit() or int(end) < now)

    until(f"slurmdbd to have job {job} as {state}, and a second to pass", stored, 90.0)


def wrapper(folder: Path, program: str, before: str) -> Path:
    """A folder for PATH in which `program` first does `before`, then what the real one does."""
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / program).write_text(f'#!/bin/sh\n{before}\nPATH=${{PATH#*:}}\nexec {program} "$@"\n')
    (binaries / program).chmod(0o755)
    return binaries


def with_path(cluster: Cluster, first: Path) -> dict[str, str]:
    return {**cluster.env(), "PATH": f"{first}:{cluster.env()['PATH']}"}
