"""`adminkit extend` as Reports: one round of it, and what it did before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report

if TYPE_CHECKING:
    from adminkit.deploy.extend_round import Done, Round

ROUND_FIELDS: Final = (
    Field("job", help="an open job that opted in, and is near its limit or was given time"),
    Field("user", help="whose job it is"),
    Field("queue", help="where it runs"),
    Field("did", help="given, taken back, refused"),
    Field("asked", "duration", "the limit that it asked for"),
    Field("was", "duration", "the limit that it had"),
    Field("becomes", "duration", "the limit that it has afterwards"),
    Field("why", help="the reason, in one of the words of docs/extend.md"),
    Field("text", help="the same as a sentence"),
    Field("held", help="no: the change had not held when it was read back; empty: it was not done, or not read back"),
)
STATUS_FIELDS: Final = (
    Field("at", "time", "when it happened"),
    Field("did", help="given, taken back, refused"),
    Field("job", help="the job concerned"),
    Field("user", help="whose job it is"),
    Field("was", "duration", "the limit that it had"),
    Field("becomes", "duration", "the limit that it has afterwards"),
    Field("why", help="the reason, in one of the words of docs/extend.md"),
    Field("held", help="no: the change had not held when it was read back; empty: nothing was changed"),
)


def round_report(done: Round, cluster: str, notes: Sequence[str] = ()) -> Report:
    """A row for each act and each refusal."""
    meta = Meta.plain(f"More time on {cluster}", [*notes, *_notes(done)])
    return Report(meta, ROUND_FIELDS, list(map(_row, done.done)))


def _row(one: Done) -> list[Cell]:
    act, listed = one.act, one.act.job.listed
    held = None if one.held is None else "yes" if one.held else "no"
    return [
        str(listed.job_id), listed.user or None, listed.queue, act.did, act.job.asked, act.was, act.becomes, act.why,
        act.text, held,
    ]  # fmt: skip


def status_report(now: Round, acts: Sequence[Mapping[str, Any]], cluster: str) -> Report:
    """A row for each act in the action log, as it comes: those that were about to be done come again with `held`."""
    rows: list[list[Cell]] = [
        [
            one["at"], _text(one.get("did")), _text(one.get("job")), _text(one.get("user")), _seconds(one.get("was")),
            _seconds(one.get("becomes")), _text(one.get("why")), _held(one.get("held")),
        ]
        for one in acts
    ]  # fmt: skip
    return Report(Meta.plain(f"More time on {cluster}", _notes(now)), STATUS_FIELDS, rows)


def _notes(done: Round) -> list[str]:
    if not done.enabled:
        return ["[extend] is off in the policy in force", *done.notes]
    if done.idle:
        return ["another host's slurmctld is at work, so its rounds decide"]
    opted = f"{plural(done.opted_in, 'open job')} opted in, {done.holding} of them hold extra time"
    return [opted, *done.notes]


def _held(value: Any) -> str | None:
    return None if not isinstance(value, bool) else "yes" if value else "no"


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _seconds(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
