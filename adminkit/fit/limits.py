"""Whether the limits of QOS and associations let a request start, by what of them is unused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from adminkit.fit.needs import Total
from adminkit.fit.place import Said
from adminkit.fit.timeline import Need
from adminkit.slurm.assoc_limits import Bound, Held, Holder
from adminkit.slurm.room import Vector
from adminkit.slurm.site import UNTYPED

#: A limit's name -> what it counts: amounts at once, of one job; running jobs; minutes of them.
_TOGETHER: Final = {"GrpTRES": "", "MaxTRESPU": " a user", "MaxTRESPA": " an account"}
_JOBS: Final = {"GrpJobs": "", "MaxJobs": "", "MaxJobsPU": " a user", "MaxJobsPA": " an account"}
_SUBMIT: Final = {"GrpSubmitJobs": "", "MaxSubmitJobs": "", "MaxSubmitJobsPU": "", "MaxSubmitJobsPA": ""}
_ALONE: Final = {"MaxTRESPJ": " a job", "MaxTRESPN": " a node"}
_NODE: Final = "MaxTRESPN"
#: Of a QOS and of an association, the same limit by two names.
_SAME: Final = {"MaxJobsPU": "MaxJobs", "MaxSubmitJobsPU": "MaxSubmitJobs"}


def by_limits(held: Held, asked: Need | Total, waits: bool = False) -> Said:
    """now where none holds it; later where others have to end first, when is not known; never for one job's own.

    `asked`: a job, or a part of one node. `waits`: of a job that is in the queue already, and counts there.
    """
    if not held.enforced:
        return Said("now", None, "", "limits of QOS and associations are not enforced here")
    hits = list(_hits(held, total_of_node(asked) if isinstance(asked, Need) else asked, waits))
    for word in ("never", "later", "unknown"):
        if found := next((hit for hit in hits if hit.word == word), None):
            return found
    if held.problem:
        return Said("unknown", None, "limits", held.problem)
    return Said("now", None, "", "no limit of QOS and associations holds it")


def _hits(held: Held, need: Total, waits: bool) -> Iterator[Said]:
    """Each limit that says no. One that a QOS has is not looked up in associations."""
    passed: set[tuple[str, str]] = {(name, "") for name in _SUBMIT} if waits else set()
    amounts = _amounts(need, need.all, need.nodes)
    node = _amounts(need, need.each, 1)
    for holder in held.qos:
        for name, what, bound in _each(holder):
            if (name, what) not in passed and (
                hit := _hit(holder, name, what, bound, node if name == _NODE else amounts, need)
            ):
                yield hit
            passed.add((_SAME.get(name, name), what))
    for one in (held.user, *held.accounts):
        for name, what, bound in _each(one) if one is not None else ():
            if (name, what) not in passed and (
                hit := _hit(one, name, what, bound, node if name == _NODE else amounts, need)
            ):
                yield hit


def _each(holder: Holder) -> Iterator[tuple[str, str, Bound]]:
    for name, bounds in holder.limits.items():
        for what, bound in bounds.items():
            yield name, what, bound


def total_of_node(need: Need) -> Total:
    """What a part of one node is in all."""
    vector = Vector(need.cpus, max(0, need.mem), {UNTYPED: need.gpus}, {need.share: need.shares} if need.shares else {})
    least = frozenset({"mem"} if need.mem < 0 else ())
    return Total(1, vector, vector, need.gpu_type if need.gpu_type != UNTYPED else None, need.seconds, least)


def _amounts(asked: Total, of: Vector, nodes: int) -> dict[str, int]:
    """In the words and units of assoc_mgr. What a job is billed is not known."""
    gpus = of.gpus.get(UNTYPED, 0)
    found = {"cpu": of.cpus, "mem": of.mem >> 20, "node": nodes, "gres/gpu": gpus}
    if asked.gpu_type:
        found[f"gres/gpu:{asked.gpu_type}"] = gpus
    for share, many in of.shares.items():
        found |= {f"gres/{name}": many for name in {share, share.partition(":")[0]}}
    return found | {f"license/{name}": many for name, many in asked.licences.items()}


def _hit(
    holder: Holder | None, name: str, what: str, bound: Bound, amounts: Mapping[str, int], need: Total
) -> Said | None:
    most, minutes = bound.most, need.seconds // 60
    if most is None or holder is None:
        return None
    why, amount = holder.kind, amounts.get(what)
    if what and amount is None:
        known = what != "billing"
        return None if known else Said("unknown", None, why, f"{holder.name} limits what is billed, which is not known")
    many = amount or 0
    unit = f"{what} " if what else ""
    if (name in _ALONE or name in _TOGETHER) and many > most:
        return Said("never", None, why, f"{holder.name} allows {unit}{most}{(_TOGETHER | _ALONE)[name]}")
    if name == "MinTRESPJ" and many < most and what not in need.least:
        return Said("never", None, why, f"{holder.name} takes {unit}{most} as the least")
    if name == "MaxWallPJ" and minutes > most:
        return Said("never", None, why, f"{holder.name} allows {most} minutes")
    if name == "MaxTRESMinsPJ" and many * minutes > most:
        return Said("never", None, why, f"{holder.name} allows {unit}times minutes {most} a job")
    if name in _TOGETHER and many and bound.used + many > most:
        return Said("later", None, why, f"{holder.name} allows {unit}{most}{_TOGETHER[name]}; {bound.used} are in use")
    if name in (*_JOBS, *_SUBMIT) and bound.used >= most:
        kind = "running jobs" if name in _JOBS else "jobs in the queue"
        return Said("later", None, why, f"{holder.name} allows {most} {kind}; {bound.used} are")
    if (
        name in ("GrpTRESMins", "GrpTRESRunMins", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA")
        and many
        and bound.used + many * minutes > most
    ):
        return Said("later", None, why, f"{holder.name} allows {unit}times minutes {most}; {bound.used} are used")
    if name == "GrpWall" and bound.used + minutes > most:
        return Said("later", None, why, f"{holder.name} allows {most} minutes in all; {bound.used} are used")
    if what.partition(":")[0] in need.least and (name in _ALONE or name in _TOGETHER or "TRES" in name):
        return Said("unknown", None, why, f"{holder.name} limits {what}, and how much this gets is not known")
    return None
