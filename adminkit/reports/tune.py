"""The answer of a search: the frontier, the pick, what the held-out days say of it, and what to type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from adminkit.quote import quote
from adminkit.render.format import number, percent, plural
from adminkit.render.report import Cell, Dot, Field, Meta, Pictures, Report, Scatter
from adminkit.reports.simulate import cause_notes, left_out_sentences, meta_of
from adminkit.reports.simulate_scenarios import UNKNOWN_WORTH
from adminkit.simulate.calibrate import SHORT_WAIT, Calibration
from adminkit.simulate.groups import DECILE
from adminkit.simulate.subject import Subject
from adminkit.stats.select import Filter
from adminkit.tune.candidates import Choice, changed
from adminkit.tune.held_out import Part
from adminkit.tune.measured import LATE, Change
from adminkit.tune.race import SEEDS, Standing, frontier, worst_share
from adminkit.tune.search import Found, Question
from adminkit.tune.space import Space
from adminkit.tune.verdict import Verdict
from adminkit.units import show_short

FIELDS: Final = (
    Field("combination", "count", "its number in the order in which combinations were tried, from 1"),
    Field("days", help="searched: the days that the search used; held out: the last days, looked at once"),
    Field("levers", "count", "how many levers differ from today"),
    Field("measure", help="the objective"),
    Field("unit", help="the unit of the measure"),
    Field("today", "measured", "mean over the replicates"),
    Field("then", "measured", "the same with the combination"),
    Field("change", "measured", "mean of the paired differences"),
    Field("low", "measured", "lower end of the wider 95 % interval: over replicates, or over days"),
    Field("high", "measured", "upper end of that interval"),
    Field("relative", "share", "the change as a share of today's"),
    Field("worst", help="the group whose mean wait grows most, or shrinks least, as a share of today's"),
    Field("worst_share", "share", f"that change as a share of today's, of {SHORT_WAIT} s where today's is less"),
    Field("replicates", "count", "how many"),
    Field("standing", help="pick, or why not"),
    Field("settings", help="what the combination changes", below=True),
)
#: How an objective is called in a sentence.
_NAMES: Final = {
    "mean_wait": "the mean wait",
    "p95_wait": "the 95th percentile of waits",
    "mean_slowdown": "the mean slowdown",
    "lost_hours": "the time of CPUs or GPUs that is lost at limits",
}
_KEPT: Final = {
    "utilization": "less of the machine is in use",
    LATE: "more jobs start later than today's backfill promised them",
    "lost_hours": "more hours are lost at limits",
}
_ALONE: Final = {"mean_wait": "shorter", "p95_wait": "shorter"}
#: Groups that a sentence names.
_NAMED: Final = 3
#: Behind every line where calibration gives no basis.
FORCED: Final = "no basis: "


def tune_meta(
    subject: Subject, calibration: Calibration | None, filter: Filter, database: str, asked: Question
) -> Meta:
    """The header: what answers are worth here, what is simulated, and how changes were measured."""
    said = UNKNOWN_WORTH if calibration is None else calibration.sentence
    searched, held = (_days(part) for part in (asked.train, asked.held))
    notes = [
        f"the search uses the first {searched}; the last {held} are held out, and only the pick is looked at on them",
        f"each interval is the wider of two: Student's t over paired replicates, and over days in blocks of"
        f" {plural(asked.train.frame.length, 'day')}",
        *([] if calibration is None else cause_notes(calibration.causes)),
        *subject.notes,
        *left_out_sentences(subject.jobs.missing if calibration is None else calibration.missing),
    ]
    return replace(meta_of("Search for a better configuration", subject, filter, database, notes), answers=(said,))


def tune_report(
    found: Found,
    asked: Question,
    meta: Meta,
    space: Space,
    typed: Mapping[str, Sequence[str]],
    *,
    basis: bool = True,
) -> Report:
    """`typed`: what to type, lines by title, none where nothing is recommended.

    `basis`: whether calibration gives one; each line of an answer that has none says so.
    """
    words = space.words
    sentences = [*_sentences(found, asked, words), *(line for title in typed for line in (f"{title}:", *typed[title]))]
    marked = [text if basis else FORCED + text for text in sentences]
    numbers = {one.choice: place for place, one in enumerate(found.tried, start=1)}
    edge = frontier(found.tried)
    last = [one for one in found.tried if one.replicates >= SEEDS[-1] and one not in edge]
    shown = [*edge, *sorted(last, key=lambda one: one.objective.change)]
    rows = [_cells(one, numbers[one.choice], "searched", _why(one, found), words) for one in shown]
    if found.verdict is not None:
        verdict = found.verdict
        number = numbers[verdict.standing.choice]
        rows.insert(0, _cells(verdict.standing, number, "held out", _held_word(verdict), words))
    extra = {
        "pick": _values(found, space),
        "groups": _groups(found),
        "typed": [{"title": title, "lines": list(typed[title])} for title in typed],
    }
    meta = replace(meta, answers=(*meta.answers, *marked))
    return Report(meta, FIELDS, rows, pictures=_pictures(found, numbers), extra=extra)


def _days(part: Part) -> str:
    return plural(part.frame.days, "day")


def _cells(
    one: Standing, number: int, days: str, standing: str, words: Callable[[Choice], Sequence[str]]
) -> list[Cell]:
    change = one.objective
    return [
        number, days, changed(one.choice), change.measure, change.unit, change.today, change.then, change.change,
        change.low, change.high, change.relative, "" if one.worst is None else _group(one.worst), worst_share(one),
        one.replicates, standing, "; ".join(words(one.choice)),
    ]  # fmt: skip


def _why(one: Standing, found: Found) -> str:
    if found.pick is not None and one.choice == found.pick.choice:
        return "pick"
    if one.clearly_broken:
        return "harm: " + _several(one.clearly_broken)
    if not one.objective.is_less:
        return "no significant change"
    return "fewer replicates" if one.replicates < SEEDS[-1] else ""


def _held_word(verdict: Verdict) -> str:
    return {"better": "carries over", "no change": "no significant change"}.get(
        verdict.word, "harm: " + _several(verdict.harm)
    )


def _sentences(found: Found, asked: Question, words: Callable[[Choice], Sequence[str]]) -> list[str]:
    """The verdict first, then the pick and why."""
    many = plural(len(found.tried), "combination")
    if found.pick is None or found.verdict is None:
        return [
            f"nothing is recommended: {many} {'was' if len(found.tried) == 1 else 'were'} tried, and {_nothing(found)}"
        ]
    pick, verdict = found.pick, found.verdict
    held, searched = verdict.standing.objective, pick.objective
    on_held = f"on the {_days(asked.held)} that were held out"
    if verdict.word == "better":
        first = f"recommended: {on_held}, {_change(held)}, and no group of jobs waits longer"
    elif verdict.word == "no change":
        first = f"the pick does not carry over, so nothing is recommended: {on_held}, {_change(held)}"
    else:
        harm = _several(verdict.harm)
        first = f"the pick does not carry over, so nothing is recommended: {on_held}, it does harm: {harm}"
    why = (
        f"among {many}, the pick is the best one that breaks no constraint: on the {_days(asked.train)} that were"
        f" searched, {_change(searched)}"
    )
    lasts = [] if pick.worst is None else [_least(pick.worst)]
    return [first, why, *lasts, *(f"the pick: {line}" for line in words(pick.choice))]


def _least(worst: Change) -> str:
    """What becomes of the group that gains least."""
    does = "grows most" if worst.change > 0 else "shrinks least"
    return f"on these days, the group whose mean wait {does} is {_group(worst)}: {_signed(worst)}"


def _nothing(found: Found) -> str:
    able = [one for one in found.tried if one.replicates >= SEEDS[-1]]
    if not able:
        return "each did harm, or was worse than another, before it had twenty replicates"
    if better := [one for one in able if one.objective.is_less]:
        harm = _several(min(better, key=lambda one: one.objective.change).clearly_broken)
        return f"those that are better do harm. The best of them does this: {harm}"
    return "none is better than today beyond its interval"


def _change(change: Change) -> str:
    """A change of the objective in words."""
    between = f"95 % interval {_value(change, change.low)} to {_value(change, change.high)}"
    name = _NAMES[change.measure]
    if not (change.is_less or change.is_more):
        return f"{name} shows no significant change from today's {_plain(change, change.today)} ({between})"
    word = _ALONE.get(change.measure, "less") if change.is_less else "longer" if change.measure in _ALONE else "more"
    return (
        f"{name} is {_plain(change, abs(change.change))} {word}{_share(change)}: {_plain(change, change.then)} instead"
        f" of {_plain(change, change.today)} ({between})"
    )


def _share(change: Change) -> str:
    """The change as a share of today's, in brackets."""
    if change.relative is None:
        return ""
    return f" ({'-' if change.relative < 0 else '+'}{percent(abs(change.relative), 0)})"


def _plain(change: Change, value: float) -> str:
    if change.unit == "seconds":
        return show_short(value)
    return f"{number(round(value))} h" if change.unit == "hours" else f"{value:.2f}"


def _value(change: Change, value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_plain(change, abs(value))}"


def _signed(change: Change) -> str:
    return f"{_value(change, change.change)}{_share(change)}, from {_plain(change, change.today)} today"


def _several(changes: Sequence[Change]) -> str:
    """What becomes worse, the largest first."""
    groups = sorted((one for one in changes if one.measure == "mean_wait"), key=lambda one: -one.change)
    named = [f"{_group(one)} ({_value(one, one.change)})" for one in groups[:_NAMED]]
    more = [plural(len(groups) - _NAMED, "other group")] if len(groups) > _NAMED else []
    waits = ["longer waits for " + ", ".join([*named, *more])] if groups else []
    return "; ".join([*waits, *(_KEPT[one.measure] for one in changes if one.measure != "mean_wait")])


def _group(change: Change) -> str:
    if change.part == DECILE:
        return f"users of decile {change.value} by hours"
    return f"{change.part} {quote(change.value) if change.part == 'queue' else change.value}"


def _values(found: Found, space: Space) -> list[dict[str, Any]]:
    """The levers of the pick that differ from today, whether it carries over or not."""
    if found.pick is None:
        return []
    pairs = zip(space.levers, found.pick.choice, strict=True)
    return [{"lever": lever.name, "value": value} for lever, value in pairs if value is not None]


def _groups(found: Found) -> list[dict[str, Any]]:
    """Every group and measure of the pick, of the days that were searched and of those that were held out."""
    if found.pick is None or found.verdict is None:
        return []
    sides = (("searched", found.pick), ("held out", found.verdict.standing))
    return [{"days": days, **asdict(one)} for days, side in sides for one in (side.objective, *side.others)]


def _pictures(found: Found, numbers: Mapping[Choice, int]) -> Pictures | None:
    edge = {one.choice for one in frontier(found.tried)}
    able = [one for one in found.tried if one.replicates >= SEEDS[-2] and one.objective.relative is not None]
    if not able:
        return None

    def dot(one: Standing) -> Dot:
        return Dot(str(numbers[one.choice]), one.objective.relative or 0.0, worst_share(one), one.choice in edge)

    harmless = [dot(one) for one in able if not one.clearly_broken]
    harmful = [dot(one) for one in able if one.clearly_broken]
    lines = [
        (name, dots) for name, dots in (("breaks no constraint", harmless), ("breaks a constraint", harmful)) if dots
    ]
    if found.pick is not None:
        lines.append(("pick", [dot(found.pick)]))
    panel = Scatter(
        "", "", f"change of {_NAMES[able[0].objective.measure]}, as a share of today's",
        "the worst group's mean wait, likewise", lines, ("share", "share"),
    )  # fmt: skip
    return Pictures(
        "The objective against the worst group",
        f"Each dot is a combination with at least {SEEDS[-2]} replicates. No other dot is better than a filled one in"
        " both directions. Numbers are those of the table.",
        [panel],
    )
