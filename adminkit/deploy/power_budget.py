"""Whether the power budget may be in the rules: only where the running slurmctld has the licence, and plans with it."""

from __future__ import annotations

from adminkit.policy.power_settings import Power
from adminkit.slurm.licences import PARAMETER, Licences


def lacking(wanted: Power, there: Licences) -> list[str]:
    """What has to be typed before it may be; empty where nothing has to."""
    lines = []
    if wanted.licence not in there.total:
        lines.append(
            f"write Licenses={wanted.licence}:{wanted.budget_w} into slurm.conf: slurmctld has no such licence"
        )
    if not there.planned:
        lines.append(f"add {PARAMETER} to SchedulerParameters in slurm.conf: jobs that wait for watts would starve")
    return lines


def notes(wanted: Power, there: Licences) -> list[str]:
    """What `policy install` says of it."""
    if wanted.budget_w is None:
        return []
    if lines := lacking(wanted, there):
        last = "then scontrol reconfigure (or restart slurmctld) and install again; until then there is no power budget"
        return [f"power: {line}" for line in (*lines, last)]
    total = there.total[wanted.licence]
    if total != wanted.budget_w:
        return [
            f"power: slurmctld has {wanted.licence}:{total}, and that is what holds; budget_w is {wanted.budget_w}:"
            f" write Licenses={wanted.licence}:{wanted.budget_w} into slurm.conf"
        ]
    return []
