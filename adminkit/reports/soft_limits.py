"""The guard of soft limits as Reports: one round of it, and what it did before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.units import show_time

if TYPE_CHECKING:
    from adminkit.deploy.soft_guard import Round

ROUND_FIELDS: Final = (
    Field("job", help="an open job whose soft limit adminkit set"),
    Field(
        "did",
        help="cleared: its soft limit was removed while it waits; raised: its limit, which Slurm had "
        "lowered, was raised",
    ),
    Field("why", help="the reason"),
    Field("was", "duration", "the soft limit, or the lowered limit"),
    Field("becomes", "duration", "the limit that it has afterwards"),
    Field("held", help="no: the change had not held when it was read back; the next round repeats it"),
)
STATUS_FIELDS: Final = (
    Field("at", "time", "when it happened"),
    Field("did", help="lease given, lease withdrawn, cleared, raised"),
    Field("job", help="the job concerned"),
    Field("why", help="the reason"),
    Field("was", "duration", "the soft limit, or the lowered limit"),
    Field("becomes", "duration", "the limit that it has afterwards"),
)


def round_report(done: Round, cluster: str, applied: bool) -> Report:
    """A row for each act."""
    rows: list[list[Cell]] = [
        [
            str(act.job),
            act.did,
            act.why,
            act.was,
            act.becomes,
            None if not applied else "no" if act in done.left else "yes",
        ]
        for act in done.acts
    ]
    notes = [*([] if applied else ["nothing was done; add --apply to do it"]), *_notes(done)]
    return Report(Meta.plain(f"Soft limits on {cluster}", notes), ROUND_FIELDS, rows)


def status_report(now: Round, acts: Sequence[Mapping[str, Any]], cluster: str) -> Report:
    """A row for each act that is kept in the action log, as it comes."""
    rows: list[list[Cell]] = [
        [one["at"], _text(one.get("did")), _text(one.get("job")), _text(one.get("why")), _seconds(one.get("was")),
         _seconds(one.get("becomes"))]
        for one in acts
    ]  # fmt: skip
    return Report(Meta.plain(f"Soft limits on {cluster}", _notes(now)), STATUS_FIELDS, rows)


def _notes(now: Round) -> list[str]:
    lease = "no lease" if now.valid_until is None else f"the lease lasts until {show_time(now.valid_until)}"
    first = f"{lease}; {plural(now.planned, 'open job')} with a soft limit" if now.enabled else "soft limits are off"
    return [first, *(f"{one.name}: {one.why}" for one in now.reasons), *now.notes]


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _seconds(value: Any) -> int | None:
    return value if isinstance(value, int) else None
