"""A Slurm that forgets, contradicts and goes away, and the trace that sync made of it when it was honest."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adminkit import journal
from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options
from tests.ingest.audit.trace_to_audit import DAY, HOUR, NOW
from tests.ingest.fake_slurm import FakeSlurm, job


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeSlurm, Path]:
    """A hundred runs over ten days, one of each kind among them, and the trace that sync made of them."""
    folder = tmp_path_factory.mktemp("audit")
    with pytest.MonkeyPatch.context() as patch:
        made = FakeSlurm(folder / "slurm", patch)
        made.fields += ["UID", "Account", "QOS", "MaxRSS", "TotalCPU"]
        made.jobs = [job(n, NOW - 10 * DAY + n * 2 * HOUR, UID="1001", Account="a") for n in range(1, 100)]
        made.jobs += [
            job(200, NOW - 5 * DAY, "REQUEUED", UID="1001"),
            job(200, NOW - 4 * DAY, UID="1001"),
            *(job(300 + n, NOW - 3 * DAY + n, JobID=f"300_{n}", UID="1001") for n in range(3)),
            *(job(310 + n, NOW - 3 * DAY + n, JobID=f"310+{n}", UID="1001") for n in range(2)),
            job(320, NOW - 2 * DAY, "CANCELLED", Start="Unknown", ElapsedRaw="0", AllocTRES="", UID="1001"),
            job(400, UID="1001"),
        ]
        made.write()
        path = folder / "trace.db"
        sync(Options(path, since=NOW - 20 * DAY, steps=False, timeout=5.0), [], lambda _: None)
    return made, path


@pytest.fixture
def slurm(once: tuple[FakeSlurm, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    made = FakeSlurm(tmp_path / "slurm", monkeypatch)
    made.jobs, made.fields = [dict(one) for one in once[0].jobs], [*once[0].fields]
    return made


@pytest.fixture
def db(once: tuple[FakeSlurm, Path], slurm: FakeSlurm, tmp_path: Path) -> Path:
    path = tmp_path / "trace" / "trace.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(once[1])) as trace, closing(sqlite3.connect(path)) as copy:
        trace.backup(copy)
    return path


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    journal.close()
    yield
    journal.close()
