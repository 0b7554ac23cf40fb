"""The current policy on the trace's own jobs, beside what really happened, as a Report with pictures of the waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from adminkit.render.format import percent
from adminkit.render.report import Cell, Curves, Field, Line, Pictures, Report
from adminkit.reports.simulate import cause_notes, left_out_sentences, meta_of, steady_note
from adminkit.simulate.calibrate import LEAST_JOBS, SHORT_WAIT, Calibration, Part
from adminkit.simulate.subject import Subject
from adminkit.stats.accuracy import POINTS
from adminkit.stats.select import Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

FIELDS: Final = (
    Field("part", help="all, queue, class or size"),
    Field("value", help="its name"),
    Field("jobs", "count", "jobs that are compared"),
    Field("real_mean_wait", "duration", "their real mean wait"),
    Field("mean_wait", "duration", "their mean wait in the simulation"),
    Field("error", "ratio", "mean_wait / real_mean_wait - 1"),
    Field("error_low", "ratio", "the lower end of its 95 % interval"),
    Field("error_high", "ratio", "the upper end"),
    Field("real_median_wait", "duration", "their real median wait"),
    Field("median_wait", "duration", "the median wait in the simulation"),
    Field("real_p95_wait", "duration", "the real 95th percentile of their waits"),
    Field("p95_wait", "duration", "the 95th percentile in the simulation"),
    Field("tau", "ratio", "how far the orders of starts agree (Kendall's tau-b): 1 for the same order"),
    Field("verdict", help="trust, direction only or no basis; empty for a part that is too small"),
)
#: Panels of the picture, at most.
PANELS: Final = 4


def calibration_report(subject: Subject, found: Calibration, filter: Filter, database: str) -> Report:
    """A row for all jobs, then one for each queue, class and size."""
    notes = [
        f"utilisation of the steady part: really {percent(found.utilization[0])},"
        f" simulated {percent(found.utilization[1])}",
        *cause_notes(found.causes),
        *subject.notes,
        *left_out_sentences(found.missing or subject.jobs.missing),
        f"{steady_note()}; jobs submitted in it are compared",
        f"parts with fewer than {LEAST_JOBS} jobs are not judged; a mean wait below {SHORT_WAIT} s counts as that",
    ]
    meta = meta_of("The site's scheduler, simulated, next to what really happened", subject, filter, database, notes)
    meta = replace(meta, answers=(found.sentence,))
    return Report(meta, FIELDS, [_row(part) for part in found.parts], pictures=_pictures(found))


def _row(part: Part) -> list[Cell]:
    real, made = part.real, part.simulated
    return [
        part.part, part.value, part.jobs, real.mean, made.mean, part.error, part.low, part.high, real.median,
        made.median, real.p95, made.p95, part.tau, part.verdict,
    ]  # fmt: skip


def _pictures(found: Calibration) -> Pictures:
    """The waits of all jobs, then of the queues with the most jobs."""
    queues = sorted((part for part in found.parts if part.part == "queue"), key=lambda part: -part.jobs)
    shown = [found.parts[0], *queues[: PANELS - 1]] if len(queues) > 1 else [found.parts[0]]
    panels = [_panel(part, *found.waits_of(part)) for part in shown]
    caption = (
        "Each curve: the share of jobs that waited this time or less; waits below a second are drawn as a"
        " second."
        " Where the two curves coincide, the simulator has the site's waits."
    )
    return Pictures(f"Waits, real and simulated: {found.verdict}", caption, panels)


def _panel(part: Part, real: Column, simulated: Column) -> Curves:
    title = "all jobs" if part.part == "all" else part.value
    error = "" if part.error is None else f", error of the mean {part.error:+.0%}"
    return Curves(title, f"{part.jobs:,} jobs{error}", [_line("real", real), _line("simulated", simulated)])


def _line(name: str, waits: Column) -> Line:
    """The staircase of some waits, of at most POINTS steps."""
    import numpy as np

    seconds = np.sort(np.maximum(waits, 1))
    places = np.unique(np.linspace(0, len(seconds) - 1, min(POINTS, len(seconds))).astype(int))
    shares: Sequence[float] = ((places + 1) / len(seconds)).tolist()
    return Line(name, seconds[places].tolist(), shares)
