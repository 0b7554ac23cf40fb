"""doctor's check of the power budget: whether slurmctld still has what the installed rules name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from adminkit import config
from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.slurm.controller import controller_or_conf, site_folder
from adminkit.slurm.licences import EACH_NODE, PARAMETER, licences


def power(settings: config.Policy) -> Iterator[Check]:
    """Nothing where the rules have no budget. AdminkitError where slurmctld is not responding.

    Trap: Slurm refuses every job that names a licence which it no longer has.
    """
    from adminkit.deploy.files import table_path
    from adminkit.lua.runtime import load_table

    folder = site_folder(controller_or_conf(), settings.folder)
    if not os.access(folder / "adminkit", os.R_OK | os.X_OK):
        return  # the check `rules` says so
    try:
        table: Mapping[str, Any] = load_table(table_path(folder, "policy"))
    except AdminkitError:
        return  # the same
    budget = table.get("power")
    if not isinstance(budget, Mapping):
        return
    name, there = str(budget["licence"]), licences()
    if name not in there.total:
        yield Check(
            "power",
            "missing",
            f"slurmctld has no licence {name} any more: every job with GPUs is refused",
            f"write Licenses={name}:{budget['budget_w']} into slurm.conf again, or take budget_w out of policy.toml and"
            " run adminkit policy install --apply",
        )
    elif (there.mode.get(name) == EACH_NODE) != bool(budget.get("each_node")):
        found = f"the rules count {name} by {'node' if budget.get('each_node') else 'job'}, and slurmctld does not"
        yield Check("power", "missing", found, "run adminkit policy install --apply")
    elif not there.planned:
        found = f"{PARAMETER} is not in SchedulerParameters: jobs that wait for {name} would starve"
        yield Check("power", "warn", found, f"add {PARAMETER} to SchedulerParameters in slurm.conf")
    else:
        yield Check("power", "ok", f"{name}:{there.total[name]} in slurmctld")
