"""docs/measured/simulate-real.md, and the same figures for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tests.matrix.rows import ROOT
from tests.simulate_real.compare import MAKESPAN, REPLAYS, TAU, WAIT, WAIT_SECONDS, Comparison, Measure, Sign
from tests.simulate_real.runs import Run
from tests.simulate_real.workloads import WORKLOADS

PAGE: Final = ROOT / "docs/measured/simulate-real.md"
_HEAD: Final = f"""# The simulator compared with the real slurmctld

<!-- Made by `python -m tests.simulate_real compare` from tests/data/simulate/; do not edit. -->

This page compares the simulator with real Slurm. Six workloads ran on private clusters with the real daemons. Each ran
at least three times, because two runs of slurmctld on the same workload differ. The workloads are generated from their
seeds (tests/simulate_real/workloads.py) and were committed before the simulator was first compared with a run. The
jobs only sleep. Settings that are not named here have Slurm's defaults.

The simulator replays each run from the run's own records, just as it replays a site's trace. From the records it takes
when each job became eligible, what the job asked for and how long the job ran. The record of a killed job does not say
how long the job would have run, so the replay uses the time for which the job was meant to sleep. Each run is replayed
{REPLAYS} times. In each replay, submissions are moved at random by up to a second, because the records are in whole
seconds. The table compares the mean of these replays with the mean of the real runs.

A row's verdict is *within* if the distance between the two means does not exceed the bar, or does not exceed the
largest distance between two real runs. For the makespan, the bar is {MAKESPAN:.0%} of the real value. For the mean
wait, the bar is the larger of {WAIT:.0%} of the real value and {WAIT_SECONDS:g} s. For the order of starts, the table
has Kendall's tau-b of the jobs' mean start times; the distance is 1 - tau-b, and the bar is {1 - TAU:.2f}. Starts
within bf_interval or 3 s of each other count as ties.
"""


_LEARNT: Final = """## What the runs showed

These findings have since been built into the model ([simulate-slurm.md](../simulate-slurm.md)):

- Without an Epilog, the end of a job requests a pass of the main loop in the same way as a submission does: at most
  once every batch_sched_delay. slurmd reports at once that the job is gone (ESLURMD_KILL_JOB_ALREADY_COMPLETE).
  slurmctld schedules at once when MESSAGE_EPILOG_COMPLETE arrives, but that message arrived for at most one job in six.
- Since 24.05, the background loop has woken at whole seconds, so a pass of the main loop does not see jobs that end in
  the same second.
- With time_min_as_soft_limit on 26.05, backfill visits the running jobs in the order of start + time_min. If that
  moment is in the past, backfill plans the job to end after half of the time that remains until its limit.

These findings are not in the model, which counts whole seconds:

- A job that backfill starts and that runs for a whole number of seconds (a sleep, for example) ends at nearly the same
  fraction of a second as it started: just after a later backfill pass. That pass therefore does not see the nodes that
  the job frees.
- Nodes are COMPLETING for 10 to 350 ms, and for longer if the host is busy. During that time, backfill plans around
  these nodes.
- The loops took 1 to 40 ms on average on these clusters, and up to 1 s when the host was busy with other work.
"""


def text(comparisons: Sequence[Comparison], signs: Sequence[Sign]) -> str:
    """For a terminal."""
    rows = [_HEADINGS, *(_row(one, measure) for one in comparisons for measure in one.measures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *(_sentence(one) for one in signs)])


def markdown(runs: Sequence[Run], comparisons: Sequence[Comparison], signs: Sequence[Sign]) -> str:
    about = [
        [one.name, str(one.seed), str(len(one.jobs)), str(len(one.shape.node_names)), str(one.shape.cpus), one.about]
        for one in WORKLOADS
    ]
    made = [
        [run.head["release"], run.workload, run.head["date"], run.head["commit"], _loop(run)]
        for run in sorted(runs, key=lambda run: (-int(run.release), run.workload, run.head["date"]))
    ]
    parts = [
        _HEAD,
        "## Workloads\n",
        _table(["workload", "seed", "jobs", "nodes", "CPUs", "what it is"], about),
        "## Distances\n",
        _table(_HEADINGS, [_row(one, measure) for one in comparisons for measure in one.measures]),
        "Times are in seconds. The number in brackets is the number of real runs.\n",
        "These are the effects of policies on the mean wait:\n",
        *(f"- {_sentence(one)}" for one in signs),
        f"\n{_LEARNT}",
        "## Runs\n",
        _table(["Slurm", "workload", "date (UTC)", "commit", "jobs started by main loop / backfill"], made),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


_HEADINGS: Final = [
    "Slurm",
    "workload",
    "figure",
    "real",
    "simulated",
    "distance",
    "bar",
    "largest distance between real runs",
    "verdict",
]


def _row(one: Comparison, measure: Measure) -> list[str]:
    digits = 3 if measure.name == "order of starts" else 1
    numbers = (measure.real, measure.simulated, measure.distance, measure.bar, measure.spread)
    verdict = "within" if measure.within else "**outside**"
    drawn = [f"{number:.{digits}f}" for number in numbers]
    return [one.release, f"{one.workload.name} ({len(one.real)})", measure.name, *drawn, verdict]


def _sentence(one: Sign) -> str:
    verdict = "same sign" if one.right else "**other sign**"
    if not one.known:
        verdict = f"sign unknown, because real runs under one policy differ by {one.spread:.1f} s"
    change = f"{one.real:+.1f} s real, {one.simulated:+.1f} s simulated; {verdict}"
    return f"{one.release}, {one.jobs}, {one.second} instead of {one.first}: {change}"


def _loop(run: Run) -> str:
    return " / ".join(str(sum(row.by == by for row in run.rows)) for by in ("main", "backfill"))


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))
