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

This page compares several ways of choosing soft limits. Each way (a *candidate*) is simulated on each trace, and
compared with a simulation in which jobs have only the limits that users asked for. Each simulation is repeated with
several seeds. A repetition (a *replicate*) moves submissions by up to a minute, and both simulations use the same
seeds. The row *limits as asked* has the waits and slowdowns with the users' own limits. Every other row shows the
percentage by which a candidate changes these figures, with the 95 % interval of the paired differences (Student's t
over the replicates). **Bold** marks an increase of at least 0.5 % whose interval excludes 0. The intervals show the
effect of chance on one trace, not the differences between traces.

The time that a job is expected to need is computed from what was known at the midnight (UTC) before the job's
submission. Every candidate except *exact need* uses the settings `least` and `gap` from policy.toml.
[soft-limits.md](../soft-limits.md) says which candidate adminkit uses.

The names of candidates and the columns use these words:

- *qN*: the soft limit is long enough for N % of similar jobs. *menu*: the soft limit is rounded up to 10 min, 30 min,
  1 h, 2 h, … 14 days. *only by name*: if too few of the user's jobs have the same name as the job, the job gets no soft
  limit (in all other candidates, the user's other jobs are then used). *last two*: the soft limit is the mean run time
  of the user's last two jobs.
- *longest*, *outlived*, *wide N*: the setting of that name in `[soft_limits]` has the given value. *the default*: all
  these settings are as in policy.toml.
- *beside wide N qM*: a job is wide if it asks for at least N % of the nodes. While a wide job is waiting, the other
  jobs that wait for the same nodes are planned with the higher quantile M. If the candidate's name also has *longest*,
  that setting applies only to these plans. In a name without *beside*, *wide N* means that these other jobs are planned
  with their limits while a wide job is waiting.
- *wide jobs +N h*, *short jobs +N h*: jobs of the largest size, or jobs that are planned with at most an hour, get as
  many points as N hours of waiting give.
- *bf_window N*: the SchedulerParameter bf_window is set to N; in all other candidates, bf_window is 14 days.
  *reserve after N h*: bf_min_prio_reserve is set to the points that N hours of waiting give, and jobs with fewer points
  get no reservation. Both are settings of slurmctld, so only the `slurm` model has them.
- *head*: the mean wait of jobs that waited at the head of the queue; which jobs these are can differ between the two
  simulations. *exact need*: the soft limit is the job's real run time, which nobody can know in advance.
- *soft*: the share of jobs that got a soft limit. *outlived*, as a column: the share of these jobs that ran longer than
  their soft limit.
- *promised*: when a job reaches the head of the queue and has to wait, the scheduler promises the job a start time,
  based on the planned ends of the running jobs. The column has the number of jobs with a promise, the share of these
  jobs that started later than promised, and the average delay of all jobs with a promise (a negative number means that
  they started earlier than promised). The column shows the candidate's own figures, with the change in brackets. If
  limits are too long, promises are easy to keep: in the `easy` model, *limits as asked* keeps all promises. In the
  table *nodes*, which uses the `slurm` model, a job's promise is the start of the first reservation that backfill made
  for the job, whatever the job's position in the queue. In that table, backfill runs every minute.

These simulations cannot show the effect of soft limits that apply only in short gaps. A job has only one --time-min,
and slurmctld plans with that time in every gap, so slurmctld would need a new rule to use a soft limit only in short
gaps.
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
        yield "Gaussier et al. (SC'15) published 92.58 for EASY. They published two values for EASY++ (shortest job"
        yield "first, with the mean run time of the last two jobs): 62.86 if a job that outlives its plan is planned"
        yield "with its limit from then on, and 63.50 if the plan is raised in steps."
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
