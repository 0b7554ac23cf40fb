"""The effect of letters, as a Report: a row per measure, the method in the notes."""

from __future__ import annotations

from typing import Final

from adminkit.feedback.holdout import is_held_out
from adminkit.findings.effect import REPORT, Measure, check
from adminkit.messages import Message, joined, message
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.reports import nouns
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.effect import Change, Design, Effect, effect
from adminkit.stats.select import Filter
from adminkit.units import show_time

FIELDS: Final = (
    Field(
        "measure",
        help="accuracy: the mean of elapsed / limit; unused_hours: hours per week that were reserved and not used",
    ),
    Field("users", "count", "users who got a first letter, with runs before and after it"),
    Field("before", "ratio", "the mean over users, before the letter"),
    Field("after", "ratio", "the mean over users, after the letter"),
    Field("compared", "count", "of these, users for whom there were similar users without a letter"),
    Field("others", "count", "users who got no letter and with whom those users were compared"),
    Field("change", "ratio", "the mean change of the users who were compared"),
    Field("expected", "ratio", "the mean change of the users without a letter: what happens without letters"),
    Field("effect", "ratio", "change - expected: the effect of letters"),
    Field("low", "ratio", "the lower end of the effect's 95 % interval"),
    Field("high", "ratio", "the upper end of that interval"),
    Field("verdict", help="better, worse, no significant change, too few users, or nobody to compare with"),
)


def feedback_report(measured: Effect, filter: Filter, design: Design, database: str) -> Report:
    """Two rows. Nobody is named."""
    rows: list[list[Cell]] = [
        [
            one.measure, one.users, one.before, one.after, one.compared, one.others, one.change, one.expected,
            one.effect, one.low, one.high, _verdict(one, filter),
        ]
        for one in measured.changes
    ]  # fmt: skip
    filters = {**filter.described(), **_sent(filter), "days": _days(design)}
    meta = Meta(
        "Letters: what changed after a user's first one",
        database,
        measured.span,
        list(filter.clusters),
        filters,
        measured.runs,
        {},
        _notes(measured, design),
        measured.ends,
    )
    return Report(meta, FIELDS, rows if measured.lettered else [])


def _sent(filter: Filter) -> dict[str, str]:
    """The window, which is not that of the runs."""
    said = []
    if filter.since is not None:
        said.append(message("from {time}", time=show_time(filter.since)))
    if filter.until is not None:
        said.append(message("until {time}", time=show_time(filter.until)))
    return {"first letter": joined(" ", said)} if said else {}


def _days(design: Design) -> Message:
    return message("{days} before and after a user's first letter", days=design.days)


def _verdict(change: Change, filter: Filter) -> str:
    (finding,) = check(Measure(filter.clusters[0], change), REPORT)
    return finding.verdict


def _notes(measured: Effect, design: Design) -> list[str]:
    if not measured.ever:
        return [message("no letter has been sent yet, so there is nothing to compare")]
    if not measured.lettered or measured.first is None:
        return [message("no user's first letter was sent in the window, so there is nothing to compare")]
    notes: list[str] = [
        message(
            "{users} got letters, the first on {day}; the letter of {recent} is too recent, {few} have"
            " fewer than {least} runs before or after it",
            users=nouns.users(measured.lettered),
            day=show_time(measured.first * 86_400)[:10],
            recent=measured.too_recent,
            few=measured.too_few,
            least=design.least_runs,
        ),
        message(
            "letters go to users with poor limits, some of whom would have improved anyway; so each user's change is"
            " compared with that of up to {neighbours} users without a letter whose limits were about as poor before"
            " (difference in differences)",
            neighbours=design.neighbours,
        ),
    ]
    if measured.held_out:
        notes.append(message("these others are the hold-out, drawn at random: the difference is the effect of letters"))
    else:
        notes.append(
            message(
                "these others had no letter until then, but were not drawn at random: they may differ in more than the"
                " letter. Set feedback.holdout for a hold-out"
            )
        )
    notes.append(
        message(
            "the interval is a bootstrap over users, {draws:,} draws, seed {seed}; no verdict is given with fewer"
            " than {users} compared users or {others} other users",
            draws=design.draws,
            seed=design.seed,
            users=REPORT.users,
            others=REPORT.others,
        )
    )
    notes.append(
        message("unused_hours: GPU-hours per user per week, in runs with GPUs")
        if measured.on_gpus
        else message("unused_hours: CPU-hours per user per week; no run is known to have GPUs")
    )
    return notes


def _measure(trace: sqlite3.Connection, query: Query) -> Effect:
    held_out = is_held_out(query.settings.feedback)
    return effect(trace, query.filter, query.now, _design(query), held_out, REPORT.others)


def _view(measured: Effect, query: Query) -> Report:
    return feedback_report(measured, query.filter, _design(query), query.database)


def _design(query: Query) -> Design:
    return Design(days=query.own["days"])


SPEC: Final = ReportSpec(
    "feedback",
    "The effect of letters on accuracy and unused hours. Compares the time before and after a user's first letter.",
    "report feedback --days 28",
    _measure,
    _view,
    FIELDS,
    ("queue", "since", "until"),
    options=(
        Option("days", (), "Compare N days before a user's first letter with N days after it.", default=28, least=7),
    ),
    one_cluster=True,
    operators=("only operators may see what letters changed", "adminkit report accuracy shows your own jobs"),
)
