"""An audit that is refused, or cut off on the way, denies nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest import audit as module
from adminkit.ingest.audit import audit
from adminkit.ingest.sync_run import Options
from adminkit.slurm import cluster as slurm_cluster
from tests.ingest.audit.trace_to_audit import DAY, HOUR, NOW, ask, forge
from tests.ingest.fake_slurm import FakeSlurm
from tests.support.sql import change, read


@pytest.mark.parametrize("when", ["at once", "in the middle"])
def test_slurmdbd_away_sets_nothing_aside(slurm: FakeSlurm, db: Path, when: str) -> None:
    change(db, forge())
    refused = "sacct: error: Problem talking to the database: Connection refused"
    slurm.rules = [
        {"program": "sacct", "exit": 1, "says": refused, **({} if when == "at once" else {"wider": 4 * HOUR})}
    ]
    with pytest.raises(AdminkitError, match="Connection refused"):
        ask(slurm, db, apply=True)
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]
    assert read(db, "SELECT count(*) FROM fact WHERE key = 'audited'") == [(0,)]
    slurm.rules = []
    assert ask(slurm, db, apply=True).counts["unknown"] == 1


def test_what_was_cut_off_goes_on_where_it_was(slurm: FakeSlurm, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(db, forge(submit=NOW - 9 * DAY))
    real = module._chunk
    many: list[int] = []

    def chunk(work: Any, since: int, until: int) -> None:
        real(work, since, until)
        many.append(until)
        if len(many) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "_chunk", chunk)
    slurm.write()
    options = Options(db, steps=False, budget=20)
    with pytest.raises(KeyboardInterrupt):
        audit(options, [], lambda _: None, apply=True)
    assert 0 < len(read(db, "SELECT 1 FROM job WHERE audited = 'confirmed'")) < 107
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)], "nothing is denied before all answers are in"
    monkeypatch.setattr(module, "_chunk", real)
    (done,) = audit(options, [], lambda _: None, apply=True)
    assert done.counts["unknown"] == 1 and done.before + done.counts["confirmed"] == 107
    assert not list(db.parent.glob(".*audit*"))


@pytest.mark.parametrize(
    ("uid", "level", "private", "refused"),
    [
        (1000, None, "jobs", True),
        (1000, None, None, True),
        (1000, None, "usage", False),
        (1000, "Operator", "jobs", False),
        (0, None, "jobs", False),
    ],
)
def test_whoever_is_shown_own_jobs_only_is_refused(
    slurm: FakeSlurm,
    db: Path,
    monkeypatch: pytest.MonkeyPatch,
    uid: int,
    level: str | None,
    private: str | None,
    refused: bool,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(slurm_cluster, "admin_level", lambda: level)
    listed = None if private is None else frozenset({private})
    said = slurm_cluster.Accounting(None, None, listed, None)
    monkeypatch.setattr(slurm_cluster, "accounting", lambda: said)
    assert slurm_cluster.shows_every_job() is not refused


def test_a_user_without_rights_sets_nothing_aside(slurm: FakeSlurm, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_cluster, "shows_every_job", lambda: False)
    with pytest.raises(AdminkitError, match="slurmdbd shows this user only their own jobs"):
        ask(slurm, db, apply=True)
