"""How the tests of sync run it, and look into its trace."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options, Summary
from tests.ingest.fake_slurm import FakeSlurm

HOUR, DAY = 3600, 86_400
NOW = int(time.time())


def run(slurm: FakeSlurm, db: Path, said: list[str], since: int | None = None, **options: object) -> Summary:
    slurm.write()
    chosen = {"steps": False, "timeout": 5.0, **options}
    return sync(Options(db, since=since, **chosen), [], said.append)[0]  # type: ignore[arg-type]


def one(db: Path, sql: str) -> object:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql).fetchone()[0]
