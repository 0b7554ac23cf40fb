"""Who is due which letter now, and why others get none. Reads the trace and users' choices; changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import chain
from pathlib import Path
from typing import Final

from adminkit import journal
from adminkit.config import Config, Feedback
from adminkit.feedback.calendar import Week, has_come, is_quiet, last_week
from adminkit.feedback.charge_letters import Undone, due_charges
from adminkit.feedback.group_letters import due_groups
from adminkit.feedback.holdout import held_out
from adminkit.feedback.idle_letter import NOBODY, Holding
from adminkit.feedback.idle_letter import letter as idle_letter
from adminkit.feedback.letter import DigestLetter, Due, IdleLetter, JobLetter, Kind, OperatorLetter
from adminkit.feedback.letter_data import counted, lost_enough, worth_a_letter
from adminkit.feedback.loss_letter import why_not as why_not_lost
from adminkit.feedback.planned import PlannedLetter
from adminkit.feedback.prefs import Prefs, Read, check_folder, read
from adminkit.feedback.recipients import People
from adminkit.findings.overestimate import REASONS, Measure, why_not
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.sqlite import sqlite3
from adminkit.stats import due as measured
from adminkit.trace.connect import file_of
from adminkit.trace.outbox import SWITCHED_ON, known, last_letters
from adminkit.trace.windows import JOBS, fact, recorded
from adminkit.users import NamesAway

#: A user's habit is measured over the runs that ended in the last HABIT seconds.
HABIT: Final = 30 * 86_400
#: The most notes in a listing and in the operators' letter.
MOST_NOTES: Final = 20
#: Why somebody gets no letter now; the first reason that holds counts.
LEFT_OUT: Final = (
    *REASONS, "lost", "before", "unknown", "service", "excluded", "held_out", "chosen", "address", "domain", "had",
    "user_pause", "name_pause",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run would add to the outbox."""

    letters: tuple[PlannedLetter, ...]
    left_out: Mapping[str, int]  # runs and users without a letter, by reason
    notes: tuple[str, ...]
    flood: bool = False  # more than max_letters: `letters` is one to the operators, or empty
    undone: bool = False  # something could not be looked at, as a note says


@dataclass(slots=True)
class _Planner:
    """One look for due letters: its settings, and the notes and counts that it gathers."""

    db: sqlite3.Connection
    settings: Config
    people: People
    folder: Path
    now: int
    tz: tzinfo | None
    preview: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    choices: dict[int, Read] = field(default_factory=dict)  # by uid
    undone: bool = False

    @property
    def feedback(self) -> Feedback:
        return self.settings.feedback

    @property
    def shown_notes(self) -> tuple[str, ...]:
        """The notes without repetitions, MOST_NOTES at most."""
        once = list(dict.fromkeys(self.notes))
        more = len(once) - MOST_NOTES
        return (*once[:MOST_NOTES], *([f"and {more:,} more notes"] if more > 0 else []))

    def prefs(self, uid: int) -> Prefs:
        """A user's own choices; the file is read once."""
        if uid not in self.choices:
            self.choices[uid] = read(self.folder, uid)
            if self.choices[uid].problem:
                self.notes.append(self.choices[uid].problem)
        return self.choices[uid].prefs

    def recipient(self, user: str | None, uid: int | None, account: str | None, kind: Kind) -> tuple[str, str] | str:
        """(language, address) for a letter of that kind to that user, else why the user gets none."""
        try:
            why = self.people.refused(user, uid, account)
        except NamesAway as error:
            self.undone = True
            self.notes.append(f"{error.message}; that user's letters wait")
            return "unknown"
        if why is not None or user is None or uid is None:
            return why or "unknown"
        if held_out(uid, self.feedback, self.now, self.tz):
            return "held_out"
        prefs = self.prefs(uid)
        if prefs.letters == "never" or (prefs.letters == "week" and kind == "end"):
            return "chosen"
        address = self.people.address(user, prefs)
        if address is None:
            self.notes.append(
                f"{user} has no address: set [feedback] domain, or add {user} to the file of [feedback] addresses"
            )
            return "address"
        if not self.people.allows(address):
            self.notes.append(f"{user} has an address that is not in an allowed domain: {quote(address)}")
            if not self.preview:
                journal.refused("addresses", address, user, "it is not in an allowed domain; no letter is sent there")
            return "domain"
        return prefs.language or self.feedback.language, address


def plan(
    db: sqlite3.Connection,
    settings: Config,
    people: People,
    folder: Path,
    now: int,
    tz: tzinfo | None = None,
    *,
    preview: bool = False,
    holding: Holding = NOBODY,
) -> Plan:
    """Every letter that is due at `now` and has no row in the outbox. `folder` holds users' choices.

    On quiet days there is none; a run that ended before its cluster was switched on gets none. A `preview` ignores
    quiet days, whether the cluster is switched on, and max_letters; its notes say so.
    """
    check_folder(folder, file_of(db))
    planner, feedback = _Planner(db, settings, people, folder, now, tz, preview), settings.feedback
    if is_quiet(now, feedback.quiet_days, tz):
        planner.notes.append("today is a quiet day: no letter is sent")
        if not preview:
            return Plan((), {}, planner.shown_notes)
    planner.notes += holding.notes
    worth: list[tuple[JobLetter | IdleLetter, float]] = []
    weekly: list[PlannedLetter] = []
    for cluster in feedback.clusters:
        on = _since(planner, cluster, preview)
        worth += _ends(planner, cluster, on)
        worth += _idle(planner, cluster, holding)
        if feedback.digest:
            weekly += _weeks(planner, cluster, on)
        weekly += _charges(planner, cluster, on)
    kept = {one.due.key: one for one in [*_spaced(planner, worth), *weekly]}
    had = known(db, list(kept))
    planner.left_out["had"] += len(had)
    new = tuple(one for key, one in kept.items() if key not in had)
    left_out = {reason: planner.left_out[reason] for reason in LEFT_OUT if planner.left_out[reason]}
    letters = sum(not isinstance(one.due, OperatorLetter) for one in new)
    if letters <= feedback.max_letters:
        return Plan(new, left_out, planner.shown_notes, undone=planner.undone)
    flood = f"{plural(letters, 'letter')} are due at once, more than max_letters = {feedback.max_letters}: none is sent"
    if preview:
        return Plan(new, left_out, (*planner.shown_notes, flood), flood=True, undone=planner.undone)
    alarm = _alarm(feedback.clusters[0], settings, flood, last_week(now, tz))
    letter_to_operators = () if known(db, [alarm.due.key]) or not alarm.due.address else (alarm,)
    return Plan(letter_to_operators, left_out, (*planner.shown_notes, flood), flood=True, undone=planner.undone)


def _since(planner: _Planner, cluster: str, preview: bool) -> int:
    """Since when its runs cause letters; epoch seconds."""
    if not recorded(planner.db, cluster, JOBS):
        planner.notes.append(f"{cluster} is in [feedback] clusters, but was never synced into this trace")
    on = switched_on(planner.db, cluster)
    if on is None and preview:
        planner.notes.append(
            f"letters are not switched on for {cluster}: the first `feedback run --send` switches them on, for jobs"
            f" that end afterwards"
        )
        return 0
    return planner.now if on is None else on


def switched_on(db: sqlite3.Connection, cluster: str) -> int | None:
    """When letters were switched on for that cluster; None while they are not."""
    row = fact(db, cluster, SWITCHED_ON)
    return int(row[0]) if row else None


def _ends(planner: _Planner, cluster: str, on: int) -> list[tuple[JobLetter, float]]:
    """Letters about jobs, each with how much it is about."""
    feedback, now = planner.feedback, planner.now
    habits = measured.habits(planner.db, counted(planner.settings, cluster, now - HABIT, now + 1))
    worth = []
    for run in measured.ended(
        planner.db, cluster, max(now - feedback.max_age, 0), now, planner.settings.checkpoint.code
    ):
        why, at_stake = stake(cluster, run, habits, planner.settings)
        if why is not None or run.until < on:
            planner.left_out[why or "before"] += 1
            continue
        recipient = planner.recipient(run.user, run.uid, run.account, "end")
        if isinstance(recipient, str) or run.user is None or run.uid is None:
            planner.left_out[recipient if isinstance(recipient, str) else "unknown"] += 1
            continue
        worth.append((job_letter(cluster, run, run.user, run.uid, recipient), at_stake))
    return worth


def _idle(planner: _Planner, cluster: str, holding: Holding) -> Iterator[tuple[IdleLetter, float]]:
    """Letters about running jobs whose GPUs are not used, each with how much it is about."""
    for act in holding.acts if cluster == holding.cluster else ():
        listed = act.held.job.listed
        to = planner.recipient(listed.user or None, listed.uid, listed.account, "end")
        if isinstance(to, str) or listed.uid is None:
            planner.left_out[to if isinstance(to, str) else "unknown"] += 1
        else:
            at_stake = (act.held.idle_hours(holding.idle.warn) or 0) * 3600
            yield idle_letter(holding, act, listed.uid, listed.user, to, planner.now), at_stake


def stake(
    cluster: str, run: measured.Ended, habits: Mapping[int, measured.Habit], settings: Config
) -> tuple[str | None, float]:
    """Why no letter is due about a run that ended, None where one is; and how much it would be about."""
    least = lost_enough(settings)
    about_loss = why_not_lost(run, least, settings.feedback.min_elapsed)
    if about_loss is None:
        return None, run.lost_weight
    measure = Measure(cluster, run, habits.get(run.uid) if run.uid is not None else None)
    why = why_not(measure, worth_a_letter(settings))
    if why == "used_fraction" and run.over and not run.is_array:
        return None, run.over_weight
    if why == "state" and run.lost:
        return about_loss, 0.0
    return why, run.unused_weight


def job_letter(cluster: str, run: measured.Ended, user: str, uid: int, to: tuple[str, str]) -> JobLetter:
    """The letter about a run that ended; `to`: language and address."""
    return JobLetter(
        cluster=cluster, user=user, uid=uid, language=to[0], address=to[1], job_id_raw=run.job_id_raw,
        submit_time=run.submit_time, until=run.until, is_array=bool(run.is_array), job_name=run.job_name,
    )  # fmt: skip


def _spaced(planner: _Planner, worth: list[tuple[JobLetter | IdleLetter, float]]) -> Iterator[PlannedLetter]:
    """Letters that keep user_pause and name_pause, the most hours first; those with a row in the outbox pass.

    A uid counts as one user on all clusters.
    """
    feedback, now = planner.feedback, planner.now
    had = known(planner.db, [due.key for due, _ in worth])
    by_user: dict[int | None, int] = {}
    by_name: dict[tuple[int | None, str | None], int] = {}
    for uid, name, at in last_letters(
        planner.db, feedback.clusters, now - max(feedback.user_pause, feedback.name_pause)
    ):
        by_user[uid] = max(at, by_user.get(uid, at))
        by_name[uid, name] = at
    for due, _ in sorted(worth, key=lambda one: (-one[1], one[0].job_id_raw)):
        uid, name = due.uid, due.job_name
        if due.key in had:
            yield PlannedLetter(due)
        elif uid in by_user and now - by_user[uid] < feedback.user_pause:
            planner.left_out["user_pause"] += 1
        elif (uid, name) in by_name and now - by_name[uid, name] < feedback.name_pause:
            planner.left_out["name_pause"] += 1
        else:
            by_user[uid] = by_name[uid, name] = now
            yield PlannedLetter(due)


def _weeks(planner: _Planner, cluster: str, on: int) -> Iterator[PlannedLetter]:
    """The digests of last week and the operators' summary of it, since digest_day.

    A week that began before letters were switched on gets none.
    """
    feedback, week = planner.feedback, last_week(planner.now, planner.tz)
    if week.since < on or not has_come(planner.now, feedback.digest_day, planner.tz):
        return
    digests: dict[int, Due] = {}
    refused: dict[int, str] = {}
    for uid, user, account in measured.active(planner.db, counted(planner.settings, cluster, week.since, week.until)):
        recipient = planner.recipient(user, uid, account, "digest")
        if isinstance(recipient, str):
            refused[uid] = recipient
        else:
            digests[uid] = DigestLetter(
                cluster=cluster, user=user, uid=uid, language=recipient[0], address=recipient[1], week=week.name,
                since=week.since, until=week.until,
            )  # fmt: skip
    planner.left_out.update(why for uid, why in refused.items() if uid not in digests)
    yield from (PlannedLetter(due) for due in digests.values())
    if feedback.operators:
        yield PlannedLetter(
            OperatorLetter(
                cluster=cluster, language=feedback.language, address=", ".join(feedback.operators), week=week.name,
                since=week.since, until=week.until, notes=planner.shown_notes,
            )
        )  # fmt: skip


def _charges(planner: _Planner, cluster: str, on: int) -> Iterator[PlannedLetter]:
    """Statements, budgets that are nearly spent, and the month of each account for its owners."""
    at = (planner.db, planner.settings, cluster, on, planner.now, planner.recipient)
    for one in chain(due_charges(*at), due_groups(*at, planner.tz)):
        if isinstance(one, Undone):
            planner.undone = True
            planner.notes.append(one.why)
        elif not isinstance(one, str):
            yield PlannedLetter(one)
        elif one in LEFT_OUT:
            planner.left_out[one] += 1
        else:
            planner.notes.append(one)


def _alarm(cluster: str, settings: Config, flood: str, week: Week) -> PlannedLetter:
    """A letter to the operators that says so; one a week."""
    feedback = settings.feedback
    hint = "look at them with `adminkit feedback preview`; if they are right, raise [feedback] max_letters"
    return PlannedLetter(
        OperatorLetter(
            cluster=cluster, language=feedback.language, address=", ".join(feedback.operators),
            week=f"{week.name}-flood", since=week.since, until=week.until, notes=(flood, hint),
        )
    )  # fmt: skip
