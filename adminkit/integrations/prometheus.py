"""The trace in the text format of Prometheus, version 0.0.4, for the textfile collector of its node exporter.

https://prometheus.io/docs/instrumenting/exposition_formats/ and, for the names, .../practices/naming/. Gauges are about
the last `window` seconds; counters are about the whole trace, and fall where rows are set aside, as after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.quote import clean
from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import accuracy
from adminkit.stats.backlog import backlog, ended, recent_waits
from adminkit.stats.extensions import extensions
from adminkit.stats.letters import outbox_states
from adminkit.stats.select import Filter
from adminkit.stats.status import passes, rejected_sources

if TYPE_CHECKING:
    from prometheus_client.core import Metric

PERCENTILES: Final = (50, 90, 95)
#: How a queue, or a state, without a name is labelled.
UNKNOWN: Final = ""


def exposition(db: sqlite3.Connection, settings: Config, now: int, window: int, more: Iterable[Metric] = ()) -> bytes:
    """Every metric of the trace, and `more`. AdminkitError where the library is not installed."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest
    except ImportError as error:
        raise AdminkitError("metrics need prometheus_client", "pip install 'adminkit[metrics]'") from error

    metrics = [*_metrics(db, settings, now, window), *more]

    class Collected:
        def collect(self) -> Iterable[Metric]:
            return metrics

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected())
    return generate_latest(registry)


def _metrics(db: sqlite3.Connection, settings: Config, now: int, window: int) -> Iterator[Metric]:
    yield gauge("window_seconds", "How far back the gauges about jobs look.", (), [((), window)])
    yield from _jobs(db, settings, now, window)
    yield from _queues(db, now, window)
    yield from _extended(db, settings, now, window)
    yield from _keeping(db, now)


def _jobs(db: sqlite3.Connection, settings: Config, now: int, window: int) -> Iterator[Metric]:
    usual = settings.report
    chosen = Filter(
        since=now - window, until=now, states=usual.states, min_elapsed=usual.min_elapsed,
        checkpoint_code=settings.checkpoint.code,
    )  # fmt: skip
    queues = [((one.cluster, one.queue), one) for one in accuracy(db, chosen, now).queues]
    labels = ("cluster", "queue")
    yield gauge("accuracy_runs", "Runs that ended in the window and have a limit to compare with.", labels,
        [(of, one.jobs) for of, one in queues])  # fmt: skip
    yield gauge("accuracy_ratio", "Mean accuracy of time limits, elapsed / limit, of these runs.", labels,
        [(of, one.spread.mean) for of, one in queues])  # fmt: skip
    yield gauge("unused_gpu_seconds", "GPU-seconds that these runs reserved and did not use.", labels,
        [(of, one.gpu_seconds_unused) for of, one in queues])  # fmt: skip
    yield gauge("unused_cpu_seconds", "CPU-seconds that these runs reserved and did not use.", labels,
        [(of, one.cpu_seconds_unused) for of, one in queues])  # fmt: skip


def _queues(db: sqlite3.Connection, now: int, window: int) -> Iterator[Metric]:
    labels = ("cluster", "queue")
    waits = recent_waits(db, now - window, now, [one / 100 for one in PERCENTILES])
    yield gauge("wait_runs", "Runs that started in the window.", labels,
        [((one.cluster, one.queue), one.jobs) for one in waits])  # fmt: skip
    yield gauge("wait_seconds", "How long these runs had waited since they became"
        " eligible.", (*labels, "percentile"), [
        ((one.cluster, one.queue, str(percentile)), value)
        for one in waits for percentile, value in zip(PERCENTILES, one.quantiles, strict=True)
    ])  # fmt: skip
    waiting = backlog(db, now)
    yield gauge("backlog_jobs", "Jobs that are eligible and waiting; each array task counts as one.", labels,
        [((one.cluster, one.queue), one.jobs) for one in waiting])  # fmt: skip
    yield gauge("backlog_cut_arrays", "Waiting arrays whose list of tasks Slurm cut short: each counts as at least"
        " one job.",
        labels, [((one.cluster, one.queue), one.cut) for one in waiting])  # fmt: skip
    yield gauge("backlog_oldest_seconds", "The longest that any waiting job has waited so far.", labels,
        [((one.cluster, one.queue), one.oldest) for one in waiting])  # fmt: skip
    yield _counter("runs", "Runs that ended.", (*labels, "state"),
        [((one.cluster, one.queue, one.state), one.runs) for one in ended(db)])  # fmt: skip


def _extended(db: sqlite3.Connection, settings: Config, now: int, window: int) -> Iterator[Metric]:
    labels = ("cluster", "queue")
    code = settings.checkpoint.code
    found = extensions(db, Filter(since=now - window, until=now, states=(), min_elapsed=-1, checkpoint_code=code))
    queues = [((one.cluster, one.value), one) for one in found.groups]
    yield gauge("extended_runs", "Runs that were given more time and ended in the window: within the limit that was"
        " asked for, completed after it, or at the last limit.", (*labels, "end"), [
        ((*of, end), value) for of, one in queues
        for end, value in (("within", one.unneeded), ("completed", one.finished), ("limit", one.at_limit))
    ])  # fmt: skip
    yield gauge("extended_seconds", "Time that these runs used after the limit that was asked for.", labels,
        [(of, one.used) for of, one in queues])  # fmt: skip
    yield gauge("saved_gpu_seconds", "GPU-seconds that would have been lost at that limit.", labels,
        [(of, one.saved_gpu) for of, one in queues])  # fmt: skip
    yield gauge("saved_cpu_seconds", "The same of runs without GPUs, in CPU-seconds.", labels,
        [(of, one.saved_cpu) for of, one in queues])  # fmt: skip
    yield gauge("extension_refusals", "Runs that were refused more time and ended in the window, by reason.",
        ("reason",), [((why,), many) for why, many in found.whys.items()])  # fmt: skip


def _keeping(db: sqlite3.Connection, now: int) -> Iterator[Metric]:
    every = passes(db, now)
    labels = ("cluster", "pass")
    yield gauge("sync_lag_seconds", "How long ago the trace ends: how far the last successful run of sync got.",
        labels, [((one.cluster, one.which), now - one.until) for one in every if one.until is not None])  # fmt: skip
    yield gauge("sync_ahead_seconds", "How far windows reach into the future, because a clock was fast; else 0.",
        labels, [((one.cluster, one.which), (one.to_come or now) - now) for one in every])  # fmt: skip
    yield gauge("sync_gap_seconds", "Time before the end of the trace for which sacct never answered.", labels,
        [((one.cluster, one.which), one.gap_seconds) for one in every])  # fmt: skip
    yield gauge("rejected_rows", "Rows that could not be read and are kept aside.", ("source",),
        [((source,), rows) for source, rows, _ in rejected_sources(db)])  # fmt: skip
    letters = outbox_states(db)
    yield gauge("letters_waiting", "Letters that are due but not yet sent.", ("cluster", "kind"),
        [((cluster, kind), many) for cluster, kind, state, many in letters if state == "waiting"])  # fmt: skip
    yield _counter("letters", "Letters, by what became of them: sent, refused, expired.", ("cluster", "kind", "state"),
        [((cluster, kind, state), many) for cluster, kind, state, many in letters if state != "waiting"])  # fmt: skip


Samples = Iterable[tuple[tuple[str | None, ...], float | None]]


def gauge(name: str, what: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    return _filled(GaugeMetricFamily(f"adminkit_{name}", what, labels=labels), samples)


def _counter(name: str, what: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    """Its samples end in _total."""
    from prometheus_client.core import CounterMetricFamily

    return _filled(CounterMetricFamily(f"adminkit_{name}", what, labels=labels), samples)


def _filled(metric: Any, samples: Samples) -> Metric:
    """What is unknown has no sample. Trap: two samples of the same labels, and the collector drops the whole file."""
    known = ((labels, value) for labels, value in samples if value is not None)
    named = {tuple(clean(label or UNKNOWN) for label in labels): value for labels, value in known}
    for labels, value in named.items():
        metric.add_metric(labels, value)
    filled: Metric = metric
    return filled
