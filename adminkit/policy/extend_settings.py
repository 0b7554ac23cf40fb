"""[extend] of policy.toml: which running jobs get more time, and how much. See docs/policy/extend.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from adminkit.errors import unknown_word
from adminkit.policy.durations import seconds
from adminkit.policy.soft_settings import JobClass
from adminkit.units import show_duration

#: What a user sets to `auto` or `off` for a job that may, or must not, get more time.
VARIABLE: Final = "ADMINKIT_EXTEND"
#: The longest step and budget, in seconds: longer is a slip of the pen.
_LONGEST: Final = 366 * 86_400
_PERCENT: Final = re.compile(r"([0-9]{1,3})\s*%", re.ASCII)
_STEP_HINT: Final = 'write a time ("00:30:00") or a part of the limit ("25%")'


@dataclass(frozen=True, slots=True)
class Step:
    """How much more at a time: `seconds`, or `share` of the limit asked for."""

    seconds: int | None = None
    share: float | None = None

    def __str__(self) -> str:
        if self.seconds is not None:
            return show_duration(self.seconds)
        return f"{self.share:.0%}"


def _step(value: Any) -> Step:
    if isinstance(value, Step):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if found := _PERCENT.fullmatch(text):
        if not 1 <= int(found[1]) <= 900:
            raise ValueError("a part of the limit is from 1% to 900%")
        return Step(share=int(found[1]) / 100)
    if text.isalpha():
        raise ValueError(_STEP_HINT)
    return Step(seconds=_whole_minutes(value))


def _whole_minutes(value: Any) -> int:
    time = seconds(value)
    if not 60 <= time <= _LONGEST or time % 60:
        raise ValueError("a time is in whole minutes, at least one, and less than a year")
    return time


def _budget(value: Any) -> int | None:
    if value is None or value == "none":
        return None
    if isinstance(value, str) and value.strip().isalpha():
        raise ValueError(f'write a time ("24h") or "none" ({unknown_word("budget", value.strip(), ["none"]).hint})')
    return _whole_minutes(value)


class Extend(BaseModel):
    """Off unless it is turned on."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    enabled: bool = False
    queues: tuple[str, ...] = ()  # empty: every queue
    classes: tuple[JobClass, ...] = ()  # empty: every class
    qos: tuple[str, ...] = ()  # empty: every QOS
    default: Literal["auto", "off"] = "auto"  # for a job whose user did not say
    step: Annotated[Step, BeforeValidator(_step)] = Step(share=0.25)
    most: Annotated[float, Field(ge=1, le=10)] = 2.0  # times the limit asked for: no limit becomes longer
    lead: Annotated[int, BeforeValidator(seconds), Field(ge=120, le=86_400)] = (
        600  # seconds before the end at which it decides
    )
    budget: Annotated[int | None, BeforeValidator(_budget)] = 86_400  # more time of a user's jobs in a month; None: any
    times: Annotated[int, Field(ge=1, le=1000)] = 8  # a job
    earned: bool = False  # only for users whose limits earn points
    users_off: tuple[str, ...] = ()
    accounts_off: tuple[str, ...] = ()
    qos_off: tuple[str, ...] = ()
    preemptible: bool = False  # jobs that others may preempt
    interactive: bool = False  # salloc, srun, servers of JupyterHub
