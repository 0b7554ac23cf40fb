"""Whether the limits of QOS and associations let a request start, by what of them is unused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from adminkit.fit.needs import Total
from adminkit.fit.place import Said
from adminkit.fit.timeline import Need
from adminkit.messages import Message, message
from adminkit.slurm.assoc_limits import Bound, Held, Holder
from adminkit.slurm.room import Vector
from adminkit.slurm.site import UNTYPED

#: Names of limits by what they count: amounts at once, of one job or node; running jobs; jobs in the queue.
_TOGETHER: Final = ("GrpTRES", "MaxTRESPU", "MaxTRESPA")
_ALONE: Final = ("MaxTRESPJ", "MaxTRESPN")
_JOBS: Final = ("GrpJobs", "MaxJobs", "MaxJobsPU", "MaxJobsPA")
_SUBMIT: Final = ("GrpSubmitJobs", "MaxSubmitJobs", "MaxSubmitJobsPU", "MaxSubmitJobsPA")
_NODE: Final = "MaxTRESPN"
#: The same limit by two names: a QOS's and an association's.
_SAME: Final = {"MaxJobsPU": "MaxJobs", "MaxSubmitJobsPU": "MaxSubmitJobs"}


def by_limits(held: Held, asked: Need | Total, waits: bool = False) -> Said:
    """now where none holds it; later where others have to end first, when is not known; never for one job's own.

    `asked`: a job, or a part of one node. `waits`: of a job that is in the queue already, and counts there.
    """
    if not held.enforced:
        return Said("now", None, "", message("limits of QOS and associations are not enforced here"))
    hits = list(_hits(held, total_of_node(asked) if isinstance(asked, Need) else asked, waits))
    for word in ("never", "later", "unknown"):
        if found := next((hit for hit in hits if hit.word == word), None):
            return found
    if held.problem:
        return Said("unknown", None, "limits", held.problem)
    return Said("now", None, "", message("no limit of a QOS or an association holds it back"))


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
    """The amounts in the words and units of assoc_mgr. What a job is billed is not known."""
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
    why, amount, of = holder.kind, amounts.get(what), holder.name
    if what and amount is None:
        billed = message("{of} limits billing units, and how many this job uses is not known", of=of)
        return Said("unknown", None, why, billed) if what == "billing" else None
    many = amount or 0
    limit = f"{what} {most}" if what else str(most)
    if (name in _ALONE or name in _TOGETHER) and many > most:
        return Said("never", None, why, message("{of} allows {limit}", of=of, limit=_per(name, limit)))
    if name == "MinTRESPJ" and many < most and what not in need.least:
        return Said("never", None, why, message("{of} requires at least {limit}", of=of, limit=limit))
    if name == "MaxWallPJ" and minutes > most:
        return Said("never", None, why, message("{of} allows {minutes} minutes", of=of, minutes=most))
    times = {"of": of, "what": what, "most": most}
    if name == "MaxTRESMinsPJ" and many * minutes > most:
        return Said("never", None, why, message("{of} allows {most} {what} minutes per job", **times))
    counts = {"of": of, "most": most, "used": bound.used}
    if name in _TOGETHER and many and bound.used + many > most:
        held = message("{of} allows {limit}; {used} in use", of=of, limit=_per(name, limit), used=bound.used)
        return Said("later", None, why, held)
    if name in _JOBS and bound.used >= most:
        return Said("later", None, why, message("{of} allows {most} running jobs; {used} are running", **counts))
    if name in _SUBMIT and bound.used >= most:
        return Said("later", None, why, message("{of} allows {most} jobs in the queue; {used} are there", **counts))
    if (
        name in ("GrpTRESMins", "GrpTRESRunMins", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA")
        and many
        and bound.used + many * minutes > most
    ):
        used = message("{of} allows {most} {what} minutes; {used} have been used", **times, used=bound.used)
        return Said("later", None, why, used)
    if name == "GrpWall" and bound.used + minutes > most:
        return Said("later", None, why, message("{of} allows {most} minutes in all; {used} have been used", **counts))
    if what.partition(":")[0] in need.least and (name in _ALONE or name in _TOGETHER or "TRES" in name):
        unsure = message("{of} limits {what}, and how much this job gets is not known", of=of, what=what)
        return Said("unknown", None, why, unsure)
    return None


def _per(name: str, limit: str) -> str | Message:
    """The amount that a limit allows, with what it allows it to."""
    match name:
        case "MaxTRESPU":
            return message("{limit} per user", limit=limit)
        case "MaxTRESPA":
            return message("{limit} per account", limit=limit)
        case "MaxTRESPJ":
            return message("{limit} per job", limit=limit)
        case "MaxTRESPN":
            return message("{limit} per node", limit=limit)
    return limit
