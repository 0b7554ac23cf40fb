"""Slurm's daemons and adminkit in Turkish, German and Japanese, in Tokyo: the same rules, points, signals and rows.

Turkish has another small I, German another decimal point. Each node has a locale, slurmctld has one after the other.
"""

from __future__ import annotations

import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from adminkit.economy.points_file import dumped
from tests.cluster.conftest import SLURM_USER, private_slurm
from tests.cluster.harness.checkpoint import Job, watched
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.processes import environment, until
from tests.cluster.harness.ruled import SHORT_MAX, Ruled, at_most, rule, ruling
from tests.cluster.test_policy_points import factors
from tests.support.locales import make_locales

LOCALES: Final = ("tr_TR.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8")
ZONE: Final = "Asia/Tokyo"
#: An account of capitals, as an operator may write it, with the letter that Turkish folds in its own way.
BY_ACCOUNT: Final = rule("physics", "gq-long", max_limit="02:00:00", accounts=["PHYSICS"])
NAME: Final = "TRAİN ı-0.5,5 学習"
#: A queue in which jobs wait.
DOWN: Final = "PartitionName=down Nodes=ALL MaxTime=20:00:00 State=DOWN"
GAMES: Final = pwd.getpwnam("games").pw_uid
POINTS: Final = {
    "format": 1, "made_at": 1, "cap": 720, "class_points": {}, "users": {GAMES: {"points": 500, "class": False}},
}  # fmt: skip


class Abroad(Cluster):
    """What is started or run speaks the locale of `speaks`, of those in `places`."""

    places = ""
    speaks = LOCALES[0]

    def env(self) -> dict[str, str]:
        return {**super().env(), "LC_ALL": self.speaks, "LANG": self.speaks, "LOCPATH": self.places, "TZ": ZONE}

    def start_node(self, node: str) -> None:
        before, self.speaks = self.speaks, LOCALES[int(node[1:]) - 1]
        super().start_node(node)
        self.speaks = before


@pytest.fixture(scope="module")
def ruled(outside: Listing) -> Iterator[Ruled]:
    """Rules, points for games, and the checkpoint plugin."""
    with TemporaryDirectory(prefix="adminkit-locales-") as places:
        Path(places).chmod(0o755)
        Abroad.places = str(make_locales(Path(places), LOCALES))
        with (
            private_slurm(kind=Abroad, nodes=len(LOCALES), SlurmUser=SLURM_USER) as cluster,
            ruling(cluster, DOWN, "PriorityCalcPeriod=1") as made,
        ):
            made.rules(at_most(20) + SHORT_MAX + BY_ACCOUNT)
            folder = cluster.folder / "tables"
            folder.mkdir(mode=0o755)
            (folder / "incentives.json").write_text(dumped(POINTS))
            words = ("--policy", made.policy, "--from", folder, "--points-per-hour", "60", "--apply")
            made.adminkit("incentives", "install", *words)
            yield made


@pytest.fixture(scope="module")
def signalled(ruled: Ruled) -> dict[str, Job]:
    """A job of a minute on each node, which the plugin signals half a minute before its end."""
    loaded = watched(ruled.cluster)
    loaded.configure("quiet=5", "poll=5")
    return {
        name: loaded.submit("{train} code=0\n", "-w", f"n{at}", "-t", "1", "-J", NAME, wish="TERM@30")
        for at, name in enumerate(LOCALES, 1)
    }


@pytest.mark.parametrize("name", LOCALES)
def test_rules_and_points_are_the_same_in_every_locale_of_slurmctld(
    ruled: Ruled, signalled: dict[str, Job], name: str
) -> None:
    cluster = ruled.cluster
    assert isinstance(cluster, Abroad)
    cluster.speaks = name
    cluster.restart_ctld()
    process = cluster.ledger.find(f"{cluster.name}-slurmctld")
    assert process is not None
    env = environment(process.pid)
    assert (env["LC_ALL"], env["TZ"]) == (name, ZONE)
    assert ruled.most() == 20
    assert "02:00:00" in ruled.sbatch("-p", "gq-long", "-t", "03:00:00").text, "a rule for the account PHYSICS"
    short = ruled.sbatch("-p", "gq-short", "-t", "02:00:00", "-J", NAME)
    found = ruled.job(short.job)
    assert found["TimeLimit"] == "01:00:00" and "lim=7200" in found["AdminComment"], found
    assert cluster.ask("squeue", "-h", "-o", "%j", "-j", str(short.job)) == NAME
    waits = ruled.run("sbatch", *"-p down -t 60 -o /dev/null --wrap true".split(), user="games")
    assert waits.job is not None and factors(ruled, waits.job)["SITE"] == 500


@pytest.mark.parametrize("name", LOCALES)
def test_a_job_is_signalled_in_every_locale_of_slurmd(signalled: dict[str, Job], name: str) -> None:
    job = signalled[name]
    until(f"the job of {name} to hear the signal", lambda: job.times("heard"), 90)


@pytest.fixture(scope="module")
def ended(ruled: Ruled, signalled: dict[str, Job]) -> dict[int, tuple[int, int]]:
    """Job -> its start and its end, as slurmdbd stores them."""
    for job in signalled.values():
        ruled.cluster.wait(job.id, seconds=120)
    ruled.cluster.settle()
    rows = ruled.cluster.sql("select id_job, time_start, time_end from alpha_job_table where time_end > time_start")
    return {int(job): (int(start), int(end)) for job, start, end in rows}


@pytest.mark.parametrize("name", LOCALES)
def test_a_sync_brings_the_same_times_and_names_in_every_locale(
    ruled: Ruled, signalled: dict[str, Job], ended: dict[int, tuple[int, int]], tmp_path: Path, name: str
) -> None:
    cluster = ruled.cluster
    assert isinstance(cluster, Abroad)
    cluster.speaks = name
    db = tmp_path / "trace.db"
    adminkit(cluster, db, "sync", "--since", "1d")
    with closing(sqlite3.connect(db)) as trace:
        rows = trace.execute("SELECT job_id_raw, start_time, end_time FROM job WHERE start_time IS NOT NULL")
        found = {job: (start, end) for job, start, end in rows}
        names = {name for (name,) in trace.execute("SELECT job_name FROM job WHERE start_time IS NOT NULL")}
    assert found == ended and found.keys() == {job.id for job in signalled.values()}
    assert names == {NAME}
