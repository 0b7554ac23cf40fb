"""Letters end to end: a job ends on the real Slurm, and what sacct says of it lies in its user's mailbox."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.mta import DOMAIN, Mta, missing, mta
from tests.cluster.operator import accounted, adminkit, one
from tests.cluster.processes import until


@dataclass
class Site:
    """The cluster, its trace, its mail server."""

    cluster: Cluster
    db: Path
    mta: Mta
    config: Path

    def adminkit(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        return adminkit(self.cluster, self.db, *words, code=code, env={"ADMINKIT_CONFIG": str(self.config)})

    def run(self, code: int | None = 0) -> dict[str, int]:
        """`feedback run --send`: what became of its letters."""
        done = self.adminkit("feedback", "run", "--send", "-f", "json", code=code)
        return dict(json.loads(done.stdout)["rows"][0])

    def job(self, seconds: int, *options: str, user: str, state: str = "COMPLETED") -> int:
        """A job that runs so long of the hour it asks for, ended and accounted for."""
        job = self.cluster.submit(f"sleep {seconds}", "-t", "60", *options, user=user)
        self.cluster.wait(job)
        accounted(self.cluster, job, state)
        return job

    def letters(self, user: str, job: int) -> list[EmailMessage]:
        """Those in the mailbox that are about this job."""
        return [one for one in self.mta.letters(user) if re.search(rf"<end\.{job}-\d+\.alpha\.", one["Message-ID"])]

    def arrived(self, user: str, job: int) -> EmailMessage:
        until(f"a letter about {job} to arrive", lambda: self.letters(user, job), 20.0)
        (found,) = self.letters(user, job)
        return found


@pytest.fixture(scope="module")
def site(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Switched on: what ended before gets no letter. Every job of seconds is worth one here."""
    if (why := missing()) is not None:
        pytest.fail(why, pytrace=False)
    folder = tmp_path_factory.mktemp("feedback")
    with mta() as server:
        file = folder / "adminkit.toml"
        file.write_text(
            f"""[feedback]
clusters = ["alpha"]
domain = "{DOMAIN}"
sender = "adminkit@{DOMAIN}"
operators = ["ops@{DOMAIN}"]
host = "127.0.0.1"
port = {server.port}
quiet_days = []
digest = false
min_uid = 1
min_elapsed = 1
unused_hours = 0.5
user_pause = 0
name_pause = 0
per_minute = 6000
exclude_users = ["root"]
"""
        )
        made = Site(cluster, folder / "trace.db", server, file)
        before = made.job(2, "-J", "before", user="games")
        made.adminkit("sync", "--since", "1h")
        assert made.run()["sent"] == 0, "what ended before it was switched on"
        assert made.letters("games", before) == []
        yield made


def sacct(cluster: Cluster, job: int) -> Mapping[str, str]:
    """What sacct itself says of the job."""
    names = "JobIDRaw,JobName,ElapsedRaw,TimelimitRaw,Partition,State"
    said = cluster.ask("sacct", "-X", "-n", "-P", "-o", names, "-j", str(job))
    return dict(zip(names.split(","), said.splitlines()[0].split("|"), strict=True))


def test_a_job_ends_and_its_user_reads_what_sacct_says_once(site: Site) -> None:
    job = site.job(6, "-J", "train-x", user="news")
    site.adminkit("sync")
    assert site.run()["sent"] >= 1
    letter, facts = site.arrived("news", job), sacct(site.cluster, job)
    assert (letter["To"], letter["From"]) == (f"news@{DOMAIN}", f"adminkit@{DOMAIN}")
    assert (letter["Auto-Submitted"], "unsubscribe" in letter["List-Unsubscribe"]) == ("auto-generated", True)
    assert "train-x" in letter["Subject"] and str(job) in letter["Subject"]
    body = letter.get_body(("plain",))
    rich = letter.get_body(("html",))
    assert body is not None and rich is not None
    text = " ".join(body.get_content().split())
    hours = int(facts["TimelimitRaw"]) // 60
    assert f"Your job {facts['JobName']} ({job}, queue {facts['Partition']}) ran for {facts['ElapsedRaw']} s" in text
    assert f"Its time limit was {hours} h" in text
    assert "train-x" in rich.get_content()
    site.adminkit("sync")
    site.run()  # other tests' jobs may have ended meanwhile
    assert one(site.db, "SELECT count(*) || ' ' || sum(attempts) FROM outbox WHERE job_id_raw = ?", job) == "1 1"


def test_an_array_is_one_letter_and_failed_or_interactive_ones_are_none(site: Site) -> None:
    array = site.cluster.submit("sleep 3", "-t", "60", "-J", "sweep", "-a", "1-6", user="backup")
    failed = site.cluster.submit("sleep 2; exit 3", "-t", "60", "-J", "broken", user="backup")
    site.cluster.wait(array)
    site.cluster.wait(failed)
    accounted(site.cluster, failed, "FAILED")
    for task in range(1, 7):
        accounted_task(site.cluster, f"{array}_{task}")
    words = ("srun", "-t", "60", "-J", "by-hand", "sleep", "3")
    assert site.cluster.run(*words, user="backup").code == 0
    site.adminkit("sync")
    site.run()
    letter = site.arrived("backup", array)
    assert "6" in letter["Subject"] and "sweep" in letter["Subject"]
    assert site.letters("backup", failed) == []
    assert not [found for found in site.mta.letters("backup") if "by-hand" in found["Subject"]]
    assert len([found for found in site.mta.letters("backup") if "sweep" in found["Subject"]]) == 1


def accounted_task(cluster: Cluster, task: str) -> None:
    command = ("sacct", "-X", "-n", "-P", "-o", "State", "-j", task)
    until(f"slurmdbd to have {task}", lambda: cluster.ask(*command).startswith("COMPLETED"), 30.0)


def test_behind_a_dead_server_every_letter_waits_and_comes_once(site: Site) -> None:
    site.mta.stop()
    try:
        job = site.job(3, "-J", "patient", user="games")
        site.adminkit("sync")
        done = site.adminkit("feedback", "run", "--send", code=1)
        assert "no letter goes through" in done.stderr
        status = json.loads(site.adminkit("feedback", "status", "--letters", "-f", "json").stdout)["rows"]
        assert [row["state"] for row in status if str(row["run"]).startswith(f"{job}@")] == ["due"]
    finally:
        site.mta.start()
    site.run()
    site.run()
    assert site.arrived("games", job)


def test_who_opted_out_gets_none(site: Site) -> None:
    folder = site.db.parent / "prefs"
    choices = folder / f"{one(site.db, 'SELECT uid FROM job WHERE user = ? LIMIT 1', 'games')}.toml"
    choices.write_text('letters = "never"\n')
    os.chown(choices, int(choices.stem), -1)
    try:
        job = site.job(3, "-J", "left-alone", user="games")
        site.adminkit("sync")
        site.run()
        assert one(site.db, "SELECT count(*) FROM outbox WHERE job_id_raw = ?", job) == 0
    finally:
        choices.unlink()
