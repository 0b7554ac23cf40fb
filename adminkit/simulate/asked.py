"""What a policy would have made of each of today's jobs: slurmctld's own Lua decides, once for each distinct request.

A refusal's text says what to type instead: the bounds of the rules that refused, or the queue that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.lua.runtime import Decider, Decision
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.kinds import RATIOS
from adminkit.policy.model import Policy, Range, Rule
from adminkit.policy.replay import judge
from adminkit.slurm.site import Site, made_up
from adminkit.sqlite import sqlite3
from adminkit.stats.replay import Submission, queue_limits, submissions
from adminkit.stats.select import Filter, snapshot

#: How often somebody types what the refusal says before they give up.
TRIES: Final = 5
_WIDTH: Final = len(Submission._fields)


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a request that is accepted in the end. None: as it was asked for."""

    time_limit: int | None = None
    queue: str | None = None
    points: int | None = None
    nodes: int | None = None
    cpus: int | None = None
    gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The policy's answer to one request: at once, or after its owner typed what the refusal said, or went elsewhere.

    None where it is refused; of `typed` and `moved` also where it is accepted at once.
    """

    at_once: Fate | None
    typed: Fate | None = None
    moved: Fate | None = None


def answers(
    db: sqlite3.Connection, policy: Policy, site: Site | None, cluster: str, checkpoint_code: int
) -> Iterator[tuple[tuple[int, int], Answer]]:
    """(JobIDRaw, submission) of each job and the policy's answer, as if the date of every rule had come.

    Without a site the queues are the policy's and the trace's own, as `policy replay` has them.
    """
    chosen = Filter([cluster], checkpoint_code=checkpoint_code)
    with snapshot(db):
        if site is None:
            limits = queue_limits(db, cluster)
            site = made_up([*policy.queues(), *limits], policy.users(), limits)
        now = max([policy.routing.from_ or 0, *(rule.from_ or 0 for rule in policy.rules)])
        decide = judge(Decider(policy_text(policy_table(policy, site, now)).encode()).decide, policy, site, now)
        rules = {rule.name: rule for rule in policy.rules}
        known: dict[Submission, Answer] = {}
        for row in submissions(db, chosen):
            asked = Submission(*row[:_WIDTH])  # type: ignore[arg-type]
            if asked not in known:
                known[asked] = answer(asked, decide, rules)
            yield (int(row[_WIDTH + 1]), int(row[_WIDTH + 2])), known[asked]  # type: ignore[arg-type]


def answer(asked: Submission, decide: Callable[[Submission], Decision], rules: Mapping[str, Rule]) -> Answer:
    """Ask, and where the answer is no: type what it says, up to TRIES times; and go to the queue that it names."""
    decision = decide(asked)
    if decision.verdict != "reject":
        return Answer(_fate(asked, asked, decision))
    elsewhere = None if decision.fit is None else asked._replace(queue=decision.fit)
    return Answer(None, _typing(asked, decision, decide, rules), _going(asked, elsewhere, decide))


def _going(first: Submission, asked: Submission | None, decide: Callable[[Submission], Decision]) -> Fate | None:
    decision = None if asked is None else decide(asked)
    return _fate(first, asked, decision) if asked and decision and decision.verdict != "reject" else None


def _typing(
    first: Submission, decision: Decision, decide: Callable[[Submission], Decision], rules: Mapping[str, Rule]
) -> Fate | None:
    asked = first
    for _ in range(TRIES):
        again = _typed(asked, decision, rules)
        if again == asked:
            return None
        asked, decision = again, decide(again)
        if decision.verdict != "reject":
            return _fate(first, asked, decision)
    return None


def _fate(first: Submission, asked: Submission, decision: Decision) -> Fate:
    """What is in the queue in the end; only what differs from the first request."""
    limit = decision.limit if decision.limit is not None else asked.time_limit if asked.limit_kind == "finite" else None
    changed = {
        name: value for name in ("nodes", "cpus", "gpus") if (value := getattr(asked, name)) != getattr(first, name)
    }
    queue = decision.queue or (asked.queue if asked.queue != first.queue else None)
    return Fate(limit, queue, decision.points, **changed)


def _typed(asked: Submission, decision: Decision, rules: Mapping[str, Rule]) -> Submission:
    """The request with what the refusal says to type; the same where it says nothing that can be typed."""
    broken = [rules[name] for name, did in decision.fired if did == "reject" and name in rules]
    if not broken:
        return asked if decision.fit is None else asked._replace(queue=decision.fit)
    asked = _limited(asked, broken)
    for rule in broken:
        if isinstance(rule.value, Range):
            asked = _sized(asked, rule.check, rule.value.min or 0, rule.value.max)
        elif rule.check in RATIOS:
            asked = _in_proportion(asked, rule.check, min(_bounds(broken, rule.check)))
    return asked


def _limited(asked: Submission, broken: Sequence[Rule]) -> Submission:
    """The request with the lowest of the highest limits that are allowed, else with the highest of the lowest."""
    if asked.time_limit and any(rule.check == "require_limit" for rule in broken):
        asked = asked._replace(limit_kind="finite")  # its owner could have typed what the job had in the end
    most, least = _bounds(broken, "max_limit", "restartable_above"), _bounds(broken, "min_limit")
    if not most and not least:
        return asked
    return asked._replace(limit_kind="finite", time_limit=min(most) if most else max(least))


def _bounds(broken: Sequence[Rule], *checks: str) -> list[int]:
    return [rule.value for rule in broken if rule.check in checks and isinstance(rule.value, int)]


def _in_proportion(asked: Submission, check: str, most: int) -> Submission:
    """The request with as many CPUs, or as much memory (MiB), for each GPU as the rule allows."""
    whole = int(most * (asked.gpus or 0))
    return asked._replace(cpus=whole) if check == "cpus_per_gpu" else asked._replace(mem=whole << 20)


def _sized(asked: Submission, check: str, least: int, most: int | None) -> Submission:
    """The nearest number that the rule allows; the same where the trace does not have it, as of parts of GPUs."""
    if check == "gpu_slices":
        return asked
    nodes = asked.nodes or 1
    now = asked.gpus if check in ("gpus", "gpus_per_node") else asked.nodes if check == "nodes" else asked.cpus
    if now is None:
        return asked
    per = nodes if check == "gpus_per_node" else 1
    wanted = max(now / per, least)
    wanted = int(wanted if most is None else min(wanted, most)) * per
    if check != "nodes":
        return _with(asked, **{"cpus" if check == "cpus" else "gpus": wanted})
    # As many of each node as before.
    sizes = {name: value * wanted // nodes for name in ("cpus", "gpus") if (value := getattr(asked, name)) is not None}
    return _with(asked, nodes=wanted, **sizes)


def _with(asked: Submission, **sizes: int) -> Submission:
    """The request with another number of nodes, CPUs or GPUs."""
    fields: dict[str, Any] = {**sizes}
    return asked._replace(**fields)
