"""GrpTRESMins of an account or a QOS: what it is, what slurmctld counts as used of it, and setting it by sacctmgr.

Traps: sacctmgr takes a list of names after `name=`, so that a name with a comma would be two accounts; -1 takes a limit
away. slurmctld counts only TRES of AccountingStorageTRES.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm.assoc_limits import Record, assoc_mgr, bounds, records
from adminkit.slurm.process import ask

LIMIT: Final = "GrpTRESMins"
_PATIENCE: Final = 30.0
#: What sacctmgr takes as one name, and nothing else.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", re.ASCII)
_TRES: Final = re.compile(r"[a-z]+(?:/[a-z0-9_]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Held:
    """Minutes of a TRES, as slurmctld has them now. `most` None: no limit."""

    most: int | None
    used: int


@dataclass(frozen=True, slots=True)
class Target:
    """Whose limit it is: a QOS, or an account of a cluster."""

    cluster: str
    account: str
    qos: str | None

    @property
    def name(self) -> str:
        return f"QOS {self.qos}" if self.qos else f"account {self.account}"


def held(target: Target, tres: str, text: str | None = None) -> Held:
    """What slurmctld holds the target to. AdminkitError where it has no such account or QOS, or does not count that."""
    for record in list(records(assoc_mgr() if text is None else text)):  # all, as a second record of anybody is refused
        if _is(record, target):
            for name, bound in bounds(record.words.get(LIMIT, "")):
                if name == tres:
                    return Held(bound.most, bound.used)
            raise AdminkitError(
                f"Slurm does not count {tres} of the {quote(target.name)}", "add it to AccountingStorageTRES"
            )
    raise AdminkitError(f"slurmctld knows no {quote(target.name)}", "sacctmgr show assoc lists accounts")


def _is(record: Record, target: Target) -> bool:
    if target.qos is not None:
        return record.head.startswith("QOS=") and record.head.removeprefix("QOS=").rpartition("(")[0] == target.qos
    words = record.words
    return (
        not record.head.startswith("QOS=")
        and words.get("Account") == target.account
        and words.get("UserName", "") == ""
        and words.get("ClusterName") == target.cluster
    )


def setting(target: Target, tres: str, minutes: int | None) -> list[str]:
    """sacctmgr's words that set the limit; None takes it away. AdminkitError for a name that it may read otherwise."""
    for word in (target.cluster, target.account, *([target.qos] if target.qos else [])):
        if not _NAME.fullmatch(word):
            raise AdminkitError(f"sacctmgr could read this name otherwise: {quote(word)}", "set its limit by hand")
    if not _TRES.fullmatch(tres):
        raise AdminkitError(f"not a TRES: {quote(tres)}", "set its limit by hand")
    where = ["qos", "where", f"name={target.qos}"]
    if target.qos is None:
        where = ["account", "where", f"name={target.account}", f"cluster={target.cluster}"]
    return ["sacctmgr", "-i", "modify", *where, "set", f"{LIMIT}={tres}={-1 if minutes is None else minutes}"]


def change(target: Target, tres: str, minutes: int | None) -> None:
    """Set the limit. AdminkitError where slurmdbd refuses."""
    ask(setting(target, tres, minutes), _PATIENCE)
