"""What scenarios would change: sentences, a table, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from adminkit.render.format import number, percent, plural
from adminkit.render.report import Cell, Curves, Field, Line, Meta, Panel, Pictures, Report, Series
from adminkit.reports.simulate import cause_notes, left_out_sentences, meta_of
from adminkit.simulate.answer import Answer
from adminkit.simulate.calibrate import Calibration
from adminkit.simulate.compare import LESS, MORE, NO_CHANGE, SMALLEST, Row
from adminkit.simulate.outcome import EDGES, Summary
from adminkit.simulate.subject import Subject
from adminkit.stats.select import Filter
from adminkit.units import show_short

FIELDS: Final = (
    Field("scenario", help="its name in the file, with its value if it has several"),
    Field(
        "part",
        help="all, queue, class, size, length, account or user; users: those who follow the scenario, and those who"
        " do not; time: those who were given more time, and those who were not",
    ),
    Field("value", help="which one: for example, the queue's name"),
    Field("measure", help="what is compared"),
    Field("unit", help="the unit of the measure: seconds, ratio, share, count, hours (of CPUs, GPUs or processors)"),
    Field("jobs", "count", "jobs that ran both today and under the scenario; mean over the replicates"),
    Field("today", "measured", "mean over the replicates"),
    Field("then", "measured", "the same under the scenario"),
    Field("change", "measured", "mean of the paired differences"),
    Field("low", "measured", "lower end of the 95 % interval of the change"),
    Field("high", "measured", "upper end of the 95 % interval of the change"),
    Field("relative", "share", "the change as a share of today's"),
    Field("verdict", help="less, more or no significant change; the verdicts hold for all rows of a measure together"),
)
#: The first sentence of an answer that was forced where nothing could be compared.
UNKNOWN_WORTH: Final = "calibration: none: the trace has no starts to compare with"
_PARTS: Final = ("queue", "class", "size", "length", "users", "time", "account", "user")
#: Groups that a sentence names on each side.
_NAMED: Final = 3


def scenarios_meta(
    subject: Subject, calibration: Calibration | None, filter: Filter, database: str, replicates: int
) -> Meta:
    """The header: what answers are worth here, what is simulated, and how the changes were measured."""
    said = UNKNOWN_WORTH if calibration is None else calibration.sentence
    notes = [
        f"changes are means of {replicates} paired replicates, submissions moved by up to a minute, with 95 % intervals"
        " (Student's t)",
        *([] if calibration is None else cause_notes(calibration.causes)),
        *subject.notes,
        *left_out_sentences(subject.jobs.missing if calibration is None else calibration.missing),
    ]
    return replace(meta_of("What would happen", subject, filter, database, notes), answers=(said,))


def scenarios_report(found: Answer, meta: Meta) -> Report:
    """The answer: each scenario in sentences behind those of `meta`, each measure in a row, two panels a scenario."""
    names = list(found.summaries)
    sentences = [
        text for name in names for text in (*sentences_of(name, found.rows), *_company(name, found.summaries[name]))
    ]
    lost = [text for name in names for text in _lost(name, found.summaries[name])]
    waits = sum(row.measure == "mean_wait" for row in found.rows)
    together = f"verdicts hold for all {waits} rows of a measure together (Holm, 5 %)"
    meta = replace(meta, answers=(*meta.answers, *sentences), notes=(meta.notes[0], together, *meta.notes[1:], *lost))
    rows = [_cells(row) for row in found.rows]
    return Report(meta, FIELDS, rows, pictures=_pictures(names, found.summaries, found.window))


def _cells(row: Row) -> list[Cell]:
    return [
        row.scenario, row.part, row.value, row.measure, row.unit, row.jobs, row.today, row.then, row.change, row.low,
        row.high, row.relative, row.verdict,
    ]  # fmt: skip


def sentences_of(name: str, rows: Sequence[Row]) -> list[str]:
    """What the scenario changes of waits, who gains and who loses; then what else it changes."""
    own = [row for row in rows if row.scenario == name]
    whole = {row.measure: row for row in own if row.part == "all"}
    wait = whole.get("mean_wait")
    if wait is None or wait.change is None:
        return [f"{name}: too few jobs ran on both sides to compare"]
    sentences = [f"{name}: {_change(wait)}"]
    waits = [row for row in own if row.measure == "mean_wait" and row.part in _PARTS and row.change is not None]
    shorter = sorted((row for row in waits if row.verdict == LESS), key=lambda row: row.change or 0)
    longer = sorted((row for row in waits if row.verdict == MORE), key=lambda row: -(row.change or 0))
    sides = [f"{word} waits for: {_groups(few)}" for word, few in (("shorter", shorter), ("longer", longer)) if few]
    if sides:
        sentences.append(f"{name}: " + "; ".join(sides))
    others = [_other(whole[key]) for key in ("utilization", "killed", "not_run") if key in whole]
    if any(others):
        sentences.append(f"{name}: " + "; ".join(filter(None, others)))
    if any(row.part == "time" for row in own):
        sentences.append(f"{name}: {_extended(whole)}")
    return sentences


def _extended(whole: Mapping[str, Row]) -> str:
    """What raised limits cost, and what is lost all the same, in hours of CPUs, GPUs or processors."""
    more, lost = whole["given_hours"], whole["lost_hours"]
    around = [
        ""
        if row.low is None or row.high is None
        else f" (95 % interval {number(round(row.low))} to {number(round(row.high))})"
        for row in (more, lost)
    ]
    return (
        f"jobs ran {number(round(more.then or 0))} unit-hours beyond the limits that they asked for{around[0]};"
        f" limits that were too short still cost {number(round(lost.then or 0))} unit-hours{around[1]}"
    )


def _change(row: Row) -> str:
    """The change of the mean wait. The verdict stands in front, whatever it is."""
    assert row.change is not None and row.low is not None and row.high is not None and row.today is not None
    between = f"95 % interval {_signed(row.low)} to {_signed(row.high)}"
    if row.verdict == NO_CHANGE:
        without_0 = row.low * row.high > 0 and abs(row.change) >= SMALLEST[row.unit]
        alone = ", which is not significant among all rows" if without_0 else ""
        return f"{NO_CHANGE} of the mean wait, today {show_short(row.today)} ({between}{alone})"
    share = "" if row.relative is None else f" ({'-' if row.relative < 0 else '+'}{percent(abs(row.relative), 0)})"
    return (
        f"the mean wait is {show_short(abs(row.change))} {'shorter' if row.verdict == LESS else 'longer'}{share}: "
        f"{show_short(row.then or 0)} instead of {show_short(row.today)} ({between})"
    )


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{show_short(abs(seconds))}"


def _groups(rows: Sequence[Row]) -> str:
    few = [f"{row.part} {row.value} ({_signed(row.change or 0)})" for row in rows[:_NAMED]]
    more = len(rows) - _NAMED
    return ", ".join(few) + (f" and {plural(more, 'other group')}" if more > 0 else "")


def _other(row: Row) -> str:
    """What is worth a sentence besides waits; "" for what does not change."""
    if row.verdict not in (LESS, MORE) or row.change is None or row.then is None:
        return ""
    if row.measure == "utilization":
        then, today, what = percent(row.then), percent(row.today or 0), "of the machine is in use"
    else:
        then, today = (number(round(value or 0)) for value in (row.then, row.today))
        what = "jobs are ended at their limit" if row.measure == "killed" else "jobs cannot run"
    return f"{then} {what}, compared with {today} today" if then != today else ""


def _company(name: str, several: Sequence[Summary]) -> list[str]:
    """Jobs that only one side has."""
    left, added = (round(sum(one[key] for one in several) / len(several)) for key in ("left", "added"))
    sides = [f"jobs of today that are not submitted: {number(left)}"] if left else []
    sides += [f"additional jobs: {number(added)}"] if added else []
    return [f"{name}: " + "; ".join(sides)] if sides else []


def _lost(name: str, several: Sequence[Summary]) -> list[str]:
    """Jobs that run today and cannot run under the scenario: how many, and some by their ids."""
    many = round(sum(one["lost"][0] for one in several) / len(several))
    ids: list[int] = next((one["lost"][1] for one in several if one["lost"][0]), [])
    if not many:
        return []
    return [f"{name}: not run: {plural(many, 'job')}: {', '.join(map(str, ids))}{', …' if many > len(ids) else ''}"]


def _pictures(
    names: Sequence[str], summaries: Mapping[str, Sequence[Summary]], window: tuple[int, int]
) -> Pictures | None:
    waits: list[Panel] = []
    use: list[Panel] = []
    days = max(window[1] - window[0], 1) / 86_400
    for name in names:
        several = summaries[name]
        lines = [_line(side, [one["waits"][at] for one in several]) for at, side in enumerate(("today", "scenario"))]
        if all(line.seconds for line in lines):
            waits.append(Curves(name, "share of jobs that waited this time or less", lines))
        busy = [_mean([one["busy"][at] for one in several]) for at in (0, 1)]
        if all(busy):
            title = "share of the machine in use"
            use.append(Series(name, title, days, [("today", busy[0]), ("scenario", busy[1])]))
    if not waits:
        return None
    caption = "Waits and use are means of all replicates. A higher wait curve means "
    caption += "shorter waits; where only one line is visible, both are the same."
    return Pictures("Waits and use, today and under each scenario", caption, [*waits, *use])


def _line(name: str, counts: Sequence[Sequence[int]]) -> Line:
    """The share of jobs that waited each time or less, up to where all have; at least a second, for the logarithm."""
    total = sum(one[-1] for one in counts)
    if not total:
        return Line(name, (), ())
    shares = [sum(at) / total for at in zip(*counts, strict=True)]
    last = next((place for place, share in enumerate(shares) if share >= 1), len(shares) - 1)
    upto = slice(1, max(last + 1, 2))
    return Line(name, EDGES[upto], shares[upto])


def _mean(several: Sequence[Sequence[float]]) -> list[float]:
    return [sum(at) / len(several) for at in zip(*several, strict=True)]
