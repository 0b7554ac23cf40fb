"""What a round does to which job that opted in. Pure, but for what it is told of rules, limits and budgets.

A job within its lead is given a step, or what is free of one; where there is none to give, the reason is said. What was
given is taken back from a job for whose end a waiting one is planned, and from one that was put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from adminkit.extend.rule import EARLIER, Outlook
from adminkit.extend.settings import Settings
from adminkit.extend.words import Given, given_of, opted_in
from adminkit.messages import Message, message
from adminkit.slurm.room import RoomJob
from adminkit.slurm.squeue import QueuedJob
from adminkit.units import show_duration

Did = Literal["given", "taken back", "refused"]

#: The why of time that is taken from a job that was put back: its run had it.
REQUEUED: Final = "requeued"
#: Less is not worth a raise, seconds.
LEAST: Final = 300
#: Seconds by which slurmctld's times and ours may differ.
_UNSEEN: Final = 60
#: Raises of one round; the rest come in the next.
MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Open:
    """An open job that opted in: as nodes know it, and as squeue lists it. `given`: None where it never was
    extended.
    """

    room: RoomJob
    listed: QueuedJob
    given: Given | None

    @property
    def asked(self) -> int | None:
        """The limit before the first extension, seconds."""
        return self.listed.time_limit if self.given is None else self.given.asked


@dataclass(frozen=True, slots=True)
class Act:
    """`was` and `becomes`: limits in seconds, `becomes` None where nothing is done; `given`: the word it gets."""

    did: Did
    job: Open
    why: str  # one word, as docs/extend.md has them
    text: Message | str
    becomes: int | None = None
    given: Given | None = None
    behind: RoomJob | None = None  # the waiting job that is the reason

    @property
    def was(self) -> int | None:
        return self.job.listed.time_limit


class Bounds(Protocol):
    """What a job may have by everything but the nodes."""

    def most(self, job: Open) -> tuple[int | None, str, Message | str]:
        """The longest limit by queue, QOS, association and deadline; which of them, in one word and a sentence. 0: it
        may not be extended at all; None: no bound.
        """

    def refused(self, job: Open, limit: int) -> str:
        """Why the rules in force refuse this limit; "" where they do not."""

    def left(self, uid: int, budget: int) -> int | None:
        """Seconds that this user may yet be given this month; None where that is not known."""

    def earned(self, uid: int) -> bool | None:
        """Whether the user's limits are right often enough; None where that is not known."""


@dataclass
class _Round:
    settings: Settings
    outlook: Outlook
    bounds: Bounds
    now: int
    spent: dict[int, int] = field(default_factory=dict)  # seconds given in this round, by uid


def chosen(rooms: Sequence[RoomJob], listed: Sequence[QueuedJob]) -> list[Open]:
    """The open jobs that opted in or were given time, of two lists of the same jobs."""
    found = []
    for job, one in zip(rooms, listed, strict=True):
        comment = one.admin_comment or ""
        if "ext=auto" in comment and opted_in(comment):
            found.append(Open(job, one, given_of(comment)))
    return found


def plan(jobs: Sequence[Open], settings: Settings, outlook: Outlook, bounds: Bounds, now: int) -> list[Act]:
    """The acts of a round, those first that take time back; jobs whose end is near before others."""
    back = [*_put_back(jobs, settings, now), *_taken_back(jobs, settings, outlook, now)]
    taken = {act.job.room.job_id for act in back}
    round_ = _Round(settings, outlook, bounds, now)
    acts = []
    near = (job for job in jobs if job.room.job_id not in taken and is_near(job, settings, now))
    for job in sorted(near, key=lambda job: (job.room.ends or 0, job.room.job_id)):
        acts.append(_look(job, round_))
        if sum(act.did == "given" for act in acts) == MOST:
            break
    return [*back, *acts]


def is_near(job: Open, settings: Settings, now: int) -> bool:
    if job.listed.state != "RUNNING" or job.room.ends is None or job.asked is None:
        return False
    return 0 < job.room.ends - now <= settings.lead_of(job.asked)


def _look(job: Open, of: _Round) -> Act:
    """One job within its lead."""
    settings, limit, ends = of.settings, job.listed.time_limit, job.room.ends
    if unfit := _unfit(job, settings):
        return Act("refused", job, *unfit)
    assert limit is not None and ends is not None and job.asked is not None and job.listed.uid is not None
    if settings.earned and not of.bounds.earned(job.listed.uid):
        return Act("refused", job, "earned", message("the user's limits are not right often enough yet, or not known"))
    wanted, why, text = _bounded(job, limit, job.asked, job.listed.uid, of)
    least = min(LEAST, settings.step_of(job.asked))
    wanted = limit + (wanted - limit) // 60 * 60
    if wanted - limit < least:
        return Act("refused", job, why, text)
    said = of.outlook.may_run(job.room, ends + wanted - limit)
    more = (said.until - ends) // 60 * 60
    if more < min(least, wanted - limit):
        return Act("refused", job, said.why, _because(said.why, said.behind), behind=said.behind)
    if against := of.bounds.refused(job, limit + more):
        return Act("refused", job, "rules", against)
    of.outlook.book(job.room, ends + more)
    of.spent[job.listed.uid] = of.spent.get(job.listed.uid, 0) + more
    times = 1 if job.given is None else job.given.times + 1
    given = Given(job.asked, limit + more, times)
    free = message("no job waits for its nodes until then")
    return Act("given", job, "free", free, limit + more, given, said.behind)


def _bounded(job: Open, limit: int, asked: int, uid: int, of: _Round) -> tuple[int, str, Message | str]:
    """A step more, or as much of it as all bounds allow, with the bound that is the tightest."""
    settings = of.settings
    most = settings.most_of(asked)
    found: list[tuple[int, str, Message | str]] = [
        (limit + settings.step_of(asked), "", ""),
        (most, "most", message("it may have at most {limit}", limit=show_duration(most))),
    ]
    bound, why, text = of.bounds.most(job)
    if bound is not None:
        found.append((bound, why, text))
    if settings.budget is not None:
        left = of.bounds.left(uid, settings.budget)
        if left is None:
            return 0, "budget", message("how much its user was given this month is not known here")
        spent = message("its user was given as much as the budget of a month allows")
        found.append((limit + left - of.spent.get(uid, 0), "budget", spent))
    return min(found, key=lambda one: one[0])


def _unfit(job: Open, settings: Settings) -> tuple[str, Message] | None:
    """Why this job is not extended, whatever the others need."""
    listed, given = job.listed, job.given
    if listed.odd or listed.time_limit is None:
        return "unread", message("couldn't read its limit")
    if listed.uid is None or job.asked is None:
        return "unknown", message("its user or its limit is not known")
    if given is not None and listed.time_limit != given.limit:
        return "changed", message("somebody else changed its limit")
    if listed.het_id:
        return "kind", message("it is a part of a heterogeneous job")
    if settings.queues is not None and listed.queue not in settings.queues:
        return "kind", message("its queue is not among those of [extend]")
    if settings.qos and listed.qos not in settings.qos:
        return "kind", message("its QOS is not among those of [extend]")
    off = listed.uid in settings.users_off or listed.user in settings.users_off
    if off or listed.account in settings.accounts_off or listed.qos in settings.qos_off:
        return "kind", message("its user, account or QOS is switched off")
    if given is not None and given.times >= settings.times:
        return "times", message("it was given more time {times} times already", times=given.times)
    return None


def _because(why: str, behind: RoomJob | None) -> Message:
    match why:
        case "planned" if behind is not None:
            return message("job {job} is planned on its nodes", job=behind.job_id)
        case "waiting" if behind is not None:
            return message("job {job} waits, could use its nodes and has no plan yet", job=behind.job_id)
        case "licences" if behind is not None:
            return message("job {job} waits for the same licences", job=behind.job_id)
        case "draining":
            return message("one of its nodes is drained, down or about to be restarted")
        case "reservation":
            return message("a reservation begins on its nodes")
    return message("what its nodes are needed for is not known")


def _put_back(jobs: Iterable[Open], settings: Settings, now: int) -> Iterable[Act]:
    """A job that waits again has the limit that it asked for, by which backfill plans it; so has one that was put back
    and started again before anybody saw it wait. Its owner may have lowered the limit that it had by then: what is left
    of the time that was given is not asked for either.
    """
    for job in jobs:
        given = job.given
        if given is None or not given.times or not (job.listed.state == "PENDING" or _is_new(job, settings, now)):
            continue
        known = not job.listed.odd and job.listed.uid is not None
        if known and job.listed.time_limit is not None and given.asked < job.listed.time_limit <= given.limit:
            word = Given(given.asked, given.asked, 0)
            text = message("it was put back, and has the limit that it asked for")
            yield Act("taken back", job, REQUEUED, text, given.asked, word)


def _is_new(job: Open, settings: Settings, now: int) -> bool:
    """Whether this run is too young to have been given time: a round looks at a job within its lead only."""
    if job.listed.state != "RUNNING" or job.given is None or job.room.ends is None or job.listed.time_limit is None:
        return False
    ran = job.listed.time_limit - (job.room.ends - now)
    return ran < job.given.asked - settings.lead_of(job.given.asked) - _UNSEEN


def _taken_back(jobs: Sequence[Open], settings: Settings, outlook: Outlook, now: int) -> list[Act]:
    """Jobs that hold extra time, as far as waiting jobs are planned for their ends and could start earlier."""
    floors = {job.room.job_id: (job, floor) for job in jobs if (floor := _floor(job, settings, now)) is not None}
    if not floors:
        return []
    by_node: dict[str, list[Open]] = {}
    for job, _ in floors.values():
        for name in job.room.nodes:
            by_node.setdefault(name, []).append(job)
    found: dict[int, Act] = {}
    heads = {one.job_id: one for name in by_node for one in outlook.planned.get(name, ())}
    for head in sorted(heads.values(), key=lambda one: (-one.priority, one.job_id)):
        held = [job for name in head.nodes for job in by_node.get(name, ()) if _is_behind(head, job)]
        for job in _in_the_way(head, held, {job.room.job_id: floor for job, floor in floors.values()}, outlook):
            floor = floors[job.room.job_id][1]
            assert job.given is not None and job.room.ends is not None and job.listed.time_limit is not None
            becomes = job.listed.time_limit - (job.room.ends - floor)
            word = Given(job.given.asked, becomes, job.given.times if becomes > job.given.asked else 0)
            text = message("job {job} is planned for its end", job=head.job_id)
            found.setdefault(job.room.job_id, Act("taken back", job, "planned", text, becomes, word, head))
    return list(found.values())


def _in_the_way(head: RoomJob, held: Sequence[Open], floors: Mapping[int, int], outlook: Outlook) -> list[Open]:
    """Those of `held` that must end earlier for the planned job to start earlier; none where that is not enough, or
    not needed.
    """
    ends = {job.room.job_id: floors[job.room.job_id] for job in held}
    if not ends or not outlook.could_start(head, ends) or outlook.could_start(head, {}):
        return []
    for job_id in list(ends):
        if outlook.could_start(head, fewer := {one: end for one, end in ends.items() if one != job_id}):
            ends = fewer
    return [job for job_id, job in {one.room.job_id: one for one in held}.items() if job_id in ends]


def _floor(job: Open, settings: Settings, now: int) -> int | None:
    """The earliest end that may be set, epoch seconds: never before the limit that was asked for, nor within the lead.
    None where nothing can be taken. Slurm keeps limits in whole minutes.
    """
    given, ends, limit = job.given, job.room.ends, job.listed.time_limit
    if given is None or not given.times or ends is None or limit is None or job.listed.state != "RUNNING":
        return None
    if limit != given.limit or job.listed.odd or job.listed.uid is None:
        return None
    asked_end = ends - (limit - given.asked)
    least = max(asked_end, now + settings.lead_of(given.asked))
    taken = (ends - least) // 60 * 60
    return ends - taken if taken >= EARLIER else None


def _is_behind(head: RoomJob, job: Open) -> bool:
    """Whether the waiting job is planned for the end of this one, or later."""
    return head.starts is not None and job.room.ends is not None and head.starts >= job.room.ends - EARLIER
