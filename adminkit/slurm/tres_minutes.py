"""Slurm's own budgets, GrpTRESMins: minutes of a TRES that an account, a user of it or a QOS may use in all, and what
slurmctld counts as used.

Traps, sacctmgr(1) and slurm.conf(5): that usage shrinks by PriorityDecayHalfLife and is cleared by
PriorityUsageResetPeriod, but for a QOS with the flag NoDecay; and it is held to only with priority/multifactor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adminkit.slurm.assoc_limits import Record, assoc_mgr, bounds, records
from adminkit.slurm.associations import qos as every_qos
from adminkit.slurm.cluster import read_limit
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.show_config import show_config

_LIMIT: Final = "GrpTRESMins"


@dataclass(frozen=True, slots=True)
class TresMinutes:
    """One GrpTRESMins. `most` and `used` are in minutes of `tres`, of memory in MiB-minutes."""

    account: str | None  # None: of a QOS
    user: str | None
    qos: str | None
    tres: str
    most: int
    used: int
    decays: str  # how its usage shrinks: half-life 7-00:00:00, reset MONTHLY; "" where it does not
    held: bool  # whether Slurm stops jobs by it


def tres_minutes() -> list[TresMinutes]:
    """Every GrpTRESMins that is set, accounts first. AdminkitError where slurmctld or slurmdbd is not responding."""
    words = settings(show_config())
    keep = {one.name for one in every_qos() if any(flag.lower() == "nodecay" for flag in one.flags)}
    return parse_tres_minutes(assoc_mgr(), words, keep)


@dataclass(frozen=True, slots=True)
class Counting:
    """How slurmctld counts minutes. `half_life`, seconds: None where usage does not decay; `decays` as TresMinutes'."""

    decays: str
    half_life: int | None
    held: bool  # whether Slurm stops jobs by GrpTRESMins
    safe: bool  # a job starts only if all that it may use is left; without it, running jobs are ended at the limit


def counting(qos: str | None = None) -> Counting:
    """How the usage of accounts is counted, or of that QOS. AdminkitError where slurmctld or slurmdbd is away."""
    words = settings(show_config())
    keeps = qos is not None and any(
        one.name == qos and any(flag.lower() == "nodecay" for flag in one.flags) for one in every_qos()
    )
    return parse_counting(words, keeps)


def parse_counting(words: dict[str, str], keeps: bool) -> Counting:
    """`words`: slurmctld's configuration; `keeps`: a QOS with NoDecay."""
    enforced = set(re.split(r"[,\s]+", words.get("AccountingStorageEnforce", "").lower()))
    held = bool({"limits", "safe"} & enforced) and words.get("PriorityType", "").lower() == "priority/multifactor"
    half_life = None if keeps else read_limit(words.get("PriorityDecayHalfLife", ""))[0] or None
    return Counting("" if keeps else _shrinks(words), half_life, held, "safe" in enforced)


def parse_tres_minutes(text: str, words: dict[str, str], keep: set[str]) -> list[TresMinutes]:
    """`words`: slurmctld's configuration; `keep`: the QOS whose usage does not shrink."""
    shrinks = _shrinks(words)
    enforced = {"limits", "safe"} & set(re.split(r"[,\s]+", words.get("AccountingStorageEnforce", "").lower()))
    held = bool(enforced) and words.get("PriorityType", "").lower() == "priority/multifactor"
    found = []
    for record in records(text):
        account, user, qos = _whose(record)
        for tres, bound in bounds(record.words.get(_LIMIT, "")):
            if bound.most is not None:
                decays = "" if qos in keep and qos is not None else shrinks
                found.append(TresMinutes(account, user, qos, tres, bound.most, bound.used, decays, held))
    return sorted(
        found, key=lambda one: (one.qos is not None, one.account or "", one.user or "", one.qos or "", one.tres)
    )


def _whose(record: Record) -> tuple[str | None, str | None, str | None]:
    if record.head.startswith("QOS="):
        return None, None, record.head.removeprefix("QOS=").rpartition("(")[0]
    user = record.words.get("UserName", "").rpartition("(")[0]
    return record.words.get("Account"), user or None, None


def _shrinks(words: dict[str, str]) -> str:
    half_life, reset = words.get("PriorityDecayHalfLife", ""), words.get("PriorityUsageResetPeriod", "NONE")
    said = [] if re.fullmatch(r"[0:-]*", half_life) else [f"half-life {half_life}"]
    return ", ".join([*said, *([] if reset.upper() in ("NONE", "(NULL)", "") else [f"reset {reset}"])])
