"""[idle] of policy.toml: what is done about running jobs that do not use their GPUs. See docs/policy/idle.md."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from adminkit.policy.durations import seconds
from adminkit.usage.settings import Settings

#: What may be done, mildest first.
Rung = Literal["points", "shrink", "requeue", "cancel"]
Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
#: As time.localtime numbers them.
DAYS: Final[tuple[Day, ...]] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS: Final = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])", re.ASCII)


def _hours(value: Any) -> tuple[int, int]:
    """08:00-18:00 as minutes of the day."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return int(value[0]), int(value[1])
    found = _HOURS.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError('write the hours of a day as "08:00-18:00"')
    first, last = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    if not first < last <= 1440:
        raise ValueError("the hours end after they begin, and not after 24:00")
    return first, last


def _distinct(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and len(set(map(str, value))) < len(value):
        raise ValueError("a word stands there twice")
    return value


class Idle(BaseModel):
    """Off unless it is turned on; and then only warns unless `acts` says more."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    enabled: bool = False
    queues: tuple[str, ...] = ()  # empty: every queue
    grace: Annotated[int, BeforeValidator(seconds), Field(ge=0, le=7 * 86_400)] = 1800  # s since a job's start
    warn: Annotated[int, BeforeValidator(seconds), Field(ge=600, le=30 * 86_400)] = 3600  # s without use
    act: Annotated[int, BeforeValidator(seconds), Field(ge=1200, le=30 * 86_400)] = 7200  # s without use
    notice: Annotated[int, BeforeValidator(seconds), Field(ge=600, le=30 * 86_400)] = 1800  # s from warning to act
    used_before: Annotated[float, Field(ge=1, le=100)] = 2.0  # warn and act times this for a job that used GPUs
    acts: Annotated[tuple[Rung, ...], BeforeValidator(_distinct)] = ()  # in this order; empty: only warnings
    requeued: Literal["hold", "release"] = "hold"  # what becomes of a job that was put back
    times: Annotated[int, Field(ge=1, le=100)] = 1  # acts on a job at most, of each kind
    most: Annotated[int, Field(ge=1, le=1000)] = 10  # acts of a round at most
    hours: Annotated[tuple[int, int], BeforeValidator(_hours)] = (0, 1440)  # acts only then, by the host's clock
    days: Annotated[tuple[Day, ...], BeforeValidator(_distinct), Field(min_length=1)] = DAYS
    interactive: bool = False  # salloc, srun, servers of JupyterHub: these too
    users_off: tuple[str, ...] = ()
    accounts_off: tuple[str, ...] = ()
    qos_off: tuple[str, ...] = ()


def settings_of_policy(idle: Idle) -> Settings:
    """[idle] as a round goes by it, on a host that has only policy.toml; users by name."""
    return Settings(
        grace=idle.grace,
        warn=idle.warn,
        act=idle.act,
        notice=idle.notice,
        used_before=idle.used_before,
        acts=tuple(idle.acts),
        hold=idle.requeued == "hold",
        times=idle.times,
        most=idle.most,
        hours=idle.hours,
        days=frozenset(DAYS.index(day) for day in idle.days),
        interactive=idle.interactive,
        queues=frozenset(idle.queues) or None,
        users_off=frozenset(idle.users_off),
        accounts_off=frozenset(name.lower() for name in idle.accounts_off),
        qos_off=frozenset(name.lower() for name in idle.qos_off),
    )
