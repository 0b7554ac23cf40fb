"""One run: due letters are put into the outbox, and the letters of the outbox are sent.

The process may be killed between any two steps. Each due letter has its row before any is sent; a row is `claimed`
before its letter is handed over, and `sent` only afterwards. So no letter is lost; one whose handing over was
interrupted may arrive twice, with the same Message-ID.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from adminkit import actions, journal
from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.feedback import last_sent as mark
from adminkit.feedback.calendar import WEEK, is_quiet
from adminkit.feedback.chat import Chat
from adminkit.feedback.idle_letter import Holding
from adminkit.feedback.letter import Compose, Due, Letter
from adminkit.feedback.mime import Envelope, build
from adminkit.feedback.plan import MOST_NOTES, Plan, plan, switched_on
from adminkit.feedback.planned import due_of
from adminkit.feedback.prefs import check_folder, make_folder, read
from adminkit.feedback.recipients import People, same_user
from adminkit.feedback.sweep import sweep
from adminkit.feedback.transport.base import Later, Refused, Stopped, Transport
from adminkit.render.format import plural
from adminkit.sqlite import sqlite3
from adminkit.stats.sources import refuse_demo
from adminkit.trace import outbox
from adminkit.trace.actions import record_actions
from adminkit.trace.connect import file_of
from adminkit.trace.outbox import Entry
from adminkit.trace.windows import set_fact
from adminkit.users import NamesAway

#: Seconds until a letter is tried again: doubled after each attempt, up to the most.
FIRST_WAIT: Final = 300
LONGEST_WAIT: Final = 4 * 3600

Tick = Callable[[float, float | None, int], None]


@dataclass(frozen=True, slots=True)
class Clock:
    """The time; tests pass their own, so that they need not wait."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run works with. `at` is called with the name of each finished step; tests kill the process there."""

    compose: Compose
    transport: Transport
    people: People
    folder: Path
    clock: Clock = field(default_factory=Clock)
    chat: Chat | None = None
    mark: Path | None = None  # the file of last_sent.py; None: not kept
    tick: Tick = lambda done, total, letters: None
    at: Callable[[str], None] = lambda step: None
    holding: Callable[[int], Holding] = lambda now: Holding()  # who holds idle GPUs


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a run's letters: `counts` of sent, later, refused, expired, broken.

    `stopped`: why sending ended early; empty where it did not.
    """

    planned: Plan
    counts: Mapping[str, int]
    notes: Sequence[str]
    stopped: str = ""


def run(db: sqlite3.Connection, settings: Config, tools: Tools) -> Done:
    """Plan, put into the outbox, send. The caller holds the lock of the outbox."""
    refuse_demo(db, settings.feedback.clusters, "no letter is sent")
    outbox.durable(db)
    now = int(tools.clock.now())
    notes = _switch_on(db, settings, tools.folder, now)
    check_folder(tools.folder, file_of(db))
    sweep(tools.folder)
    if _is_old(db, tools):
        notes.append(_begin_again(db, settings, tools, now))
    if recovered := outbox.recover(db):
        were, are = ("was", "it is") if recovered == 1 else ("were", "they are")
        letters = plural(recovered, "letter")
        notes.append(f"{letters} {were} being sent when the last run was killed: {are} sent again now")
    feedback = settings.feedback
    expired = outbox.expire(db, now, now - feedback.max_age, now - WEEK, "too old: the weekly digest lists it")
    planned = plan(db, settings, tools.people, tools.folder, now, holding=tools.holding(now))
    tools.at("planned")
    outbox.put(db, (one.entry(now) for one in planned.letters))
    tools.at("queued")
    waiting = [] if is_quiet(now, feedback.quiet_days) else _allowed(outbox.open_entries(db, now), feedback.max_letters)
    done = deliver(db, settings, tools, waiting, planned)
    counts = {**done.counts, "expired": expired + done.counts.get("expired", 0)}
    _remember(db, "feedback run", counts)
    return Done(planned, counts, [*notes, *planned.notes, *done.notes], done.stopped)


def _allowed(waiting: Sequence[Entry], most: int) -> list[Entry]:
    """What one run may send: the operators' letters and `most` others. After a day without the server, more wait."""
    users = [one for one in waiting if one.uid is not None][:most]
    return [one for one in waiting if one.uid is None] + users


def deliver(db: sqlite3.Connection, settings: Config, tools: Tools, entries: Sequence[Entry], planned: Plan) -> Done:
    """Send these at per_minute, until all are sent or the transport stops."""
    try:
        return _deliver(db, settings, tools, entries, planned)
    finally:
        if tools.mark is not None:
            mark.keep(tools.mark, outbox.last_claim(db))


def _deliver(db: sqlite3.Connection, settings: Config, tools: Tools, entries: Sequence[Entry], planned: Plan) -> Done:
    pause = 60 / settings.feedback.per_minute
    writing = _writing(db, settings, tools, entries)
    counts: Counter[str] = Counter()
    notes: list[str] = []
    ready = 0.0
    for number, entry in enumerate(entries):
        if wait := min(max(ready - tools.clock.now(), 0), pause):  # at most `pause`, in case the clock was set back
            tools.clock.sleep(wait)
        ready = tools.clock.now() + pause
        if not outbox.claim(db, entry, int(tools.clock.now())):
            continue
        tools.at("claimed")
        try:
            counts[_one(db, settings, tools, writing, entry, notes)] += 1
        except Stopped as error:
            outbox.later(db, entry, int(tools.clock.now()), str(error))
            return Done(planned, counts, _first(notes), str(error))
        tools.tick(number + 1, len(entries), number + 1)
    return Done(planned, counts, _first(notes))


def _first(notes: Sequence[str]) -> list[str]:
    more = len(notes) - MOST_NOTES
    said = f"and {plural(more, 'letter')} more: adminkit feedback status --letters lists them"
    return [*notes[:MOST_NOTES], *([said] if more > 0 else [])]


def _writing(
    db: sqlite3.Connection, settings: Config, tools: Tools, entries: Sequence[Entry]
) -> Callable[[Due], Letter]:
    """What composes the letters of these rows. Where it cannot be made, composing each letter raises the same error."""
    try:
        return tools.compose(db, settings, int(tools.clock.now()), [due_of(one) for one in entries])
    except Exception as error:
        failure = error

        def fail(due: Due) -> Letter:
            raise failure

        return fail


def _one(
    db: sqlite3.Connection,
    settings: Config,
    tools: Tools,
    writing: Callable[[Due], Letter],
    entry: Entry,
    notes: list[str],
) -> str:
    """Compose and hand over one claimed letter; what became of it, a key of Done.counts. Stopped propagates."""
    now = int(tools.clock.now())
    if why := _unwanted(entry, settings, tools):
        outbox.drop(db, entry, why)
        return "expired"
    recipients = _recipients(entry, tools)
    if entry.uid is not None and not all(tools.people.allows(one) for one in recipients):
        journal.refused(
            "addresses", recipients[0], entry.user, "it is not in an allowed domain; no letter is sent there"
        )
        outbox.refuse(db, entry, "its address is not in an allowed domain")
        return "refused"
    try:
        letter = writing(due_of(entry))
        message = build(letter, Envelope(entry.key, recipients, entry.copy, now), settings.feedback)
    except Exception as error:  # one broken letter must not stop the others
        why = error.message if isinstance(error, AdminkitError) else f"{type(error).__name__}: {error}"
        outbox.later(db, entry, now + wait_after(entry.attempts + 1), f"couldn't be written: {why}"[:500])
        notes.append(f"the letter {' '.join(entry.key)} couldn't be written: {why}")
        return "broken"
    tools.at("composed")
    try:
        reply = tools.transport.send(
            settings.feedback.sender, recipients, message, "\0".join((*entry.key, str(entry.copy)))
        )
    except Later as error:
        outbox.later(db, entry, int(tools.clock.now()) + wait_after(entry.attempts + 1), str(error))
        return "later"
    except Refused as error:
        outbox.refuse(db, entry, str(error))
        return "refused"
    tools.at("handed")
    outbox.sent(db, entry, int(tools.clock.now()), reply)
    tools.at("sent")
    if tools.chat is not None:
        chosen = None if entry.uid is None else read(tools.folder, entry.uid).prefs.chat
        notes += tools.chat.copy(letter, entry.user, chosen)
    return "sent"


def wait_after(attempts: int) -> int:
    """Seconds until the next attempt, after this many."""
    return int(min(FIRST_WAIT * 2 ** min(attempts - 1, 20), LONGEST_WAIT))


def _unwanted(entry: Entry, settings: Config, tools: Tools) -> str | None:
    """Why the letter is no longer wanted: settings or choices may have changed since it was due; None where it is."""
    if entry.cluster not in settings.feedback.clusters:
        return "[feedback] clusters no longer names its cluster"
    if entry.uid is None or entry.user is None:
        return None
    if tools.people.excluded(entry.user, entry.uid, None):
        return "its user is excluded"
    with suppress(NamesAway):  # it was due when its user was known
        host = tools.people.names(entry.uid)
        if host is not None and not same_user(host, entry.user):  # None: some sources say so when they are away
            return "its uid now belongs to somebody else"
    frequency = read(tools.folder, entry.uid).prefs.letters
    if frequency == "never" or (frequency == "week" and entry.kind == "end"):
        return "its user wants no letters"
    return None


def _recipients(entry: Entry, tools: Tools) -> tuple[str, ...]:
    """The addresses by the user's present choice."""
    if entry.uid is None or entry.user is None:
        return tuple(entry.address.split(", "))
    return (tools.people.address(entry.user, read(tools.folder, entry.uid).prefs) or entry.address,)


def _is_old(db: sqlite3.Connection, tools: Tools) -> bool:
    return tools.mark is not None and mark.is_behind(tools.mark, outbox.last_claim(db))


def _begin_again(db: sqlite3.Connection, settings: Config, tools: Tools, now: int) -> str:
    """Switch the clusters on as of now, so that no letter that may have been sent is sent again."""
    outbox.give_up(db, "the trace was restored from a copy; it may have been sent")
    for cluster in settings.feedback.clusters:
        set_fact(db, cluster, outbox.SWITCHED_ON, str(now), now)
        record_actions(db, [actions.act("feedback on", None, None, {}, cluster=cluster)])
    if tools.mark is not None:
        mark.keep(tools.mark, outbox.last_claim(db))
    return "this trace is older than the last letters sent; jobs that ended before now get no letter"


def _switch_on(db: sqlite3.Connection, settings: Config, folder: Path, now: int) -> list[str]:
    """Switch on each cluster that is not yet: jobs that end from `now` on cause letters. What was done, as notes."""
    notes = []
    if make_folder(folder):
        notes.append(f"made {folder}, the folder of users' choices")
    for cluster in settings.feedback.clusters:
        if switched_on(db, cluster) is None:
            set_fact(db, cluster, outbox.SWITCHED_ON, str(now), now)
            record_actions(db, [actions.act("feedback on", None, None, {}, cluster=cluster)])
            notes.append(f"letters are switched on for {cluster}: jobs that ended before now get no letter")
    return notes


def _remember(db: sqlite3.Connection, what: str, counts: Mapping[str, int]) -> None:
    """Record the action, where any letter was touched."""
    letters = {key: number for key, number in counts.items() if number}
    if letters:
        record_actions(db, [actions.act(what, None, None, {}, letters=letters)])


def resend(db: sqlite3.Connection, settings: Config, tools: Tools, entries: Sequence[Entry]) -> Done:
    """Send these again, now. The caller holds the lock of the outbox."""
    refuse_demo(db, settings.feedback.clusters, "no letter is sent")
    outbox.durable(db)
    check_folder(tools.folder, file_of(db))
    sweep(tools.folder)
    if _is_old(db, tools):
        raise AdminkitError(
            "this trace is older than the last letters sent",
            "was it restored from a backup? first run adminkit feedback run --send",
        )
    now = int(tools.clock.now())
    outbox.again(db, entries, now)
    keys = {one.key for one in entries}
    done = deliver(
        db, settings, tools, [one for one in outbox.open_entries(db, now) if one.key in keys], Plan((), {}, ())
    )
    _remember(db, "feedback resend", done.counts)
    return done
