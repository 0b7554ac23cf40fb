"""Whether the power budget may be in the rules: only where the running slurmctld has the licence, and plans with it."""

from __future__ import annotations

from adminkit.policy.power_settings import Power
from adminkit.slurm.licences import EACH_NODE, PARAMETER, Licences


def lacking(wanted: Power, there: Licences) -> list[str]:
    """What has to be typed before it may be; empty where nothing has to."""
    lines = []
    if wanted.licence not in there.total:
        lines.append(
            f"slurmctld has no licence {wanted.licence}: add Licenses={wanted.licence}:{wanted.budget_w} to slurm.conf"
        )
        if there.layered:
            lines.append(
                f"or, to count by rack or circuit, write {layers_line(wanted)} into resources.yaml in the same folder"
            )
    if not there.planned:
        lines.append(f"add {PARAMETER} to SchedulerParameters in slurm.conf: jobs that wait for watts would starve")
    return lines


def layers_line(wanted: Power) -> str:
    """A resource of resources.yaml, of one layer."""
    return f"- {{resource: {wanted.licence}, mode: MODE_3, layers: [{{nodes: [NODES], count: {wanted.budget_w}}}]}}"


def each_node(wanted: Power, there: Licences) -> bool:
    """Whether slurmctld takes what a job names on each of its nodes."""
    return there.mode.get(wanted.licence) == EACH_NODE


def notes(wanted: Power, there: Licences) -> list[str]:
    """What `policy install` says of it."""
    if wanted.budget_w is None:
        return []
    if lines := lacking(wanted, there):
        last = (
            "then run scontrol reconfigure (or restart slurmctld) and install the policy again; until then there is no"
            " power budget"
        )
        return [f"power: {line}" for line in (*lines, last)]
    total, mode, lines = there.total[wanted.licence], there.mode.get(wanted.licence), []
    if mode is not None:
        how = (
            "counts on each node"
            if mode == EACH_NODE
            else f"has mode {mode}, which counts a job's watts once per layer"
        )
        lines.append(f"power: {wanted.licence} comes from resources.yaml and {how}")
    if total != wanted.budget_w:
        where = (
            f"write Licenses={wanted.licence}:{wanted.budget_w} into slurm.conf"
            if mode is None
            else "correct one of the two"
        )
        has = f"slurmctld has {wanted.licence}:{total}, and that applies"
        lines.append(f"power: {has}; budget_w is {wanted.budget_w}: {where}")
    return lines
