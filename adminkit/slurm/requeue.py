"""How long slurmctld keeps a job that was put back from starting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.slurm.keyvalue import given, number, options, settings
from adminkit.slurm.release import Release, parse_release
from adminkit.slurm.show_config import show_config

#: The first release with SchedulerParameters=requeue_delay.
SETTABLE: Final[Release] = (25, 11, 0)
#: Seconds of AuthInfo=cred_expire where it is not set.
CRED_EXPIRE: Final = 120


@dataclass(frozen=True, slots=True)
class RequeueDelay:
    """`by` is the setting that it comes from, `settable` whether this release has requeue_delay."""

    seconds: int
    by: str
    settable: bool


def requeue_delay() -> RequeueDelay:
    """Ask slurmctld. AdminkitError when it is away."""
    return parse_delay(show_config())


def parse_delay(text: str) -> RequeueDelay:
    """`scontrol show config`. Tried on 26.05: a job may start a second later than the setting says."""
    words = settings(text)
    version = given(words.get("SLURM_VERSION"))
    settable = version is not None and parse_release(version) >= SETTABLE
    delay = number(options(words.get("SchedulerParameters")).get("requeue_delay")) if settable else None
    if delay is not None:
        return RequeueDelay(delay + 1, "SchedulerParameters=requeue_delay", settable)
    expire = number(options(words.get("AuthInfo")).get("cred_expire"))
    return RequeueDelay((CRED_EXPIRE if expire is None else expire) + 1, "AuthInfo=cred_expire", settable)
