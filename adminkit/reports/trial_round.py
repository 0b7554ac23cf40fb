"""A trial's state as a Report: what is in place, part by part, the lease, and what a round did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from adminkit.deploy.trial import BY_HAND
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.units import show_time

if TYPE_CHECKING:
    from adminkit.deploy.trial import Trial
    from adminkit.deploy.trial_seen import Part
    from adminkit.deploy.trial_state import Machine, Whole
    from adminkit.deploy.trial_work import Round

STATUS_FIELDS: Final = (
    Field("part", help="what the trial switches: the policy, a table, a parameter of slurm.conf, a key of a queue"),
    Field("is", help="A, B, both where they do not differ; else by hand: somebody changed it"),
    Field("now", help="its value now, where it has one"),
)
_WHOSE: Final = {"a": "A", "b": "B", "both": "both", "other": "by hand"}
_KINDS: Final = {"policy": "policy", "included": "the included file", "conf": "slurm.conf"}


def status_report(done: Round, cluster: str, notes: Sequence[str] = ()) -> Report:
    """A row for each part that was looked at."""
    parts = () if done.seen is None else done.seen.parts
    rows: list[list[Cell]] = [[_name(part), _WHOSE[part.whose], part.now or None] for part in parts]
    listed = [*notes, *_words(done.whole, done.now), *done.did, *done.said, *done.notes]
    return Report(Meta.plain("The trial", listed, [cluster]), STATUS_FIELDS, rows)


def _name(part: Part) -> str:
    first = _KINDS.get(part.kind, "")
    return f"{first} {part.name}".strip() if part.kind != "table" else f"table {part.name}"


def _words(whole: Whole | None, now: int) -> list[str]:
    if whole is None:
        return ["there is no trial"]
    trial, machine = whole.trial, whole.machine
    named = [] if trial.names == ("A", "B") else [f"A is {trial.names[0]}, B is {trial.names[1]}"]
    return [*named, *_state(trial, machine, now)]


def _state(trial: Trial, machine: Machine, now: int) -> list[str]:
    if trial.ended is not None:
        stays = "B is in place" if machine.kept else "A is back" if machine.under_way is None else "A is not back yet"
        if trial.why.startswith(BY_HAND) and machine.under_way is None:
            stays = "what was changed by hand stays, the rest is A's"
        return [f"it ended at {show_time(trial.ended)}: {trial.why}; {stays}"]
    today = trial.day(now)
    lease = f"the lease lasts until {show_time(machine.lease_until)}"
    if today is None:
        return [f"its first day begins at {show_time(trial.begins)}; A is in place", lease]
    nth, day = today
    side = "B" if day.on else "A"
    counts = f"waits count from {show_time(day.since + trial.carry_over)}"
    return [
        f"day {nth} of {len(trial.days)} is {side}'s, until {show_time(day.until)}; {counts}",
        f"in place: {machine.in_place.upper()}, seen at {show_time(machine.seen_at)}; {lease}",
    ]
