"""Who is due which letter now, and why others are not. Reads the trace and users' choices; changes nothing."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import tzinfo
from pathlib import Path
from typing import Final

from adminkit import journal
from adminkit.config import Config, Feedback
from adminkit.feedback.calendar import Week, has_come, is_quiet, last_week
from adminkit.feedback.holdout import held_out
from adminkit.feedback.letter import DigestLetter, Due, JobLetter, Kind, OperatorLetter
from adminkit.feedback.letter_data import counted, worth_a_letter
from adminkit.feedback.prefs import Prefs, Read, check_folder, read
from adminkit.feedback.recipients import People
from adminkit.findings.finding import Finding
from adminkit.findings.overestimate import REASONS, Measure, check, why_not
from adminkit.quote import quote
from adminkit.stats import due as measured
from adminkit.trace.connect import file_of
from adminkit.trace.outbox import SWITCHED_ON, Entry, known, last_letters
from adminkit.trace.windows import JOBS, fact, recorded

_LETTERS: Final[Mapping[str, type[Due]]] = {one.kind: one for one in (JobLetter, DigestLetter, OperatorLetter)}
#: How far back a user's habit is looked at.
HABIT: Final = 30 * 86_400
#: Notes that are shown, and that the operators' letter holds.
MOST_NOTES: Final = 20
#: Why somebody gets no letter now, in the order in which it is asked.
LEFT_OUT: Final = (
    *REASONS, "before", "unknown", "service", "excluded", "held_out", "chosen", "address", "domain", "had",
    "user_pause", "name_pause",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A letter that is due; about a job, the finding that makes it so."""

    due: Due
    finding: Finding | None = None

    def entry(self, now: int) -> Entry:
        """Its row in the outbox."""
        due = self.due
        cluster, run, kind = due.key
        row = Entry(
            cluster=cluster, run=run, kind=kind, until=due.until, language=due.language, address=due.address,
            due_at=now, next_at=now,
        )  # fmt: skip
        if isinstance(due, OperatorLetter):
            return replace(row, week=due.week, since=due.since, notes=json.dumps(due.notes) if due.notes else None)
        row = replace(row, user=due.user, uid=due.uid)
        if isinstance(due, DigestLetter):
            return replace(row, week=due.week, since=due.since)
        return replace(
            row, job_id_raw=due.job_id_raw, submit_time=due.submit_time, is_array=int(due.is_array),
            job_name=due.job_name,
        )  # fmt: skip


def due_of(entry: Entry) -> Due:
    """The letter of a row. The table's CHECK holds that what its kind needs is known."""
    values = {field.name: getattr(entry, field.name) for field in fields(_LETTERS[entry.kind])}
    if "is_array" in values:
        values["is_array"] = bool(entry.is_array)
    if "notes" in values:
        values["notes"] = tuple(json.loads(entry.notes or "[]"))
    return _LETTERS[entry.kind](**values)


@dataclass(frozen=True, slots=True)
class Planned:
    """What one run would add to the outbox. `flood`: it is too much, so `found` is none but a word to the operators."""

    found: tuple[Found, ...]
    left_out: Mapping[str, int]
    notes: tuple[str, ...]
    flood: bool = False


@dataclass(slots=True)
class _Asked:
    """One question who is due: by which settings, of whom, when; and what is learnt on the way."""

    db: sqlite3.Connection
    settings: Config
    people: People
    folder: Path
    now: int
    tz: tzinfo | None
    preview: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    seen: dict[int, Read] = field(default_factory=dict)

    @property
    def chosen(self) -> Feedback:
        return self.settings.feedback

    @property
    def said(self) -> tuple[str, ...]:
        """The notes, each once; of a thousand users without an address a few are named."""
        once = list(dict.fromkeys(self.notes))
        more = len(once) - MOST_NOTES
        return (*once[:MOST_NOTES], *([f"and {more:,} notes more"] if more > 0 else []))

    def prefs(self, uid: int) -> Prefs:
        """A user's own choices; each file is read once."""
        if uid not in self.seen:
            self.seen[uid] = read(self.folder, uid)
            if self.seen[uid].problem:
                self.notes.append(self.seen[uid].problem)
        return self.seen[uid].prefs

    def to(self, user: str | None, uid: int | None, account: str | None, kind: Kind) -> tuple[str, str] | str:
        """(language, address) of a letter of that kind to that user, else why there is none."""
        why = self.people.refused(user, uid, account)
        if why is not None or user is None or uid is None:
            return why or "unknown"
        if held_out(uid, self.chosen, self.now, self.tz):
            return "held_out"
        prefs = self.prefs(uid)
        if prefs.letters == "never" or (prefs.letters == "week" and kind == "end"):
            return "chosen"
        address = self.people.address(user, prefs)
        if address is None:
            self.notes.append(f"{user} has no address: set domain, or add a line to the map of addresses")
            return "address"
        if not self.people.allows(address):
            self.notes.append(f"{user} has an address that is not in an allowed domain: {quote(address)}")
            if not self.preview:
                journal.refused("addresses", address, user, "it is not in an allowed domain; no letter goes there")
            return "domain"
        return prefs.language or self.chosen.language, address


def plan(
    db: sqlite3.Connection,
    settings: Config,
    people: People,
    folder: Path,
    now: int,
    tz: tzinfo | None = None,
    *,
    preview: bool = False,
) -> Planned:
    """Everything that is due at `now` and has no row yet. `folder` holds users' choices.

    Nothing on quiet days, nor of what ended before `run --send` first noted the cluster. A `preview` shows what would
    go out if today were none, the cluster were switched on, and there were no max_letters; its notes tell.
    """
    check_folder(folder, file_of(db))
    ask, chosen = _Asked(db, settings, people, folder, now, tz, preview), settings.feedback
    if is_quiet(now, chosen.quiet_days, tz):
        ask.notes.append("today is a quiet day: nothing goes out")
        if not preview:
            return Planned((), {}, ask.said)
    worth: list[tuple[JobLetter, Finding]] = []
    weekly: list[Found] = []
    for cluster in chosen.clusters:
        on = _since(ask, cluster, preview)
        worth += _ends(ask, cluster, on)
        if chosen.digest:
            weekly += _weeks(ask, cluster, on)
    found = [*_spaced(ask, worth), *weekly]
    kept = {one.due.key: one for one in found}
    had = known(db, list(kept))
    ask.left_out["had"] += len(had)
    new = tuple(one for key, one in kept.items() if key not in had)
    counted = {reason: ask.left_out[reason] for reason in LEFT_OUT if ask.left_out[reason]}
    letters = sum(not isinstance(one.due, OperatorLetter) for one in new)
    if letters <= chosen.max_letters:
        return Planned(new, counted, ask.said)
    said = f"{letters} letters would go out at once, more than max_letters = {chosen.max_letters}: none is sent"
    if preview:
        return Planned(new, counted, (*ask.said, said), flood=True)
    alarm = _alarm(chosen.clusters[0], settings, said, last_week(now, tz))
    told = () if known(db, [alarm.due.key]) or not alarm.due.address else (alarm,)
    return Planned(told, counted, (*ask.said, said), flood=True)


def _since(ask: _Asked, cluster: str, preview: bool) -> int:
    """From when on its runs count."""
    if not recorded(ask.db, cluster, JOBS):
        ask.notes.append(f"{cluster} is listed in [feedback] clusters, but was never synced into this trace")
    on = switched_on(ask.db, cluster)
    if on is None and preview:
        ask.notes.append(f"{cluster} is not switched on: the first run with --send does it, for what ends from then on")
        return 0
    return ask.now if on is None else on


def switched_on(db: sqlite3.Connection, cluster: str) -> int | None:
    """When letters were switched on for that cluster; None while they are not."""
    found = fact(db, cluster, SWITCHED_ON)
    return int(found[0]) if found else None


def _ends(ask: _Asked, cluster: str, on: int) -> list[tuple[JobLetter, Finding]]:
    """Letters about jobs that are worth one, and why."""
    chosen, now = ask.chosen, ask.now
    limits = worth_a_letter(ask.settings)
    habits = measured.habits(ask.db, counted(ask.settings, cluster, now - HABIT, now + 1))
    worth = []
    for run in measured.ended(ask.db, cluster, max(now - chosen.max_age, 0), now, ask.settings.checkpoint.code):
        measure = Measure(cluster, run, habits.get(run.uid) if run.uid is not None else None)
        findings = check(measure, limits)
        if not findings or run.until < on:
            ask.left_out[why_not(measure, limits) or "before"] += 1
            continue
        to = ask.to(run.user, run.uid, run.account, "end")
        if isinstance(to, str) or run.user is None or run.uid is None:
            ask.left_out[to if isinstance(to, str) else "unknown"] += 1
            continue
        language, address = to
        due = JobLetter(
            cluster=cluster, user=run.user, uid=run.uid, language=language, address=address,
            job_id_raw=run.job_id_raw, submit_time=run.submit_time, until=run.until, is_array=bool(run.is_array),
            job_name=run.job_name,
        )  # fmt: skip
        worth += [(due, finding) for finding in findings]
    return worth


def _spaced(ask: _Asked, worth: list[tuple[JobLetter, Finding]]) -> Iterator[Found]:
    """What is left when a user's letters, and those about one job name, keep their distance; what matters most first.

    Those with a row pass. A user of two clusters is one person.
    """
    chosen, now = ask.chosen, ask.now
    had = known(ask.db, [due.key for due, _ in worth])
    by_user: dict[int | None, int] = {}
    by_name: dict[tuple[int | None, str | None], int] = {}
    for uid, name, at in last_letters(ask.db, chosen.clusters, now - max(chosen.user_pause, chosen.name_pause)):
        by_user[uid] = max(at, by_user.get(uid, at))
        by_name[uid, name] = at
    for due, finding in sorted(worth, key=lambda one: (-one[1].evidence["unused"], one[0].job_id_raw)):
        uid, name = due.uid, due.job_name
        if due.key in had:
            yield Found(due, finding)
        elif uid in by_user and now - by_user[uid] < chosen.user_pause:
            ask.left_out["user_pause"] += 1
        elif (uid, name) in by_name and now - by_name[uid, name] < chosen.name_pause:
            ask.left_out["name_pause"] += 1
        else:
            by_user[uid] = by_name[uid, name] = now
            yield Found(due, finding)


def _weeks(ask: _Asked, cluster: str, on: int) -> Iterator[Found]:
    """The digests of last week and the operators' summary of it, from the digest's day on.

    Only of weeks that began after feedback was switched on.
    """
    chosen, week = ask.chosen, last_week(ask.now, ask.tz)
    if week.since < on or not has_come(ask.now, chosen.digest_day, ask.tz):
        return
    told: dict[int, Due] = {}
    refused: dict[int, str] = {}
    for uid, user, account in measured.active(ask.db, counted(ask.settings, cluster, week.since, week.until)):
        to = ask.to(user, uid, account, "digest")
        if isinstance(to, str):
            refused[uid] = to
        else:
            told[uid] = DigestLetter(
                cluster=cluster, user=user, uid=uid, language=to[0], address=to[1], week=week.name, since=week.since,
                until=week.until,
            )  # fmt: skip
    ask.left_out.update(why for uid, why in refused.items() if uid not in told)
    yield from (Found(due) for due in told.values())
    if chosen.operators:
        yield Found(
            OperatorLetter(
                cluster=cluster, language=chosen.language, address=", ".join(chosen.operators), week=week.name,
                since=week.since, until=week.until, notes=ask.said,
            )
        )  # fmt: skip


def _alarm(cluster: str, settings: Config, said: str, week: Week) -> Found:
    """The operators are told of a flood, once a week at most."""
    chosen = settings.feedback
    hint = "raise max_letters in [feedback] if that is right, or look with `adminkit feedback preview`"
    return Found(
        OperatorLetter(
            cluster=cluster, language=chosen.language, address=", ".join(chosen.operators), week=f"{week.name}-flood",
            since=week.since, until=week.until, notes=(said, hint),
        )
    )  # fmt: skip
