"""What `adminkit feedback preview`, `status` and `resend` show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError, cause
from adminkit.owner import as_caller, as_owner
from adminkit.quote import clean
from adminkit.render.say import put, say
from adminkit.render.sink import Way, emit, write_aside
from adminkit.sqlite import sqlite3
from adminkit.units import show_time

if TYPE_CHECKING:
    from adminkit.config import Config
    from adminkit.feedback.letter import Compose, Letter
    from adminkit.feedback.plan import Plan
    from adminkit.feedback.planned import PlannedLetter
    from adminkit.trace.outbox import Entry
    from adminkit.units import Moment


def show_due(
    trace: sqlite3.Connection,
    plan: Plan,
    settings: Config,
    when: Moment,
    database: str,
    users: Sequence[str],
    text: bool,
    out: Path | None,
    way: Way,
    compose: Compose,
) -> None:
    """Print the letters of `plan` as a list, or with `text` themselves; with `out` also write them as files."""
    from adminkit.feedback.letter import user_of
    from adminkit.reports.outbox import due_report

    now = when.now
    if when.as_of is not None and text:
        say(f"note: as of {show_time(when.as_of)}")
    letters = [one for one in plan.letters if not users or user_of(one.due) in users]
    rows = []
    write = compose(trace, settings, now, [one.due for one in letters])
    with progress("writing", "letter") as tick:
        for number, one in enumerate(letters, start=1):
            try:
                letter = write(one.due)
            except AdminkitError as error:
                rows.append((one.entry(now), f"couldn't be written: {error.message}"))
                continue
            if out is not None:
                _write(out, one, letter, settings, now)
            if text:
                put(f"To: {one.due.address}\nSubject: {clean(letter.subject)}\n\n{letter.text.rstrip()}\n")
            rows.append((one.entry(now), letter.subject))
            tick(number, len(letters), number)
    if not text:
        emit(due_report(rows, plan.left_out, plan.notes, database).dated(when.as_of), way)


def _write(folder: Path, planned: PlannedLetter, letter: Letter, settings: Config, now: int) -> None:
    """Write DIR/KIND-RUN-CLUSTER.eml and .html; the same letter gets the same name each time."""
    from adminkit.feedback.mime import Envelope, build

    name = re.sub(r"[^A-Za-z0-9@-]+", "-", "-".join((planned.due.kind, planned.due.run, planned.due.cluster)))
    recipients = tuple(planned.due.address.split(", "))
    message = build(letter, Envelope(planned.due.key, recipients, 0, now), settings.feedback)
    try:
        with as_caller(), as_owner(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise AdminkitError(f"couldn't write to {folder}: {cause(error)}", "name another folder with --out") from error
    write_aside(folder / f"{name}.eml", message)
    write_aside(folder / f"{name}.html", letter.html.encode("utf-8", "replace"))


def status_notes(trace: sqlite3.Connection, settings: Config, path: Path) -> list[str]:
    """Where letters go, since when each cluster is switched on, and what keeps letters from leaving."""
    from adminkit.feedback.plan import switched_on
    from adminkit.feedback.prefs import check_folder, folder_of, out_of_reach
    from adminkit.feedback.transport.choice import described

    notes = [f"letters go to {described(settings.feedback)}"]
    for cluster in settings.feedback.clusters:
        since = switched_on(trace, cluster)
        notes.append(f"{cluster}: " + ("not switched on yet" if since is None else f"on since {show_time(since)}"))
    if not settings.feedback.clusters:
        notes.append("[feedback] clusters names no cluster: nobody gets letters")
    folder = folder_of(settings, path)
    try:
        check_folder(folder, path)
    except AdminkitError as error:
        notes.append(f"no letter can be sent: {error.message}; {error.hint}")
    if (barred := out_of_reach(folder)) is not None:
        notes.append(
            f"users cannot reach {folder}, where their choices are: {barred} is closed to them; set [feedback] prefs"
        )
    return notes


def matching(trace: sqlite3.Connection, runs: Sequence[str], refused: bool, users: Sequence[str]) -> list[Entry]:
    """The letters of `runs`; with `refused` and no runs, every refused one. UsageError for a run without a letter."""
    from adminkit.errors import unknown_word
    from adminkit.trace import outbox

    if not runs and not refused:
        raise UsageError(
            "which letters?", "name their runs, as `adminkit feedback status --letters --all` lists them, or --refused"
        )
    entries = outbox.find(trace, ["refused"] if refused and not runs else outbox.STATES, users)
    known = {one.run for one in entries}
    for run in runs:
        if run not in known:
            raise unknown_word("letter", run, known)
    return [one for one in entries if not runs or one.run in runs]
