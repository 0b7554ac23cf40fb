"""`adminkit idle` as Reports: running jobs that hold GPUs without using them, a round, and what rounds did before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.usage.held import Held
from adminkit.usage.ladder import Act

if TYPE_CHECKING:
    from adminkit.deploy.idle_round import Done, Round

FIELDS: Final = (
    Field("job", help="a running job that has GPUs"),
    Field("user", help="whose job it is"),
    Field("queue", help="where it runs"),
    Field("gpus", "count", "the GPUs that it has"),
    Field("idle", "count", "how many of them have not been used for at least --least; empty: not measured"),
    Field("since", "time", "since when all of these have not been used"),
    Field("idle_hours", "hours", "GPU-hours for which these GPUs have been idle until now"),
    Field("unused_hours", "hours", "GPU-hours of the job in which its GPUs were not used, as far back as was asked"),
    Field("source", help="what measured it; empty: nothing did"),
    Field("why", help="why it is not measured, in one of the words of docs/idle.md; empty: it is measured"),
    Field(
        "next",
        help="what a round would do now: warned, points, shrink, requeue, cancel; empty: nothing, or not known here",
    ),
    Field("kept", help="why a round would do nothing, in one of the words of docs/idle.md"),
)
ROUND_FIELDS: Final = (
    Field("job", help="a running job that has GPUs, or had an order of an earlier round"),
    Field("user", help="whose job it is"),
    Field("queue", help="where it runs"),
    Field(
        "did",
        help="warned, points, shrink, requeue, cancel; held, released, void, over, refused: what became of an order;"
        " taken, back: points of a waiting job",
    ),
    Field("gpus", "count", "the GPUs that it has"),
    Field("idle", "count", "how many of them the act is about"),
    Field("why", help="the reason, in one of the words of docs/idle.md"),
    Field("held", help="no: Slurm refused it, or the job is another run by now; empty: not done yet"),
    Field("said", help="why it could not be done"),
)
STATUS_FIELDS: Final = (Field("at", "time", "when it happened"), *ROUND_FIELDS)


def idle_report(
    found: Sequence[Held], acts: Mapping[int, Act] | None, least: int, cluster: str, notes: Sequence[str], every: bool
) -> Report:
    """The jobs with idle GPUs, those first that have wasted most; with `every` the others too. `acts` None: no policy
    with [idle] is in force here.
    """
    shown = [one for one in found if every or one.idle(least)]
    shown.sort(key=lambda one: (-(one.idle_hours(least) or 0), one.job.job_id))
    meta = Meta.plain(f"Idle GPUs on {cluster}", [*_counts(found, least), *notes])
    return Report(meta, FIELDS, [_row(one, (acts or {}).get(one.job.job_id), least) for one in shown])


def _row(one: Held, act: Act | None, least: int) -> list[Cell]:
    listed = one.job.listed
    does = None if act is None or act.did == "nothing" else act.did
    kept = act.why if act is not None and act.did == "nothing" and one.measured else None
    idle = one.idle(least) if one.measured else None
    return [
        str(listed.job_id), listed.user or None, listed.queue, one.job.gpus, idle, one.idle_since(least),
        one.idle_hours(least), one.unused_hours, one.source if one.measured else None, one.why or None, does, kept,
    ]  # fmt: skip


def _counts(found: Sequence[Held], least: int) -> list[str]:
    """How much is idle of how many, and why the rest is not measured."""
    measured = [one for one in found if one.measured]
    gpus, idle = sum(one.job.gpus for one in measured), sum(one.idle(least) for one in measured)
    of = plural(len(found), "running job with GPUs", "running jobs with GPUs")
    lines = [f"{len(measured)} of {of} are measured: {idle} of their {plural(gpus, 'GPU')} are idle"]
    reasons = Counter(one.why for one in found if not one.measured)
    if reasons:
        lines.append("not measured: " + ", ".join(f"{why} {many}" for why, many in sorted(reasons.items())))
    return lines


def round_report(done: Round, cluster: str, notes: Sequence[str] = ()) -> Report:
    """A row for each act, and for each order that has ended."""
    rows = [_settled(line) for line in done.settled]
    rows += [_done(one) for one in done.done if one.act.did != "nothing"]
    return Report(Meta.plain(f"Idle GPUs on {cluster}", [*_notes(done), *notes]), ROUND_FIELDS, rows)


def _done(one: Done) -> list[Cell]:
    listed = one.act.held.job.listed
    return [
        str(listed.job_id), listed.user or None, listed.queue, one.act.did, one.act.held.job.gpus, one.act.idle,
        one.act.why, _held(one.held), one.said or None,
    ]  # fmt: skip


def _settled(line: Mapping[str, Any]) -> list[Cell]:
    return [
        _text(line.get("job")), _text(line.get("user")), _text(line.get("queue")), _text(line.get("did")),
        _count(line.get("gpus")), _count(line.get("idle")), _text(line.get("why")), _held(line.get("held")),
        _text(line.get("said")),
    ]  # fmt: skip


def status_report(acts: Sequence[Mapping[str, Any]], cluster: str) -> Report:
    """A row for each act in the action log, as it comes: those that were about to be done come again with `held`."""
    return Report(
        Meta.plain(f"Idle GPUs on {cluster}", []), STATUS_FIELDS, [[one["at"], *_settled(one)] for one in acts]
    )


def _notes(done: Round) -> list[str]:
    if done.idle:
        return ["another host's slurmctld is at work, so its rounds decide"]
    if not done.enabled:
        return ["[idle] is off in the policy in force", *done.notes]
    kept = Counter(one.act.why for one in done.done if one.act.did == "nothing")
    lines = ["left as they are: " + ", ".join(f"{why} {many}" for why, many in sorted(kept.items()))] if kept else []
    return [*lines, *done.notes]


def _held(value: Any) -> str | None:
    return None if not isinstance(value, bool) else "yes" if value else "no"


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
