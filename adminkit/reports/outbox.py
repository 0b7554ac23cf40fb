"""Due letters, the outbox and users' choices, as Reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from adminkit.render.report import Field, Meta, Report
from adminkit.trace.outbox import Entry

DUE_FIELDS: Final = (
    Field("cluster", help="the cluster", quiet=True),
    Field("kind", help="end: after a job; digest: a user's week; operator: everybody's week"),
    Field("user", help="the user who gets it; empty for the operators"),
    Field("address", help="the recipient's address"),
    Field("language", help="en or ja"),
    Field("run", help="what it is about: job@submission, or the week"),
    Field("subject", help="its subject line, or why it could not be written"),
)
RUN_FIELDS: Final = (
    Field("sent", "count", "letters that were accepted"),
    Field("later", "count", "letters that will be tried again later"),
    Field("refused", "count", "letters that were refused for good"),
    Field("broken", "count", "letters that could not be written; they will be tried again"),
    Field("expired", "count", "letters that were dropped: too old, or no longer wanted"),
    Field("waiting", "count", "letters that are still to be sent"),
)
STATUS_FIELDS: Final = (
    Field("cluster", help="the cluster"),
    Field("kind", help="end, digest or operator"),
    Field("state", help="due, claimed, sent, refused, expired"),
    Field("letters", "count", "how many letters"),
    Field("first", "time", "when the first of them was due"),
    Field("last", "time", "when the last of them was due"),
)
PREFS_FIELDS: Final = (
    Field("letters", help="each, week or never"),
    Field("language", help="en or ja; empty: the site's default"),
    Field("address", help="where your letters are sent; empty: the site's address for you"),
    Field("hints", help="yes or no: hints at submission"),
    Field("plan", help="yes or no: backfill may plan your jobs according to what similar jobs needed"),
    Field("chat", help="the chat service that also gets your letters"),
)
LETTER_FIELDS: Final = (
    Field("cluster", help="the cluster"),
    Field("run", help="what it is about: job@submission, or the week"),
    Field("kind", help="end, digest or operator"),
    Field("user", help="the user who gets it"),
    Field("address", help="the recipient's address"),
    Field("state", help="due, claimed, sent, refused, expired"),
    Field("attempts", "count", "how often it was tried"),
    Field("due_at", "time", "when it was found due"),
    Field("next_at", "time", "when it will be tried next"),
    Field("sent_at", "time", "when it was accepted"),
    Field("said", help="the mail server's last reply, or why it was not sent"),
)


def due_report(
    letters: Iterable[tuple[Entry, str]], left_out: Mapping[str, int], notes: Sequence[str], database: str
) -> Report:
    """What would go out, as (its row, its subject); `left_out` counts runs and users that get nothing, by reason."""
    rows = [(one.cluster, one.kind, one.user, one.address, one.language, one.run, subject) for one, subject in letters]
    clusters = sorted({row[0] for row in rows})
    return Report(_meta("Letters that are due", database, clusters, notes, left_out), DUE_FIELDS, rows)


def run_report(
    counts: Mapping[str, int],
    waiting: int,
    left_out: Mapping[str, int],
    notes: Sequence[str],
    database: str,
    clusters: Sequence[str],
) -> Report:
    """What became of one run's letters."""
    row = (*(counts.get(f.name, 0) for f in RUN_FIELDS[:-1]), waiting)
    return Report(_meta("Letters of this run", database, clusters, notes, left_out), RUN_FIELDS, [row])


def status_report(counts: Sequence[tuple[str, str, str, int, int, int]], notes: Sequence[str], database: str) -> Report:
    """The outbox in numbers."""
    clusters = sorted({row[0] for row in counts})
    return Report(_meta("The outbox", database, clusters, notes, {}), STATUS_FIELDS, counts)


def letters_report(entries: Iterable[Entry], notes: Sequence[str], database: str) -> Report:
    """Letters one by one."""
    rows = [
        (
            one.cluster, one.run, one.kind, one.user, one.address, one.state, one.attempts, one.due_at,
            one.next_at if one.state == "due" else None, one.sent_at, one.said,
        )
        for one in entries
    ]  # fmt: skip
    return Report(_meta("Letters", database, sorted({row[0] for row in rows}), notes, {}), LETTER_FIELDS, rows)


def prefs_report(choices: Mapping[str, str | bool | None], notes: Sequence[str], file: str) -> Report:
    """One user's choices; `file` is where they are kept."""
    row = [("yes" if value else "no") if isinstance(value, bool) else value for value in choices.values()]
    return Report(_meta("What you chose", file, (), notes, {}), PREFS_FIELDS, [row])


def _meta(
    title: str, database: str, clusters: Sequence[str], notes: Sequence[str], left_out: Mapping[str, int]
) -> Meta:
    counted = ", ".join(f"{reason.replace('_', ' ')} {number}" for reason, number in left_out.items())
    notes = [*notes, f"jobs without a letter, by reason: {counted}"] if counted else notes
    return Meta(title, database, (None, None), clusters, {}, None, left_out, notes)
