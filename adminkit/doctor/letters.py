"""doctor's lines on letters: whether they are switched on, may be sent, and leave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adminkit import config
from adminkit.doctor.check import Line
from adminkit.errors import AdminkitError
from adminkit.feedback.mime import check_senders
from adminkit.feedback.prefs import check_folder, folder_of, out_of_reach
from adminkit.feedback.recipients import allowed_domains, is_allowed
from adminkit.feedback.transport.base import described, opened
from adminkit.findings import outbox as judgement
from adminkit.trace import connect, outbox
from adminkit.trace.sight import sees_others
from adminkit.units import show_time

TRY: Final = "adminkit feedback test ADDRESS --send tries it"


def letters(settings: config.Config, db: Path) -> Iterator[Line]:
    """Every line; one alone where nobody gets any. Connects to no mail server."""
    if not settings.feedback.clusters:
        yield "letters", "ok", "nobody gets any: no cluster in [feedback] clusters", ""
        return
    for name, look in (("letters", _way), ("choices", _choices), ("outbox", _outbox)):
        try:
            yield look(settings, db)
        except AdminkitError as error:
            yield name, "warn", error.message, error.hint


def _way(settings: config.Config, db: Path) -> Line:
    chosen = settings.feedback
    opened(chosen)  # the configuration, the file of the login
    check_senders(chosen)
    found = f"{', '.join(chosen.clusters)} by {described(chosen)}"
    if chosen.domain and not is_allowed(f"user@{chosen.domain}", allowed_domains(chosen, {})):
        return "letters", "warn", f"{found}; {chosen.domain} is not in domains", "add domain to [feedback] domains"
    if not chosen.operators:
        return "letters", "warn", found, "nobody would be told of a flood: set [feedback] operators"
    return "letters", "ok", f"{found}; {TRY}", ""


def _choices(settings: config.Config, db: Path) -> Line:
    folder = folder_of(settings, db)
    check_folder(folder, db)
    if not folder.exists():
        return "choices", "ok", f"{folder} is not there yet: feedback run --send makes it", ""
    if (barred := out_of_reach(folder)) is not None:
        return "choices", "warn", f"users cannot reach {folder}: {barred} is closed", "name another in [feedback] prefs"
    return "choices", "ok", str(folder), ""


def _outbox(settings: config.Config, db: Path) -> Line:
    now = int(time.time())
    if connect.is_there(db) and not sees_others(db):
        return "outbox", "ok", "not looked at: letters are for the operators", ""
    with connect.reader(db) as trace:
        waiting = [one.due_at for one in outbox.find(trace, ["due", "claimed"])]
        refused = [one.due_at for one in outbox.find(trace, ["refused"])]
        last = outbox.last_claim(trace)
    limits = judgement.Limits()
    (finding,) = judgement.check(judgement.Measure(waiting, refused, now), limits)
    numbers = finding.evidence
    found = f"{numbers['waiting']} waiting, {numbers['stuck']} of them for more than {limits.stuck // 3600} h"
    found += f", {numbers['refused']} refused this week"
    found += f"; one was last sent or tried {show_time(last)}" if last else "; none was sent yet"
    return "outbox", "warn" if finding.severity == "warn" else "ok", found, finding.advice
