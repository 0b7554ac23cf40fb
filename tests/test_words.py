"""One word for one thing: what carries a job, whole or in part, names its fields as Job and the view `run` do."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Final

import adminkit
from adminkit.job import Job
from adminkit.trace.run_view import DERIVED

COLUMNS: Final = frozenset({*(field.name for field in dataclasses.fields(Job)), *DERIVED})
#: What such a field is called elsewhere -> the column it is.
SYNONYMS: Final = {
    **dict.fromkeys(("submit", "submitted", "submission", "submitted_at"), "submit_time"),
    **dict.fromkeys(("eligible", "eligible_at"), "eligible_time"),
    **dict.fromkeys(("start", "started", "begin", "started_at"), "start_time"),
    **dict.fromkeys(("end", "ended", "finish", "finished", "ended_at"), "end_time"),
    **dict.fromkeys(("limit", "timelimit", "walltime"), "time_limit; what was asked for: req_limit"),
    **dict.fromkeys(("asked", "requested"), "req_limit"),
    **dict.fromkeys(("actual", "runtime", "run_time", "duration"), "elapsed"),
    "array": "array_job for its number, is_array for a flag",
    "task": "array_task",
    **dict.fromkeys(("number", "jobid", "raw_id"), "job_id_raw"),
    "name": "job_name",
    "partition": "queue",
    "heard": "ckpt_heard",
    "signal": "ckpt_at",
    **dict.fromkeys(("memory", "ram"), "mem or req_mem"),
    **dict.fromkeys(("cores", "ncpus"), "cpus"),
}
#: A field of this name is a job's wherever it is.
OF_JOBS_ALONE: Final = frozenset({"submit", "submission", "eligible", "heard", "jobid", "walltime"})
#: Other things than jobs that have two columns' names too -> what their words are.
NOT_A_JOB: Final = {
    "ingest.sources.sacct:Sacct": "how a source asks",
    "feedback.template_values:OtherGpus": "words of the templates, as docs/letters.md has them",
    "feedback.template_values:Ran": "words of the templates, as docs/letters.md has them",
    "policy.request:Typed": "words of the rules, as docs/policy-spec.md has them",
    "recommend.hints:Hint": "its limit is the one that is recommended",
    "findings.finding:Subject": "its name may be a measure's",
    "slurm.site:SiteNode": "a node's name",
    "slurm.site:SiteQos": "a QOS's name",
    "simulate.core:Schedule": "columns of the core's output, as docs/simulate-spec.md has them",
    "simulate.machine:Machine": "whether memory is handed out",
    "slurm.planning:PlanQueue": "a queue's name",
    "slurm.room:RoomNode": "a node's name",
    "slurm.scontrol_show:Node": "a node's name",
    "slurm.scontrol_show:Reservation": "a reservation's name",
    "slurm.room:Room": "whether memory is handed out",
}


#: What is loaded where a hub or a user's server is installed. They are Jupyter's classes, and carry no job.
OF_THE_HUB: Final = tuple(
    f"adminkit.jupyter.{name}"
    for name in ("extension", "handlers", "port", "recover", "refused", "settings", "spawner")
)


def records() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every dataclass, NamedTuple and TypedDict of the package: where it is, and its fields."""
    for info in pkgutil.walk_packages(adminkit.__path__, "adminkit."):
        if info.name in OF_THE_HUB:
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if not isinstance(value, type) or value.__module__ != info.name:
                continue
            where = f"{info.name.removeprefix('adminkit.')}:{value.__name__}"
            if dataclasses.is_dataclass(value):
                yield where, tuple(field.name for field in dataclasses.fields(value))
            elif issubclass(value, tuple) and hasattr(value, "_fields"):
                yield where, value._fields
            elif issubclass(value, dict) and hasattr(value, "__total__"):
                yield where, tuple(value.__annotations__)


def carries_a_job(fields: tuple[str, ...]) -> bool:
    """Two of Job's columns are no accident; nor is a field that only jobs have."""
    return len(COLUMNS.intersection(fields)) > 1 or not OF_JOBS_ALONE.isdisjoint(fields)


RECORDS: Final = dict(records())


def test_what_carries_a_job_names_its_fields_as_job_does() -> None:
    assert len(RECORDS) > 100, "they are found"
    wrong = [
        f"{where}.{name}: {SYNONYMS[name]}"
        for where, fields in RECORDS.items()
        if where not in NOT_A_JOB and carries_a_job(fields)
        for name in fields
        if name in SYNONYMS
    ]
    assert wrong == []


def test_the_exceptions_are_there_and_needed() -> None:
    for where in NOT_A_JOB:
        fields = RECORDS[where]
        assert carries_a_job(fields) and not SYNONYMS.keys().isdisjoint(fields), f"{where} needs no exception"
