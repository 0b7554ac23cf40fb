"""What a job may have by everything but the nodes: queue, QOS, association, deadline, the rules in force, a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from adminkit.deploy.earned import earned_of
from adminkit.deploy.extend_state import State
from adminkit.deploy.in_force import Rules, rules_of
from adminkit.deploy.planning import is_preempted
from adminkit.errors import AdminkitError
from adminkit.extend.plan import Open
from adminkit.extend.settings import Settings
from adminkit.messages import Message, message
from adminkit.slurm import assoc_limits, planning
from adminkit.slurm.assoc_limits import Holder, Record
from adminkit.slurm.room import Room, RoomQueue

#: The limits that a longer job uses up, or is held to, in minutes of something.
_MINUTES: Final = ("GrpTRESMins", "GrpTRESRunMins", "MaxTRESMinsPJ", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "GrpWall")
_PREEMPTED: Final = (0, "kind", message("other jobs may preempt it"))


@dataclass
class SlurmBounds:
    """`limits`: `scontrol show assoc_mgr`."""

    folder: Path
    room: Room
    limits: str
    config: Mapping[str, str]
    settings: Settings
    state: State

    def most(self, job: Open) -> tuple[int | None, str, Message | str]:
        """As plan.Bounds has it."""
        listed, queue = job.listed, self.room.queue(job.listed.queue)
        assert job.room.starts is not None and listed.uid is not None
        if queue is None:
            return 0, "unknown", message("its queue is not known")
        if not self.settings.preemptible and is_preempted(queue, self.room.queues, self.config.get("PreemptType", "")):
            return _PREEMPTED
        found: list[tuple[int, str, Message | str]] = []
        if listed.deadline is not None:
            end = job.room.starts + (listed.time_limit or 0) if job.room.ends is None else job.room.ends
            latest = (listed.time_limit or 0) + listed.deadline - end
            found.append((latest, "deadline", message("its deadline comes before")))
        if queue.max_limit is not None:
            found.append((queue.max_limit, "limit", message("its queue allows no more")))
        try:
            found += self._held(listed.uid, listed.account, listed.qos, queue)
        except AdminkitError as error:
            return 0, "unknown", message("its limits are not known: {why}", why=error.message)
        return min(found, key=lambda one: one[0], default=(None, "", ""))

    def above(self) -> dict[str, frozenset[str]]:
        """By account: itself and those above it that have a limit for all below."""
        if "slurmdbd" not in self.config.get("AccountingStorageType", ""):
            return {}
        try:
            words = [one.words for one in self._records if one.words.get("UserName") == ""]
        except AdminkitError:
            return {}  # which leaves each job as it is: most()
        parent = {one["Account"]: one.get("ParentAccount", "").partition("(")[0] for one in words}
        limited = {one["Account"] for one in words if any(map(_is_group_limit, one.items()))}
        return {account: frozenset(limited.intersection(_line_of(account, parent))) for account in parent}

    def _held(
        self, uid: int, account: str | None, qos: str | None, queue: RoomQueue
    ) -> list[tuple[int, str, Message | str]]:
        """What QOS and associations hold the job to."""
        if "slurmdbd" not in self.config.get("AccountingStorageType", ""):
            return []
        if not self.settings.preemptible and qos in self._preempted:
            return [_PREEMPTED]
        held = assoc_limits.held_by(self._records, uid, account, qos, queue.qos, {}, {})
        if held.problem and self._is_enforced:
            return [(0, "unknown", message("its limits are not known: {why}", why=held.problem))]
        # Trap: a user may have an association of their own for a queue, beside the one for all queues.
        mine = [one for one in self._records if one.words.get("UserName", "").endswith(f"({uid})")]
        own = [one for one in mine if (one.words.get("Account"), one.words.get("Partition")) == (account, queue.name)]
        users = [*([held.user] if held.user else []), *map(assoc_limits.of_user, own)]
        holders = [*held.qos, *users, *held.accounts]
        if any(name in holder.limits for holder in holders for name in _MINUTES):
            return [(0, "minutes", message("its QOS or its association has a limit on minutes"))]
        walls = [wall for wall in map(_wall, holders) if wall is not None]
        return [(min(walls), "limit", message("its QOS or its association allows no more"))] if walls else []

    @property
    def _is_enforced(self) -> bool:
        """Whether a job has an association; else one that has none has no limits either."""
        return self.config.get("AccountingStorageEnforce", "").strip().lower() not in ("", "none", "(null)")

    @cached_property
    def _records(self) -> list[Record]:
        return list(assoc_limits.records(self.limits))

    @cached_property
    def _preempted(self) -> frozenset[str]:
        return planning.parse_bounds(self.limits, planning.is_within(self.config)).preempted

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self.folder, self.room.at)

    @cached_property
    def _earned(self) -> Callable[[int], bool | None]:
        return earned_of(self.folder, self.room.at)

    def refused(self, job: Open, limit: int) -> str:
        asked = job.listed.time_limit if job.asked is None else job.asked
        return self._rules.of_more(planning.planned_job(job.listed), asked or limit, limit, job.listed.batch).why

    def left(self, uid: int, budget: int) -> int | None:
        return self.state.left(uid, budget)

    def earned(self, uid: int) -> bool | None:
        return self._earned(uid)


def _is_group_limit(word: tuple[str, str]) -> bool:
    name, value = word
    return name.startswith("Grp") and any(bound.most is not None for _, bound in assoc_limits.bounds(value))


def _line_of(account: str, parent: Mapping[str, str]) -> list[str]:
    """The account and those above it."""
    line: list[str] = []
    while account and account not in line:
        line.append(account)
        account = parent.get(account, "")
    return line


def _wall(holder: Holder) -> int | None:
    """The longest limit of a job, seconds."""
    bound = holder.limits.get("MaxWallPJ", {}).get("")
    return None if bound is None or bound.most is None else bound.most * 60
