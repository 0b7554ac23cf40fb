"""What the cluster has and does at this moment, as metrics. slurmctld is asked in slurm/gauges.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from adminkit.integrations.prometheus import gauge
from adminkit.slurm.gauges import Gauges, Load

if TYPE_CHECKING:
    from prometheus_client.core import Metric

#: Queues and accounts, together, that have samples of their own; the others are summed up in the account OTHERS.
MOST: Final = 500
OTHERS: Final = "(others)"


def cluster_metrics(found: Gauges) -> Iterator[Metric]:
    """Each metric of one answer of slurmctld's."""
    of = found.cluster
    if not found.own_metrics:
        yield gauge("nodes", "Nodes, by what they can do for jobs.", ("cluster", "state"),
            [((of, state), many) for state, many in found.nodes.items()])  # fmt: skip
    for name, what, stocks in (
        ("cluster_cpus", "CPUs", {"": found.cpus}),
        ("cluster_memory_bytes", "Memory", {"": found.mem}),
        ("cluster_gpus", "GPUs, by type,", found.gpus),
    ):
        typed = ("type",) if name == "cluster_gpus" else ()
        said = f"{what} of nodes: in use, free, or on nodes that take no jobs."
        yield gauge(name, said, ("cluster", *typed, "state"), [
            ((of, *((kind,) if typed else ()), state), value) for kind, stock in stocks.items()
            for state, value in (("in_use", stock.in_use), ("free", stock.free), ("away", stock.away))
        ])  # fmt: skip
    labels = ("cluster", "queue", "account", "state")
    groups = [((of, one.queue, one.account, one.state), one) for one in bounded(found.loads)]
    yield gauge("jobs", "Open jobs; each array task counts as one.", labels, [(key, one.jobs) for key, one in groups])
    yield gauge("jobs_cpus", "CPUs that these jobs have or ask for.", labels, [(key, one.cpus) for key, one in groups])
    yield gauge("jobs_memory_bytes", "Memory that these jobs have or ask for.", labels,
        [(key, one.mem) for key, one in groups])  # fmt: skip
    yield gauge("jobs_gpus", "GPUs that these jobs have or ask for.", labels, [(key, one.gpus) for key, one in groups])
    yield gauge("jobs_cut_arrays", "Waiting arrays whose list of tasks Slurm cut short: each counts as one job.",
        labels, [(key, one.cut) for key, one in groups if one.cut])  # fmt: skip
    for name, what, attribute in (
        ("account_shares_ratio", "Share of the cluster that an account was promised.", "shares"),
        ("account_usage_ratio", "Share of the usage, by its half-life, that an account had.", "usage"),
        ("account_level_fs", "Fair share of an account beside its siblings: above 1, it had less than it was promised.",
         "level"),
    ):  # fmt: skip
        yield gauge(name, what, ("cluster", "account"),
            [((of, one.account), getattr(one, attribute)) for one in found.shares[:MOST]])  # fmt: skip


def bounded(loads: Sequence[Load]) -> list[Load]:
    """At most MOST of them, those with the most jobs, and the sums of the others by queue and state."""
    ranked = sorted(loads, key=lambda one: one.jobs, reverse=True)
    rest: dict[tuple[str, str], Load] = {}
    for one in ranked[MOST:]:
        key = one.queue, one.state
        before = rest.get(key, Load(one.queue, OTHERS, one.state, 0, 0, 0, 0))
        rest[key] = Load(
            one.queue, OTHERS, one.state, before.jobs + one.jobs, before.cpus + one.cpus, _sum(before.mem, one.mem),
            _sum(before.gpus, one.gpus), before.cut + one.cut,
        )  # fmt: skip
    return [*ranked[:MOST], *rest.values()]


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
