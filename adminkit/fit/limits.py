"""Whether the limits of QOS and associations let a request start, by what of them is unused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from adminkit.fit.place import Said
from adminkit.fit.timeline import Need
from adminkit.slurm.assoc_limits import Bound, Held, Holder
from adminkit.slurm.site import UNTYPED

#: A limit's name -> what it counts: amounts at once, of one job; running jobs; minutes of them.
_TOGETHER: Final = {"GrpTRES": "", "MaxTRESPU": " a user", "MaxTRESPA": " an account"}
_JOBS: Final = {"GrpJobs": "", "MaxJobs": "", "MaxJobsPU": " a user", "MaxJobsPA": " an account"}
_SUBMIT: Final = {"GrpSubmitJobs": "", "MaxSubmitJobs": "", "MaxSubmitJobsPU": "", "MaxSubmitJobsPA": ""}
_ALONE: Final = ("MaxTRESPJ", "MaxTRESPN")
#: Of a QOS and of an association, the same limit by two names.
_SAME: Final = {"MaxJobsPU": "MaxJobs", "MaxSubmitJobsPU": "MaxSubmitJobs"}


def by_limits(held: Held, need: Need, waits: bool = False) -> Said:
    """now where none holds it; later where others have to end first, when is not known; never for one job's own.

    `waits`: of a job that is in the queue already, and counts there.
    """
    if not held.enforced:
        return Said("now", None, "", "limits of QOS and associations are not enforced here")
    hits = list(_hits(held, need, waits))
    for word in ("never", "later", "unknown"):
        if found := next((hit for hit in hits if hit.word == word), None):
            return found
    if held.problem:
        return Said("unknown", None, "limits", held.problem)
    return Said("now", None, "", "no limit of QOS and associations holds it")


def _hits(held: Held, need: Need, waits: bool) -> Iterator[Said]:
    """Each limit that says no. One that a QOS has is not looked up in associations."""
    passed: set[tuple[str, str]] = {(name, "") for name in _SUBMIT} if waits else set()
    amounts = _amounts(need)
    for holder in held.qos:
        for name, what, bound in _each(holder):
            if (name, what) not in passed and (hit := _hit(holder, name, what, bound, amounts, need)):
                yield hit
            passed.add((_SAME.get(name, name), what))
    for one in (held.user, *held.accounts):
        for name, what, bound in _each(one) if one is not None else ():
            if (name, what) not in passed and (hit := _hit(one, name, what, bound, amounts, need)):
                yield hit


def _each(holder: Holder) -> Iterator[tuple[str, str, Bound]]:
    for name, bounds in holder.limits.items():
        for what, bound in bounds.items():
            yield name, what, bound


def _amounts(need: Need) -> dict[str, int]:
    """In the words and units of assoc_mgr. What a job is billed is not known."""
    found = {"cpu": need.cpus, "mem": max(0, need.mem) >> 20, "node": 1, "gres/gpu": need.gpus}
    if need.gpu_type and need.gpu_type != UNTYPED:
        found[f"gres/gpu:{need.gpu_type}"] = need.gpus
    return found


def _hit(
    holder: Holder | None, name: str, what: str, bound: Bound, amounts: Mapping[str, int], need: Need
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
        return Said("never", None, why, f"{holder.name} allows {unit}{most}{_TOGETHER.get(name, ' a job')}")
    if name == "MinTRESPJ" and many < most:
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
    return None
