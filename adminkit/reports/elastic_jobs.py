"""`adminkit elastic` as Reports: what should be done to each elastic job, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.elastic.plan import Look
from adminkit.elastic.resize import Act
from adminkit.elastic.words import range_of
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report

PREVIEW_FIELDS: Final = (
    Field("job", help="an open job that opted in (ADMINKIT_ELASTIC)"),
    Field("user", help="whose job it is"),
    Field("name", help="its name, from which its speed is known"),
    Field("node", help="where it runs"),
    Field("range", help="the GPUs that it opted in to"),
    Field("gpus", "count", "the GPUs that it has"),
    Field("to", "count", "the GPUs with which it should continue"),
    Field("verdict", help="keep, shrink, grow"),
    Field("why", help="the reason"),
    Field("saves", "duration", "what the change saves: time for this job, or for the job that waits"),
    Field("costs", "duration", "what the change costs: the restart, and the time lost on fewer GPUs"),
    Field("known", help="how its speed is known, with the model's error if a model fills gaps"),
)
#: Jobs whose reason to keep their GPUs is said where nothing was done.
_MOST: Final = 5
RUN_FIELDS: Final = (
    Field("job", help="an open job that opted in"),
    Field("user", help="whose job it is"),
    Field(
        "did",
        help="ordered, changed, released, void, revoked, refused; held: somebody else holds the job, and"
        " adminkit leaves it so",
    ),
    Field("gpus", "count", "the GPUs that it has, or is to have, afterwards"),
    Field("why", help="the reason, or what went wrong"),
)


def preview_report(looks: Sequence[Look], cluster: str, notes: Sequence[str]) -> Report:
    """A row for each elastic job, the changes first."""
    rows: list[list[Cell]] = []
    for look in looks:
        job, opted = look.job, range_of(look.job.comment) or (0, 0)
        rows.append(
            [
                str(job.job_id),
                job.user,
                job.job_name,
                ",".join(job.nodes) or None,
                f"{opted[0]}-{opted[1]}",
                job.gpus,
                look.to,
                look.verdict,
                look.why,
                None if look.saves is None else round(look.saves),
                None if look.costs is None else round(look.costs),
                look.source or None,
            ]
        )
    changes = sum(look.to is not None for look in looks)
    first = f"{plural(changes, 'job')} of {len(looks)} should change" if looks else "no open job opted in"
    return Report(Meta.plain(f"Elastic jobs on {cluster}", [first, *notes]), PREVIEW_FIELDS, rows)


def _kept(looks: Sequence[Look]) -> list[str]:
    said = [
        f"job {look.job.job_id} keeps its {plural(look.job.gpus or 0, 'GPU')}: {look.why}" for look in looks[:_MOST]
    ]
    more = len(looks) - len(said)
    return [*said, f"and {more} more: adminkit elastic preview lists them"] if more else said


def run_report(acts: Sequence[Act], cluster: str, notes: Sequence[str], looks: Sequence[Look] = ()) -> Report:
    """A row for each act, as it was done; without one why the jobs of `looks` keep what they have."""
    rows: list[list[Cell]] = [[str(one.job.job_id), one.job.user, one.did, one.gpus, one.text or None] for one in acts]
    first = [] if acts else ["nothing was to be done", *_kept(looks)]
    return Report(Meta.plain(f"Elastic jobs on {cluster}", [*first, *notes]), RUN_FIELDS, rows)
