"""A round of a trial at work, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from adminkit.deploy import trial_seen
from adminkit.deploy.files import changing
from adminkit.deploy.install import Target
from adminkit.deploy.trial import Trial
from adminkit.deploy.trial_seen import Seen
from adminkit.deploy.trial_sides import Pair
from adminkit.deploy.trial_state import Machine, Whole, record, write_whole


@dataclass(frozen=True, slots=True)
class Round:
    """What a round found and did. `whole`: the trial afterwards, None for none; `did`: its acts, in words."""

    now: int
    whole: Whole | None
    did: Sequence[str] = ()
    notes: Sequence[str] = ()  # what did not hold, or could not be done
    said: Sequence[str] = ()  # what an operator may want to know
    seen: Seen | None = None

    @property
    def ok(self) -> bool:
        return not self.notes


@dataclass(slots=True)
class Work:
    """A round at work: where, on what, and what it has to say. It writes the file before and after each act."""

    target: Target
    now: int
    pair: Pair
    whole: Whole
    did: list[str]
    notes: list[str]
    said: list[str]
    begun: float

    @property
    def machine(self) -> Machine:
        return self.whole.machine

    @property
    def trial(self) -> Trial:
        return self.whole.trial

    def at(self) -> int:
        """Now, by the clock that the round was given."""
        return self.now + int(time.monotonic() - self.begun)

    def keep(self, whole: Whole) -> None:
        with changing(self.target.folder, self.target.group):
            write_whole(self.target.folder, whole, self.target.group)
        self.whole = whole

    def look(self, before: Seen | None = None) -> Seen:
        """A slurmctld that was away a moment ago is not asked again: scontrol tries for half a minute."""
        ask = before is None or before.holds is not None
        return trial_seen.look(self.target.folder, self.pair, self.machine.own, ask)

    def record(self, did: str, **more: object) -> None:
        self.did.append(did)
        record(self.target.log, did, cluster=self.trial.cluster, **more)

    def ended(self, seen: Seen | None = None) -> Round:
        return Round(self.now, self.whole, self.did, self.notes, self.said, seen)
