"""What the running slurmctld says against soft limits, where it is the one of the cluster that is searched for."""

from __future__ import annotations

from collections.abc import Sequence

from adminkit.deploy.planning import reasons
from adminkit.errors import AdminkitError
from adminkit.slurm import show_config
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.planning import planning
from adminkit.tune.settings import Tune


def refused_by_slurm(tune: Tune, cluster: str, now: int) -> Sequence[str]:
    """Every reason to refuse soft limits there. Nothing where no slurmctld answers, or that of another cluster, or
    where the file has no lever of soft limits.
    """
    if not any(lever.family == "soft_limits" for lever in tune.levers):
        return []
    try:
        if settings(show_config.show_config()).get("ClusterName") != cluster:
            return []
        return [one.why for one in reasons(planning(now))]
    except AdminkitError:
        return []
