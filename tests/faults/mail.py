"""Faults on the way of the letters."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Final

from tests.faults.results import Outcome
from tests.faults.work import LETTERS, Work, finished, line, must

QUARTER: Final = 900


def server_down(work: Work) -> Outcome:
    """The mail server is down for an hour while jobs end. For 15 minutes of that hour, it does not reply at all."""
    _switch_on(work)
    jobs: list[int] = []
    lines = []
    for quarter in range(4):
        if quarter == 0:
            work.site.hold("mail", "mail")
        elif quarter == 2:  # it is there, and stands still
            work.site.release("mail", "mail")
            time.sleep(3)
            work.site.kill("mail", "mail", "STOP")
        elif quarter == 3:
            work.site.hold("mail", "mail")
        jobs += _worth(work)
        lines.append(line(work.letters(code=1, clock=quarter * QUARTER), r"^error: no letter goes through"))
    work.site.release("mail", "mail")
    time.sleep(3)
    last = work.letters(clock=4 * QUARTER)
    must(b'"sent": 12' in last.out.replace(b'"sent":12', b'"sent": 12'), last.text[-300:])
    work.letters(clock=4 * QUARTER + 60)
    notes = ("four runs of `feedback run`, each with the clock a quarter of an hour later (libfaketime)", lines[2])
    return replace(work.judge_letters(work.judge(jobs), jobs), line=lines[0], where="feedback run --send", notes=notes)


def feedback_killed(work: Work) -> Outcome:
    """`feedback run --send` is killed while it waits for the server, then in mid-session, then at a random moment."""
    _switch_on(work)
    jobs = [job for _ in range(4) for job in _worth(work)]
    pick = random.Random(6)
    slow = {**LETTERS, "ADMINKIT_FEEDBACK_PER_MINUTE": "60", "ADMINKIT_FEEDBACK_TIMEOUT": "30"}
    for freeze in (0.0, None, 3.0):  # the server stands still after so many seconds
        if freeze == 0:
            work.site.kill("mail", "mail", "STOP")
        sending = work.begin("feedback", "run", "--send", env=slow)
        time.sleep(freeze or pick.uniform(2.5, 5))
        if freeze:
            work.site.kill("mail", "mail", "STOP")
            time.sleep(2)
        work.kill_adminkit()
        finished(sending)
        work.site.kill("mail", "mail", "CONT")
    last = work.letters()
    work.letters()
    outcome = work.judge_letters(work.judge(jobs), jobs)
    said = next((one.strip() for one in last.text.splitlines() if "when the last run was killed" in one), "")
    must(said, f"no word of the run that was killed: {last.text[-400:]}")
    # What was being handed over may come again, under its own Message-ID; nothing else may.
    must(outcome.twice <= 3, f"{outcome.twice} letters twice after three kills")
    notes = (
        f"letters that arrived twice because adminkit was killed before it recorded the handover: {outcome.twice}",
    )
    return replace(outcome, twice=0, line=said.strip('",'), where="feedback run --send", notes=notes)


def _switch_on(work: Work) -> None:
    work.sync()
    work.letters()
    time.sleep(1)  # what ends in that second got no letter
    work.before = work.mailbox()


def _worth(work: Work) -> list[int]:
    """Three jobs that ended, in the trace, each worth a letter."""
    jobs = work.jobs(3, "sleep 2")
    work.ended(jobs)
    work.site.settle()
    work.sync()
    return jobs
