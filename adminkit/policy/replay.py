"""A policy over the jobs of the trace: what would have become of each, had it been there when they were submitted.

Jobs that ask for the same are one request, which Lua decides once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from adminkit.lua.runtime import USUAL, Decider, Decision, LuaVersion, Request
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.model import Policy
from adminkit.policy.request import trace_request, with_lease
from adminkit.slurm.site import Site, made_up
from adminkit.sqlite import sqlite3
from adminkit.stats.replay import (
    Row,
    Submission,
    TypedTimeMin,
    at_most,
    excluded,
    queue_limits,
    submissions,
    typed_time_min,
)
from adminkit.stats.select import Filter, snapshot, span

#: Requests kept before their counts are summed up: a trace without any repetition needs no more memory than this.
MOST_KEPT: Final = 200_000
#: Jobs between two calls of `tick`.
TICK: Final = 50_000

_WIDTH: Final = len(Submission._fields)


@dataclass(slots=True)
class Count:
    """Jobs and what became of them. `freed` are the seconds of time limit taken off, less those put on."""

    jobs: int = 0
    accepted: int = 0
    amended: int = 0
    rejected: int = 0
    warned: int = 0  # of those accepted or amended
    untold: int = 0  # the trace does not show what some rule looks at
    freed: int = 0
    cut: int = 0  # ran longer than the limit they would have had


@dataclass(slots=True)
class Replay:
    """The counts of a whole replay. `rules` has every rule that fired or could not tell, by name."""

    total: Count = field(default_factory=Count)
    rules: dict[str, Count] = field(default_factory=dict)
    queues: dict[str | None, Count] = field(default_factory=dict)
    users: dict[str | None, Count] = field(default_factory=dict)
    requests: int = 0  # different ones
    unsure: int = 0  # jobs of which nobody knows whether their limit was typed
    planned: int = 0  # jobs that would have got a soft limit
    outlived: int = 0  # of those, the ones that ran longer than it
    extended: int = 0  # jobs that would have opted in to more time
    reached: int = 0  # of those, the ones that ran into their limit


@dataclass(slots=True)
class _Slot:
    """One request: the jobs that made it."""

    decision: Decision
    new_limit: int | None
    limit: int | None  # with which it would have started
    jobs: int = 0
    cut: int = 0
    outlived: int = 0
    reached: int = 0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay, how many jobs each filter left out, and the first and the last end of any job."""

    counts: Replay
    excluded: Mapping[str, int]
    span: tuple[int | None, int | None]
    typed: TypedTimeMin | None = None  # None: the policy has no soft limits


def replay_trace(
    db: sqlite3.Connection,
    policy: Policy,
    site: Site | None,
    chosen: Filter,
    rules_at: int | None,
    version: LuaVersion = USUAL,
    tick: Callable[[int, int], None] = lambda done, total: None,
    soft_limits: bytes | None = None,
) -> Replayed:
    """Replay the jobs that `chosen`, of one cluster, takes. `rules_at` None: as if the date of every rule had come.

    `soft_limits` is the text of that table, None for none: then nobody would be planned by need.

    Without a site the queues are the policy's and the trace's own, with the limits that the trace last saw.
    """
    with snapshot(db):
        if site is None:
            limits = queue_limits(db, "".join(chosen.clusters))
            site = made_up([*policy.queues(), *limits], policy.users(), limits)
        dates = [policy.routing.from_ or 0, *(rule.from_ or 0 for rule in policy.rules)]
        now = max(dates) if rules_at is None else rules_at
        table = policy_table(policy, site, now)
        decider = Decider(policy_text(table).encode(), version=version, soft_limits=soft_limits)
        most, planning = at_most(db), soft_limits is not None and policy.soft_limits.enabled
        rows = submissions(db, chosen, planning=planning)

        def decide(request: Request) -> Decision:
            return decider.decide(with_lease(request, table, now) if planning else request)

        counts = replay(rows, judge(decide, policy, site, now, everybody=planning), lambda done: tick(done, most))
        typed = typed_time_min(db, chosen) if policy.soft_limits.enabled else None
        return Replayed(counts, excluded(db, chosen, counts.total.jobs), span(db), typed)


def judge(
    decide: Callable[[Request], Decision], policy: Policy, site: Site, now: int, *, everybody: bool = False
) -> Callable[[Submission], Decision]:
    """A decision about what a job asked for, as of `now`. People whom neither policy nor site names are all alike,
    unless `everybody` has a history of their own."""
    named = frozenset(policy.users())
    kept: dict[Submission, Decision] = {}

    def decided(submission: Submission) -> Decision:
        special = (
            everybody
            or submission.user is None
            or submission.user in named
            or submission.uid is None
            or submission.uid in site.privileged
        )
        key = submission if special else submission._replace(user="", uid=-1)
        if key not in kept:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[key] = decide(trace_request(submission, site.uids, now))
        return kept[key]

    return decided


def replay(
    rows: Iterable[Row],
    decide: Callable[[Submission], Decision],
    tick: Callable[[int], None] = lambda jobs: None,
) -> Replay:
    """Decide about every row of stats.replay.submissions; `tick` is told how many are done."""
    replay = Replay()
    slots: dict[Row, _Slot] = {}
    for number, row in enumerate(rows, start=1):
        key = row[:_WIDTH]
        slot = slots.get(key)
        if slot is None:
            if len(slots) >= MOST_KEPT:
                _sum_up(replay, slots)
                slots.clear()
            slot = slots[key] = _slot(Submission(*key), decide)  # type: ignore[arg-type]
            replay.requests += 1
        slot.jobs += 1
        if slot.new_limit is not None and row[_WIDTH] > slot.new_limit:  # type: ignore[operator]
            slot.cut += 1
        if slot.limit is not None and row[_WIDTH] >= slot.limit:  # type: ignore[operator]
            slot.reached += 1
        if slot.decision.soft is not None and row[_WIDTH] > slot.decision.soft:  # type: ignore[operator]
            slot.outlived += 1
        if number % TICK == 0:
            tick(number)
    _sum_up(replay, slots)
    return replay


def _slot(submission: Submission, decide: Callable[[Submission], Decision]) -> _Slot:
    decision = decide(submission)
    lowered = decision.limit is not None and (submission.time_limit is None or decision.limit < submission.time_limit)
    starts = submission.time_limit if decision.limit is None else decision.limit
    return _Slot(decision, decision.limit if lowered else None, starts)


def _sum_up(found: Replay, slots: Mapping[Row, _Slot]) -> None:
    for row, slot in slots.items():
        submission = Submission(*row)  # type: ignore[arg-type]
        decision = slot.decision
        freed = 0
        if decision.verdict == "amend" and decision.limit is not None and submission.time_limit is not None:
            freed = (submission.time_limit - decision.limit) * slot.jobs
        for count in (
            found.total,
            found.queues.setdefault(submission.queue, Count()),
            found.users.setdefault(submission.user, Count()),
        ):
            _add(count, slot, freed)
        _add_rules(found.rules, slot, freed)
        found.unsure += slot.jobs * submission.unsure
        found.planned += slot.jobs if decision.soft is not None else 0
        found.outlived += slot.outlived
        if decision.extend == "auto":
            found.extended += slot.jobs
            found.reached += slot.reached


def _add(count: Count, slot: _Slot, freed: int) -> None:
    decision, jobs = slot.decision, slot.jobs
    count.jobs += jobs
    if decision.verdict == "reject":
        count.rejected += jobs
    elif decision.verdict == "amend":
        count.amended += jobs
    else:
        count.accepted += jobs
    if decision.verdict != "reject" and any(action == "warn" for _, action in decision.fired):
        count.warned += jobs
    if decision.untold:
        count.untold += jobs
    count.freed += freed
    count.cut += slot.cut


def _add_rules(rules: dict[str, Count], slot: _Slot, freed: int) -> None:
    """What each rule did. The hours freed are those of the last rule that changed the limit."""
    last = next(
        (rule for rule, action in reversed(slot.decision.fired) if action == "amend" and rule != "routing"), None
    )
    for rule, action in dict(slot.decision.fired).items():
        count = rules.setdefault(rule, Count())
        count.jobs += slot.jobs
        if action == "reject":
            count.rejected += slot.jobs
        elif action == "amend":
            count.amended += slot.jobs
        else:
            count.warned += slot.jobs
        if rule == last and slot.decision.verdict == "amend":
            count.freed += freed
            count.cut += slot.cut
    for rule in slot.decision.untold:
        rules.setdefault(rule, Count()).untold += slot.jobs
