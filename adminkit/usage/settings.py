"""[idle] as policy.lua has it: what the round goes by (docs/policy/idle.md)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adminkit.errors import AdminkitError


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations in seconds. `hours`: minutes of the day; `days`: 0 is Monday. `queues` None: every queue."""

    grace: int
    warn: int
    act: int
    notice: int
    used_before: float
    acts: tuple[str, ...] = ()
    hold: bool = True
    times: int = 1
    most: int = 10
    hours: tuple[int, int] = (0, 1440)
    days: frozenset[int] = frozenset(range(7))
    interactive: bool = False
    queues: frozenset[str] | None = None
    users_off: frozenset[str | int] = frozenset()
    accounts_off: frozenset[str] = frozenset()
    qos_off: frozenset[str] = frozenset()

    def is_working(self, now: int) -> bool:
        """Whether `now` is within the hours of the host's time zone."""
        at = time.localtime(now)
        return at.tm_wday in self.days and self.hours[0] <= at.tm_hour * 60 + at.tm_min < self.hours[1]


def settings_of(table: Mapping[str, Any]) -> Settings:
    """The settings of a compiled table. AdminkitError where it is not one."""
    try:
        queues = table.get("queues")
        first, last = int(table["from"]), int(table["to"])
        return Settings(
            grace=int(table["grace"]),
            warn=int(table["warn"]),
            act=int(table["act"]),
            notice=int(table["notice"]),
            used_before=float(table["used_before"]),
            acts=tuple(str(one) for one in table.get("acts") or ()),
            hold=bool(table["hold"]),
            times=int(table["times"]),
            most=int(table["most"]),
            hours=(first, last),
            days=frozenset(int(one) for one in table["days"]),
            interactive=bool(table.get("interactive")),
            queues=None if queues is None else frozenset(queues),
            users_off=frozenset(table.get("users_off") or ()),
            accounts_off=frozenset(table.get("accounts_off") or ()),
            qos_off=frozenset(table.get("qos_off") or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AdminkitError(
            "couldn't read [idle] of the policy in force", "install it again: adminkit policy install"
        ) from error
