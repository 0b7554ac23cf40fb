"""Recommendations as Reports: one answer with a line to paste, and the table of a backtest."""

from __future__ import annotations

from typing import Final

from adminkit.recommend.predict import Settings
from adminkit.recommend.replay import PREDICTORS, Backtest
from adminkit.recommend.walltime import Answer
from adminkit.report.model import Cell, Field, Meta, Report
from adminkit.report.words import number, plural
from adminkit.stats.select import Filter
from adminkit.units import show_duration

ANSWER: Final = (
    Field("expected", "duration", "how long the next run is expected to take"),
    Field("limit", "duration", "a safe limit"),
    Field("risk", "share", "earlier runs that went over the limit recommended just before them"),
    Field("over", "count", "how many went over"),
    Field("tried", "count", "of how many"),
    Field("runs", "count", "similar runs that this rests on"),
    Field("similar_by", help="what they have in common besides the user"),
    Field("safe", "duration", "the limit before it is rounded"),
    Field("paste", help="a line for the job script"),
)
TABLE: Final = (
    Field("limit_by", help="who or what sets the limit"),
    Field("accuracy", "ratio", "mean of min(limit / run, run / limit)"),
    Field("over", "share", "runs longer than that"),
    Field("runs", "count", "runs with a limit of their own"),
)
#: Predictor -> how the table calls it.
NAMES: Final = {
    "request": "the users' own requests",
    "last two": "mean of the user's last two",
    "expected": "expected run time",
    "safe": "safe limit",
    "limit": "safe limit, rounded",
}


def walltime_report(answer: Answer, chosen: Filter, database: str) -> Report:
    """The two numbers, the risk and a line to paste; without enough runs no row, and why."""
    found, rows, notes = answer.found, [], []
    if found is None:
        notes.append(
            f"too little history: {plural(answer.runs, 'run')} of {answer.asked.user} and too few like this one"
        )
    elif found.limit is None or found.safe is None:
        notes.append(f"no limit recommended: {found.reason}, so nobody knows how long they need")
    else:
        rows.append(_row(answer))
        if found.tried:
            notes.append(
                f"{number(found.over)} of the last {plural(found.tried, 'run')} like this went over the limit "
                "recommended just before them"
            )
        else:
            notes.append("no earlier run had such a limit, so the risk is unknown")
    meta = Meta(
        f"Time limit for a job of {answer.asked.user}",
        database,
        (chosen.since, chosen.until),
        chosen.clusters,
        chosen.described(),
        answer.runs,
        {},
        notes,
        answer.span,
    )
    return Report(meta, ANSWER, rows)


def _row(answer: Answer) -> list[Cell]:
    found = answer.found
    assert found is not None and found.limit is not None and found.safe is not None
    return [
        round(found.expected), found.limit, found.risk, found.over, found.tried, found.runs, found.group,
        round(found.safe), f"#SBATCH --time={show_duration(found.limit)}",
    ]  # fmt: skip


def backtest_report(
    found: Backtest, settings: Settings, chosen: Filter, database: str, span: tuple[int | None, int | None]
) -> Report:
    """How limits set by each way would have done on the runs of a trace."""
    rows: list[list[Cell]] = []
    for name in PREDICTORS:
        one = found.measures[name]
        shares = (one.accuracy / one.runs, one.over / one.runs) if one.runs else (None, None)
        rows.append([NAMES[name], *shares, one.runs])
    notes = [
        f"a limit was recommended for {number(found.recommended)} of {plural(found.runs, 'run')}; "
        "for the others the user's own request stands",
        "at each submission only the runs that had ended by then were known",
    ]
    meta = Meta(
        "Recommended time limits on past runs",
        database,
        (chosen.since, chosen.until),
        chosen.clusters,
        chosen.described(),
        found.runs,
        {},
        notes,
        span,
    )
    return Report(meta, TABLE, rows)
