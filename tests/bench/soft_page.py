"""docs/measured/soft-limits-simulated.md, made of tests/data/soft_limits.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/measured/soft-limits-simulated.md"
#: Has the frontier between two marks.
GUIDE = ROOT / "docs/soft-limits.md"
#: A change that is smaller, as a share, is called none.
LEAST = 0.005
#: Commits whose model easy kept the start of the head where a job that outlived its plan had taken what it counted on.
#: Limits as asked and exact needs are the same since: nothing outlives them.
OLD_EASY = ("55d7070-dirty", "e5bda3d-dirty")
MARKS = "<!-- The frontier, made by `python -m tests.bench.soft_limits`; do not edit. -->", "<!-- The end of it. -->"
FRONTIER = (
    "q50", "q75", "q90", "last two", "q75, longest 4 h", "q75, longest 1 h", "q75, wide 25", "q75, wide 50",
    "the default", "q75, wide jobs +72 h", "exact need",
)  # fmt: skip
HEAD = """# What soft limits do to waits, by simulation

<!-- Made by `python -m tests.bench.soft_limits` from tests/data/soft_limits.json; do not edit. -->

This page compares ways of choosing soft limits. Each way (a *candidate*) is simulated on each trace, and compared with
a simulation in which jobs have only the limits that users asked for. Both simulations use the same seeds; each seed is
one replicate, and moves submissions by up to a minute. The row *limits as asked* has the waits and slowdowns with the
users' own limits. Every other row shows the percentage by which a candidate changes these figures, with the 95 %
interval of the paired differences (Student's t over the replicates). **Bold** marks an increase of at least 0.5 %
whose interval excludes 0. The intervals cover the effect of chance on one trace, not the differences between traces.

The expected need of a job is computed from what was known at the midnight (UTC) before its submission. Every candidate
except *exact need* uses `least` and `gap` of policy.toml. [soft-limits.md](../soft-limits.md) says what adminkit uses.

These words appear in the names of candidates and in the columns:

- *qN*: the soft limit is long enough for N % of similar jobs. *menu*: the soft limit is rounded up to 10 min, 30 min,
  1 h, 2 h, … 14 days. *only by name*: if too few of the user's jobs have the job's name, the job gets no soft limit
  (the other candidates then use the user's other jobs). *last two*: the soft limit is the mean run time of the user's
  last two jobs.
- *longest*, *outlived*, *wide N*: these are the settings of [soft_limits]. *the default*: all of these settings are as
  in policy.toml.
- *beside wide N qM*: a job is wide if it asks for at least N % of the nodes. While a wide job is waiting, other jobs
  queued for the same nodes are planned with the higher quantile M. If the name also has *longest*, that setting applies
  only to these plans. Without *beside*, *wide N* means that these other jobs are planned with their limits.
- *wide jobs +N h*, *short jobs +N h*: jobs of the largest size, or jobs that are planned with at most an hour, get
  points worth N hours of age.
- *bf_window N*: the SchedulerParameter bf_window is set to N; without this word, it is 14 days. *reserve after N h*:
  bf_min_prio_reserve is set to the points of N hours of age, and jobs with fewer points get no reservation. Both are
  settings of slurmctld, so only the `slurm` model has them.
- *head*: the mean wait of jobs that waited at the head of the queue, in the simulation in question. *exact need*: a
  perfect prediction, which nobody can make.
- *soft*: the share of jobs that got a soft limit. *outlived*, as a column: the share of these jobs that ran longer than
  their soft limit.
- *promised*: when a job reaches the head of the queue and has to wait, it is promised a start, which follows from the
  planned ends of the running jobs. This column has the number of jobs with a promise, the share of them that started
  later than promised, and how much later they started on average (a negative number means earlier). It shows the
  candidate's own figures, with the change in brackets. If limits are too long, promised starts are so late that they
  are easy to keep: in the `easy` model, *limits as asked* keeps all of them. In the table *nodes*, which uses the
  `slurm` model, a job's promise is the start of the first reservation that backfill made for it, whatever its position
  in the queue. Backfill runs every minute there.

The effect of soft limits that are used only in short gaps (a hybrid that depends on the length of the gap) cannot be
measured here. A job has only one --time-min, and slurmctld plans with it in every gap, so such a hybrid would need a
new rule in the scheduler.
"""


def guide(text: str, results: Mapping[str, Any]) -> str:
    """The operators' page, with the frontier of these results."""
    before, mark, rest = text.partition(MARKS[0])
    if not mark or MARKS[1] not in rest:
        return text
    return "\n".join([before + MARKS[0], *_frontier(results["traces"]), MARKS[1] + rest.partition(MARKS[1])[2]])


def _frontier(traces: Mapping[str, Any]) -> Iterator[str]:
    yield f"| candidate | {' | '.join(traces)} |"
    yield f"|---|{'---|' * len(traces)}"
    for name in FRONTIER:
        cells = [
            _both(one["candidates"][name]["figures"]) if name in one["candidates"] else "" for one in traces.values()
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def _both(figures: Mapping[str, Sequence[float]]) -> str:
    """The mean wait of all, and that of the size that loses most, or gains least."""
    sizes = {key: row[1] / row[0] for key, row in figures.items() if key.startswith("wait ") and row[0]}
    worst = max(sizes, key=lambda key: sizes[key])
    return f"{_cell(figures['wait'])}; {worst.removeprefix('wait ')}: {_cell(figures[worst])}"


def page(results: Mapping[str, Any]) -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for name, one in results["traces"].items() for line in _trace(name, one))])


def _trace(name: str, one: Mapping[str, Any]) -> Iterator[str]:
    any_row = next(iter(one["candidates"].values()))["figures"]
    kept = [key for key in any_row if key in ("wait", "slowdown", "p95", "head") or key.startswith("wait ")]
    tells = any("promised" in row["figures"] for row in one["candidates"].values())
    more = ["promised"] if tells else []
    counts = ", ".join(f"{jobs:,} of size {size}" for size, jobs in one["sizes"].items())
    yield f"## {name}"
    yield ""
    commits = dict.fromkeys([one["commit"], *(row.get("commit", one["commit"]) for row in one["candidates"].values())])
    what = one["what"][:1].upper() + one["what"][1:]
    yield f"{what}. {one['jobs']:,} jobs in all: {counts}."
    yield f"Replicates: {one['replicates']}. Commits: {', '.join(commits)}."
    yield ""
    yield from _out_of_date(name, one)
    yield f"| candidate | soft | outlived | {' | '.join(map(_title, [*kept, *more]))} |"
    yield f"|---|---|---|{'---|' * len([*kept, *more])}"
    today = " | ".join(f"{any_row[key][0]:.2f}{'' if key == 'slowdown' else ' h'}" for key in kept)
    base = next((row["figures"] for row in one["candidates"].values() if "promised" in row["figures"]), {})
    yield f"| limits as asked | | | {' | '.join([today, *(_promised(base, before=True) for _ in more)])} |"
    for candidate, found in one["candidates"].items():
        figures = found["figures"]
        cells = " | ".join([*(_cell(figures[key]) for key in kept), *(_promised(figures) for _ in more)])
        outlived = "" if found["outlived"] is None else f"{100 * found['outlived']:.0f} %"
        often = found.get("replicates", one["replicates"])
        name = candidate if often == one["replicates"] else f"{candidate} ({often} replicates)"
        yield f"| {name} | {100 * found['soft']:.0f} % | {outlived} | {cells} |"
    yield ""
    if "yardsticks" in one:
        said = "; ".join(f"{model} {value:.2f}" for model, value in one["yardsticks"].items())
        yield f"With submissions left at their original times, the mean bounded slowdowns are: {said}."
        yield "Gaussier et al. (SC'15) published 92.58 for EASY. They published two values for EASY++ (shortest first,"
        yield "with the last two jobs): 62.86 if a job that outlives its plan is planned with its limit, and 63.50 if"
        yield "the plan is raised in steps."
        yield ""


def _out_of_date(name: str, one: Mapping[str, Any]) -> Iterator[str]:
    """A paragraph where rows are of a model that was corrected since."""
    old = [row for row, found in one["candidates"].items() if found.get("commit", one["commit"]) in OLD_EASY]
    if name == "nodes" or not old:
        return
    new = [row for row in one["candidates"] if row not in old]
    kept = f" (all rows but *{'*, *'.join(new)}*)" if new else ""
    yield f"**Out of date**{kept}: these rows were measured before a correction of the `easy` model. In it, a job that"
    yield "outlives its plan uses what the first job of the queue counted on. *Exact need* is not affected."
    yield ""


def _promised(figures: Mapping[str, Sequence[float]], before: bool = False) -> str:
    """How many heads, the share that was late with its change, and by how much; "" where nobody asked."""
    if "promised" not in figures:
        return ""
    many, late, slip = (figures[key] for key in ("promised", "late", "slip"))
    if before:
        return f"{many[0]:.0f}; {100 * late[0]:.1f} % late; {slip[0]:+.1f} h"
    points = f"{100 * late[1]:+.1f}: {100 * late[2]:+.1f} … {100 * late[3]:+.1f}"
    hours = f"{slip[1]:+.1f}: {slip[2]:+.1f} … {slip[3]:+.1f}"
    share, mean = 100 * (late[0] + late[1]), slip[0] + slip[1]
    return f"{many[0] + many[1]:.0f}; {share:.1f} % late ({points}); {mean:+.1f} h ({hours})"


def _title(key: str) -> str:
    names = {"wait": "mean wait", "slowdown": "mean bounded slowdown", "p95": "p95 wait", "head": "head"}
    return names.get(key, key.removeprefix("wait "))


def _cell(row: Sequence[float]) -> str:
    today, change, low, high = row
    if not today:
        return "-"
    text = f"{100 * change / today:+.0f} ({100 * low / today:+.0f} … {100 * high / today:+.0f})"
    return f"**{text}**" if low > 0 and change / today >= LEAST else text
