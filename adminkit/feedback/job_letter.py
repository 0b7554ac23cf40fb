"""The values of the letter about a run or an array."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.feedback import format, loss_letter
from adminkit.feedback.chart import bars
from adminkit.feedback.letter import JobLetter
from adminkit.feedback.letter_data import Known
from adminkit.feedback.template_values import Chart, Ran, Tasked, named, recommended
from adminkit.findings import estimate
from adminkit.findings.finding import Subject
from adminkit.findings.io_bound import class_of
from adminkit.recommend.menu import round_up
from adminkit.sqlite import sqlite3
from adminkit.stats.efficiency import cpu_share, gpu_share
from adminkit.stats.finished import Finished, Tasks, finished, tasks
from adminkit.stats.lost import LostRun
from adminkit.stats.runs import Run
from adminkit.stats.weeks import Reserved
from adminkit.trace.io_word import file_waits_of
from adminkit.trace.step_memory import Step, memory, steps_of
from adminkit.units import show_bytes

#: Bars of a chart.
BARS: Final = 6


def values(db: sqlite3.Connection, due: JobLetter, known: Known, tz: tzinfo | None) -> dict[str, Any]:
    """The values of end.*.j2, or of lost.*.j2 where it was ended before it was done.

    AdminkitError where the trace does not have the run.
    """
    lost = _lost(db, due, known)
    array = tasks(db, due.cluster, due.job_id_raw, due.submit_time, due.until) if due.is_array else None
    key = array.key if array else (due.job_id_raw, due.submit_time)
    if lost:
        key = (lost[0].job_id_raw, lost[0].submit_time)
    run = finished(db, due.cluster, *key)
    if run is None or run.elapsed is None:
        raise AdminkitError(
            f"the trace has no finished run {due.job_id_raw} of {due.cluster} that was submitted at {due.submit_time}",
            "run adminkit sync",
        )
    verdict = _verdict(run.elapsed, run, None if lost else array)
    ran = _ran(due, run, steps_of(db, due.cluster, *key), array, verdict, known.menu)
    past = known.runs(due.cluster, due.user)
    if lost:
        given = loss_letter.values(db, due, known, lost, run.kind)
        chart = Chart("run", [])
        if lost[0].state == "TIMEOUT":
            chart = _spread(array, due.language) if array else _last_runs(past, run, due.language, tz)
        return {"run": ran, "array": _tasked(array) if array else None, "why_not": "", "chart": chart, **given}
    advice, why_not = recommended(known.advice(run.kind), run.kind, verdict)
    chart = _spread(array, due.language) if array else _last_runs(past, run, due.language, tz)
    return {
        "run": ran,
        "array": _tasked(array) if array else None,
        "advice": advice,
        "why_not": why_not,
        "chart": chart,
    }


def _lost(db: sqlite3.Connection, due: JobLetter, known: Known) -> Sequence[LostRun]:
    """The runs that its letter is about, the costliest first; none for a letter about what was left unused."""
    ended = known.ended(due)
    about_loss = ended is not None and loss_letter.is_lost(ended, known.lost_enough)
    if not about_loss:
        return ()
    return loss_letter.lost_runs(db, due.cluster, due.job_id_raw, due.submit_time, due.until, is_array=due.is_array)


def _verdict(elapsed: int, run: Finished, array: Tasks | None) -> str:
    """A verdict of findings/estimate.py."""
    subject = Subject(cluster=run.kind.cluster, user=run.kind.user, name=run.kind.job_name)
    measure = estimate.Measure(
        subject, elapsed, run.kind.req_limit, run.state, array.elapsed if array else (), more=run.more_used
    )
    (finding,) = estimate.check(measure, estimate.LETTERS)
    return finding.verdict


def _ran(
    due: JobLetter, run: Finished, steps: Sequence[Step], array: Tasks | None, verdict: str, menu: Sequence[int]
) -> Ran:
    elapsed, limit = run.elapsed or 0, run.kind.req_limit
    name, short_name = named(run.kind.job_name)
    used = memory(steps, run.nodes)
    gpu = gpu_share(run.gpus, elapsed, steps, run.admin_comment, run.gpu_kind, run.start_time)
    return Ran(
        name=name,
        short_name=short_name,
        id=str(due.job_id_raw) if array else run.job_id,
        queue=format.harmless(run.kind.queue),
        state=format.harmless(run.state),
        verdict=verdict,
        elapsed=elapsed,
        limit=limit,
        used_fraction=elapsed / limit if limit else None,
        unused=_unused(run, array),
        cpus=run.cpus,
        cpu_share=cpu_share(run.cpu_time, elapsed, run.cpus),
        memory=None if used is None else show_bytes(used),
        memory_asked=show_bytes(run.mem) if run.mem else None,
        gpus=run.gpus,
        gpu_share=gpu,
        file_waits=_file_waits(run, gpu),
        energy=run.energy,
        more=run.more_used if not array and run.more_used else None,
        last_limit=run.last_limit,
        ask=round_up(elapsed, menu) if verdict == "ran_over" else None,
    )


def _file_waits(run: Finished, gpu: float | None) -> float | None:
    """The share of samples in which a run that is bound by files did nothing but wait for them; None for others."""
    seen = file_waits_of(run.admin_comment, run.start_time)
    if seen is None or class_of(seen.samples, seen.only, seen.full, gpu) != "bound":
        return None
    return seen.only / seen.samples


def _unused(run: Finished, array: Tasks | None) -> Reserved:
    limit = run.kind.req_limit or 0
    seconds = sum(max(limit - elapsed, 0) for elapsed in (array.elapsed if array else [run.elapsed or 0]))
    if run.gpus:
        return Reserved(gpu_seconds=seconds * run.gpus)
    return Reserved(cpu_seconds=seconds * (run.cpus or 0))


def _tasked(array: Tasks) -> Tasked:
    known = array.elapsed
    states = [(format.harmless(state), count) for state, count in array.states.items()]
    return Tasked(len(known), known[0], known[len(known) // 2], known[-1], states)


def _last_runs(past: Sequence[Run], run: Finished, language: str, tz: tzinfo | None) -> Chart:
    """A bar for each of the last runs of the same name, this one last; of an array its longest known task.

    Trap: `past` may lack this run, where its user has submitted hundreds since.
    """
    end, alike = run.end_time or 0, dict[object, Run]()
    for one in past:
        if one.kind.job_name == run.kind.job_name and one.end_time <= end:
            key = one.array_job or id(one)
            if key not in alike or alike[key].elapsed < one.elapsed:
                alike[key] = one
    in_order = sorted(alike.values(), key=lambda one: one.end_time)
    rows = [(one.end_time, one.elapsed, one.kind.req_limit) for one in in_order]
    this = (end, run.elapsed or 0, run.kind.req_limit)
    if this in rows:
        rows.remove(this)
    last = [*rows[-BARS + 1 :], this]
    return Chart("run", bars([(format.moment(ended, language, tz), used, asked) for ended, used, asked in last]))


def _spread(array: Tasks, language: str) -> Chart:
    """A histogram of the tasks' run times, in bins of equal width; one bar where all are equal."""
    low, high = array.elapsed[0], array.elapsed[-1]
    steps = min(BARS, len(array.elapsed), high - low + 1)
    width = (high - low + 1) / steps
    counts = [0] * steps
    for elapsed in array.elapsed:
        counts[min(int((elapsed - low) / width), steps - 1)] += 1
    labels = [f"≤ {format.duration(low + width * (step + 1), language)}" for step in range(steps)]
    return Chart("task", bars([(label, count, None) for label, count in zip(labels, counts, strict=True)]))
