"""Who is due which letter now, and why others are not. Reads the trace and users' choices; changes nothing."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import Final

from adminkit.config import Config
from adminkit.feedback.letter import KINDS, Due, Kind
from adminkit.feedback.people import People
from adminkit.feedback.prefs import Prefs, Read, check_folder, read
from adminkit.feedback.week import Week, has_come, is_quiet, last_week
from adminkit.findings.overestimate import REASONS, Limits, check
from adminkit.stats import due as measured
from adminkit.trace.outbox import SWITCHED_ON, Entry, known, last_letters
from adminkit.trace.windows import JOBS, asked, note

#: How far back a user's habit is looked at.
HABIT: Final = 30 * 86_400
#: Why somebody gets no letter now, in the order in which it is asked.
LEFT_OUT: Final = (
    *REASONS, "before", "unknown", "service", "excluded", "chosen", "address", "had", "user_pause", "name_pause",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A letter that is due. `weight`, GPU-seconds left unused, says which one of a user's goes first."""

    due: Due
    job_name: str | None = None
    weight: int = 0

    def entry(self, now: int) -> Entry:
        """Its row in the outbox."""
        d = self.due
        return Entry(
            *d.key, d.job_id_raw, d.submit, d.until, int(d.array), d.week, d.user, d.uid, self.job_name, d.language,
            d.address, json.dumps(d.notes), due_at=now, next_at=now,
        )  # fmt: skip


def due_of(entry: Entry) -> Due:
    """The letter of a row."""
    kind: Kind = next(kind for kind in KINDS if kind == entry.kind)
    return Due(
        entry.cluster, entry.job_id_raw, entry.submit, kind, entry.user, entry.uid, entry.language,
        entry.address, entry.until, bool(entry.array), entry.week, tuple(json.loads(entry.notes)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planned:
    """What one run would add to the outbox. `flood`: it is too much, so `found` is none but a word to the operators."""

    found: tuple[Found, ...]
    left_out: Mapping[str, int]
    notes: tuple[str, ...]
    flood: bool = False


@dataclass(slots=True)
class _Choices:
    """Users' files, each read once."""

    folder: Path
    notes: list[str] = field(default_factory=list)
    seen: dict[int, Read] = field(default_factory=dict)

    def of(self, uid: int) -> Prefs:
        if uid not in self.seen:
            self.seen[uid] = read(self.folder, uid)
            if self.seen[uid].problem:
                self.notes.append(self.seen[uid].problem)
        return self.seen[uid].prefs


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
    chosen, left_out = settings.feedback, Counter[str]()
    check_folder(folder)
    choices = _Choices(folder)
    if is_quiet(now, chosen.quiet_days, tz):
        choices.notes.append("today is a quiet day: nothing goes out")
        if not preview:
            return Planned((), {}, tuple(choices.notes))
    found: list[Found] = []
    for cluster in chosen.clusters:
        on = _since(db, cluster, choices, now, preview)
        found += _ends(db, cluster, settings, people, choices, left_out, on, now)
        if chosen.digest:
            found += _weeks(db, cluster, settings, people, choices, left_out, on, now, tz)
    kept = {one.due.key: one for one in found}
    had = known(db, list(kept))
    left_out["had"] += len(had)
    new = tuple(one for key, one in kept.items() if key not in had)
    counted = {reason: left_out[reason] for reason in LEFT_OUT if left_out[reason]}
    letters = sum(one.due.kind != "operator" for one in new)
    if letters <= chosen.max_letters:
        return Planned(new, counted, tuple(choices.notes))
    said = f"{letters} letters would go out at once, more than max_letters = {chosen.max_letters}: none is sent"
    if preview:
        return Planned(new, counted, (*choices.notes, said), flood=True)
    alarm = _alarm(chosen.clusters[0], settings, said, last_week(now, tz))
    told = () if known(db, [alarm.due.key]) or not alarm.due.address else (alarm,)
    return Planned(told, counted, (*choices.notes, said), flood=True)


def _since(db: sqlite3.Connection, cluster: str, choices: _Choices, now: int, preview: bool) -> int:
    """From when on its runs count."""
    if not asked(db, cluster, JOBS):
        choices.notes.append(f"{cluster} is listed in [feedback] clusters, but was never synced into this trace")
    on = switched_on(db, cluster)
    if on is None and preview:
        choices.notes.append(
            f"{cluster} is not switched on: the first run with --send does it, for what ends from then on"
        )
        return 0
    return now if on is None else on


def switched_on(db: sqlite3.Connection, cluster: str) -> int | None:
    """When letters were switched on for that cluster; None while they are not."""
    found = note(db, cluster, SWITCHED_ON)
    return int(found[0]) if found else None


def _ends(
    db: sqlite3.Connection,
    cluster: str,
    settings: Config,
    people: People,
    choices: _Choices,
    left_out: Counter[str],
    on: int,
    now: int,
) -> list[Found]:
    """Letters about jobs: of each user the one that matters most, then what the pauses allow."""
    chosen = settings.feedback
    limits = Limits(chosen.accuracy, chosen.unused_hours * 3600, chosen.min_elapsed, chosen.well)
    habits = measured.habits(db, cluster, now - HABIT, now + 1)
    worth = []
    for run in measured.ended(db, cluster, max(now - chosen.max_age, 0), now):
        why = check(run, habits.get(run.uid) if run.uid is not None else None, limits)
        if why is None and (run.until is None or run.until < on):
            why = "before"
        due = None if why else _to(cluster, run, settings, people, choices)
        if isinstance(due, Due):
            worth.append(Found(due, run.job_name, run.reserved - run.used))
        else:
            left_out[why or str(due)] += 1
    return list(_spaced(db, cluster, worth, settings, left_out, now))


def _to(cluster: str, run: measured.Ended, settings: Config, people: People, choices: _Choices) -> Due | str:
    """The letter about that run, else why its user gets none."""
    why = people.refused(run.user, run.uid, run.account)
    if why is not None or run.user is None or run.uid is None or run.until is None:
        return why or "unknown"
    prefs = choices.of(run.uid)
    if prefs.letters != "each":
        return "chosen"
    address = people.address(run.user, prefs)
    if address is None:
        choices.notes.append(f"{run.user} has no address: set domain, or add a line to the map of addresses")
        return "address"
    language = prefs.language or settings.feedback.language
    return Due(cluster, run.number, run.submit, "end", run.user, run.uid, language, address, run.until, bool(run.array))


def _spaced(
    db: sqlite3.Connection, cluster: str, worth: list[Found], settings: Config, left_out: Counter[str], now: int
) -> Iterator[Found]:
    """What is left when a user's letters, and those about one job name, keep their distance. Those with a row pass."""
    chosen = settings.feedback
    had = known(db, [one.due.key for one in worth])
    by_user: dict[int | None, int] = {}
    by_name: dict[tuple[int | None, str | None], int] = {}
    for uid, name, at in last_letters(db, cluster, now - max(chosen.user_pause, chosen.name_pause)):
        by_user[uid] = max(at, by_user.get(uid, at))
        by_name[uid, name] = at
    for one in sorted(worth, key=lambda one: (-one.weight, one.due.job_id_raw)):
        uid, name = one.due.uid, one.job_name
        if one.due.key in had:
            yield one
        elif uid in by_user and now - by_user[uid] < chosen.user_pause:
            left_out["user_pause"] += 1
        elif (uid, name) in by_name and now - by_name[uid, name] < chosen.name_pause:
            left_out["name_pause"] += 1
        else:
            by_user[uid] = by_name[uid, name] = now
            yield one


def _weeks(
    db: sqlite3.Connection,
    cluster: str,
    settings: Config,
    people: People,
    choices: _Choices,
    left_out: Counter[str],
    on: int,
    now: int,
    tz: tzinfo | None,
) -> Iterator[Found]:
    """The digests of last week and the operators' summary of it, from the digest's day on.

    Only of weeks that began after feedback was switched on.
    """
    chosen, week = settings.feedback, last_week(now, tz)
    if week.since < on or not has_come(now, chosen.digest_day, tz):
        return
    last = Due(cluster, 0, week.since, "digest", "", None, chosen.language, "", week.until, week=week.name)
    for uid, user in _users(db, cluster, week, people, left_out):
        prefs = choices.of(uid)
        address = people.address(user, prefs)
        if prefs.letters == "never" or address is None:
            left_out["chosen" if prefs.letters == "never" else "address"] += 1
            continue
        language = prefs.language or chosen.language
        yield Found(replace(last, user=user, uid=uid, language=language, address=address))
    if chosen.operators:
        yield Found(replace(last, kind="operator", address=", ".join(chosen.operators), notes=tuple(choices.notes)))


def _users(
    db: sqlite3.Connection, cluster: str, week: Week, people: People, left_out: Counter[str]
) -> Iterable[tuple[int, str]]:
    """Whose week there is something to tell about; runs of accounts that are left out count for nobody."""
    seen: dict[int, str] = {}
    refused: dict[int, str] = {}
    for uid, user, account, _ in measured.active(db, cluster, week.since, week.until):
        why = people.refused(user, uid, account)
        if why is None:
            seen[uid] = user
        else:
            refused[uid] = why
    left_out.update(why for uid, why in refused.items() if uid not in seen)
    return seen.items()


def _alarm(cluster: str, settings: Config, said: str, week: Week) -> Found:
    """The operators are told of a flood, once a week at most."""
    chosen = settings.feedback
    hint = "raise max_letters in [feedback] if that is right, or look with `adminkit feedback preview`"
    return Found(
        Due(
            cluster, 0, week.since, "operator", "", None, chosen.language, ", ".join(chosen.operators), week.until,
            week=f"{week.name}-flood", notes=(said, hint),
        )
    )  # fmt: skip
