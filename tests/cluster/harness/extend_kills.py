"""Rounds of `adminkit extend` that are killed at random, and a slurmctld that is killed in the middle of one."""

from __future__ import annotations

import os
import random
import signal
import time
import warnings
from collections import Counter
from pathlib import Path

from adminkit.deploy import extend_round
from tests.cluster.harness.extend import ASKED, STEP, Extending
from tests.cluster.harness.processes import until

SEED = 43


def begin(site: Extending) -> int:
    """A round of a process of its own, which leads its process group; its id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, none of which the child needs
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            extend_round.once(site.ruled.folder, int(time.time()), site.ruled.acts)
            code = 0
        finally:
            os._exit(code)
    return child


def kills_ctld(site: Extending, folder: Path, job: int, when: str) -> Path:
    """A folder for PATH whose scontrol kills slurmctld around its first update: `before` it, `after` it, or once it is
    `saved`. slurmctld saves what changed every five seconds; the job is saved.
    """
    saved = site.cluster.home / "state/job_state"
    begun = time.time()
    site.cluster.ask("scontrol", "update", f"JobId={job}", "Comment=changed")
    until("slurmctld to save its jobs", lambda: saved.stat().st_mtime > begun, 30)
    process = site.cluster.ledger.find(f"{site.cluster.name}-slurmctld")
    assert process is not None
    kill_it = f"kill -9 {process.pid}"
    if when == "before":
        return around_update(folder, first=kill_it)
    wait = f"while [ ! {saved} -nt {folder}/once ]; do sleep 0.1; done; " if when == "saved" else ""
    return after_update(folder, wait + kill_it)


def after_update(folder: Path, command: str) -> Path:
    """A folder for PATH whose scontrol runs a command after its first update."""
    return around_update(folder, last=command)


def around_update(folder: Path, first: str = ":", last: str = ":") -> Path:
    """As after_update, before and after it."""
    folder.chmod(0o755)
    once = folder / "once"
    wrapper = folder / "bin" / "scontrol"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f"""#!/bin/sh
PATH=${{PATH#*:}}
[ "$1" = update ] && [ ! -e {once} ] || exec scontrol "$@"
: > {once}
{first}
scontrol "$@"
code=$?
{last}
exit $code
"""
    )
    wrapper.chmod(0o755)
    return wrapper.parent


def ctld_is_killed(site: Extending, folder: Path, when: str) -> bool:
    """Whatever slurmctld kept of the limit, it kept of the word; the next round says what became of the act, and then
    the job has its time. Whether the update outlived the kill.
    """
    job = site.submit("-t", "2")
    site.round(code=None, path=kills_ctld(site, folder, job, when))
    site.cluster.start_ctld()
    until("the job to be known", lambda: site.cluster.states(job) == ["RUNNING"], 60)
    shown, kept = site.shown(job), site.shown(job).given is not None
    assert shown.limit == (ASKED + STEP if kept else ASKED), shown
    site.round()
    held = [act["held"] for act in site.acts() if act["job"] == job]
    assert held[:2] == [None, kept], held
    assert site.shown(job).limit == ASKED + STEP
    site.audit()
    return kept


def killed_at_random(site: Extending, kills: int, wide: bool = False) -> None:
    """Each time some jobs are near their end; with `wide`, every fourth time a job for all nodes waits, for which time
    is taken back. Then one round completes what was begun.
    """
    pick, took, cut, jobs = random.Random(SEED), 0.0, 0, list[int]()
    for nth in range(kills + 1):
        jobs.append(site.submit("-a", "1-3", runs=False))
        if nth > 7:
            site.cluster.run("scancel", str(jobs[nth - 8]))
        site.cluster.wait(jobs[-1], "RUNNING", 30)
        waits = site.planned("-N4", "--exclusive") if wide and nth % 4 == 3 else 0
        child, began = begin(site), time.monotonic()
        if nth == 0:
            assert os.waitpid(child, 0)[1] == 0
            took = time.monotonic() - began
            continue
        time.sleep(pick.uniform(0, took))
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        cut += bool(site.state().under_way)
        if waits:
            site.cluster.run("scancel", str(waits))
    site.round(code=None)
    site.audit()
    acts = [act for act in site.acts() if act["becomes"] is not None]
    count = Counter((act["did"], act["held"]) for act in acts)
    print(f"{kills} rounds killed within {took:.2f} s, {cut} with acts under way; what became of acts: {dict(count)}")
    assert cut, "no kill was in the middle of an act"
    for did in ("given", "taken back"):
        assert count[did, True] + count[did, False] == count[did, None] or count[did, False], "each comes to an end"
    assert not wide or count["taken back", True]
