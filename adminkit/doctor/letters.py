"""doctor's checks of letters: whether they are switched on, can be sent, and leave the outbox."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adminkit import config
from adminkit.doctor.check import Check, guarded
from adminkit.feedback.mime import check_senders, unsubscribe
from adminkit.feedback.prefs import check_folder, folder_of, out_of_reach
from adminkit.feedback.recipients import allowed_domains, is_allowed
from adminkit.feedback.transport.choice import described, opened
from adminkit.findings import outbox as judgement
from adminkit.trace import connect, outbox
from adminkit.trace.sight import sees_others
from adminkit.units import show_time

TRY: Final = "to try it: adminkit feedback test ADDRESS --send"


def letters(settings: config.Config, db: Path) -> Iterator[Check]:
    """Every check; a single one where letters are off. Connects to no mail server."""
    if not settings.feedback.clusters:
        yield Check("letters", "ok", "off: [feedback] clusters names no cluster")
        return
    yield guarded("letters", lambda: _way(settings.feedback), "warn")
    yield guarded("senders", lambda: _senders(settings.feedback), "warn")
    yield guarded("choices", lambda: _choices(settings, db), "warn")
    yield guarded("outbox", lambda: _outbox(db), "warn")


def _way(feedback: config.Feedback) -> Check:
    opened(feedback)  # checks the settings and the login file
    check_senders(feedback)
    found = f"{', '.join(feedback.clusters)} by {described(feedback)}"
    if feedback.domain and not is_allowed(f"user@{feedback.domain}", allowed_domains(feedback, {})):
        return Check(
            "letters",
            "warn",
            f"{found}; no letter may go to {feedback.domain}, which [feedback] domains leaves out",
            f'add "{feedback.domain}" to [feedback] domains',
        )
    if not feedback.operators:
        return Check(
            "letters",
            "warn",
            found,
            "set [feedback] operators: otherwise nobody is told when more than max_letters are due at once",
        )
    return Check("letters", "ok", f"{found}; {TRY}")


def _senders(feedback: config.Feedback) -> Check:
    """Whether somebody can read what comes back: bounces, answers, and mails that unsubscribe."""
    address, key = (feedback.reply_to, "reply_to") if feedback.reply_to else (feedback.sender, "sender")
    for name, value in (("sender", feedback.sender), ("reply_to", feedback.reply_to or feedback.sender)):
        if is_local(value):
            return Check(
                "senders",
                "warn",
                f"[feedback] {name} is {value}, which is local to each host: bounces and replies reach nobody",
                f'set [feedback] {name} to a mailbox that somebody reads: {name} = "adminkit@example.org"',
            )
    link = unsubscribe(feedback)
    if link.startswith("mailto:") and is_local(link.removeprefix("mailto:").partition("?")[0]):
        return Check(
            "senders", "warn", f"[feedback] unsubscribe is {link}, which reaches nobody", "name a page or a mailbox"
        )
    if feedback.unsubscribe is None:
        return Check(
            "senders",
            "ok" if feedback.reply_to else "warn",
            f"mail programs unsubscribe by email to {address}, the {key}: somebody has to read it",
            ""
            if feedback.reply_to
            else "set [feedback] reply_to to a mailbox that is read, or unsubscribe to a page;"
            " add users who ask for it to exclude_users",
        )
    return Check("senders", "ok", f"from {feedback.sender}; mail programs unsubscribe at {link}")


def is_local(address: str) -> bool:
    """Whether a mail address is of no domain but the host's own: localhost, or a name without a dot."""
    domain = address.rpartition("@")[2].lower().rstrip(".")
    return "." not in domain or domain.startswith("localhost.") or domain.endswith((".localdomain", ".local"))


def _choices(settings: config.Config, db: Path) -> Check:
    folder = folder_of(settings, db)
    check_folder(folder, db)
    if not folder.exists():
        return Check("choices", "ok", f"{folder} does not exist yet: adminkit feedback run --send makes it")
    if (barred := out_of_reach(folder)) is not None:
        return Check(
            "choices",
            "warn",
            f"users cannot reach {folder}: {barred} is closed to them",
            f"chmod o+x {barred}, or name another folder in [feedback] prefs",
        )
    return Check("choices", "ok", str(folder))


def _outbox(db: Path) -> Check:
    now = int(time.time())
    if connect.is_there(db) and not sees_others(db):
        return Check("outbox", "ok", "not checked: only operators may see letters")
    with connect.reader(db) as trace:
        waiting = [one.due_at for one in outbox.find(trace, ["due", "claimed"])]
        refused = [one.due_at for one in outbox.find(trace, ["refused"])]
        last = outbox.last_claim(trace)
    limits = judgement.Limits()
    (finding,) = judgement.check(judgement.Measure(waiting, refused, now), limits)
    numbers = finding.evidence
    found = f"{numbers['waiting']} waiting, {numbers['stuck']} of them for more than {limits.stuck // 3600} h"
    found += f", {numbers['refused']} refused this week"
    found += f"; a letter was last sent or tried {show_time(last)}" if last else "; no letter has been sent yet"
    return Check("outbox", "warn" if finding.severity == "warn" else "ok", found, finding.advice)
