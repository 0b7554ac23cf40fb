"""Letters end to end: a job ends on the real Slurm, and its user gets a letter of what sacct says about it."""

from __future__ import annotations

import json
import os
import pwd
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from adminkit.feedback.prefs import Prefs, write
from adminkit.installed import data_file
from adminkit.trace import ledger
from adminkit.trace.connect import reader, writer
from adminkit.trace.person import person_of
from adminkit.trace.sight import whose
from adminkit.trace.transaction import transaction
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.machine import MARK
from tests.cluster.harness.mta import DOMAIN, Mta, missing, mta
from tests.cluster.harness.operator import accounted, adminkit, one, task_of
from tests.cluster.harness.processes import start_time, until
from tests.support.builders import ledger_entry
from tests.support.others import Refused, as_user


@dataclass
class Site:
    """The cluster, its trace, its mail server."""

    cluster: Cluster
    db: Path
    mta: Mta
    config: Path
    prefs: Path

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
        until(f"a letter about {job} to arrive", lambda: self.letters(user, job), 60.0)
        (found,) = self.letters(user, job)
        return found


@pytest.fixture(scope="module")
def site(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Switched on: what ended before gets no letter. Every job of seconds is worth one here."""
    if (why := missing()) is not None:
        pytest.fail(why, pytrace=False)
    folder = tmp_path_factory.mktemp("feedback")
    with mta() as server, TemporaryDirectory(prefix="adminkit-choices-") as reached:
        Path(reached).chmod(0o711)
        file = folder / "adminkit.toml"
        file.write_text(
            f"""[feedback]
clusters = ["alpha"]
domain = "{DOMAIN}"
prefs = "{reached}/prefs"
sender = "adminkit@{DOMAIN}"
operators = ["ops@{DOMAIN}"]
host = "127.0.0.1"
port = {server.port}
quiet_days = []
digest = false
min_uid = 1
min_elapsed = 1
unused_hours = 0.03
lost_hours = 0.00001
user_pause = 0
name_pause = 0
per_minute = 6000
exclude_users = ["root"]
"""
        )
        made = Site(cluster, folder / "trace.db", server, file, Path(reached) / "prefs")
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
        task_of(site.cluster, f"{array}_{task}", "COMPLETED")
    words = ("srun", "-t", "60", "-J", "by-hand", "sleep", "3")
    assert site.cluster.run(*words, user="backup").code == 0
    site.adminkit("sync")
    site.run()
    letter = site.arrived("backup", array)
    assert "6" in letter["Subject"] and "sweep" in letter["Subject"]
    assert site.letters("backup", failed) == []
    assert not [found for found in site.mta.letters("backup") if "by-hand" in found["Subject"]]
    assert len([found for found in site.mta.letters("backup") if "sweep" in found["Subject"]]) == 1


def runs_of(db: Path, job: int) -> int:
    with closing(sqlite3.connect(f"{db.as_uri()}?mode=ro", uri=True)) as trace:
        return int(trace.execute("SELECT count(*) FROM job WHERE job_id_raw = ?", (job,)).fetchone()[0])


def test_who_lost_work_reads_whose_fault_it_was_and_that_slurm_put_it_back(site: Site) -> None:
    """Slurm ends the run as NODE_FAIL and gives the job a new submission."""
    job = site.cluster.submit("sleep 20", "-t", "60", "-J", "unlucky", "--requeue", "-w", "n2", user="news")
    site.cluster.wait(job, "RUNNING")
    begun = time.time()
    until("the job to run for a second", lambda: time.time() > begun + 2, 30.0)
    site.cluster.fail_node("n2")
    every = ("sacct", "-D", "-X", "-n", "-P", "-o", "State", "-j", str(job))
    try:
        until("both runs to be accounted", lambda: len(site.cluster.ask(*every).splitlines()) == 2, 90.0)
        until("the trace to have both", lambda: site.adminkit("sync") and runs_of(site.db, job) == 2, 60.0, 1.0)
        site.run()
        letter = site.arrived("news", job)
    finally:
        site.cluster.resume_node("n2")
        site.cluster.run("scancel", str(job))
    body = letter.get_body(("plain",))
    assert body is not None and "its node failed after" in letter["Subject"]
    text = " ".join(body.get_content().split())
    assert "because its node n2 failed. That was not your fault." in text
    # It waits, or it runs again, by when the node is back.
    assert "Slurm has requeued it" in text and "is lost" in text, text


def test_behind_a_dead_server_every_letter_waits_and_comes_once(site: Site) -> None:
    site.mta.stop()
    try:
        job = site.job(3, "-J", "patient", user="games")
        site.adminkit("sync")
        done = site.adminkit("feedback", "run", "--send", code=1)
        assert "couldn't send letters" in done.stderr
        status = json.loads(site.adminkit("feedback", "status", "--letters", "-f", "json").stdout)["rows"]
        assert [row["state"] for row in status if str(row["run"]).startswith(f"{job}@")] == ["due"]
    finally:
        site.mta.start()
    site.run()
    site.run()
    assert site.arrived("games", job)


def test_who_opted_out_gets_none(site: Site) -> None:
    choices = site.prefs / f"{one(site.db, 'SELECT uid FROM job WHERE user = ? LIMIT 1', 'games')}.toml"
    choices.write_text('letters = "never"\n')
    os.chown(choices, int(choices.stem), -1)
    try:
        job = site.job(3, "-J", "left-alone", user="games")
        site.adminkit("sync")
        site.run()
        assert one(site.db, "SELECT count(*) FROM outbox WHERE job_id_raw = ?", job) == 0
    finally:
        choices.unlink()


@dataclass
class Hooks:
    """etc/slurm's programs as slurmctld's MailProg and EpilogSlurmctld, and what they did."""

    cluster: Cluster
    folder: Path

    @property
    def wake(self) -> Path:
        return self.folder / "wake"

    def make(self) -> None:
        """Slurm hands them none of slurmctld's variables, so a script of two lines does, as docs/feedback.md says."""
        for name, program in (("MailProg", "adminkit-mail"), ("EpilogSlurmctld", "adminkit-wake")):
            self.script(name, f'. {self.folder}/set; exec {data_file("etc", "slurm", program)} "$@"')
        self.script("taken", f'env -0 >{self.folder}/env\nprintf "%s\\0" "$@" >{self.folder}/mail')
        self.set()

    def script(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / name).chmod(0o755)

    def set(self, *more: str) -> None:
        """What the next call finds in its environment."""
        words = (f"ADMINKIT_WAKE={self.wake}", f"ADMINKIT_MAILPROG={self.folder}/taken", *more)
        (self.folder / "set").write_text("".join(f"export {word}\n" for word in words))
        self.wake.touch()
        os.utime(self.wake, (1, 1))
        (self.folder / "mail").unlink(missing_ok=True)

    def ends(self, name: str) -> tuple[int, list[str]]:
        """A job of that name ends, and its user's mail goes out: (job, the arguments of the mail program)."""
        options = ("--mail-type=END", "--mail-user=ada@site.test", "-J", name)
        job = self.cluster.submit("true", *options, user="games")
        self.cluster.wait(job, "COMPLETED", 90.0)
        mail = self.folder / "mail"
        text = until(f"Slurm's own mail about {job}", lambda: mail.exists() and mail.read_bytes(), 90.0)
        return job, text.decode().split("\0")[:-1]


@contextmanager
def hooked(cluster: Cluster, folder: Path) -> Iterator[Hooks]:
    """slurm.conf names them while the block runs; then it is as it was."""
    hooks = Hooks(cluster, folder)
    hooks.make()
    conf = cluster.home / "slurm.conf"
    before = conf.read_text()
    try:
        ours = (f"MailProg={folder}/MailProg", f"EpilogSlurmctld={folder}/EpilogSlurmctld")
        conf.write_text("\n".join((*re.sub(r"(?m)^MailProg=.*\n", "", before).splitlines(), *ours, "")))
        cluster.ask("scontrol", "reconfigure")
        until("the hooks to be known", lambda: str(folder) in cluster.ask("scontrol", "show", "config"), 90.0)
        yield hooks
    finally:
        conf.write_text(before)
        cluster.ask("scontrol", "reconfigure")
        until("them to be forgotten", lambda: str(folder) not in cluster.ask("scontrol", "show", "config"), 90.0)


def test_slurms_hooks_wake_and_pass_the_users_mail_on_whatever_the_job_is_called(
    cluster: Cluster, tmp_path: Path
) -> None:
    with hooked(cluster, tmp_path) as hooks:
        name = f"$(touch {tmp_path}/x)`touch {tmp_path}/x`;touch {tmp_path}/x\n\"'\\ -A \u202e訓練"
        job, (option, subject, to) = hooks.ends(name)
        assert (option, to) == ("-s", "ada@site.test")
        assert subject.startswith(f"Slurm Job_id={job} Name={name} Ended, Run time") and "COMPLETED" in subject
        assert hooks.wake.stat().st_mtime > 1 and not (tmp_path / "x").exists()
        given = (tmp_path / "env").read_bytes().split(b"\0")
        assert f"SLURM_JOB_ID={job}".encode() in given
        assert not any(one.startswith(MARK.encode()) for one in given), "none of slurmctld's own"

        hooks.script("touch", f"echo $$ >>{tmp_path}/hung\nexec sleep 600")
        hooks.set(f"PATH={tmp_path}:/usr/bin:/bin")
        job, _ = hooks.ends("while what is woken hangs, and there is no adminkit")
        hung = [int(pid) for pid in (tmp_path / "hung").read_text().split()]
        until("what hung to be gone", lambda: not any(map(start_time, hung)), 60.0)
        assert "ExitCode=0:0" in cluster.ask("scontrol", "show", "job", str(job))
        assert "MailProg returned error" not in cluster.tail("slurmctld.log", 200)


# against each other


def ids(user: str) -> tuple[int, int]:
    found = pwd.getpwnam(user)
    return found.pw_uid, found.pw_gid


def test_a_user_whose_name_was_squatted_can_stop_letters_after_the_next_run(site: Site) -> None:
    (uid, gid), squatter = ids("games"), ids("news")
    choices = site.prefs / f"{uid}.toml"
    as_user(*squatter, lambda: choices.touch())
    assert isinstance(as_user(uid, gid, lambda: write(site.prefs, uid, Prefs(letters="never"))), Refused)
    said = site.adminkit("feedback", "run", "--send").stderr
    line = f"refused choices: {choices} of uid {squatter[0]}: a file that is not uid {uid}'s; removed"
    assert line in said.splitlines()
    as_user(uid, gid, lambda: write(site.prefs, uid, Prefs(letters="never")))
    job = site.job(3, "-J", "quiet", user="games")
    site.adminkit("sync")
    assert "refused" not in site.adminkit("feedback", "run", "--send").stderr
    assert site.letters("games", job) == []
    choices.unlink()


def test_no_letter_goes_to_a_stranger_whom_a_user_chose(site: Site) -> None:
    uid, gid = ids("games")
    as_user(uid, gid, lambda: write(site.prefs, uid, Prefs(address="someone@stranger.example")))
    job = site.job(3, "-J", "abroad", user="games")
    site.adminkit("sync")
    done = site.adminkit("feedback", "run", "--send")
    assert "refused addresses: someone@stranger.example of games: it is not in an allowed domain" in done.stderr
    assert "games has an address that is not in an allowed domain: someone@stranger.example" in done.stdout
    assert one(site.db, "SELECT count(*) FROM outbox WHERE job_id_raw = ?", job) == 0
    (site.prefs / f"{uid}.toml").unlink()


def test_a_user_outside_of_the_group_is_shown_their_own_jobs(site: Site, tmp_path: Path) -> None:
    jobs = {user: site.job(2, "-J", f"of-{user}", user=user) for user in ("games", "news", "backup")}
    site.adminkit("sync")
    with TemporaryDirectory(prefix="adminkit-open-") as folder:
        Path(folder).chmod(0o711)
        trace = Path(folder) / "trace.db"
        with closing(sqlite3.connect(site.db)) as db:
            db.execute("VACUUM INTO ?", (str(trace),))
        trace.chmod(0o644)

        def look() -> tuple[set[int], list[int]]:
            with reader(trace) as db:
                return {number for (number,) in db.execute("SELECT job_id_raw FROM job")}, [
                    db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("step", "rejected")
                ]

        seen = {user: as_user(*ids(user), look)[0] for user in ("games", "news")}
        assert jobs["games"] in seen["games"] and jobs["news"] in seen["news"]
        assert not seen["games"] & seen["news"]
        assert {*seen["games"], *seen["news"]} < as_user(0, 0, look)[0], "others ran jobs, too"
        refused = as_user(*ids("news"), lambda: whose(["games"], trace))
        assert (
            isinstance(refused, Refused) and "only games and the operators may see the jobs of games" in refused.message
        )


def test_a_closed_month_brings_statements_and_its_budget_is_told_to_the_coordinator(site: Site, tmp_path: Path) -> None:
    """The month is written as `charge close` writes it; that news coordinates physics is a real slurmdbd's word."""
    now, month = int(time.time()), time.strftime("%Y-%m", time.gmtime(time.time() - 40 * 86_400))
    file = tmp_path / "charge.toml"
    file.write_text(
        'version = 1\nscheme = "s"\n[schemes.s]\nformula = "node_hours"\nunit = "points"\n'
        f'[[budgets]]\naccount = "physics"\namount = 100\nfrom = "{month}"\n'
    )
    with writer(site.db) as db, transaction(db):
        uid = pwd.getpwnam("games").pw_uid
        person = person_of(db, "alpha", "games", now=now, uid=uid)
        entry = ledger_entry(month, person, cluster="alpha", account="physics", amount="85.00", at=now)
        empty = dict.fromkeys(("cluster", "job_id_raw", "submit_time", "last_submit", "person", "account"))
        ledger.append(db, [entry, replace(entry, kind="close", **empty)])
    site.cluster.ask("sacctmgr", "-i", "add", "coordinator", "account=physics", "names=news")
    try:
        env = {"ADMINKIT_CONFIG": str(site.config), "ADMINKIT_CHARGE": str(file)}
        env |= {"ADMINKIT_FEEDBACK_STATEMENTS": "true"}
        for _ in range(2):
            adminkit(site.cluster, site.db, "feedback", "run", "--send", env=env)
    finally:
        site.cluster.ask("sacctmgr", "-i", "delete", "coordinator", "account=physics", "names=news")

    def about(user: str, words: str) -> list[EmailMessage]:
        return [letter for letter in site.mta.letters(user) if words in letter["Subject"]]

    until("the statement to arrive", lambda: about("games", f"Your charges of {month}"), 60.0)
    until("the warning to arrive", lambda: about("news", "budget of physics"), 60.0)
    (statement,), (warning,) = about("games", f"Your charges of {month}"), about("news", "budget of physics")
    text, rest = (one.get_body(("plain",)) for one in (statement, warning))
    assert text is not None and "physics: 85.00 points for 1 job" in " ".join(text.get_content().split())
    assert rest is not None and "15.00 points are left" in " ".join(rest.get_content().split())
    assert "85 % of the budget" in warning["Subject"]
    assert about("ops", "budget of physics") == [], "a coordinator could be told"
