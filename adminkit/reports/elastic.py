"""What simulate elastic says: sentences, a row for each machine and policy, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Dot, Field, Meta, Pictures, Report, Scatter
from adminkit.simulate.elastic import NO_DIFFERENCE, Against, Answer, Machine, Measures, Row, Rules, load
from adminkit.simulate.elastic_input import Workload
from adminkit.simulate.luck import SHAKE
from adminkit.units import show_energy, show_short

TITLE: Final = "Jobs that release and take on GPUs"
FIELDS: Final = (
    Field("nodes", help="the machine's nodes, and the GPUs of each"),
    Field(
        "load", "share", "GPU-seconds asked for / GPU-seconds of the machine between the first submission and the last"
    ),
    Field("policy", help="fifo, las, srtf, elastic: docs/simulate-elastic.md has their rules"),
    Field("jobs", "count", "jobs that ran"),
    Field("mean_completion", "duration", "mean time from submission to end"),
    Field("p95_completion", "duration", "95th percentile of the time from submission to end"),
    Field("mean_elastic", "duration", "mean completion time of the jobs whose number of GPUs may change"),
    Field("energy", "energy", "joules used by idle GPUs, and by the GPUs of jobs with a curve"),
    Field("idle_energy", "energy", "joules of GPUs that no job held; part of `energy`"),
    Field("makespan", "duration", "from the first submission to the last end"),
    Field("resizes", "count", "how often jobs were restarted, with the same or another number of GPUs"),
    Field("high_wait", "duration", "the mean wait of high-priority jobs", quiet=True),
    Field("high_later", "count", "high-priority jobs that started later than under fifo", quiet=True),
    Field(
        "efficiency",
        "share",
        "the lowest parallel efficiency at which the elastic policy gives a job more GPUs",
        data=True,
    ),
    Field("times", "ratio", "the mean of fifo / the mean of this policy, over the replicates"),
    Field("change", "duration", "change in the mean completion time compared with fifo; mean over the replicates"),
    Field("low", "duration", "lower end of the 95 % interval of the change"),
    Field("high", "duration", "upper end of the 95 % interval of the change"),
    Field("verdict", help="shorter, longer or no difference; the verdicts hold for all comparisons together"),
)


def elastic_report(found: Answer, jobs: Workload, share: float, rules: Rules, replicates: int, meta: Meta) -> Report:
    """The answer. `meta`: what jobs and curves were taken from."""
    answers = [
        f"{percent(share)} of the GPU-hours are elastic; all other jobs, and those of high priority, run as under fifo",
        *(text for machine in found.budget for text in sentences(found, jobs, machine)),
        *_delays(found.rows),
    ]
    rows = [_cells(row, load(jobs, row.machine)) for row in found.rows]
    header = replace(meta, answers=answers, notes=[*meta.notes, *notes(found, jobs, rules, replicates)])
    return Report(header, FIELDS, rows, pictures=_pictures(found, jobs), extra=_extra(found))


def sentences(found: Answer, jobs: Workload, machine: Machine) -> list[str]:
    """How, on one machine, the last policy compares with each of the others, and whether the budget was kept."""
    row = next(row for row in reversed(found.rows) if row.machine == machine)
    busy = load(jobs, machine)
    loaded = f" (load {percent(busy, 0)})" if busy is not None else ""
    said = [f"{machine.name}{loaded}: {row.policy}: {'; '.join(map(_against, row.against))}"] if row.against else []
    if machine in found.kept and not found.kept[machine]:
        least = show_energy(row.whole.energy)
        said.append(
            f"{machine.name}: no bound on efficiency stays within {show_energy(found.budget[machine])}: the least"
            f" energy is {least}"
        )
    return said


def _delays(rows: Sequence[Row]) -> list[str]:
    """Sentences about jobs of high priority, where there are any."""
    later = [row.whole.high_later for row in rows if row.whole.high_later is not None]
    if not later:
        return []
    return [f"{plural(max(later), 'job') if any(later) else 'no job'} of high priority starts later than under fifo"]


def _against(one: Against) -> str:
    if one.verdict == NO_DIFFERENCE:
        return f"no difference from {one.other}"
    return (
        f"mean completion {one.times:.2f} times shorter than {one.other}'s"
        if one.times > 1
        else (f"mean completion {1 / one.times:.2f} times longer than {one.other}'s")
    )


def notes(found: Answer, jobs: Workload, rules: Rules, replicates: int) -> list[str]:
    """What a reader must know."""
    rigid = sum(run * gpus for run, gpus, curve in zip(jobs.run, jobs.gpus, jobs.curve, strict=True) if curve < 0)
    sleeps = (
        ""
        if rules.sleep_after is None
        else (f", {rules.sleep_watts:g} W in a node that was free for {show_short(rules.sleep_after)}")
    )
    budgets = ", ".join(f"{machine.name} {show_energy(joules)}" for machine, joules in found.budget.items())
    return [
        f"a resize costs {show_short(rules.restart)}; a job is resized at most once in {show_short(rules.hold)};"
        f" an idle GPU draws {rules.idle_watts:g} W{sleeps}",
        f"the elastic policy stays within its energy budget ({budgets}); its bound on efficiency was chosen with the"
        f" same jobs",
        f"the columns times, change and verdict come from {replicates} paired replicates with submissions moved by up"
        f" to {SHAKE} s (Student's t, Holm, 5 %); all other columns come from the submissions as they were",
        "fifo lets no job overtake the first job in the queue, so jobs wait longer under fifo than at a site with"
        " backfill",
        "srtf and elastic know how long a job will take; a real scheduler has to be told",
        *([f"energy leaves out {rigid / 3600:,.0f} GPU-hours of jobs without a curve, which are the same under every"
            f" policy"]
          if rigid else []),
        *(f"left out: {plural(count, 'job')}: {reason}" for reason, count in jobs.left_out.items()),
        *(f"{machine.name}: {plural(lost, 'job')} can never start"
          for machine in found.budget if (lost := len(jobs) - _first(found.rows, machine).whole.jobs)),
    ]  # fmt: skip


def _first(rows: Sequence[Row], machine: Machine) -> Row:
    return next(row for row in rows if row.machine == machine)


def _cells(row: Row, busy: float | None) -> list[Cell]:
    whole, fifo = row.whole, next((one for one in row.against if one.other == "fifo"), None)
    change: list[Cell] = [None, None, None, None, ""]
    if fifo:
        change = [fifo.times, fifo.found.mean, fifo.found.low, fifo.found.high, fifo.verdict]
    return [
        row.machine.name, busy, row.policy, whole.jobs, whole.mean, whole.p95, whole.changing, whole.energy, whole.idle,
        whole.makespan, whole.resizes, whole.high_wait, whole.high_later, row.efficiency, *change,
    ]  # fmt: skip


def _extra(found: Answer) -> dict[str, list[dict[str, Any]]]:
    """What programs get: every policy against every one before it, and what each efficiency gave."""
    pairs = [
        {
            "nodes": row.machine.name, "policy": row.policy, "against": one.other, "times": one.times,
            "change": one.found.mean, "low": one.found.low, "high": one.found.high, "verdict": one.verdict,
        }
        for row in found.rows
        for one in row.against
    ]  # fmt: skip
    tried = [
        {"nodes": machine.name, "efficiency": one / 1000, "mean_completion": made.mean, "energy": made.energy}
        for machine, several in found.tried.items()
        for one, made in sorted(several.items())
    ]
    return {"comparisons": pairs, "efficiencies": tried}


def _pictures(found: Answer, jobs: Workload) -> Pictures:
    return Pictures(
        "Completion time and energy",
        "Each dot is a schedule of the same jobs. Filled dots are joined by a line: no other dot takes less time and"
        " less energy. Percentages are the least parallel efficiency for which the elastic policy gives more GPUs.",
        [_panel(found, jobs, machine) for machine in found.budget],
    )


def _panel(found: Answer, jobs: Workload, machine: Machine) -> Scatter:
    lines: list[tuple[str, list[tuple[str, Measures]]]] = [
        (row.policy, [(row.policy, row.whole)]) for row in found.rows if row.machine == machine
    ]
    for one, made in sorted(found.tried.get(machine, {}).items()):
        if one % 100 == 0 and made is not lines[-1][1][0][1]:
            lines[-1][1].append((percent(one / 1000, 0), made))
    made_all = [made for _, several in lines for _, made in several]
    busy = load(jobs, machine)
    return Scatter(
        machine.name if busy is None else f"{machine.name}, load {percent(busy, 0)}", "",
        "mean completion time, hours", "energy, kWh",
        [(name, [Dot(label, one.mean / 3600, one.energy / 3.6e6, _is_edge(one, made_all)) for label, one in several])
         for name, several in lines],
        ("hours", "quantity"),
    )  # fmt: skip


def _is_edge(one: Measures, others: Sequence[Measures]) -> bool:
    return not any(
        other.mean <= one.mean and other.energy <= one.energy and (other.mean, other.energy) != (one.mean, one.energy)
        for other in others
    )
