"""Whether letters work, as a Report: a measure a row, and what stands behind it in the notes."""

from __future__ import annotations

import sqlite3
from typing import Final

from adminkit.feedback.holdout import is_held_out
from adminkit.findings.effect import REPORT, Measure, check
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.stats.effect import Change, Design, Effect, effect
from adminkit.stats.select import Filter
from adminkit.units import show_time

FIELDS: Final = (
    Field("measure", help="accuracy: mean of elapsed / limit; unused_hours: reserved and not used, each week"),
    Field("users", "count", "who had a first letter, and runs before and after it"),
    Field("before", "ratio", "mean over users, before the letter"),
    Field("after", "ratio", "the same after it"),
    Field("compared", "count", "of these, users for whom there were others alike"),
    Field("others", "count", "users without a letter they were held against"),
    Field("change", "ratio", "of those compared"),
    Field("expected", "ratio", "the change of the others: what happens without letters"),
    Field("effect", "ratio", "the difference: what letters changed"),
    Field("low", "ratio", "95 % interval of the effect"),
    Field("high", "ratio"),
    Field("verdict", help="better, worse, no significant change; too few users or nobody to compare with"),
)


def feedback_report(found: Effect, chosen: Filter, design: Design, database: str) -> Report:
    """Two rows. Nobody is named."""
    rows: list[list[Cell]] = [
        [
            one.measure, one.users, one.before, one.after, one.compared, one.others, one.change, one.expected,
            one.effect, one.low, one.high, _verdict(one, chosen),
        ]
        for one in found.changes
    ]  # fmt: skip
    filters = {**chosen.described(), "days": f"{design.days} before and after a user's first letter"}
    meta = Meta(
        "Letters: what changed after a user's first one",
        database,
        found.span,
        list(chosen.clusters),
        filters,
        found.runs,
        {},
        _notes(found, design),
        (None, None) if not found.runs else found.span,
    )
    return Report(meta, FIELDS, rows if found.lettered else [])


def _verdict(change: Change, chosen: Filter) -> str:
    (finding,) = check(Measure(chosen.clusters[0], change), REPORT)
    return finding.verdict


def _notes(found: Effect, design: Design) -> list[str]:
    if not found.lettered or found.first is None:
        return ["no letter has been sent yet, so there is nothing to compare"]
    notes = [
        f"the first of {plural(found.lettered, 'user')} got a letter on {show_time(found.first * 86_400)[:10]}; "
        f"{found.too_recent} too lately to tell, {found.too_few} with fewer than {design.least_runs} runs on a side",
        "letters go to those who did badly, and some of them would have done better anyway; so each user's change is "
        f"held against that of up to {design.neighbours} users without a letter who had done about as badly before",
    ]
    if found.held_out:
        notes.append("these others are the hold-out, drawn by chance: the difference is the letters' doing")
    else:
        notes.append(
            "these others are users without a letter until then, not drawn by chance: they may differ in more than the "
            "letter. feedback.holdout gives a hold-out"
        )
    notes.append(
        f"the interval is a bootstrap over users, {design.draws:,} draws, seed {design.seed}; below {REPORT.users} "
        f"users compared or {REPORT.others} others nothing is concluded"
    )
    notes.append("unused_hours: GPU-hours a week and user, node-hours of runs without GPUs")
    return notes


def _measure(trace: sqlite3.Connection, query: Query) -> Effect:
    held_out = is_held_out(query.settings.feedback)
    return effect(trace, query.filter, query.now, _design(query), held_out, REPORT.others)


def _view(found: Effect, query: Query) -> Report:
    return feedback_report(found, query.filter, _design(query), query.database)


def _design(query: Query) -> Design:
    return Design(days=query.own["days"])


SPEC: Final = ReportSpec(
    "feedback",
    "The effect of letters: accuracy and unused hours before and after a user's first letter.",
    _measure,
    _view,
    FIELDS,
    options=(
        Option("days", (), "Compare N days before a user's first letter with N days after it.", default=28, least=7),
    ),
    one_cluster=True,
    operators=("only operators may see what letters changed", "adminkit report accuracy has your own jobs"),
)
