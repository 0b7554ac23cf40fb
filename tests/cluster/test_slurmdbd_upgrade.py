"""`adminkit sync --source slurmdbd` before and after an upgrade of Slurm: what sacct's spelling depends on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.ingest.sources.slurmdbd_fields import WHOLE_CODES
from adminkit.slurm.release import Release, parse_release, show_release
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.workload import STEPS_OVER
from tests.cluster.test_slurmdbd import dump, env, options, reader

__all__ = ["reader"]
CODES = (1, 127, 128, 130, 143, 200, 255)


@pytest.fixture(scope="module")
def ended(cluster: Cluster) -> dict[str, int]:
    """How a step, and then its job's script, ended -> the job."""
    ends = [*(f"exit {code}" for code in CODES), "kill -SEGV $$"]
    script = f"srun -n1 sh -c '{{0}}'; {STEPS_OVER}; {{0}}"
    jobs = {end: cluster.submit(script.format(end), "-t", "5", user="games") for end in ends}
    for job in jobs.values():
        cluster.wait(job)
    cluster.settle()
    time.sleep(1.1)  # what ended in a sync's own second is left to the next
    return jobs


def rows_of(db: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql).fetchall()


def release_of(cluster: Cluster) -> Release:
    return parse_release(cluster.ask("sacct", "-V"))


def test_sacct_spells_exit_codes_as_its_release_does(cluster: Cluster, ended: dict[str, int]) -> None:
    """What records have to be like. DerivedExitCode has its whole code on every release."""
    listed = cluster.ask(
        "sacct", "-n", "-P", "-j", ",".join(map(str, ended.values())), "-o", "JobID,ExitCode,DerivedExitCode"
    )
    found = dict(line.split("|", 1) for line in listed.splitlines())
    less = 128 if release_of(cluster) < WHOLE_CODES else 0
    for end, job in ended.items():
        code = int(end.removeprefix("exit ")) if end.startswith("exit") else None
        derived = "0:11" if code is None else f"{code}:0"
        spelt = "0:11" if code is None else f"{code - less if code >= 128 else code}:0"
        assert found[str(job)] == f"{spelt}|{derived}", end
        assert [found[f"{job}.{step}"] for step in ("batch", "0")] == [f"{spelt}|"] * 2, end


def test_both_sources_give_the_same_exit_codes(
    cluster: Cluster, ended: dict[str, int], reader: str, tmp_path: Path
) -> None:
    codes = "SELECT job_id_raw, step, exit_code, exit_signal FROM step ORDER BY 1, 2"
    codes_of_jobs = "SELECT job_id_raw, exit_code, exit_signal, derived_exit_code FROM job ORDER BY 1"
    found = []
    for name, how in (("sacct", {}), ("slurmdbd", env(options(cluster, tmp_path)))):
        db = tmp_path / f"{name}.db"
        adminkit(cluster, db, "sync", "--since", "1d", "--steps", env=how)
        found.append([rows_of(db, codes), rows_of(db, codes_of_jobs)])
    assert found[0] == found[1]


def replaced(cluster: Cluster, folder: Path, **scripts: str) -> dict[str, str]:
    """The environment of a command for which programs are scripts; {real} in them is the program itself."""
    folder.mkdir()
    for program, script in scripts.items():
        real = cluster.ask("sh", "-c", f"command -v {program}").strip()
        (folder / program).write_text("#!/bin/sh\n" + script.replace("{real}", real) + "\n")
        (folder / program).chmod(0o755)
    return {"PATH": f"{folder}:{cluster.env()['PATH']}"}


def next_release(cluster: Cluster) -> str:
    major, minor, micro = release_of(cluster)
    return show_release((major, minor, micro + 1))


@pytest.fixture
def tables_of_the_next_release(cluster: Cluster) -> Iterator[None]:
    """slurmdbd changes its tables as it starts, and raises their version."""
    cluster.sql("UPDATE convert_version_table SET version = version + 1")
    yield
    cluster.sql("UPDATE convert_version_table SET version = version - 1")


def test_after_the_upgrade_of_each_part_the_sources_are_compared_again(
    cluster: Cluster, ended: dict[str, int], reader: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    db, how, after = tmp_path / "trace.db", env(options(cluster, tmp_path)), next_release(cluster)
    sacct = f'[ "$1" = -V ] && exec echo slurm {after}; exec {{real}} "$@"'
    sacctmgr = f'{{real}} "$@" | sed "s/^\\(SLURMDBD_VERSION *= \\).*/\\1{after}/"'
    upgrades: list[dict[str, str]] = [{}, replaced(cluster, tmp_path / "1", sacct=sacct)]
    if "BOOT_TIME" in cluster.ask("sacctmgr", "show", "configuration"):  # else it shows no release of slurmdbd's
        upgrades.append(replaced(cluster, tmp_path / "2", sacct=sacct, sacctmgr=sacctmgr))
    assert "agree on" in adminkit(cluster, db, "sync", "--since", "1d", env=how).stderr
    request.getfixturevalue("tables_of_the_next_release")
    for place, upgrade in enumerate(upgrades):
        first, second = (adminkit(cluster, db, "sync", env={**how, **upgrade}).stderr for _ in range(2))
        assert "agree on" in first, place
        assert "agree on" not in second, place


def test_an_upgrade_after_which_the_sources_disagree_stores_nothing(
    cluster: Cluster, ended: dict[str, int], reader: str, tmp_path: Path
) -> None:
    db, how = tmp_path / "trace.db", env(options(cluster, tmp_path))
    windows = "SELECT pass, since, until FROM window ORDER BY 1, 2"
    adminkit(cluster, db, "sync", "--since", "1d", env=how)
    before = [dump(db, "job"), rows_of(db, windows)]
    sacct = f'[ "$1" = -V ] && exec echo slurm {next_release(cluster)}; {{real}} "$@" | sed s/games/alchemy/g'
    upgraded = {**how, **replaced(cluster, tmp_path / "bin", sacct=sacct)}
    for _ in range(2):  # the second run has not forgotten it
        failed = adminkit(cluster, db, "sync", code=1, env=upgraded)
        assert "User: sacct says alchemy, the database games" in failed.stderr
        assert [dump(db, "job"), rows_of(db, windows)] == before
    assert "agree on" not in adminkit(cluster, db, "sync", env=how).stderr
