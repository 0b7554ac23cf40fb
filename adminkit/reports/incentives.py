"""Incentives as Reports: everybody, or one user line by line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from adminkit.economy.build import Computed, Explained, Table, Worth
from adminkit.economy.score import Standing
from adminkit.render.format import number, percent, plural, some
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.incentives import COUNTED, DAY
from adminkit.units import show_bytes

if TYPE_CHECKING:
    from adminkit.policy.incentive_settings import Incentives

EVERYBODY: Final = (
    Field("user", help="whose points they are"),
    Field("points", "count", "added to the priority of each of the user's jobs"),
    Field("hours", "hours", "the same in hours of ageing"),
    Field("score", "ratio", "needed / held, 0 to 1; 1 if each limit was the first on the menu above the run time"),
    Field("runs", "count", "runs that count: they completed or ran into their limit, and the user chose the limit"),
    Field("missed", "count", "of these, runs that ran into their limit"),
    Field("days", "count", "days on which they ended"),
    Field("weight_hours", "hours", "their weight in GPU-hours, after the caps and the half-life"),
    Field("share", "share", "these runs' share of the user's GPU-hours"),
    Field("lacking", help="what is missing for a bonus: runs, days, share, score"),
    Field(
        "bundles",
        "count",
        "recent parallel jobs whose steps were independent single-GPU tasks, and recent jobs that got "
        "points for a class they were not in",
    ),
    Field("class_points", help="whether multi-node and multi-GPU jobs earn class points: yes, no"),
    Field("uid", "text", help="the user's uid on the cluster"),
)
ONE: Final = (
    Field("part", help="bonus, run, left out, at submission"),
    Field("what", help="what the line is about: a job and its name, or a reason"),
    Field("runs", "count", help="how many runs the line is about"),
    Field("weight_hours", "hours", "the run's weight in GPU-hours, after the cap and the half-life"),
    Field("score", "ratio", "full_at / asked, at most 1; 0 for a run that ran into its limit"),
    Field("ran", "duration", "its run time without suspension"),
    Field("full_at", "duration", "the limit that would have got the full score"),
    Field("asked", "duration", "its limit: the original one, if that is known, or the one to which it was raised"),
    Field("meaning", help="the line in words"),
)

#: reason -> why such a run neither earns nor costs points
REASONS: Final = {
    "short": "ran for incentives.min_elapsed or less",
    "checkpoint": "a piece of a requeued job, warned in time, or it exited with the code for 'more to do'",
    "state": "neither completed nor ran into its limit: failed, cancelled, preempted …",
    "limit": "it has no finite limit that the user is known to have chosen",
    "unrecorded": "its original limit was not recorded, which incentives.recorded_only requires",
    "size": "its GPUs and CPUs are unknown",
    "class": "it got points at submission for a class that it did not have when it ran",
    "bundle": "parallel by its size, but its steps were single ones side by side",
    "use_unknown": "the trace has no CPU time for it, so it may have been idle",
    "idle": "it used less than incentives.min_cpu_use of its CPU time",
}
LACKING: Final = {
    "runs": "{runs} of at least {min_jobs} runs",
    "days": "on {days} of at least {min_days} different days",
    "share": "{share} of the hours are in runs that weigh; a bonus needs {min_share}",
    "score": "a score of {score}; a bonus needs more than {from_score}",
}
#: What happens to a job's points at submission and later.
AT_SUBMISSION: Final = (
    ("cap", "a job gets its user's points and its class's together, at most {cap} points"),
    (
        "recomputed",
        "if a pending job's limit is raised, or the job shrinks or moves, it gets the points of its new shape",
    ),
    ("refused", "the same change to a whole array is refused, with the hint to cancel the array and submit it again"),
)


def everybody_report(computed: Computed, settings: Incentives, database: str, tables: Sequence[Table] = ()) -> Report:
    """One row per user, the most points first."""
    points = computed.worth.points
    rows: list[list[Cell]] = [
        [
            _name(one),
            points.of(one.hours),
            _rounded(one.hours),
            _rounded(one.score),
            one.runs,
            one.missed,
            one.days,
            _rounded(one.weight),
            _rounded(one.share),
            one.lacking,
            one.bundles,
            "yes" if one.earns_class else "no",
            str(one.uid),
        ]
        for one in computed.standings
    ]
    notes = [*preview(computed.largest, computed.worth), *sizes(tables)]
    if not computed.standings:
        notes.append(_nobody(computed, settings))
    if computed.left_out.get("use_unknown"):
        notes.append(
            f"the CPU time of {plural(computed.left_out['use_unknown'], 'run')} is unknown, so they count for nothing: "
            "sync with steps, or set incentives.unknown_use"
        )
    runs = sum(one.runs for one in computed.standings)
    return Report(
        _meta("Incentives", database, computed, settings, runs, computed.left_out, notes),
        EVERYBODY,
        rows,
    )


def _nobody(computed: Computed, settings: Incentives) -> str:
    """Why nobody is listed."""
    last = computed.span[1]
    if last is None:
        return "nobody has points: the trace has no run that ended"
    days = max(computed.window[1] - last, 0) // DAY
    return (
        f"nobody has points: no run ended on {computed.cluster} in the last {settings.window_days} days; "
        f"the trace's last one ended {plural(days, 'day')} ago (incentives.window_days, or `adminkit sync`)"
    )


def user_report(explained: Explained, settings: Incentives, database: str) -> Report:
    """One user's points line by line: the sum, the heaviest runs, what was left out, what happens at submission."""
    one, points = explained.standing, explained.worth.points
    rows: list[list[Cell]] = [_line("bonus", what, meaning=meaning) for what, meaning in _sum(one, explained, settings)]
    for heavy in explained.heaviest:
        run = heavy.run
        meaning = "" if run.reason == COUNTED else "ran into its limit: a miss"
        if heavy.capped < 1:
            capped = (
                f"{percent(heavy.capped)} of the run counts: this job name reached {settings.name_day_hours:g}"
                f" GPU-hours that day"
            )
            meaning = f"{meaning}; {capped}" if meaning else capped
        full_at = run.need if run.reason == COUNTED else None
        what = f"{run.job_id} {run.job_name or ''}".strip()
        weight, score = _rounded(heavy.weight), _rounded(heavy.score)
        rows.append(["run", what, 1, weight, score, run.elapsed, full_at, run.req_limit, meaning])
    if (more := one.runs - len(explained.heaviest)) > 0:
        rows.append(_line("run", "(lighter ones)", more))
    rows += [_line("left out", reason, runs, REASONS[reason]) for reason, runs in one.left_out.items()]
    rows += [_line("at submission", what, meaning=text.format(cap=number(points.cap))) for what, text in AT_SUBMISSION]
    title = f"Incentives of {_name(one)}"
    meta = _meta(title, database, explained, settings, one.runs, one.left_out, explained.worth.notes)
    return Report(meta, ONE, rows)


def shortened(report: Report, most: int) -> Report:
    """One user's points with at most `most` runs, those with the most weight."""
    runs = [row for row in report.rows if row[0] == "run" and row[1] != "(lighter ones)"]
    left_out = {id(row) for row in runs[most:]}
    return replace(report, rows=[row for row in report.rows if id(row) not in left_out])


def preview(largest: int, worth: Worth) -> list[str]:
    """The largest bonus in hours of ageing, and compared with the spread of priorities of pending jobs."""
    hours, cap = largest / worth.points.per_hour, worth.points.cap / worth.points.per_hour
    lines = [f"the largest bonus is {number(largest)} points, {hours:.1f} h of ageing; the cap is {cap:.1f} h"]
    if spread := worth.spread:
        against = percent(largest / spread.width) if spread.width else "more than all"
        lines.append(
            f"that is {against} of the spread that sprio shows now: {number(spread.low)} to {number(spread.high)} "
            f"over {plural(spread.jobs, 'waiting job')}"
        )
    return [*lines, *worth.notes]


def sizes(tables: Iterable[Table]) -> list[str]:
    """How large each table is, and how long Lua takes to load it."""
    return [
        f"{one.name}.lua: {plural(one.rows, 'user')}, {show_bytes(one.size)}, "
        f"loaded by Lua 5.1 in {1000 * one.load_seconds:.1f} ms"
        for one in tables
    ]


def _sum(one: Standing, explained: Explained, settings: Incentives) -> Iterable[tuple[str, str]]:
    points = explained.worth.points
    score = "-" if one.score is None else f"{one.score:.3f}"
    yield (
        "points",
        f"{points.of(one.hours)} of at most {points.of(settings.accuracy_hours)}: {one.hours:.1f} h of ageing",
    )
    yield "score", f"{score} over {plural(one.runs, 'run')}, {one.missed} of them at their limit"
    if one.lacking:
        words = LACKING[one.lacking].format(
            runs=one.runs,
            days=one.days,
            share=percent(one.share),
            score=score,
            min_jobs=settings.min_jobs,
            min_days=settings.min_days,
            min_share=percent(settings.min_share),
            from_score=f"{settings.from_score:g}",
        )
        yield "lacking", words
    sizes = [f"{number(size)} GPUs or more {number(earned)}" for size, earned in points.sizes.items()]
    classes = some([*(f"{name} {number(earned)}" for name, earned in points.classes.items()), *sizes])
    if one.earns_class:
        yield "class points", f"each job earns its own: {classes}"
    else:
        bundles, share = plural(one.bundles, "bundle"), percent(settings.bundle_share)
        yield (
            "class points",
            f"none for now: {bundles} in {settings.bundle_days} days are {share} of their parallel hours or more",
        )


def _meta(
    title: str,
    database: str,
    computed: Computed | Explained,
    settings: Incentives,
    runs: int,
    left_out: Mapping[str, int],
    notes: Sequence[str],
) -> Meta:
    share = percent(settings.min_share)
    filters = {
        "minimum": f"{settings.min_jobs} runs on {settings.min_days} days, {share} of their hours",
        "elapsed": f"> {settings.min_elapsed} s",
        "half-life": f"{settings.half_life_days:g} days",
        "cap": f"{settings.name_day_hours:g} GPU-hours per job name and day",
    }
    return Meta(title, database, computed.window, (computed.cluster,), filters, runs, left_out, notes, computed.span)


def _line(part: str, what: str, runs: int | None = None, meaning: str = "") -> list[Cell]:
    return [part, what, runs, None, None, None, None, None, meaning]


def _rounded(value: float | None) -> float | None:
    """Six decimals, so that the value is the same on every machine."""
    return None if value is None else round(value, 6)


def _name(one: Standing) -> str:
    return one.user or f"uid {one.uid}"
