"""The faults: name, what happens, what is done to the site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.faults import accounting, clocks, mail, scheduler
from tests.faults.results import Outcome
from tests.faults.work import Work


@dataclass(frozen=True, slots=True)
class Fault:
    """`title` heads its row of docs/reliability.md; `run`'s docstring says what was done."""

    name: str
    title: str
    run: Callable[[Work], Outcome]

    @property
    def done(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


FAULTS: Final = (
    Fault("slurmdbd_down", "slurmdbd down during sync", accounting.slurmdbd_down),
    Fault("database_restarted", "MariaDB restarted and killed", accounting.database_restarted),
    Fault("cut_off", "slurmctld cut off from slurmdbd", accounting.cut_off),
    Fault("slurmctld_restarted", "slurmctld restarted during submissions", scheduler.slurmctld_restarted),
    Fault("node_lost", "a node lost just before its job gets its signal", scheduler.node_lost),
    Fault("munge_down", "munge down on slurmctld's host", accounting.munge_down),
    Fault("sync_killed", "sync killed", accounting.sync_killed),
    Fault("disk_full", "disk of the trace full", accounting.disk_full),
    Fault("mail_down", "mail server down for an hour", mail.server_down),
    Fault("feedback_killed", "adminkit killed while it sends letters", mail.feedback_killed),
    Fault("clock_changed", "clocks set forward and back", clocks.changed),
)
