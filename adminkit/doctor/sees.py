"""doctor's check of whose jobs Slurm shows to this user, and whether its AdminLevel is what that needs and no more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adminkit.doctor.check import Check
from adminkit.slurm import cluster

_JOBS: Final = "jobs"
_MODIFY: Final = "sacctmgr modify user NAME set adminlevel"
_GIVE: Final = f"make the user who syncs an operator: {_MODIFY}=Operator (docs/install.md)"
_TAKE: Final = f"revoke it, as an operator may cancel everybody's jobs and no rule applies to it: {_MODIFY}=None"
_LOWER: Final = f"lower it, as an administrator may change anything in slurmdbd: {_MODIFY}=Operator"


def sees(db: Path) -> Check:
    """Whether the jobs of others are shown to this user. `db` is the trace: its owner is who syncs."""
    level, accounting = cluster.admin_level(), cluster.accounting()
    facts = f"AdminLevel {level or 'None'}, {_hidden(accounting)}"
    unknown = accounting.private is None
    by_dbd = _JOBS in (accounting.private or ())
    by_ctld = _JOBS in accounting.private_here
    needed = by_dbd or by_ctld or accounting.max_query_seconds is not None
    if is_root():
        return Check("sees", "ok", f"every job: {facts}")
    if level in cluster.OPERATORS:
        if syncs(db) and not needed and not unknown:
            return Check("sees", "warn", f"every job: {facts}; it is {level}, which it does not need", _TAKE)
        if syncs(db) and level != cluster.OPERATORS[0]:
            return Check("sees", "warn", f"every job: {facts}; Operator is enough", _LOWER)
        return Check("sees", "ok", f"every job: {facts}")
    if by_dbd:
        return Check("sees", "missing", f"own jobs only: {facts}", _GIVE)
    if accounting.max_query_seconds is not None:
        return Check(
            "sees", "warn", f"every job, in windows of at most {accounting.max_query_seconds} s: {facts}", _GIVE
        )
    if by_ctld:
        return Check("sees", "warn", f"every job of slurmdbd, own open jobs only: {facts}", _GIVE)
    if unknown:
        return Check(
            "sees", "warn", f"own jobs only, perhaps: {facts}", f"if slurmdbd.conf has PrivateData=jobs: {_GIVE}"
        )
    return Check("sees", "ok", f"every job: {facts}")


def _hidden(accounting: cluster.Accounting) -> str:
    """What hides jobs: PrivateData of slurmdbd.conf and of slurm.conf."""
    words = f"PrivateData={_list(accounting.private)}" if accounting.private else "PrivateData unset"
    if accounting.private is None:
        words = "PrivateData of slurmdbd unknown to sacctmgr of this release"
    return words + (f", PrivateData={_list(accounting.private_here)} of slurm.conf" if accounting.private_here else "")


def _list(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def syncs(db: Path) -> bool:
    """Whether this process's user is the one who syncs: the trace's owner; anybody where there is no trace yet."""
    try:
        return db.stat().st_uid == os.geteuid()
    except FileNotFoundError:
        return True
    except OSError:
        return False


def is_root() -> bool:
    """slurmdbd lets root do anything, whether it knows root or not."""
    return os.geteuid() == 0
