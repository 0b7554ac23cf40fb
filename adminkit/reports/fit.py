"""Whether requests can start, as a listing: one row each, and one for each smaller one that could start now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.fit.verdict import Answer
from adminkit.render.report import Cell, Field, Meta, Report

FIELDS: Final = (
    Field("request", help="what is asked for, in sbatch's terms"),
    Field(
        "verdict",
        help="now, later or never; wakes: now, on a node that sleeps; room: nodes have room, but not "
        "every source could be asked",
    ),
    Field(
        "at",
        "time",
        "when the job can start (on a sleeping node, the latest time); unknown if the start depends on how much of a"
        " limit other jobs use",
    ),
    Field(
        "method",
        help="slurm: sbatch --test-only; simulation: running jobs end at their limits, waiting jobs go "
        "first; history: the median wait of similar jobs that had to wait",
    ),
    Field(
        "error",
        "duration",
        "the difference from the other method's time, if both methods give a time; for history, half of the waits"
        " differ from the median by at most this much",
    ),
    Field(
        "why",
        help="size, feature, limit, queue, rule, qos, association, licence, busy, priority, fair_share, reserved,"
        " wakes, drained, down",
    ),
    Field("text", help="the reason", below=True),
    Field("vectors", help="what the node vectors say, given running jobs and reservations", data=True),
    Field("waiting", help="the same, after the jobs that are already waiting have been placed", data=True),
    Field("limits", help="what the limits of QOS and associations, and the free licences, still allow", data=True),
    Field(
        "test_only",
        help="what sbatch --test-only says when run as the user; with --job, what slurmctld plans",
        data=True,
    ),
    Field("disagree", help="how Slurm's test and the node vectors differ, in a sentence", data=True),
)


def fit_report(
    answers: Sequence[Answer], filters: Mapping[str, str], more: Sequence[str] = (), title: str = "What can start"
) -> Report:
    """The notes name the smaller requests of each, and what `more` says."""
    rows: list[list[Cell]] = []
    notes = list(more)
    for one in answers:
        start = one.start
        said = start.sources or {}
        words: list[Cell] = [
            said[name].word if name in said else None for name in ("vectors", "waiting", "limits", "test_only")
        ]
        apart = "; ".join(start.disagree) or None
        rows.append(
            [
                one.request.line(), start.verdict, start.at, start.method, start.error, start.why or None,
                start.text or None, *words, apart,
            ]
        )  # fmt: skip
        if start.verdict == "room":
            notes.append(f"cannot say that it starts now: {start.text}")
        if start.verdict == "wakes":
            notes += [f"not every source could be asked: {one.text}" for one in said.values() if one.word == "unknown"]
        notes += [f"would start now: {other.line()}" for other in one.instead or ()]
        if one.instead == ():
            notes.append("nothing smaller or shorter was found that would start now")
    apart_rows = [row[-1] for row in rows if row[-1] is not None]
    if apart_rows:
        notes.append(f"sources disagree on {len(apart_rows)} of {len(rows)}: {apart_rows[0]}")
    return Report(Meta.plain(title, notes, filters=filters), FIELDS, rows)
