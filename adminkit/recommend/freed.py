"""The sizes that a backtest would have given, as what each run would have held: for stats/waste_freed.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from adminkit.recommend.predict import at_limit, needed
from adminkit.stats.runs import Run


@dataclass(slots=True)
class Held:
    """Is told each run and its size (backtest.Given). One that would have been too small counts as not given: its run
    would have failed, and freed nothing that is worth having.

    `by_gpus`: the size is for each GPU, else for each node. `unit`: what 1 of the size is, bytes or CPUs.
    """

    unit: float
    by_gpus: bool = False
    of_cluster: dict[str, dict[tuple[int, int], float]] = field(default_factory=dict)

    def __call__(self, run: Run, size: int | None) -> None:
        kind = run.kind
        many = kind.gpus if self.by_gpus else kind.nodes
        if size is None or run.job_id_raw is None or kind.cluster is None or not many:
            return
        if needed(run) <= size and not at_limit(run):
            sizes = self.of_cluster.setdefault(kind.cluster, {})
            sizes[run.job_id_raw, run.submit_time] = size * self.unit * many
