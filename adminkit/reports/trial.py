"""A trial as Reports: its calendar, what it may show, and what it showed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from adminkit.render.format import number, percent, plural
from adminkit.render.report import Cell, Field, Meta, Pictures, Report, Trend
from adminkit.stats.switchback import BLOCK, LEAST_HISTORY, POWER, held
from adminkit.stats.trial_result import ALL, MEAN, Result, Shown, trial_result
from adminkit.stats.waits import Waits
from adminkit.units import local_time, show_short, show_time

if TYPE_CHECKING:
    from datetime import tzinfo

    from adminkit.deploy.trial import Trial
    from adminkit.stats.looks import Effect

CALENDAR_FIELDS: Final = (
    Field("day", "count", "its number"),
    Field("weekday", help="its weekday, by this host's clock"),
    Field("since", "time", "when it begins"),
    Field("side", help="which configuration is in place"),
    Field("counts_from", "time", "waits of jobs that were eligible before this time do not count"),
)
RESULT_FIELDS: Final = (
    Field("by", help="what the row's jobs have in common: all, or a size, queue or class"),
    Field("jobs", help="which jobs"),
    Field("measure", help="what is measured on each day: the mean wait, the 95th percentile of waits, the slowdown"),
    Field("pairs", "count", "pairs of days, one of A and one of B, that both count and have such jobs"),
    Field("a", "measured", "its mean over the days of A"),
    Field("b", "measured", "its mean over the days of B"),
    Field("unit", help="the unit of `a` and `b`", data=True),
    Field("change", "share", "b / a - 1"),
    Field("low", "share", "lower end of its interval, which holds at this look and all others with 95 %"),
    Field("high", "share", "upper end of its interval; empty if the days give no upper bound"),
    Field("p", "ratio", "of no change at all; those of groups are adjusted for how many there are (Holm)"),
    Field("verdict", help="less, more, no significant change; not known if there are too few days"),
)
#: Too few days, or none waited.
UNKNOWN: Final = "not known"
NO_CHANGE: Final = "no significant change"
KEEP_AFTER: Final = "keep: adminkit trial stop --keep b --apply; the trial is over, and A is in place"
#: A guard, or somebody's hand, ended it.
KEEP_BY_HAND: Final = "keep: put into policy.toml and slurm.conf what B changes; the trial ended before its time"
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def calendar_report(trial: Trial, notes: Sequence[str], tz: tzinfo | None = None) -> Report:
    """A row for each day."""
    a, b = trial.names
    rows: list[list[Cell]] = [
        [
            nth,
            _WEEKDAYS[local_time(day.since, tz).weekday()],
            day.since,
            b if day.on else a,
            day.since + trial.carry_over,
        ]
        for nth, day in enumerate(trial.days, 1)
    ]
    return Report(Meta.plain(_title(trial), notes, [trial.cluster]), CALENDAR_FIELDS, rows)


def _title(trial: Trial) -> str:
    return f"A trial of {trial.names[1]} against {trial.names[0]}"


def preview_notes(
    trial: Trial, applied: bool, history: Sequence[float | None], p95: int | None, others: Sequence[str] = ()
) -> list[str]:
    """What an operator should know before. `history`: the mean waits of the days before; `p95` None: not known.

    `others` are the controllers that are not this host.
    """
    length = plural(len(trial.days), "day")
    begin = f"adminkit trial start FILE --seed {trial.seed} --apply begins the trial on these days"
    notes = [] if applied else [f"nothing was done: {begin}; without --seed, other days are drawn"]
    notes.append(
        f"{length} from {show_time(trial.begins)} until {show_time(trial.ends)}, seed {trial.seed}; each weekday is A's"
        " as often as B's"
    )
    notes += plan_notes(len(trial.days), trial.hoped, history)
    notes.append(f"the first {show_short(trial.carry_over)} of each day do not count{_because(trial.carry_over, p95)}")
    if others:
        again = f"--days {len(trial.days)} --seed {trial.seed} --carry-over {trial.carry_over}s"
        notes.append(f"unless they share this folder, do the same on {', '.join(others)} today, with {again}")
    return notes


def plan_notes(days: int, hoped: float | None, history: Sequence[float | None]) -> list[str]:
    """What `days` can show, and how many the hoped change needs, judging by the site's past."""
    from adminkit.stats.trial_plan import days_needed, known, power_at, smallest_cut

    length, past = plural(days, "day"), sum(value is not None for value in history)
    if not known(history):
        why = f"the trace has {plural(past, 'day')} with waits, and {LEAST_HISTORY} are needed"
        return [f"what {length} can show is not known: {why if past < LEAST_HISTORY else 'nobody waited'}"]
    judged = f"judging by {plural(past, 'day')} of this site's past"
    smallest = smallest_cut(history, days)
    if smallest is None:
        notes = [f"{judged}, {length} cannot show any change: choose more days"]
    else:
        cut = percent(smallest, 0)
        notes = [f"{judged}, {length} show a mean wait {cut} shorter in four trials of five; less may go unseen"]
    if hoped is not None and hoped != 0:
        power, needed = power_at(history, hoped, days), days_needed(history, hoped)
        need = "more than a year" if needed is None else plural(needed, "day")
        notes.append(
            f"a change of {_signed(hoped)} is shown by {length} with a probability of {percent(power or 0.0, 0)};"
            f" {percent(POWER, 0)} need {need}"
        )
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


def result_report(trial: Trial, waits: Waits, database: str, now: int) -> Report:
    """What the days that are over show: all jobs, then each group of them."""
    days = [day for day in trial.over() if day.until <= now]
    counts = held(days, [(one.since, one.side) for one in trial.placed], trial.carry_over)
    result = trial_result(waits, days, counts, trial.carry_over, len(trial.days))
    until = days[-1].until if days else trial.begins
    window = {"eligible": f"from {show_time(trial.begins)} until {show_time(until)}"}
    notes = _result_notes(trial, result, now)
    meta = Meta.plain(f"What the trial of {trial.names[1]} showed", notes, [trial.cluster], window)
    meta = replace(meta, database=database, answers=[*_answers(trial, result), *_advice(trial, result, now)])
    return Report(meta, RESULT_FIELDS, [_row(one) for one in result.rows], pictures=_pictures(trial, result))


def _row(one: Shown) -> list[Cell]:
    found = one.effect
    unit = "seconds" if "wait" in one.measure else "ratio"
    if found is None:
        return [one.part, one.name, one.measure, None, None, None, unit, None, None, None, None, UNKNOWN]
    high = None if math.isinf(found.high) else found.high
    values = [round(value) if unit == "seconds" else value for value in (found.off, found.on)]
    return [
        one.part, one.name, one.measure, found.pairs, *values, unit, found.change, found.low, high, one.p, _verdict(one)
    ]  # fmt: skip


def _verdict(one: Shown) -> str:
    if one.effect is None:
        return UNKNOWN
    return NO_CHANGE if not one.significant else "less" if one.effect.change < 0 else "more"


def _answers(trial: Trial, result: Result) -> list[str]:
    one = result.answer.effect
    if one is None:
        return [f"not known yet: {_missing(trial, result)}"]
    a, b = trial.names
    if not result.answer.significant:
        return [f"no significant change of the mean wait ({_interval(one)})"]
    word = "shorter" if one.change < 0 else "longer"
    said = [f"with {b} the mean wait is {percent(abs(one.change))} {word} than with {a} ({_interval(one)})"]
    longer = [one.name for one in result.rows if one.part != ALL and _verdict(one) == "more"]
    if longer:
        said.append(f"longer, by more than chance: {', '.join(longer)}")
    return said


def _missing(trial: Trial, result: Result) -> str:
    dropped = sum(not counted for counted in result.counts)
    if result.looks == 0:
        return f"the first look is after {BLOCK} days, and the trial has had {len(result.days)}"
    lost = f"; {plural(dropped, 'day')} did not have their side in place" if dropped else ""
    return f"too few pairs of days with waits by look {result.looks} of {len(trial.days) // BLOCK}{lost}"


def _advice(trial: Trial, result: Result, now: int) -> list[str]:
    """What to type."""
    if not trial.under_way(now):
        if trial.kept:
            return [f"{trial.names[1]} was kept"]
        keep = KEEP_AFTER if trial.may_be_kept or trial.ended is None else KEEP_BY_HAND
        return [keep] if result.answer.significant and not _worse(result) else []
    undo = "adminkit trial stop --apply"
    if not result.answer.significant:
        return [f"undo: {undo}; or wait until {show_time(trial.ends)}"]
    return [f"undo: {undo}"] if _worse(result) else [f"keep: adminkit trial stop --keep b --apply / undo: {undo}"]


def _worse(result: Result) -> bool:
    """Whether any jobs wait longer."""
    return any(_verdict(one) == "more" for one in result.rows)


def _interval(one: Effect) -> str:
    high = "unknown" if math.isinf(one.high) else _signed(one.high)
    return f"95 % interval {_signed(one.low)} to {high}, {plural(one.pairs, 'pair')} of days"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _result_notes(trial: Trial, result: Result, now: int) -> list[str]:
    notes = [
        "days are the units: each is paired with the same weekday of the next week; the interval holds the changes that"
        " a randomisation test does not reject, and takes a look after every fortnight into account",
        "the first row is the answer; the verdicts of sizes, queues and classes are corrected for their number",
        *(f"{trial.names[1]}: {line}" for line in trial.lines),
    ]
    planned = len(trial.days)
    if trial.ended is not None and len(result.days) < planned:
        notes.insert(
            0, f"it ended after {len(result.days)} of {plural(planned, 'day')}: {trial.why or 'no reason given'}"
        )
    elif trial.under_way(now):
        notes.insert(0, f"look {result.looks} of {planned // BLOCK}; the trial runs until {show_time(trial.ends)}")
    if result.first is not None and result.first < result.looks:
        notes.append(f"the change was significant at the look after {plural(result.first * BLOCK, 'day')}")
    dropped = sum(not counted for counted in result.counts)
    if dropped:
        notes.append(f"left out with their pairs: {plural(dropped, 'day')} that did not have their side in place")
    late = len(result.days) % BLOCK
    if late:
        notes.append(f"the last {plural(late, 'day')} do not count, as their fortnight is not complete")
    for side, which in zip(trial.names, (False, True), strict=True):
        here = [day for day, when in zip(result.waits, result.days, strict=True) if when.on is which]
        jobs, soft = sum(day.jobs for day in here), sum(day.planned for day in here)
        if jobs:
            given = f", of which {percent(soft / jobs)} had a soft limit" if soft else ""
            notes.append(f"days of {side}: {number(jobs)} jobs{given}")
    gone, waiting = sum(day.gone for day in result.waits), sum(day.waiting for day in result.waits)
    if gone:
        notes.append(f"left out: {plural(gone, 'job')} that never started")
    if waiting:
        notes.append(f"not started yet: {plural(waiting, 'job')}; the wait so far counts, so the result may change")
    return notes


def _pictures(trial: Trial, result: Result) -> Pictures | None:
    """The mean wait of each day that counts."""
    if not any(day.mean for day in result.waits):
        return None
    edges = [*(day.since for day in result.days), result.days[-1].until]
    lines = [
        (
            name,
            [
                day.mean / 3600 if counted and when.on is which and day.mean is not None else None
                for day, when, counted in zip(result.waits, result.days, result.counts, strict=True)
            ],
        )
        for name, which in zip(trial.names, (False, True), strict=True)
    ]
    panel = Trend(MEAN, f"{plural(len(result.days), 'day')}, each of one side", edges, lines, "hours")
    caption = "Each day is compared with the same weekday of the week before or after, on which the other was in place."
    return Pictures(_answers(trial, result)[0], caption, [panel])
