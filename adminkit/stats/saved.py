"""SELECTs that need nothing else: numbers of reports as queries over the view run, for programs that run SQL.

Each names the report whose numbers it has, and says which columns are drawn. What the settings decide stands in its
text; what a reader chooses is a parameter, which is bound, and "" leaves it out. A run counts in no answer where the
moment that the window is about is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from adminkit.stats.parallelism import HET, PLAIN_SIZE
from adminkit.stats.select import LIMITED, Filter, Selection, select
from adminkit.stats.states import END, ENDED
from adminkit.stats.wait import started
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.wait_sql import CAUSES, OTHER

#: What a reader may choose, as text. Days and moments are SQLite's.
PARAMETERS: Final = ("cluster", "queue", "since", "until")
PARAMETERS_HELP: Final = (
    "An empty parameter selects everything. since and until are days of UTC, written as"
    " 2026-01-31; until itself is left out. A day in another form selects nothing."
)


@dataclass(frozen=True, slots=True)
class Chart:
    """How rows are drawn. bars: a bar for each row, by the one value, a ratio; curves: a line for each value, over the
    seconds in `names`; heat: a tile for each row and value, in seconds.
    """

    kind: Literal["bars", "curves", "heat"]
    title: str
    names: tuple[str, ...]  # columns that name a row
    values: tuple[str, ...]
    count: str = "jobs"  # the column with the number of jobs


@dataclass(frozen=True, slots=True)
class Saved:
    """One query. `report` is the command's name of the report that has the same numbers."""

    name: str
    report: str
    title: str
    help: str
    sql: str
    chart: Chart


_BY_QUEUE: Final = ("cluster", "queue")
#: Seconds at which the distribution functions are told.
_AT: Final = (60, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 259200, 604800)

_RATIO: Final = "elapsed * 1.0 / req_limit"
_UNUSED: Final = "CASE WHEN req_limit > elapsed THEN req_limit - elapsed ELSE 0 END"
_ACCURACY: Final = f"""SELECT cluster, queue, count(*) AS jobs, avg({_RATIO}) AS mean,
    sum(elapsed) * 1.0 / sum(req_limit) AS used_fraction, sum(elapsed > req_limit) AS over_limit,
    sum(({_UNUSED}) * size_gpus) / 3600.0 AS gpu_hours_unused,
    sum(({_UNUSED}) * size_cpus) / 3600.0 AS cpu_hours_unused
FROM run
WHERE {{where}}
GROUP BY cluster, queue ORDER BY jobs DESC, cluster, queue"""
_BUCKET: Final = f"CASE {' '.join(f'WHEN {{value}} <= {one} THEN {one}' for one in _AT)} ELSE {TOO_LONG} END"
#: One scan of the runs, whatever the number of points.
_LIMITS: Final = f"""WITH counted AS (
    SELECT {_BUCKET.format(value="elapsed")} AS ran, {_BUCKET.format(value="req_limit")} AS asked, count(*) AS runs
    FROM run
    WHERE {{where}}
    GROUP BY ran, asked
), at (seconds) AS (VALUES {", ".join(f"({one})" for one in _AT)})
SELECT seconds, sum(CASE WHEN ran <= seconds THEN runs ELSE 0 END) * 1.0 / sum(runs) AS ran_within,
    sum(CASE WHEN asked <= seconds THEN runs ELSE 0 END) * 1.0 / sum(runs) AS asked_within, sum(runs) AS jobs
FROM counted CROSS JOIN at
GROUP BY seconds ORDER BY seconds"""
_STATES: Final = f"""SELECT {END} AS way, count(*) AS jobs, count(*) * 1.0 / sum(count(*)) OVER () AS share,
    sum(CASE WHEN elapsed > 0 THEN elapsed * size_gpus END) / 3600.0 AS gpu_hours
FROM run
WHERE {{where}}
GROUP BY way ORDER BY jobs DESC, way"""
#: Whose weight falls from 1 at a quantile's place to 0 one place beside it: linear interpolation.
_QUANTILE: Final = "sum(waited * max(0.0, 1 - abs(place - {share} * (jobs - 1)))) AS {name}"
_WAITS: Final = f"""WITH queued AS (
    SELECT cluster, queue, CASE WHEN wait > 0 THEN wait ELSE 0 END AS waited
    FROM run
    WHERE ({CAUSES["queue"]}) AND {{where}}
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY cluster, queue ORDER BY waited) - 1 AS place,
        count(*) OVER (PARTITION BY cluster, queue) AS jobs
    FROM queued
)
SELECT cluster, queue, jobs,
    {_QUANTILE.format(share=0.5, name="median")},
    {_QUANTILE.format(share=0.75, name="p75")},
    {_QUANTILE.format(share=0.9, name="p90")},
    {_QUANTILE.format(share=0.95, name="p95")},
    avg(waited) AS mean
FROM placed GROUP BY cluster, queue ORDER BY jobs DESC, cluster, queue"""
_CAUSE: Final = f"CASE {' '.join(f'''WHEN {sql} THEN '{name}' ''' for name, sql in CAUSES.items())}ELSE '{OTHER}' END"
_CAUSED: Final = f"""SELECT {_CAUSE} AS cause, count(*) AS jobs, count(*) * 1.0 / sum(count(*)) OVER () AS share,
    avg(CASE WHEN wait > 0 THEN wait ELSE 0 END) AS mean
FROM run
WHERE {{where}}
GROUP BY cause ORDER BY jobs DESC, cause"""
_HOURS: Final = """sum(elapsed * size_gpus) / 3600.0 AS gpu_hours, sum(elapsed * size_cpus) / 3600.0 AS cpu_hours"""
_WHERE_LIMITED: Final = f"CASE WHEN {LIMITED} THEN {_RATIO} END"
_USERS: Final = f"""SELECT cluster, user, count(*) AS jobs, {_HOURS},
    avg({_WHERE_LIMITED}) AS accuracy,
    sum(CASE WHEN {LIMITED} THEN elapsed END) * 1.0 / sum(CASE WHEN {LIMITED} THEN req_limit END) AS used_fraction
FROM run
WHERE {{where}}
GROUP BY cluster, user ORDER BY jobs DESC, cluster, user"""
_MONTHS: Final = f"""SELECT strftime('%Y-%m', end_time, 'unixepoch') AS month, count(*) AS jobs,
    avg({_RATIO}) AS accuracy, {_HOURS}
FROM run
WHERE {LIMITED} AND {{where}}
GROUP BY month ORDER BY month"""
_FRAMEWORKS: Final = f"""SELECT cluster, framework, count(*) AS jobs, count(DISTINCT user) AS users, {_HOURS},
    avg({_WHERE_LIMITED}) AS accuracy
FROM run
WHERE {{where}}
GROUP BY cluster, framework ORDER BY gpu_hours DESC, cpu_hours DESC, jobs DESC, cluster, framework"""
_PARALLELISM: Final = f"""WITH counted (cluster, class, gpus, nodes, cores, jobs, components) AS (
SELECT {PLAIN_SIZE}, count(*), 0
FROM run WHERE het_job IS NULL AND {{where}} GROUP BY 1, 2, 3, 4, 5
UNION ALL
{HET.strip()}
)
SELECT class, sum(jobs) AS jobs, sum(jobs) * 1.0 / sum(sum(jobs)) OVER () AS share
FROM counted GROUP BY class ORDER BY jobs DESC, class"""


def saved_queries(states: Iterable[str], min_elapsed: int | None, checkpoint_code: int) -> tuple[Saved, ...]:
    """Every query, for a site whose reports count these states and runs of more than `min_elapsed` seconds."""
    usual = Filter(states=tuple(states), min_elapsed=min_elapsed, checkpoint_code=checkpoint_code)
    limited, counted = select(usual, limits=True), select(usual, limits=False)
    every = select(replace(usual, states=(), min_elapsed=None), limits=False)
    ended = replace(every, rules={"open": ENDED, **every.rules})

    def of(template: str, selection: Selection, at: str = "end_time") -> str:
        within = _within(at)
        rules = [f"({rule})" for rule in selection.rules.values()]
        where = "\n    AND ".join([*within, *rules])
        text = template.format(where=where, within=" AND ".join(within), reason=selection.reason)
        return _settled(text, {"checkpoint_code": checkpoint_code, **selection.params})

    waiting = started(usual)
    return (
        Saved(
            "accuracy", "accuracy", "Accuracy of time limits", "elapsed / limit of each queue, and what was reserved "
            "and not used.", of(_ACCURACY, limited),
            Chart("bars", "Mean accuracy, and the number of jobs", _BY_QUEUE, ("mean",)),
        ),
        Saved(
            "limits", "accuracy", "What ran, and what was asked for", "The share of jobs that ran for, and that asked"
                                                                      " for, this number of seconds or"
                                                                      " less.", of(_LIMITS, limited),
            Chart("curves", "Jobs that ran for, and asked for, this time or less", ("seconds",),
                ("ran_within", "asked_within")),
        ),
        Saved(
            "months", "users", "Accuracy over time", "Mean accuracy of the jobs that ended in each month of UTC.",
            of(_MONTHS, counted), Chart("bars", "Mean accuracy of each month", ("month",), ("accuracy",)),
        ),
        Saved(
            "wait", "wait", "Waits", "Seconds from Eligible to the start, of jobs that waited only for the queue; the "
            "window is that of their starts.", of(_WAITS, waiting, "start_time"),
            Chart("heat", "How long jobs waited for the queue", _BY_QUEUE, ("median", "p75", "p90", "p95")),
        ),
        Saved(
            "causes", "wait", "What made jobs wait", "Jobs that started, by Slurm's last reason for their wait, in "
            "seconds.", of(_CAUSED, waiting, "start_time"),
            Chart("bars", "Share of the jobs, by what they waited for", ("cause",), ("share",)),
        ),
        Saved(
            "states", "states", "How runs ended", "All runs that ended, however short.", of(_STATES, ended),
            Chart("bars", "Share of the runs", ("way",), ("share",)),
        ),
        Saved(
            "users", "users", "Users", "Jobs, hours and accuracy of each user.", of(_USERS, counted),
            Chart("bars", "Mean accuracy of those with the most jobs", ("cluster", "user"), ("accuracy",)),
        ),
        Saved(
            "frameworks", "frameworks", "Frameworks", "Jobs, hours and accuracy by what they ran, where that is known.",
            of(_FRAMEWORKS, counted),
            Chart("bars", "Mean accuracy of those with the most hours", ("cluster", "framework"), ("accuracy",)),
        ),
        Saved(
            "parallelism", "parallelism", "How parallel jobs are", "Jobs by class; a het job is one. A job whose GPUs "
            "are unknown has no class here.", of(_PARALLELISM, counted),
            Chart("bars", "Share of the jobs", ("class",), ("share",)),
        ),
    )  # fmt: skip


def _within(at: str) -> tuple[str, ...]:
    """Conditions for what a reader may choose. Each bound is one value, so that an index on `at` can be used."""
    moment = "CAST(strftime('%s', :{name}) AS INTEGER)"
    since, until = (moment.format(name=name) for name in ("since", "until"))
    return (
        "(:cluster = '' OR cluster = :cluster)",
        "(:queue = '' OR queue = :queue)",
        f"{at} >= CASE WHEN :since = '' THEN 0 ELSE {since} END",
        f"{at} < CASE WHEN :until = '' THEN {2**53} ELSE {until} END",
    )


def _settled(sql: str, values: Mapping[str, str | int]) -> str:
    """`sql` with these parameters as literals: what the settings say, not a reader."""

    def literal(found: re.Match[str]) -> str:
        value = values[found[1]]
        return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"

    return re.sub(rf":({'|'.join(map(re.escape, sorted(values, key=len, reverse=True)))})\b", literal, sql)
