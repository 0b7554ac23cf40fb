"""A policy as sentences that an operator can read to a colleague."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Final

from adminkit.fit.request import show_mem
from adminkit.policy import extend_settings
from adminkit.policy.extend_settings import Extend
from adminkit.policy.idle_settings import DAYS, Idle
from adminkit.policy.incentive_settings import Incentives
from adminkit.policy.kinds import LIMITS
from adminkit.policy.model import Policy, Range, Rule
from adminkit.policy.power_settings import Power
from adminkit.policy.soft_settings import VARIABLE, SoftLimits
from adminkit.units import show_duration, show_time

_NOUNS: Final = {
    "gpus": "GPU",
    "gpus_per_node": "GPU",
    "gpu_slices": "GPU slice, shard or MPS part",
    "nodes": "node",
    "cpus": "CPU",
}
_NOUNS_OF_MANY: Final = {"gpu_slices": "GPU slices, shards or MPS parts"}
_FAIL: Final = {
    "open": "If adminkit itself fails, a job passes, and slurmctld's log says so.",
    "closed": "If adminkit itself fails, a job is refused; root, SlurmUser and operators pass.",
}


def explain(policy: Policy, tz: tzinfo | None = None) -> list[tuple[str, str]]:
    """(name of a rule or a section, sentence), the rules in file order."""
    rows = [(rule.name, rule_sentence(rule, tz)) for rule in policy.rules]
    rows.append(("routing", routing_sentence(policy, tz)))
    everybody = "Root, SlurmUser, operators and administrators pass every rule"
    names = _names(policy.exempt.users, "and")
    rows.append(("exempt", f"{everybody}; so {'do' if len(policy.exempt.users) > 1 else 'does'} {names}."
                 if names else f"{everybody}."))  # fmt: skip
    for queue, most in policy.gpus_per_user.items():
        held = f"A user holds at most {most} GPU{'' if most == 1 else 's'} in {queue} at a time"
        rows.append(("gpus_per_user", f"{held}; Slurm enforces it, through the QOS of the queue."))
    if policy.power.budget_w is not None:
        rows.append(("power", power_sentence(policy.power)))
    if policy.incentives.size_hours:
        rows.append(("incentives", size_sentence(policy.incentives)))
    if policy.soft_limits.enabled:
        rows.append(("soft_limits", soft_sentence(policy)))
    if policy.extend.enabled:
        rows.append(("extend", extend_sentence(policy.extend)))
    if policy.idle.enabled:
        rows.append(("idle", idle_sentence(policy.idle)))
    rows.append(("fail", _FAIL[policy.fail]))
    kept = f"What a job asked for is kept in its {policy.record}."
    rows.append(("record", kept if policy.record != "none" else "What a job asked for is not kept."))
    if policy.help_url:
        rows.append(("help_url", f"What users read at submission, and their letters, end with {policy.help_url}."))
    return rows


def power_sentence(power: Power) -> str:
    """What all GPUs may draw, and what each counts for."""
    each = ", ".join(f"{watts} W{f' ({kind})' if kind else ''}" for kind, watts in power.kinds.items())
    return (
        f"All GPUs in use together count as at most {power.budget_w} W, each as {each}; Slurm enforces it, through"
        f" the licence {power.licence}."
    )


def size_sentence(incentives: Incentives) -> str:
    """How much sooner wide jobs start."""
    ends = [int(size) for size in incentives.size_hours]
    parts = []
    for least, after, hours in zip(ends, [*ends[1:], None], incentives.size_hours.values(), strict=True):
        last = None if after is None else after - 1
        size = _range(Range(least, last), "GPU", "GPUs")
        parts.append(f"jobs of {size} are ranked as if they had waited {hours:g} h longer")
    sentence = _names(parts, "and")
    return f"{sentence[0].upper()}{sentence[1:]}, unless the points of their class are more."


def soft_sentence(policy: Policy) -> str:
    """Which jobs backfill plans by need."""
    soft = policy.soft_limits
    where = f"in {_names(soft.queues, 'and')}" if soft.queues else "in every queue"
    return (
        f"Backfill plans jobs {where} with the time that {soft.quantile} % of their owner's similar jobs needed, at"
        f" least {show_duration(soft.least)}, where that is {show_duration(soft.gap)} or more below their limit and"
        f" 90 % of them needed at most {show_duration(soft.longest)}{_beside(soft.wide)}; the limit stays. A typed"
        f" --time-min {_typed(soft)}. {VARIABLE}=off in a job's environment switches it off."
    )


def extend_sentence(extend: Extend) -> str:
    """Which jobs get more time, how much, and who decides."""
    where = f" in {_names(extend.queues, 'and')}" if extend.queues else ""
    of_qos = f" of the QOS {_names(extend.qos, 'and')}" if extend.qos else ""
    kinds = f"{_names(extend.classes, 'and')} jobs" if extend.classes else "jobs"
    whose = " of users whose limits earn points" if extend.earned else ""
    word = f"{extend_settings.VARIABLE}={'off' if extend.default == 'auto' else 'auto'}"
    does = "switches it off" if extend.default == "auto" else "is needed in the job's environment"
    user = "any time" if extend.budget is None else f"at most {show_duration(extend.budget)}"
    step = f"{extend.step.share:.0%} of its limit" if extend.step.share is not None else str(extend.step)
    return (
        f"Running {kinds}{where}{of_qos}{whose} that named a limit get {step} more when"
        f" {show_duration(extend.lead)} are left, where no waiting job would start later for it: at most"
        f" {extend.times} times, at most {extend.most:g} times their limit, and {user} for all jobs of a user in a"
        f" month. {word} {does}{_kinds_too(extend)}."
    )


#: What each act of [idle] does.
_ACTS: Final = {
    "points": "its user's waiting jobs lose their points for as long as it holds the GPUs",
    "shrink": "it continues with the GPUs that it uses, if it is elastic",
    "requeue": "it is put back, if it can resume from a checkpoint",
    "cancel": "it is cancelled",
}


def idle_sentence(idle: Idle) -> str:
    """Who is warned, and what is done."""
    where = f" in {_names(idle.queues, 'and')}" if idle.queues else ""
    kinds = "Jobs" if idle.interactive else "Batch jobs"
    warned = (
        f"{kinds}{where} whose GPUs are not used for {show_duration(idle.warn)} are warned, {show_duration(idle.grace)}"
        f" after their start at the earliest"
    )
    if not idle.acts:
        return f"{warned}; nothing else is done."
    acts = ", or ".join(_ACTS[one] for one in idle.acts)
    first, last = (f"{at // 60:02}:{at % 60:02}" for at in idle.hours)
    when = (
        ""
        if idle.hours == (0, 1440) and len(idle.days) == len(DAYS)
        else f", {first} to {last} on {_names(idle.days, 'and')}"
    )
    before = f" A job that used them before has {idle.used_before:g} times as long." if idle.used_before > 1 else ""
    return f"{warned}; after {show_duration(idle.act)}{when}: {acts}.{before}"


def _kinds_too(extend: Extend) -> str:
    kinds = {"interactive jobs": extend.interactive, "jobs that others may preempt": extend.preemptible}
    out = [name for name, is_in in kinds.items() if not is_in]
    return f"; {_names(out, 'and')} get none" if out else ""


def _typed(soft: SoftLimits) -> str:
    if not soft.typed:
        return "is left out"
    least = show_duration(soft.least)
    return f"counts instead, as {least} where it is less, and is left out where no soft limit may be given"


def _beside(wide: int) -> str:
    return f", while no job waits that asks for {wide} % of its queue's nodes or more" if wide else ""


def rule_sentence(rule: Rule, tz: tzinfo | None = None) -> str:
    """One rule: whose jobs, what they must do, what happens to others, since when."""
    sentence = f"{_whose(rule)} {_must(rule)}"
    if rule.does == "warn":
        sentence += "; other jobs are accepted, and their owners are told"
    elif rule.check != "default_limit":
        sentence += f"; {_others(rule)}"
    if rule.from_ is not None and rule.does != "warn":
        sentence += f". It holds from {show_time(rule.from_, tz)}; until then their owners are only told"
    return sentence + "."


def routing_sentence(policy: Policy, tz: tzinfo | None = None) -> str:
    """Where a job goes that names no queue."""
    routing = policy.routing
    if routing.action == "off":
        return "A job that names no queue goes to Slurm's default queue."
    does = "goes to" if routing.action == "amend" else "is told of"
    among = f"of {', '.join(routing.order)}" if routing.order else "queue, the shortest first,"
    never = f", never {_names(routing.avoid, 'or')}" if routing.avoid else ""
    sentence = f"A job that names no queue {does} the first {among} that fits it{never}."
    if routing.from_ is not None and routing.action == "amend":
        sentence += f" It holds from {show_time(routing.from_, tz)}; until then its owner is only told."
    return sentence


def _whose(rule: Rule) -> str:
    classes = f"{_names(rule.classes, 'and')} jobs" if rule.classes else "jobs"
    places: Sequence[tuple[str, Sequence[str] | None, str]] = (
        ("in", rule.queues, "or"),
        ("under the accounts" if len(rule.accounts or ()) > 1 else "under the account", rule.accounts, "or"),
        ("of the QOS", rule.qos, "or"),
        ("of", rule.users, "or"),
    )
    subject = " ".join(
        [classes, *(f"{word} {_names(names, conjunction)}" for word, names, conjunction in places if names)]
    )
    exceptions = [
        *([f"of {_names(rule.except_users, 'or')}"] if rule.except_users else []),
        *([f"under {_names(rule.except_accounts, 'or')}"] if rule.except_accounts else []),
    ]
    subject += f", except those {' or '.join(exceptions)}," if exceptions else ""
    return subject[0].upper() + subject[1:]


def _must(rule: Rule) -> str:
    value = rule.value
    if isinstance(value, Range):
        noun = _NOUNS[rule.check]
        many = _NOUNS_OF_MANY.get(rule.check, f"{noun}s")
        return f"use {_range(value, noun, many)}{' per node' if rule.check == 'gpus_per_node' else ''}"
    limit = show_duration(value)
    phrases: dict[str, Callable[[], str]] = {
        "require_limit": lambda: "must give a time limit",
        "default_limit": lambda: f"without a time limit get {limit}",
        "min_limit": lambda: f"ask for {limit} or more",
        "max_limit": lambda: f"ask for at most {limit}",
        "batch_only": lambda: "must be submitted by sbatch",
        "require_account": lambda: "must name an account",
        "exclusive": lambda: "must take whole nodes",
        "cpus_per_gpu": lambda: f"take at most {value} CPU{'' if value == 1 else 's'} per GPU",
        "mem_per_gpu": lambda: f"take at most {show_mem(value << 20)} of memory per GPU",
        "restartable_above": lambda: f"that ask for more than {limit} must be able to resume from a checkpoint",
    }
    return phrases[rule.check]()


def _others(rule: Rule) -> str:
    if rule.does == "reject":
        return "other jobs are refused"
    assert rule.check in LIMITS
    raised = "raised" if rule.check == "min_limit" else "lowered"
    limit = show_duration(rule.value) if isinstance(rule.value, int) else ""
    return f"the limit of other jobs is {raised} to {limit}"


def _range(value: Range, noun: str, many: str) -> str:
    low, high = value.min, value.max
    if low == high:
        return f"no {many}" if low == 0 else f"exactly {low} {noun if low == 1 else many}"
    if high is None:
        return f"{low} {many} or more"
    return f"{low} to {high} {many}" if low is not None else f"at most {high} {noun if high == 1 else many}"


def _names(names: Sequence[str], conjunction: str) -> str:
    """a, b or c"""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"
