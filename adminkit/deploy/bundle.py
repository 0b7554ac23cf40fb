"""What slurmctld is to decide by, as one value: compiled of policy.toml or read from a folder; install.py puts it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adminkit.deploy import power_budget
from adminkit.deploy.files import (
    SUBFOLDER,
    SUMS,
    TABLES,
    changing,
    generation_of,
    put_file,
    put_table,
    read_text,
    table_path,
    write_sums,
)
from adminkit.deploy.program import ENTRY, shipped
from adminkit.deploy.rehearse import check_table
from adminkit.errors import AdminkitError
from adminkit.gres import GpuSettings
from adminkit.owner import as_owner, of_somebody_else
from adminkit.policy import user_limits
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.load import load_policy, refuse_unfit
from adminkit.policy.model import Policy
from adminkit.slurm.controller import Controller
from adminkit.slurm.gather import gather
from adminkit.slurm.licences import Licences, licences
from adminkit.slurm.queue_qos import held_gpus


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tables by name, and adminkit's own Lua by its place below the folder of job_submit.lua.

    The tables are rehearsed with the program; it is put beside them unless `program_in_place`. `notes` are what an
    operator should know of how the tables were made.
    """

    tables: Mapping[str, str]
    program: Mapping[str, bytes]
    program_in_place: bool = False
    notes: tuple[str, ...] = ()

    @property
    def generations(self) -> dict[str, str | None]:
        """What each table says it is; None for one that does not say."""
        return {name: generation_of(text) for name, text in self.tables.items()}


def tables_only(tables: Mapping[str, str], notes: tuple[str, ...] = ()) -> Bundle:
    """Tables for a program that is in place already."""
    return Bundle(tables, shipped(), program_in_place=True, notes=notes)


def compile_bundle(path: Path, controller: Controller, made_at: int, gpus: GpuSettings | None = None) -> Bundle:
    """The policy in this file, for the running cluster. AdminkitError for what is wrong with it.

    `gpus`: what the config says of parts of GPUs. The file is read once: what its users and queues were looked up for
    is what is compiled, whoever edits it meanwhile.
    """
    policy = load_policy(path)
    gathered = gather(policy.users(), controller)
    refuse_unfit(path, policy, {queue.name: queue.max_limit for queue in gathered.site.queues})
    there = licences() if policy.power.budget_w is not None else Licences({}, False)
    with_power, each_node = not power_budget.lacking(policy.power, there), power_budget.each_node(policy.power, there)
    table = policy_table(policy, gathered.site, made_at, with_power=with_power, each_node=each_node, gpus=gpus)
    notes = (*gathered.notes, *_by_slurm(policy), *power_budget.notes(policy.power, there))
    return Bundle({"policy": policy_text(table)}, shipped(), notes=notes)


def _by_slurm(policy: Policy) -> list[str]:
    """What an operator has to type, so that Slurm holds users to what no rule can count."""
    if not policy.gpus_per_user:
        return []
    try:
        return user_limits.notes(policy.gpus_per_user, held_gpus())
    except AdminkitError as error:
        return [f"gpus_per_user: it is not known what limit Slurm enforces: {error.message}"]


def read_bundle(folder: Path) -> Bundle:
    """The tables that `write_bundle` put there, and this host's program. AdminkitError where there is no policy."""
    if os.geteuid() == 0 and (facts := of_somebody_else(table_path(folder, "policy"))) is not None:
        raise AdminkitError(
            f"the tables in {folder} may have been written by uid {facts.st_uid}, and root installs only its own",
            "have root write them: `adminkit policy install --out DIR` in a folder of root's",
        )
    texts = {name: read_text(table_path(folder, name)) for name in TABLES}
    if texts["policy"] is None:
        raise AdminkitError(
            f"there is no {table_path(folder, 'policy')}", "make the folder with `adminkit policy install --out DIR`"
        )
    return Bundle({name: text for name, text in texts.items() if text is not None}, shipped())


def write_bundle(folder: Path, bundle: Bundle) -> list[Path]:
    """Everything slurmctld would read, as files to be carried by whatever manages the hosts. The paths written."""
    with as_owner(folder / ENTRY):
        folder.mkdir(parents=True, exist_ok=True)
        with changing(folder):
            for name, data in bundle.program.items():
                put_file(folder / name, data)
        for name, text in bundle.tables.items():
            put_table(folder, name, text, check_table)
        names = [f"{SUBFOLDER}/{name}{kind}.lua" for name in bundle.tables for kind in ("", ".good")]
        write_sums(folder, [*bundle.program, *names])
    return [folder / name for name in (*names, SUMS, *bundle.program)]
