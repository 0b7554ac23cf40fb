"""One job on one page: what it asked for, how it ran, what it used, why it waited, what it cost, its letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from adminkit.economy.job_cost import Cost
from adminkit.errors import UsageError
from adminkit.findings.io_bound import class_of
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.render.sparkline import sparkline
from adminkit.slurm.own_queue import Queued
from adminkit.slurm.reasons import meaning
from adminkit.stats.one_job import JobRun, LetterOf, StepUse
from adminkit.usage.curve import Curve

_ID: Final = Field("job_id", help="the job's number as Slurm prints it")
_RUN: Final = Field("submit_time", "time", "when the run was submitted, or put back into the queue")
#: Section -> its columns. Each row but those of `now` and `letters` is about one run.
SECTIONS: Final[Mapping[str, Sequence[Field]]] = {
    "request": (
        _ID,
        Field("job_name", help="the job's name"),
        Field("user", help="whose job it is"),
        Field("account", help="the account that it runs under"),
        Field("queue", help="Slurm's partition"),
        Field("qos", help="its QOS"),
        _RUN,
        Field("limit", "duration", "the time that was asked for"),
        Field("limit_source", help="explicit (its user's), default (the queue's), stated or unknown"),
        Field("nodes", "count", "the number of nodes that was asked for"),
        Field("cpus", "count", "the number of CPUs that was asked for"),
        Field("gpus", "quantity", "GPUs, in equivalents: as allocated, or as asked for while they are not"),
        Field("gpu_type", help="the type of its GPUs"),
        Field("mem", "bytes", "the memory that was asked for"),
    ),
    "now": (
        _ID,
        Field("state", help="Slurm's short name of the state, such as R"),
        Field("queue", help="Slurm's partition, or several between commas"),
        Field("elapsed", "duration", "how long it has run"),
        Field("limit", "duration", "its time limit"),
        Field("left", "duration", "limit minus elapsed, of a running job"),
        Field("start_time", "time", "when Slurm expects it to start; of a running job, when it started"),
        Field("reason", help="Slurm's name for the reason why it waits"),
        Field("meaning", help="what the reason means, and what its owner can do"),
    ),
    "runs": (
        _ID,
        _RUN,
        Field("state", help="how the run ended, or its state when adminkit last looked"),
        Field("held", "duration", "from submission until it was allowed to start: a dependency, a hold, a begin time"),
        Field("wait", "duration", "from then until it started"),
        Field("start_time", "time", "when it started"),
        Field("end_time", "time", "when it ended"),
        Field("elapsed", "duration", "how long it ran, not counting suspension"),
        Field("reason", help="Slurm's name of what it last waited for, other than priority and resources"),
        Field("meaning", help="what the reason means"),
        Field("exit_code", "count", "the exit code of the batch script"),
        Field("exit_signal", "count", "the signal that ended it"),
        Field("continues", "count", "1: the job had been put back into the queue, and this run continues it"),
        Field("checkpoint", help="what the checkpoint plugin made of the end of the run"),
        Field("node_list", help="its nodes"),
    ),
    "use": (
        _ID,
        _RUN,
        Field("accuracy", "ratio", "elapsed / limit"),
        Field("more_used", "duration", "how far it ran past the limit that was asked for, because it was given more"),
        Field("cpus", "count", "the number of CPUs that it had"),
        Field("cpu", "share", "the share of the CPUs' time that was used"),
        Field("mem", "bytes", "the memory that it had"),
        Field("mem_used", "bytes", "the most memory that all its tasks used together"),
        Field("mem_share", "share", "mem_used / mem"),
        Field("gpus", "quantity", "the GPUs that it had, in equivalents"),
        Field("gpu", "share", "the share of the GPUs' time that was used, if it was measured"),
        Field("energy", "energy", "the energy of its nodes, which others may have shared; if Slurm measured it"),
        Field(
            "file_waits", "share", "the share of samples in which its tasks did nothing but wait for files", quiet=True
        ),
        Field("files", help="bound, may be bound or not bound by files, short of CPUs, or too few samples", quiet=True),
        Field("file_system", help="what they waited for most: the type and the mount of a file system", quiet=True),
    ),
    "steps": (
        _ID,
        Field("step", help="batch, extern, interactive, or the number of the step"),
        Field("step_name", help="the name of its program"),
        Field("state", help="how it ended"),
        Field("start_time", "time", "when it started"),
        Field("elapsed", "duration", "how long it ran"),
        Field("nodes", "count", "the number of its nodes"),
        Field("tasks", "count", "the number of its tasks"),
        Field("cpus_busy", "quantity", "the mean number of busy CPUs: CPU time / elapsed"),
        Field("mem_used", "bytes", "the sum of the peaks of its tasks"),
        Field("gpus_busy", "quantity", "the number of busy GPUs, as Slurm last measured it"),
        Field("energy", "energy", "the energy of its nodes"),
    ),
    "curve": (
        _ID,
        _RUN,
        Field("node", help="the node"),
        Field("gpu", help="Prometheus' name of the GPU"),
        Field("source", help="the exporter that measured it"),
        Field("since", "time", "when the first part of the curve begins"),
        Field("step", "duration", "how long each part is"),
        Field("mean", "share", "the mean use, over the parts that were measured"),
        Field("use", help="a block for each part, higher for more use; a dot: not measured"),
    ),
    "cost": (
        _ID,
        _RUN,
        Field("kind", help="charge, late or correction: an entry of the ledger; estimate: no bill has it yet"),
        Field("month", help="the month in which it ran"),
        Field("amount", "amount", "what it cost"),
        Field("unit", help="the unit of the amount"),
        Field("note", help="by which scheme, or why it cannot be charged"),
    ),
    "letters": (
        Field("kind", help="the kind of letter: end"),
        Field("state", help="due, claimed, sent, refused or expired"),
        Field("due_at", "time", "when the letter became due"),
        Field("sent_at", "time", "when it was sent"),
        Field("attempts", "count", "how often adminkit tried to send it"),
    ),
}  # fmt: skip
_TITLES: Final = {
    "request": "What job {} asked for", "now": "What slurmctld says of it now", "runs": "How it ran",
    "use": "What it used", "steps": "Its steps, in their order",
    "curve": "Its GPUs over time", "cost": "What it cost", "letters": "Letters about it",
}  # fmt: skip
#: What is said of a section without a row.
_NONE: Final = {
    "request": "not in the trace yet",
    "runs": "not in the trace yet",
    "use": "not known",
    "steps": "no step is known",
    "curve": "no run with GPUs has started",
    "cost": "not known: the site does not charge, or its schemes cannot be read",
    "letters": "none",
}


@dataclass(frozen=True, slots=True)
class JobPage:
    """Everything that is known of a job. `away`: why slurmctld said nothing; "" where it was asked."""

    job: str
    cluster: str | None
    where: str  # whose word it is
    runs: Sequence[JobRun]
    many: int  # runs that there are
    steps: Sequence[tuple[JobRun, StepUse]]
    costs: Sequence[Cost]
    letters: Sequence[LetterOf]
    queue: Sequence[Queued] | None  # None: slurmctld was not asked, as every run has ended
    away: str = ""
    notes: Sequence[str] = ()
    curves: Sequence[tuple[JobRun, Curve]] = ()
    curve_notes: Sequence[str] = ()  # why there is none


#: What findings/io_bound.py says of a run.
FILE_CLASSES: Final = {
    "bound": "bound",
    "may_be_bound": "may be bound",
    "not_bound": "not bound",
    "short_of_cpus": "short of CPUs",
    "not_gathered": "too few samples",
}


def sections(page: JobPage) -> dict[str, Report]:
    """The reports in their order. UsageError where neither the trace nor slurmctld has such a job."""
    if not page.runs and not page.queue:
        hint = "only its owner and the operators may see a job; adminkit sync copies new jobs into the trace"
        if page.away:
            hint = f"slurmctld was asked too, and did not answer: {page.away}"
        raise UsageError(f"no job {page.job} that you may see in {page.where}", hint)
    rows: dict[str, list[list[Cell]]] = {
        "request": [_request(one) for one in page.runs],
        "now": [_now(one) for one in page.queue or ()],
        "runs": [_ran(one) for one in page.runs],
        "use": [_use(one) for one in page.runs],
        "steps": [_step(*one) for one in page.steps],
        "curve": [_curve(*one) for one in page.curves],
        "cost": _costs(page),
        "letters": [[*one] for one in page.letters],
    }  # fmt: skip
    found = {name: _report(page, name, rows[name]) for name in SECTIONS}
    values = [{"job_id": run.job_id, "submit_time": run.submit_time, **asdict(one)} for run, one in page.curves]
    return {**found, "curve": replace(found["curve"], extra={"values": values} if values else {})}


def _report(page: JobPage, name: str, rows: list[list[Cell]]) -> Report:
    notes = _notes(page, name, bool(rows))
    clusters = [page.cluster] if page.cluster else []
    title = _TITLES[name].format(page.job)
    return Report(
        Meta(title, page.where, (None, None), clusters, {"job": page.job}, len(page.runs), {}, notes),
        SECTIONS[name],
        rows,
    )


def _notes(page: JobPage, name: str, filled: bool) -> list[str]:
    notes: list[str] = []
    if name == "request":
        if page.many > len(page.runs):
            notes.append(f"the last {len(page.runs)} of {plural(page.many, 'run')}; -n shows more")
        notes += [f"on {page.cluster}, from {page.where}" if page.cluster else f"from {page.where}", *page.notes]
    if name == "now":
        notes += _of_now(page)
    elif name == "curve" and page.curve_notes:
        notes += page.curve_notes
    elif not filled:
        notes.append(_NONE[name])
    return notes


def _of_now(page: JobPage) -> list[str]:
    if page.away:
        return [f"not known: {page.away}"]
    if page.queue is None:
        return ["every run of it has ended"]
    if not page.queue:
        return ["slurmctld no longer has it; the next sync brings its end"]
    waits = any(one.waits for one in page.queue)
    return (
        [f"adminkit fit --job {page.job.partition('_')[0].partition('+')[0]} says when it can start"] if waits else []
    )


def _request(one: JobRun) -> list[Cell]:
    return [
        one.job_id, one.job_name, one.user, one.account, one.queue, one.qos, one.submit_time, one.req_limit,
        one.limit_source, one.req_nodes, one.req_cpus, one.gpus, one.gpu_type, one.req_mem,
    ]  # fmt: skip


def _now(one: Queued) -> list[Cell]:
    left = None
    if not one.waits and one.time_limit is not None and one.elapsed is not None:
        left = one.time_limit - one.elapsed
    reason = one.reason if one.waits else None
    return [
        one.job_id, one.state, one.queue, None if one.waits else one.elapsed, one.time_limit, left, one.start_time,
        reason, None if reason is None else meaning(reason),
    ]  # fmt: skip


def _ran(one: JobRun) -> list[Cell]:
    reason = one.reason if one.reason not in (None, "", "None") else None
    return [
        one.job_id, one.submit_time, one.state, one.held, one.wait, one.start_time, one.end_time, one.elapsed, reason,
        None if reason is None else meaning(reason), one.exit_code, one.exit_signal, one.continues, one.ckpt_end,
        one.node_list,
    ]  # fmt: skip


def _use(one: JobRun) -> list[Cell]:
    return [
        one.job_id, one.submit_time, one.accuracy, one.more_used, one.cpus, one.used.cpu, one.mem, one.used.mem_used,
        one.used.mem, one.gpus, one.used.gpu, one.energy, *_files(one),
    ]  # fmt: skip


def _files(one: JobRun) -> list[Cell]:
    """How often it only waited for files, whether that cost time, and for which file system; None: not gathered."""
    seen = one.file_waits
    if seen is None:
        return [None, None, None]
    found = class_of(seen.samples, seen.only, seen.full, one.used.gpu)
    return [seen.only / seen.samples, FILE_CLASSES[found], seen.system]


def _step(run: JobRun, one: StepUse) -> list[Cell]:
    busy = one.cpu_time / one.elapsed if one.cpu_time is not None and one.elapsed else None
    return [
        run.job_id, one.step, one.step_name, one.state, one.start_time, one.elapsed, one.nodes, one.tasks, busy,
        one.mem_used, one.gpus_used, one.energy,
    ]  # fmt: skip


def _curve(run: JobRun, one: Curve) -> list[Cell]:
    return [
        run.job_id, run.submit_time, one.node, one.gpu, one.source, one.since, one.step, one.mean,
        sparkline(one.values),
    ]  # fmt: skip


def _costs(page: JobPage) -> list[list[Cell]]:
    ids = {(one.job_id_raw, one.submit_time): one.job_id for one in page.runs}
    return [
        [
            ids.get((one.job_id_raw, one.submit_time), str(one.job_id_raw)), one.submit_time, one.kind, one.month,
            one.amount, one.unit, one.note or None,
        ]
        for one in page.costs
    ]  # fmt: skip
