"""From policy.toml and the running cluster to the text of policy.lua; and whole folders of files to be carried."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adminkit.deploy.files import SUBFOLDER, TABLES, changing, put_file, put_table, read_text, table_path
from adminkit.deploy.hosts import SUMS, write_sums
from adminkit.deploy.program import ENTRY, shipped
from adminkit.deploy.rehearse import check_table
from adminkit.errors import AdminkitError
from adminkit.owner import as_owner, of_somebody_else
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.load import load_policy
from adminkit.slurm.controller import Controller
from adminkit.slurm.gather import gather


@dataclass(frozen=True, slots=True)
class Built:
    """The table of a policy for one cluster, and what an operator should know of how it was made."""

    text: str
    cluster: str
    notes: tuple[str, ...] = ()


def build(path: Path, found: Controller, made_at: int) -> Built:
    """Compile a policy for the running cluster. AdminkitError for what is wrong with it."""
    users = load_policy(path).users()
    gathered = gather(users, found)
    queues = {queue.name: queue.max_limit for queue in gathered.site.queues}
    table = policy_table(load_policy(path, queues), gathered.site, made_at)
    return Built(policy_text(table), found.cluster, gathered.notes)


def read_built(folder: Path) -> dict[str, str]:
    """The tables in a folder that `write_out` made. AdminkitError where there is no policy."""
    if os.geteuid() == 0 and (facts := of_somebody_else(table_path(folder, "policy"))) is not None:
        raise AdminkitError(
            f"the tables in {folder} may be the work of uid {facts.st_uid}, and root installs its own only",
            "have root write them: `adminkit policy install --out DIR` in a folder of root's",
        )
    found = {name: read_text(table_path(folder, name)) for name in TABLES}
    if found["policy"] is None:
        raise AdminkitError(
            f"there is no {table_path(folder, 'policy')}", "make the folder with `adminkit policy install --out DIR`"
        )
    return {name: text for name, text in found.items() if text is not None}


def write_out(folder: Path, tables: Mapping[str, str]) -> list[Path]:
    """Everything slurmctld would read, as files to be carried by whatever manages the hosts. The paths written."""
    files = shipped()
    with as_owner(folder / ENTRY):
        folder.mkdir(parents=True, exist_ok=True)
        with changing(folder):
            for name, data in files.items():
                put_file(folder / name, data)
        for name, text in tables.items():
            put_table(folder, name, text, check_table)
        names = [f"{SUBFOLDER}/{name}{kind}.lua" for name in tables for kind in ("", ".good")]
        write_sums(folder, [*files, *names])
    return [folder / name for name in (*names, SUMS, *files)]
