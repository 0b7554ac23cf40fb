"""Faults between Slurm and the trace."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Final

from tests.cluster.compose.host import ADMINKIT
from tests.cluster.compose.site import NODES, TREE
from tests.cluster.harness.cluster import Done
from tests.cluster.harness.processes import until
from tests.faults.results import Outcome
from tests.faults.work import HEAD, Work, finished, line, must

#: A sync that takes its time: many windows, a pause before each one's steps.
SLOW: Final = {"ADMINKIT_SYNC_STEPS_PAUSE": "1.5"}
LONG_AGO: Final = ("--since", "60d")
#: 26.05's sacct lists its fields without slurmdbd, so there sync is the first to ask for it.
AWAY: Final = r"^error: (couldn't run sac|slurmdbd is not responding)"
FULL: Final = r"^error: .*(full|[Nn]o space|couldn't write all)"
_ACTS: Final = "/small/acts.jsonl"
_READ: Final = f'from pathlib import Path; from adminkit import actions; print(len(actions.read(Path("{_ACTS}"))))'
#: One rule more, so that there is something to install.
_RULE: Final = """
[[rules]]
name = "free-max"
queues = ["free"]
max_limit = "28-00:00:00"
action = "warn"
"""


def slurmdbd_down(work: Work) -> Outcome:
    """slurmdbd is killed in the middle of a sync, and jobs end while it is down."""
    jobs = work.jobs(4)
    work.ended(jobs)
    at_work = work.begin("sync", *LONG_AGO, env=SLOW)
    time.sleep(4)
    work.site.hold("slurmdbd", "slurmdbd")
    told = finished(at_work)
    must(told.code == 1, f"sync did not fail: {told.code}")
    said = line(told, AWAY)
    more = work.jobs(4)
    work.ended(more)
    held = work.backlog_of(4)
    again = work.sync(code=1)
    line(again, AWAY)
    work.site.release("slurmdbd", "slurmdbd")
    _dbd_answers(work)
    return replace(work.judge([*jobs, *more]), line=said, where="sync", notes=(f"{held} records waited in slurmctld",))


def database_restarted(work: Work) -> Outcome:
    """MariaDB is restarted twice and killed once, while jobs end and a sync runs."""
    jobs = work.jobs(4)
    at_work = work.begin("sync", *LONG_AGO, env=SLOW)
    time.sleep(3)
    work.site.kill("database", "mariadbd", "TERM")
    told = finished(at_work)
    jobs += work.jobs(4)
    time.sleep(2)
    work.site.hold("database", "mariadbd")
    failed = work.sync(code=None)
    must(failed.code == 1, f"sync without a database: exit {failed.code}: {failed.err.decode()[-300:]}")
    said = line(failed, r"^error: ")
    work.site.release("database", "mariadbd")
    _dbd_answers(work)
    work.ended(jobs)
    first = "passed over it" if told.code == 0 else line(told, r"^error: ")
    return replace(work.judge(jobs), line=said, where="sync", notes=(f"the sync that ran at the restart: {first}",))


def cut_off(work: Work) -> Outcome:
    """The network between slurmctld's host and slurmdbd is cut while jobs end, then restored."""
    work.sync()
    work.site.block(HEAD, "slurmdbd")
    try:
        jobs = work.jobs(6)
        work.ended(jobs)
        held = work.backlog_of(6)
        told = work.sync(code=1)
        said = line(told, AWAY)
    finally:
        work.site.unblock(HEAD, "slurmdbd")
    _dbd_answers(work)
    after = work.sync(code=None)  # the queue may still be draining
    remark = "provisional" if b"provisional" in after.out else "settled"
    notes = (f"{held} records waited in slurmctld; the windows of the first sync afterwards were {remark}",)
    return replace(work.judge(jobs), line=said, where="sync", notes=notes)


def sync_killed(work: Work) -> Outcome:
    """sync and all programs that it started are killed with SIGKILL, at eight random moments."""
    jobs = work.jobs(6)
    work.ended(jobs)
    pick = random.Random(8)
    for _ in range(8):
        at_work = work.begin("sync", *LONG_AGO, env={"ADMINKIT_SYNC_STEPS_PAUSE": "0.2"})
        time.sleep(pick.uniform(0.4, 4))
        work.kill_adminkit()
        finished(at_work)
    told = work.sync(*LONG_AGO)
    left = work.site.shell(HEAD, f"ls -A {work.folder} | grep spool || true")
    must(not left, f"a spool stayed: {left}")
    said = told.text.splitlines()[0]
    return replace(work.judge(jobs), line=said, where="sync", notes=("killed eight times",))


def munge_down(work: Work) -> Outcome:
    """munged on slurmctld's host is down while jobs end. When it is back, slurmd is restarted on each node."""
    work.sync()
    jobs = work.jobs(3, "sleep 8")
    work.site.hold(HEAD, "munged", "TERM")
    told = work.sync(code=1)
    said = line(told, r"^error: ")
    hint = line(told, r"^hint: .*mung")
    time.sleep(8)
    work.site.release(HEAD, "munged")
    _dbd_answers(work)
    for node in NODES:
        work.site.kill(node, "slurmd", "TERM")  # or slurmctld takes minutes to see that the jobs have ended
    jobs += work.jobs(3)
    work.ended(jobs, 330)
    return replace(work.judge(jobs), line=said, where="sync", notes=(hint,))


def disk_full(work: Work) -> Outcome:
    """The disk with the trace and the action log is full while adminkit syncs, sends letters and installs rules."""
    site, small = work.site, replace(work, folder="/small/adminkit")
    site.shell(HEAD, "mkdir -p /small/adminkit && chmod 2750 /small/adminkit && chown adminkit: /small/adminkit")
    small.sync()
    small.letters()
    time.sleep(1)  # what ends in the second in which letters are switched on gets none
    small.before = small.mailbox()
    site.shell(HEAD, f"head -c 4000 /dev/zero | tr '\\0' ' ' >{_ACTS}; echo >>{_ACTS}")  # the next line is cut off
    jobs = work.jobs(4, "sleep 3")
    work.ended(jobs)
    site.settle()
    small.sync()
    jobs += work.jobs(4, "sleep 3")
    work.ended(jobs)
    site.settle()
    site.shell(HEAD, "dd if=/dev/zero of=/small/ballast bs=4k 2>/dev/null || true")
    letters = line(small.letters(code=1), FULL)
    said = line(small.sync(code=1), FULL)
    site.shell(HEAD, f"cat >>/etc/adminkit/policy.toml <<'EOF'\n{_RULE}\nEOF\n")
    rules = line(_install(work), FULL)
    small.copy()  # whole, or it fails
    site.shell(HEAD, "rm /small/ballast")
    outcome = small.judge(jobs)
    small.letters()
    site.shell(HEAD, "sed -i s/28-00:00:00/27-00:00:00/ /etc/adminkit/policy.toml")
    again = _install(work)
    acts = int(site.shell(HEAD, f"{TREE}/.venv/bin/python -c '{_READ}'"))
    must(acts == 1, f"{acts} acts in the log after one was cut off and one went well")
    must(again.code == 0, f"policy install after the space came back: {again.err.decode()[-300:]}")
    notes = (f"feedback run --send: {letters}", f"policy install --apply: {rules}")
    return replace(small.judge_letters(outcome, jobs), line=said, where="sync", notes=notes)


def _install(work: Work) -> Done:
    """The rules of policy.toml, the act logged on the small disk."""
    words = (str(ADMINKIT), "policy", "install", "--apply")
    return work.site.run(*words, part=HEAD, env={"ADMINKIT_ACTS": _ACTS}, seconds=120)


def _dbd_answers(work: Work) -> None:
    asked = ("sacctmgr", "-n", "show", "cluster")
    until("slurmdbd to answer", lambda: work.site.run(*asked, part=HEAD).code == 0, 120, pause=1)
