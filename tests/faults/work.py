"""What a fault has to work with: the site, its operator, its users, and the counting."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import connect
from typing import Final

from tests.cluster.compose.host import ADMINKIT, Site
from tests.cluster.compose.site import OPERATOR, PEOPLE
from tests.cluster.harness.cluster import Done
from tests.cluster.harness.operator import rows
from tests.cluster.harness.processes import ClusterError, until
from tests.cluster.harness.sacct_rows import sacct_rows
from tests.faults.results import Outcome, count
from tests.matrix import engine

#: Where adminkit works: the host of slurmctld.
HEAD: Final = "slurmctld"
#: Every job of seconds is worth a letter, and a mail server is not waited for.
LETTERS: Final = {
    "ADMINKIT_FEEDBACK_MIN_ELAPSED": "1", "ADMINKIT_FEEDBACK_UNUSED_HOURS": "0.5", "ADMINKIT_FEEDBACK_USER_PAUSE": "0",
    "ADMINKIT_FEEDBACK_NAME_PAUSE": "0", "ADMINKIT_FEEDBACK_DIGEST": "false", "ADMINKIT_FEEDBACK_TIMEOUT": "4",
    "ADMINKIT_FEEDBACK_OPERATORS": "", "ADMINKIT_FEEDBACK_PER_MINUTE": "6000", "ADMINKIT_FEEDBACK_WELL": "1",
}  # fmt: skip
_FAKETIME: Final = "/usr/$LIB/faketime/libfaketime.so.1"
#: A copy of a trace that somebody may be writing, where the host sees it.
_COPY: Final = """import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
with sqlite3.connect("/adminkit/build/fault.db") as copy:
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the trace is damaged"
    db.backup(copy)"""
_MAILBOX: Final = """import json, mailbox
print(json.dumps([letter["Message-ID"] for letter in mailbox.Maildir("/shared/mail", create=False)]))"""


class Wrong(Exception):
    """What a fault should not have done."""


def must(holds: object, why: str) -> None:
    if not holds:
        raise Wrong(why)


@dataclass
class Work:
    """One fault at work on a trace of its own."""

    site: Site
    name: str
    folder: str = "/var/lib/adminkit"
    before: list[str] = field(default_factory=list)  # letters that lay in the mailbox already

    @property
    def db(self) -> str:
        return f"{self.folder}/{self.name}.db"

    # adminkit

    def command(self, *words: str, env: Mapping[str, str] | None = None) -> list[str]:
        """podman exec of adminkit as the operator."""
        given = [word for name, value in (env or {}).items() for word in ("-e", f"{name}={value}")]
        whole = [engine.ENGINE, "exec", "-w", "/", "-u", OPERATOR, *given, self.site.container(HEAD)]
        return [*whole, str(ADMINKIT), *words, "--db", self.db]

    def adminkit(self, *words: str, code: int | None = 0, env: Mapping[str, str] | None = None) -> Done:
        done = subprocess.run(self.command(*words, env=env), capture_output=True, timeout=300, check=False)
        said = Done(done.returncode, done.stdout, done.stderr)
        last = f"{' '.join(words)}: exit {said.code}: {done.stderr.decode()[-600:]}{done.stdout.decode()[-300:]}"
        must(code is None or said.code == code, last)
        return said

    def sync(self, *words: str, code: int | None = 0, env: Mapping[str, str] | None = None) -> Done:
        return self.adminkit("sync", *(words or ("--since", "3d")), code=code, env=env)

    def begin(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """adminkit at work while something else happens."""
        return subprocess.Popen(
            self.command(*words, env=env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

    def letters(self, code: int | None = 0, clock: int = 0) -> Done:
        """`feedback run --send`, with the clock set forward by so many seconds."""
        env = {**LETTERS, **(self.clock(clock) if clock else {})}
        return self.adminkit("feedback", "run", "--send", "-f", "json", code=code, env=env)

    def clock(self, offset: int, zone: str = "") -> dict[str, str]:
        """The environment of a program whose clock is off by so many seconds."""
        env = {"LD_PRELOAD": _FAKETIME, "FAKETIME": f"{offset:+d}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        return {**env, **({"TZ": zone} if zone else {})}

    def kill_adminkit(self) -> None:
        """Whatever the operator runs on the admin host, at once."""
        self.site.run("pkill", "-9", "-u", OPERATOR, part=HEAD)

    # users

    def jobs(self, number: int, script: str = "sleep 2", *options: str) -> list[int]:
        """That many, by everybody in turn."""
        users = list(PEOPLE)
        words = options or ("-p", "gq", "-t", "24:00:00", "--gres=gpu:1")
        return [self.site.submit(script, *words, user=users[at % len(users)]) for at in range(number)]

    def ended(self, jobs: Iterable[int], seconds: float = 120.0) -> None:
        for job in jobs:
            self.site.wait(job, seconds=seconds)

    # judging

    def judge(self, jobs: Iterable[int] = ()) -> Outcome:
        """Every run that sacct shows against the trace, after a sync; each of `jobs` has to be among them."""
        self.site.settle(120)
        self.sync()
        theirs = sacct_rows(self.site)
        missing = set(jobs) - {key[0] for key in theirs}
        must(not missing, f"Slurm itself lost jobs: {sorted(missing)}")
        return count(theirs, rows(self.copy(), self.site.name))

    def judge_letters(self, outcome: Outcome, jobs: Iterable[int]) -> Outcome:
        """Every letter of the outbox against the mailbox; each of `jobs` has to have one."""
        copy = self.copy()
        with closing(connect(copy)) as db:
            found = db.execute("SELECT job_id_raw, state, said FROM outbox").fetchall()
        must(set(jobs) <= {row[0] for row in found}, "a job has no row in the outbox")
        arrived = Counter(self.mailbox())
        arrived.subtract(Counter(self.before))
        here = Counter({name: n for name, n in arrived.items() if n > 0})
        by_job = {int(m[1]): n for name, n in here.items() if (m := re.search(r"<end\.(\d+)-", name))}
        unsent = sum(1 for job in set(jobs) if job not in by_job)
        waiting = [row for row in found if row[1] != "sent"]
        must(not waiting, f"letters wait or were given up: {waiting[:3]}")
        return replace(outcome, letters=sum(here.values()), unsent=unsent, twice=sum(n - 1 for n in here.values()))

    def mailbox(self) -> list[str]:
        found: list[str] = json.loads(self.site.run("python3", "-c", _MAILBOX, part=HEAD).text or "[]")
        return found

    def copy(self) -> Path:
        """The trace, whole, on this host."""
        target = engine.folder_of(self.site.row) / "build/fault.db"
        target.parent.mkdir(exist_ok=True)
        target.unlink(missing_ok=True)
        done = self.site.run("python3", "-c", _COPY, self.db, part=HEAD)
        must(done.code == 0, f"{self.db}: {done.err.decode()[-300:]}")
        return target

    def backlog_of(self, least: int, seconds: float = 60) -> int:
        """Wait until slurmctld holds so many records back."""
        until(f"slurmctld to hold {least} records", lambda: self.site.backlog() >= least, seconds, pause=0.5)
        return self.site.backlog()


def line(said: Done, pattern: str) -> str:
    """The one line of stderr that tells of it: it has to be there, once."""
    text = said.err.decode(errors="replace")
    found = [one for one in text.splitlines() if re.search(pattern, one)]
    must(len(found) == 1, f"{len(found)} lines say {pattern!r}: {text[-500:]}")
    must("Traceback" not in text, f"a traceback: {text[-500:]}")
    return found[0]


def finished(process: subprocess.Popen[bytes], seconds: float = 120) -> Done:
    out, err = process.communicate(timeout=seconds)
    return Done(process.returncode, out, err)


def wait_for(what: str, ready: Callable[[], object], seconds: float) -> None:
    """`until`, as a fault's verdict."""
    try:
        until(what, ready, seconds, pause=0.5)
    except ClusterError as error:
        raise Wrong(str(error)) from error
