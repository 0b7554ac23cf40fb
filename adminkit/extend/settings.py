"""[extend] as policy.lua has it: what the round goes by (docs/policy/extend.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adminkit.errors import AdminkitError


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds. One of `step` and `share` is set: how much more at a time, or which part of the asked limit.

    `budget`: seconds that a user may be given in a calendar month; None: no bound. `queues` None: every queue.
    """

    lead: int
    most: float  # times the asked limit
    times: int  # a job may be raised
    step: int | None = None
    share: float | None = None
    budget: int | None = None
    earned: bool = False
    preemptible: bool = False
    queues: frozenset[str] | None = None
    qos: frozenset[str] = frozenset()  # empty: all
    users_off: frozenset[str | int] = frozenset()
    accounts_off: frozenset[str] = frozenset()
    qos_off: frozenset[str] = frozenset()

    def step_of(self, asked: int) -> int:
        """How much more a job is given at a time, in whole minutes."""
        wanted = self.step if self.step is not None else max((self.share or 0) * asked, self.lead)
        return -int(-wanted // 60) * 60

    def most_of(self, asked: int) -> int:
        """The longest limit of a job."""
        return int(self.most * asked) // 60 * 60

    def lead_of(self, asked: int) -> int:
        """How long before its end a job is looked at: a short one not at its start."""
        return min(self.lead, max(120, asked // 2))


def settings_of(table: Mapping[str, Any]) -> Settings:
    """The settings of a compiled table. AdminkitError where it is not one."""
    try:
        step = table["step"]
        queues = table.get("queues")
        return Settings(
            lead=int(table["lead"]),
            most=float(table["most"]),
            times=int(table["times"]),
            step=int(step["seconds"]) if "seconds" in step else None,
            share=float(step["share"]) if "share" in step else None,
            budget=int(table["budget"]) if "budget" in table else None,
            earned=bool(table.get("earned")),
            preemptible=bool(table.get("preemptible")),
            queues=None if queues is None else frozenset(queues),
            qos=frozenset(table.get("qos") or ()),
            users_off=frozenset(table.get("users_off") or ()),
            accounts_off=frozenset(table.get("accounts_off") or ()),
            qos_off=frozenset(table.get("qos_off") or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AdminkitError(
            "couldn't read [extend] of the policy in force", "install it again: adminkit policy install"
        ) from error
