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

This page compares ways of choosing soft limits. Each of them (a *candidate*) is simulated on each trace, and so are
the limits as users asked for them. Both get the same seeds; a seed moves submissions by up to a minute. A cell has the
change of a mean wait, in percent of today's, with the 95 % interval of the paired differences (Student's t over the
replicates). **Bold** means that jobs wait longer, that the interval excludes 0, and that the change is at least half a
percent. The intervals cover the effect of chance on one trace, not the differences between traces.

The expected need of a job is computed from what was known at the midnight (UTC) before its submission. Every candidate
except the last uses `least` and `gap` of policy.toml. [soft-limits.md](../soft-limits.md) says what adminkit uses.

These words appear in the names of candidates and in the columns:

- *qN*: the soft limit is long enough for N % of similar jobs. *menu*: it is rounded up to 10 min, 30 min, 1 h, 2 h, …
  14 days. *only by name*: the user's other jobs are not used if too few jobs have the name. *last two*: it is the mean
  of the user's last two jobs.
- *longest*, *outlived*, *wide N*: these are the settings of [soft_limits]. *the default*: all of them are as in
  policy.toml.
- *beside wide N qM*: while a job that asks for N % of the nodes waits, the jobs that wait for nodes that it may use
  are planned with the higher quantile M (*longest* applies only to these plans). With *wide N*, they are planned with
  their limit instead.
- *wide jobs +N h*, *short jobs +N h*: jobs of the largest size, or jobs that are planned with at most an hour, get
  points worth N hours of age.
- *bf_window N*: that SchedulerParameter is set to N; elsewhere it is 14 days. *reserve after N h*: bf_min_prio_reserve
  is set to the points of N hours of age, and jobs with fewer points get no reservation. Both are settings of
  slurmctld, so only the model slurm has them.
- *head*: jobs that were first in the queue and waited, with or without soft limits. *exact need*: a perfect
  prediction, which nobody can make.
- *soft*: the share of jobs that got a soft limit. *outlived*: the share of these that ran longer.
- *promised*: how many jobs waited as the first of the queue, the share of these jobs that started later than all plans
  of that moment promised, and how much later they started on average (sooner, if below 0). On *nodes* the promise is
  the start of the first reservation that backfill made for a job, whatever its position; backfill runs every minute.
  These are figures of the candidate's own schedule, with the change in brackets. Promises that rest on limits that are
  too long are easy to keep: in the model easy, *limits as asked* keeps all of them.

Soft limits only for short gaps (a hybrid by the length of the gap) cannot be measured here. A job has only one
--time-min, and slurmctld plans with it in every gap, so a rule that depends on the gap would need a new rule in the
scheduler.
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
    counts = ", ".join(f"{size}: {jobs}" for size, jobs in one["sizes"].items())
    yield f"## {name}"
    yield ""
    commits = dict.fromkeys([one["commit"], *(row.get("commit", one["commit"]) for row in one["candidates"].values())])
    what = one["what"][:1].upper() + one["what"][1:]
    yield f"{what}. Jobs: {one['jobs']} (by size {counts})."
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
        yield f"The mean bounded slowdowns, without moved submissions, are: {said}."
        yield "Gaussier et al. (SC'15) published 92.58 for EASY. For EASY++ (shortest first, with the last two) it is"
        yield "62.86 if a job that outlives its plan is planned with its limit, 63.50 if the plan is raised in steps."
        yield ""


def _out_of_date(name: str, one: Mapping[str, Any]) -> Iterator[str]:
    """A paragraph where rows are of a model that was corrected since."""
    old = [row for row, found in one["candidates"].items() if found.get("commit", one["commit"]) in OLD_EASY]
    if name == "nodes" or not old:
        return
    new = [row for row in one["candidates"] if row not in old]
    kept = f" (all rows but *{'*, *'.join(new)}*)" if new else ""
    yield f"**Out of date**{kept}: these rows were measured before a correction of the model easy. In it, a job that"
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
