"""What Slurm has to know of the user who syncs: nothing where jobs are everybody's to see, else an operator.

docs/install.md says so, and has the commands.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster, Done
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.login import as_login
from tests.cluster.harness.operator import ADMINKIT, private_data
from tools import docs

#: In every Debian, and no user of the cluster's.
USER = "man"


@pytest.fixture(scope="module")
def spare(outside: Listing) -> Iterator[Cluster]:
    """One that heeds the limits of associations, and whose slurmdbd may be stopped."""
    with private_slurm(nodes=1, AccountingStorageEnforce="limits") as booted:
        yield booted


@pytest.fixture(scope="module")
def jobs(spare: Cluster) -> set[str]:
    """Whose jobs have ended."""
    for user in ("games", "news"):
        spare.wait(spare.submit("true", "-p", "gq", "-t", "5", user=user))
    spare.settle()
    return {"games", "news"}


@pytest.fixture
def db(spare: Cluster) -> Iterator[Path]:
    folder = spare.work / "synced"
    folder.mkdir(mode=0o750)
    shutil.chown(folder, USER)
    yield folder / "trace.db"
    shutil.rmtree(folder)


@pytest.fixture
def hidden(spare: Cluster, jobs: set[str]) -> Iterator[None]:
    """slurmdbd shows nobody the jobs of others."""
    with private_data(spare, "jobs"):
        yield


def run(spare: Cluster, db: Path, *words: str) -> Done:
    """A command as that user."""
    env = {"HOME": "/", "ADMINKIT_CONFIG": ""}
    return spare.run(*as_login(USER), ADMINKIT, *words, "--db", db, env=env, seconds=120)


def synced(spare: Cluster, db: Path) -> set[str]:
    """Whose jobs a sync of this user's brings."""
    done = run(spare, db, "sync", "--since", "1d")
    assert done.code == 0, done.err
    with closing(sqlite3.connect(db)) as trace:
        return {user for (user,) in trace.execute("SELECT DISTINCT user FROM job")}


def sees(spare: Cluster, db: Path) -> dict[str, str]:
    done = run(spare, db, "doctor", "--format", "json")
    return next(row for row in json.loads(done.out)["rows"] if row["check"] == "sees")


def commands() -> list[list[str]]:
    """What docs/install.md has an administrator type, with this test's user in adminkit's place."""
    text = (docs.DOCS / "install.md").read_text()
    lines = re.findall(r"^sacctmgr (add .*)$", text, re.MULTILINE)
    return [re.sub(r"\buser adminkit\b", f"user {USER}", line).split() for line in lines]


def test_a_user_whom_slurmdbd_does_not_know_syncs_everybodys_jobs(spare: Cluster, jobs: set[str], db: Path) -> None:
    known = spare.ask("sacctmgr", "-n", "-P", "show", "user", "format=user").split()
    assert USER not in known
    assert jobs <= synced(spare, db)
    found = sees(spare, db)
    assert found["found"].startswith(("every job: AdminLevel None", "own jobs only, perhaps")), found


def test_only_an_operator_syncs_them_where_slurmdbd_hides_jobs(
    spare: Cluster, jobs: set[str], hidden: None, db: Path
) -> None:
    assert synced(spare, db) == set()
    assert sees(spare, db)["status"] != "ok"
    try:
        assert commands()
        for words in commands():
            spare.ask("sacctmgr", "-i", *words)
        assert sees(spare, db)["status"] == "ok"
        db.unlink()
        assert jobs <= synced(spare, db)
        refused = spare.run("sbatch", "-p", "gq", "--wrap", "true", user=USER)
        assert refused.code != 0, "an operator of sacct's, not of the queues"
    finally:
        spare.run("sacctmgr", "-i", "delete", "user", USER)
        spare.run("sacctmgr", "-i", "delete", "account", "adminkit")


def test_an_operator_for_nothing_is_told_so(spare: Cluster, jobs: set[str], db: Path) -> None:
    """From 26.05 on slurmdbd does not say what it hides, so nobody can tell."""
    try:
        for words in commands():
            spare.ask("sacctmgr", "-i", *words)
        assert jobs <= synced(spare, db)
        found = sees(spare, db)
        assert "which it does not need" in found["found"] or "unknown" in found["found"], found
    finally:
        spare.run("sacctmgr", "-i", "delete", "user", USER)
        spare.run("sacctmgr", "-i", "delete", "account", "adminkit")
