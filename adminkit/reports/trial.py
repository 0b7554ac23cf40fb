"""The trial of soft limits as Reports: its calendar, and what it showed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from adminkit.job import CLASSES
from adminkit.render.format import number, percent, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.switchback import LEAST_HISTORY, LEAST_PAIRS, Change, change, paired
from adminkit.stats.waits import DayWaits, Quarter, by_day
from adminkit.units import local_time, show_short, show_time

if TYPE_CHECKING:
    from datetime import tzinfo

    from adminkit.deploy.trial import Trial

CALENDAR_FIELDS: Final = (
    Field("day", "count", "its number"),
    Field("weekday", help="its weekday, by this host's clock"),
    Field("since", "time", "when it begins"),
    Field("soft_limits", help="on, or off: no job gets a soft limit, and pending jobs lose theirs"),
    Field("counts_from", "time", "waits of jobs that were eligible before this time do not count"),
)
RESULT_FIELDS: Final = (
    Field("jobs", help="all jobs, or those of one class"),
    Field("pairs", "count", "pairs of days, one on and one off, that both have waits"),
    Field("wait_on", "duration", "the mean wait on days with soft limits, averaged over days"),
    Field("wait_off", "duration", "the mean wait on days without them, averaged over days"),
    Field("change", "share", "wait_on / wait_off - 1"),
    Field("low", "share", "lower end of its 95 % interval"),
    Field("high", "share", "upper end of its 95 % interval; empty if the days give no upper bound"),
    Field("verdict", help="less, more, no significant change; not known if there are too few days"),
)
ALL: Final = "all"
#: Too few days, or none waited.
UNKNOWN: Final = "not known"
NO_CHANGE: Final = "no significant change"
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def calendar_report(trial: Trial, notes: Sequence[str], tz: tzinfo | None = None) -> Report:
    """A row for each day."""
    rows: list[list[Cell]] = [
        [
            nth,
            _WEEKDAYS[local_time(day.since, tz).weekday()],
            day.since,
            "on" if day.on else "off",
            day.since + trial.carry_over,
        ]
        for nth, day in enumerate(trial.days, 1)
    ]
    return Report(Meta.plain("A trial of soft limits", notes, [trial.cluster]), CALENDAR_FIELDS, rows)


def preview_notes(
    trial: Trial, applied: bool, smallest: float | None, history: int, p95: int | None, others: Sequence[str] = ()
) -> list[str]:
    """What an operator should know before. `smallest` and `p95` None: not known; `history`: days with waits.

    `others` are the controllers that are not this host.
    """
    length = plural(len(trial.days), "day")
    notes = [] if applied else ["nothing was done: --apply begins it"]
    notes.append(
        f"{length} from {show_time(trial.begins)} until {show_time(trial.ends)}, seed {trial.seed}; each weekday is on"
        " as often as off"
    )
    if smallest is not None:
        notes.append(
            f"judging by {plural(history, 'day')} of this site's past, {length} show (at 95 %), four times out of five,"
            f" that the mean wait is {percent(smallest, 0)} shorter, or more; a smaller change may go unseen"
        )
    elif history < LEAST_HISTORY:
        notes.append(
            f"the smallest change that {length} can show is not known: the trace has {plural(history, 'day')} with"
            f" waits, and {LEAST_HISTORY} are needed"
        )
    else:
        notes.append(f"judging by this site's past, {length} cannot show any change: choose more days")
    notes.append(f"the first {show_short(trial.carry_over)} of each day do not count{_because(trial.carry_over, p95)}")
    if others:
        again = f"--days {len(trial.days)} --seed {trial.seed} --carry-over {trial.carry_over}s"
        notes.append(f"unless they share this folder, do the same on {', '.join(others)} today, with {again}")
    return notes


def _because(carry_over: int, p95: int | None) -> str:
    if p95 is None:
        return ": what the day before left behind; how long runs are is not known"
    if p95 <= carry_over:
        return ": what the day before left behind"
    return (
        f"; one run in twenty takes {show_short(p95)} or longer, so that jobs also wait for runs that began the day"
        f" before, which makes the change look smaller"
    )


def result_report(trial: Trial, quarters: Sequence[Quarter], database: str, now: int) -> Report:
    """What the days that are over show: all jobs, then each class of them."""
    days = trial.over()
    days = [day for day in days if day.until <= now]
    whole = by_day(quarters, days, trial.carry_over)
    on = [day.on for day in days]
    found = {ALL: _change(whole, on)}
    found |= {kind: _change(by_day(quarters, days, trial.carry_over, kind), on) for kind in CLASSES}
    rows = [_row(name, one) for name, one in found.items() if name == ALL or one is not None]
    until = days[-1].until if days else trial.begins
    window = {"eligible": f"from {show_time(trial.begins)} until {show_time(until)}"}
    meta = Meta.plain(
        "What the trial of soft limits showed", _result_notes(trial, whole, on, now), [trial.cluster], window
    )
    meta = replace(meta, database=database, answers=[_answer(found[ALL], len(trial.days))])
    return Report(meta, RESULT_FIELDS, rows)


def _change(waits: Sequence[DayWaits], on: Sequence[bool]) -> Change | None:
    return change(*paired([day.mean for day in waits], on))


def _row(name: str, one: Change | None) -> list[Cell]:
    if one is None:
        return [name, None, None, None, None, None, None, UNKNOWN]
    high = None if math.isinf(one.high) else one.high
    return [name, one.pairs, round(one.on), round(one.off), one.change, one.low, high, _verdict(one)]


def _verdict(one: Change) -> str:
    return NO_CHANGE if not one.significant else "less" if one.change < 0 else "more"


def _answer(one: Change | None, days: int) -> str:
    if one is None:
        return f"not known: {LEAST_PAIRS} pairs of days with waits are needed, of the {days // 2} that the trial has"
    high = "unknown" if math.isinf(one.high) else _signed(one.high)
    interval = f"95 % interval {_signed(one.low)} to {high}"
    if not one.significant:
        return f"no significant change of the mean wait ({interval})"
    word = "shorter" if one.change < 0 else "longer"
    return f"with soft limits the mean wait is {percent(abs(one.change))} {word} ({interval})"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _result_notes(trial: Trial, waits: Sequence[DayWaits], on: Sequence[bool], now: int) -> list[str]:
    notes = [
        "days are the units: each is paired with the same weekday of the next week; the interval holds the changes that"
        " a randomisation test does not reject at 5 %",
        "the first row is the answer; of several classes one may differ only by chance",
    ]
    if trial.under_way(now):
        notes.insert(0, f"the trial runs until {show_time(trial.ends)}: looking often makes chance look like an effect")
    elif len(waits) < len(trial.days):
        notes.insert(0, f"it was ended after {len(waits)} of {plural(len(trial.days), 'day')}")
    for word, which in (("on", True), ("off", False)):
        here = [day for day, day_on in zip(waits, on, strict=False) if day_on is which]
        jobs, soft = sum(day.jobs for day in here), sum(day.planned for day in here)
        if jobs:
            notes.append(f"days {word}: {number(jobs)} jobs, of which {percent(soft / jobs)} had a soft limit")
    gone, waiting = sum(day.gone for day in waits), sum(day.waiting for day in waits)
    if gone:
        notes.append(f"left out: {plural(gone, 'job')} that never started")
    if waiting:
        notes.append(
            f"{plural(waiting, 'job')} that have not started yet count with their wait until now: ask again later"
        )
    return notes
