"""The rules by which slurmctld decides, asked about an open job as it is now.

A word that was noted at a job's submission was right for its queue, account, QOS and size of then. Operators, to whom
no rule applies, act on it later; so the rules are asked again as if the job's owner asked for the change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.deploy.files import read_text, table_path, usable
from adminkit.deploy.rehearse import check_table
from adminkit.errors import AdminkitError
from adminkit.lua.runtime import Decider, Lua
from adminkit.quote import quote
from adminkit.slurm.associations import parse_tres
from adminkit.slurm.elastic_jobs import OpenJob
from adminkit.slurm.planning import PlannedJob

#: Slurm's unlimited, in minutes.
_INFINITE: Final = 4_294_967_295
_MIB: Final = 2**20
_PENDING, _RUNNING = 0, 1


def in_force(folder: Path) -> Decider:
    """The policy that slurmctld decides by. AdminkitError where this host has none that it could use."""
    for kind in ("", "good"):
        text = read_text(table_path(folder, "policy", kind))
        if text is not None and usable("policy", text, check_table):
            return Decider(text.encode("utf-8", "surrogateescape"))
    raise AdminkitError(
        f"couldn't ask the rules: there is no policy in {folder} that slurmctld could use",
        "run it on slurmctld's host; adminkit policy status says what is installed there",
    )


def section(folder: Path, name: str) -> dict[str, Any] | None:
    """A section of the policy that slurmctld decides by; None where it has none, which takes no Lua to see."""
    text = read_text(table_path(folder, "policy"))
    if text is None or re.search(rf'^  \["{name}"\] = ', text, re.MULTILINE) is None:
        return None
    lua = Lua()
    table = lua.out(lua.table(text.encode("utf-8", "surrogateescape"), "policy.lua"))
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Answer:
    """`why` not, "" where it may be. `refused`: a rule says so, and not that it cannot tell; `asked`: it was asked."""

    why: str = ""
    refused: bool = False
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """`decider` None: the rules cannot be asked, as `why` says; then they allow nothing."""

    decider: Decider | None
    now: int
    why: str = ""

    def of_gpus(self, job: OpenJob, gpus: int) -> str:
        """Why the job may not have `gpus` GPUs of its one node; "" where it may."""
        if job.gpus is None or job.uid is None:
            return "it is not known what it asks for"
        return self._asked({"tres_per_node": _gres(job.tres, gpus)}, _record(job), _known(job.whole)).why

    def of_limit(self, job: PlannedJob, limit: int) -> Answer:
        """Whether the job may have this limit, in seconds."""
        if job.uid is None:
            return Answer("its user is not known")
        return self._asked({"time_limit": -(-limit // 60)}, _planned(job), _known(job.whole))

    def of_more(self, job: PlannedJob, asked: int, limit: int, batch: bool | None) -> Answer:
        """Whether an open job that asked for `asked` seconds may have `limit`; `batch` None: that is not known.

        Nobody but the script sees whether a job can resume from a checkpoint. One that asked for more than a job may
        have that cannot is taken for one that can, as the rules or an operator let it pass.
        """
        if job.uid is None:
            return Answer("its user is not known")
        known = {**_known(job.whole), "batch": batch, "scripted": batch, "batch_unknown": batch is None or None}
        needs, record = {"time_limit": -(-asked // 60)}, _planned(job)
        without = self._asked(needs, {**record, "time_limit": 1}, {**known, "restartable": False})
        can = without.refused and not self._asked(needs, {**record, "time_limit": 1}, known).refused
        changes = {"time_limit": -(-limit // 60)}
        return self._asked(changes, record, {**known, "restartable": can})

    def _asked(self, changes: Mapping[str, Any], record: Mapping[str, Any], known: Mapping[str, Any]) -> Answer:
        if self.decider is None:
            return Answer(self.why, asked=False)
        try:
            made = self.decider.update(changes, record, known, self.now)
        except AdminkitError as error:
            return Answer(f"couldn't ask the rules: {error.message}")
        if made.verdict != "accept":
            return Answer(f"the rules refuse it: {quote('; '.join(made.messages[:1]), 200)}", refused=True)
        return Answer(f"the rules cannot tell: {quote(', '.join(made.untold), 100)}") if made.untold else Answer()


def rules_of(folder: Path, now: int) -> Rules:
    """The rules in the folder of job_submit.lua."""
    try:
        return Rules(in_force(folder), now)
    except AdminkitError as error:
        return Rules(None, now, error.message)


def _gres(spelled: str, gpus: int) -> str:
    """Write GPUs as 22.05 has them in tres_per_node."""
    kind = re.fullmatch(r"(?:gres[:/])?gpu(?::([^:]*[^:0-9][^:]*))?(?::\d+)?", spelled)
    return ":".join(["gres", "gpu", *filter(None, [kind and kind[1]]), str(gpus)])


def _record(job: OpenJob) -> dict[str, Any]:
    """The job under the names of job_rec."""
    counted = parse_tres(job.whole)
    mem = 0 if job.mem_per_gpu else counted.get("mem", 0)
    return {
        "user_id": job.uid,
        "user_name": job.user,
        "partition": job.queue,
        "account": job.account or None,
        "qos": job.qos or None,
        "time_limit": _INFINITE if job.time_limit is None else job.time_limit // 60,
        "time_min": job.time_min and job.time_min // 60,
        "min_nodes": 1,
        "max_nodes": 1,
        "tres_per_node": _gres(job.tres, job.gpus or 0),
        "min_cpus": counted.get("cpu"),
        "min_mem_per_node": -(-mem // _MIB) or None,
        "cpus_per_tres": job.cpus_per_gpu.replace("gres/", "gres:") or None,
        "mem_per_tres": job.mem_per_gpu.replace("gres/", "gres:") or None,
        "admin_comment": job.comment,
        "job_state": _RUNNING if job.starts is not None and job.nodes else _PENDING,
    }


def _planned(job: PlannedJob) -> dict[str, Any]:
    """The same of a job that the guard of soft limits sees."""
    counted = parse_tres(job.whole)
    return {
        "user_id": job.uid,
        "partition": ",".join(job.queues),
        "account": job.account or None,
        "qos": job.qos or None,
        "time_limit": _INFINITE if job.time_limit is None else job.time_limit // 60,
        "min_nodes": job.nodes,
        "max_nodes": job.nodes,
        "min_cpus": counted.get("cpu"),
        "min_mem_per_node": -(-counted.get("mem", 0) // job.nodes // _MIB) or None,
        "tres_fmt_req_str": job.whole,
        "admin_comment": job.comment,
        "job_state": _PENDING if job.state == "PENDING" else _RUNNING,
    }


def _known(whole: str) -> dict[str, Any]:
    """What follows from its record: the script notes a range, and a soft limit, only for batch jobs whose limit the
    rules took. Only a job that can resume from a checkpoint has a range.
    """
    known: dict[str, Any] = {"restartable": True, "batch": True, "scripted": True}
    return known if "mem" in parse_tres(whole) else {**known, "mem_unknown": True}
