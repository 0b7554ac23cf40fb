"""Whether files keep a run waiting: its class, whose bounds are only here; and users whose GPUs wait for files.

A sampler of threads excludes, it does not prove: a loader that just keeps up waits for files nearly all the time too
(docs/io.md has what was measured). So a run counts as bound only where its GPUs, by another source, were idle.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.findings.finding import Finding, Kind, Number, Stake, Subject, Verdict
from adminkit.messages import message
from adminkit.stats.file_waits import Group

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[Any]

#: The classes, in the order of their numbers.
CLASSES: Final = ("not_gathered", "not_bound", "may_be_bound", "bound", "short_of_cpus")
NOT_GATHERED, NOT_BOUND, MAY_BE_BOUND, BOUND, SHORT_OF_CPUS = range(len(CLASSES))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where classes begin. Shares are of samples; `idle` and `busy` are of the time of the run's GPUs."""

    samples: int = 12  # fewer say nothing
    only: float = 0.5  # below, the run is not bound by files
    full: float = 0.5  # from here, a run that is not bound by files is short of CPUs
    idle: float = 0.5  # from here, idle GPUs confirm that the run is bound
    kept_up: float = 0.1  # below, idle GPUs say that files cost nothing, whatever was seen


def classify(samples: Column, only: Column, full: Column, gpu: Column, bounds: Bounds = Bounds()) -> Column:
    """The number of the class of each run. `samples`, `only` and `full` are counts, `gpu` is the share of the time in
    which the GPUs were in use; NaN is unknown.
    """
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        waits = only / samples >= bounds.only
        idle = 1 - gpu
        found = np.where(full / samples >= bounds.full, SHORT_OF_CPUS, NOT_BOUND)
        found = np.where(waits, MAY_BE_BOUND, found)
        found = np.where(waits & (idle >= bounds.idle), BOUND, found)
        found = np.where(waits & (idle < bounds.kept_up), NOT_BOUND, found)
        return np.where(samples >= bounds.samples, found, NOT_GATHERED)


def class_of(samples: int | None, only: int | None, full: int | None, gpu: float | None) -> str:
    """The class of one run; None is unknown."""
    import numpy as np

    n, waits, wants, use = (
        np.array([np.nan if one is None else one], np.float64) for one in (samples, only, full, gpu)
    )
    return CLASSES[int(classify(n, waits, wants, use)[0])]


@dataclass(frozen=True, slots=True)
class Limits:
    """When waiting for files is worth a change."""

    runs: int = 3  # bound by files
    share: float = 0.1  # of the GPU-seconds of the user's runs that were looked at
    idle: float = 10 * 3600.0  # GPU-seconds in which GPUs were idle


KIND: Final = Kind(
    "io_bound",
    "a user whose GPUs were idle while the programs waited for files",
    {
        "bound": Verdict(
            "warn",
            message(
                "start with more reader processes; if that does not help, put the small files into few large ones, or"
                " copy them to the node first"
            ),
        )
    },
    {
        "runs": Number("runs with GPUs for which it is known how often they waited for files"),
        "bound": Number("of these, runs bound by files"),
        "idle_seconds": Number("in which GPUs of the bound runs were idle", "GPU-seconds"),
        "bound_seconds": Number("held by the bound runs", "GPU-seconds"),
        "share": Number("bound_seconds / the GPU-seconds of `runs`", "share"),
    },
)


def check(measure: Group, limits: Limits) -> list[Finding]:
    """One finding of a user who has enough of them; `measure` is about one user."""
    known = [one for place, one in enumerate(measure.classes) if place != NOT_GATHERED]
    bound = measure.classes[BOUND]
    held = sum(one.gpu_seconds for one in known)
    share = bound.gpu_seconds / held if held else 0.0
    few = bound.jobs < limits.runs or bound.idle_seconds < limits.idle or share < limits.share
    if measure.value is None or few:
        return []
    evidence = {
        "runs": sum(one.gpu_jobs for one in known), "bound": bound.jobs, "idle_seconds": bound.idle_seconds,
        "bound_seconds": bound.gpu_seconds, "share": share,
    }  # fmt: skip
    subject = Subject(cluster=measure.cluster, user=measure.value)
    command = f"adminkit report io --by name --user {shlex.quote(measure.value)}"
    return [KIND.finding("bound", subject, evidence, Stake(bound.idle_seconds), command)]
