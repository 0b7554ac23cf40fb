"""doctor's line on whose jobs this user is shown, and whether its AdminLevel is what that needs and no more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adminkit.doctor.check import Line
from adminkit.slurm import cluster

_JOBS: Final = "jobs"
_MODIFY: Final = "sacctmgr modify user NAME set adminlevel"
_GIVE: Final = f"the user who syncs has to be an operator here: {_MODIFY}=Operator (docs/install.md)"
_TAKE: Final = f"an operator may cancel everybody's jobs, and no rule holds for it: {_MODIFY}=None"
_LOWER: Final = f"an administrator may do anything in slurmdbd: {_MODIFY}=Operator"


def sees(db: Path) -> Line:
    """Whether the jobs of others are shown to this user. `db` is the trace: its owner is who syncs."""
    level, found = cluster.admin_level(), cluster.accounting()
    facts = f"AdminLevel {level or 'None'}, {_hidden(found)}"
    unknown = found.private is None
    by_dbd = _JOBS in (found.private or ())
    by_ctld = _JOBS in found.private_here
    needed = by_dbd or by_ctld or found.max_query_seconds is not None
    if is_root():
        return "sees", "ok", f"every job: {facts}", ""
    if level in cluster.OPERATORS:
        if syncs(db) and not needed and not unknown:
            return "sees", "warn", f"every job: {facts}; it is {level}, which it does not need", _TAKE
        if syncs(db) and level != cluster.OPERATORS[0]:
            return "sees", "warn", f"every job: {facts}; Operator is enough", _LOWER
        return "sees", "ok", f"every job: {facts}", ""
    if by_dbd:
        return "sees", "missing", f"own jobs only: {facts}", _GIVE
    if found.max_query_seconds is not None:
        return "sees", "warn", f"every job, in windows of at most {found.max_query_seconds} s: {facts}", _GIVE
    if by_ctld:
        return "sees", "warn", f"every job of slurmdbd, own open jobs only: {facts}", _GIVE
    if unknown:
        return "sees", "warn", f"own jobs only, perhaps: {facts}", f"if slurmdbd.conf has PrivateData=jobs: {_GIVE}"
    return "sees", "ok", f"every job: {facts}", ""


def _hidden(found: cluster.Accounting) -> str:
    """What hides jobs, by whose setting."""
    words = f"PrivateData={_list(found.private)}" if found.private else "PrivateData unset"
    if found.private is None:
        words = "PrivateData of slurmdbd unknown to sacctmgr of this release"
    return words + (f", PrivateData={_list(found.private_here)} of slurm.conf" if found.private_here else "")


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
