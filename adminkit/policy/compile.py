"""A checked policy and what is known of its cluster, as the table that decide.lua reads: docs/policy-spec.md."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, tzinfo
from typing import Any, Final

from adminkit.gres import GpuSettings
from adminkit.job import SERVER_NAME
from adminkit.lua import literal
from adminkit.policy import extend_settings
from adminkit.policy.extend_settings import Extend
from adminkit.policy.gpu_parts import node_facts, shares_of_site, shares_table
from adminkit.policy.idle_settings import DAYS, Idle
from adminkit.policy.kinds import CONDITIONS
from adminkit.policy.model import Policy, Range, Rule
from adminkit.policy.power_settings import Power
from adminkit.policy.soft_settings import VARIABLE, SoftLimits
from adminkit.policy.whose import whose
from adminkit.slurm.site import Site, SiteQueue

#: Raised when an older decide.lua would misread the table.
FORMAT: Final = 1
#: How a batch job says that it can resume from a checkpoint, and with another number of GPUs.
CKPT: Final = {
    "variable": "ADMINKIT_CKPT",
    "option": "_SLURM_SPANK_OPTION_adminkit_ckpt_",
    "off": "off",
    "elastic": "ADMINKIT_ELASTIC",
}

Table = dict[str, Any]


def policy_table(
    policy: Policy,
    site: Site,
    made_at: int,
    tz: tzinfo | None = None,
    *,
    with_power: bool = True,
    each_node: bool = False,
    gpus: GpuSettings | None = None,
) -> Table:
    """The table. A user whom the site does not know is exempt from nothing. Days are of `tz`; None: the host's.

    `with_power`: whether a power budget is in it, where there is one; `each_node`: Slurm takes its watts on each node.
    `gpus`: what the config says of parts of GPUs.
    """
    shares = shares_of_site(site.nodes, gpus or GpuSettings())
    named = {site.uids[user] for user in policy.exempt.users if user in site.uids}
    table: Table = {
        "format": FORMAT,
        "cluster": site.cluster,
        "fail": policy.fail,
        "record": policy.record,
        "languages": list(policy.languages),
        "exempt": site.privileged | named,
        "exempt_named": named,
        "menu": list(policy.menu),
        **({"help_url": policy.help_url} if policy.help_url else {}),
        "routing": {
            "action": policy.routing.action,
            "order": _order(policy, site),
            "from": policy.routing.from_,
        },
        "queues": {queue.name: _queue(queue) | node_facts(queue.name, site.nodes, shares) for queue in site.queues},
        **({"gpu_shares": words} if (words := shares_table(shares)) else {}),
        "rules": [_rule(rule, policy.languages, site, tz) for rule in policy.rules],
        "texts": {language: policy.words(language) for language in policy.languages},
        "ckpt": CKPT,
        **({"soft_limits": _soft_limits(policy.soft_limits, site)} if policy.soft_limits.enabled else {}),
        **({"extend": _extend(policy.extend, site)} if policy.extend.enabled else {}),
        **({"idle": _idle(policy.idle, site)} if policy.idle.enabled else {}),
        **({"power": _power(policy.power, each_node)} if with_power and policy.power.budget_w is not None else {}),
    }
    return {**table, "generation": generation(table), "made_at": made_at}


def policy_text(table: Table) -> str:
    """The file policy.lua."""
    return literal.module(table, "Written by `adminkit policy install`; edit policy.toml instead.")


def generation(table: Mapping[str, Any]) -> str:
    """Twelve digits that stand for the content of a table, whenever it was made."""
    content = {key: value for key, value in table.items() if key not in ("generation", "made_at")}
    return hashlib.sha256(literal.literal(content).encode("ascii")).hexdigest()[:12]


def _order(policy: Policy, site: Site) -> list[str]:
    """The queues a job may be routed to, in the order they are tried: as written, else the shortest first."""
    if policy.routing.order:
        return list(policy.routing.order)
    longest = 1 << 62

    def length(queue: SiteQueue) -> tuple[int, str]:
        limits = [rule.max_limit for rule in policy.rules if rule.max_limit and queue.name in (rule.queues or ())]
        return min([queue.max_limit or longest, *limits]), queue.name

    return [queue.name for queue in sorted(site.queues, key=length) if queue.name not in policy.routing.avoid]


def _extend(settings: Extend, site: Site) -> Table:
    step = settings.step
    table: Table = {
        "queues": _queues_of(settings.queues, site),
        "classes": dict.fromkeys(settings.classes, True),
        "qos": _lowered(settings.qos),
        "default": settings.default,
        "step": {"seconds": step.seconds} if step.seconds is not None else {"share": step.share},
        "most": settings.most,
        "lead": settings.lead,
        "times": settings.times,
        "earned": settings.earned,
        "users_off": _users_of(settings.users_off, site),
        "accounts_off": _lowered(settings.accounts_off),
        "qos_off": _lowered(settings.qos_off),
        "preemptible": settings.preemptible,
        "interactive": settings.interactive,
        "variable": extend_settings.VARIABLE,
        "server": SERVER_NAME,
    }
    return table if settings.budget is None else {**table, "budget": settings.budget}


def _idle(settings: Idle, site: Site) -> Table:
    return {
        "queues": _queues_of(settings.queues, site),
        "grace": settings.grace,
        "warn": settings.warn,
        "act": settings.act,
        "notice": settings.notice,
        "used_before": settings.used_before,
        "acts": list(settings.acts),
        "hold": settings.requeued == "hold",
        "times": settings.times,
        "most": settings.most,
        "from": settings.hours[0],
        "to": settings.hours[1],
        "days": [DAYS.index(day) for day in settings.days],
        "interactive": settings.interactive,
        "users_off": _users_of(settings.users_off, site),
        "accounts_off": _lowered(settings.accounts_off),
        "qos_off": _lowered(settings.qos_off),
    }


def _queues_of(named: Sequence[str], site: Site) -> dict[str, bool]:
    return dict.fromkeys(named or [queue.name for queue in site.queues], True)


def _users_of(names: Sequence[str], site: Site) -> dict[str | int, bool]:
    """By name, and by uid where this host knows them."""
    return dict.fromkeys([*names, *(site.uids[name] for name in names if name in site.uids)], True)


def _lowered(names: Sequence[str]) -> dict[str, bool]:
    """As Slurm keeps accounts and QOS."""
    return dict.fromkeys([name.lower() for name in names], True)


def _soft_limits(settings: SoftLimits, site: Site) -> Table:
    return {
        "queues": _queues_of(settings.queues, site),
        "quantile": settings.quantile,
        "least": settings.least,
        "gap": settings.gap,
        "users_off": _users_of(settings.users_off, site),
        "accounts_off": _lowered(settings.accounts_off),
        "classes_off": dict.fromkeys(settings.classes_off, True),
        "preemptible": settings.preemptible,
        "wide": settings.wide,
        "arrays": settings.arrays,
        "typed": settings.typed,
        "variable": VARIABLE,
    }


def _power(settings: Power, each_node: bool) -> Table:
    table: Table = {"licence": settings.licence, "budget_w": settings.budget_w, "gpu_w": settings.kinds}
    return {**table, "each_node": True} if each_node else table


def _queue(queue: SiteQueue) -> Table:
    facts = {key: value for key, value in asdict(queue).items() if value is not None and key != "name"}
    if not facts["whole"]:
        del facts["whole"]
    if "node_mem" in facts:
        facts["node_mem"] >>= 20  # MiB, as Slurm's Lua has it
    return facts


def _rule(rule: Rule, languages: Sequence[str], site: Site, tz: tzinfo | None) -> Table:
    value = rule.value
    day = {} if rule.from_ is None else {"from_day": datetime.fromtimestamp(rule.from_, tz).date().isoformat()}
    return {
        "name": rule.name,
        "check": rule.check,
        "value": {"min": value.min, "max": value.max} if isinstance(value, Range) else value,
        "action": rule.does,
        "from": rule.from_,
        **day,
        "when": {name: _when(name, words, site) for name in CONDITIONS if (words := getattr(rule, name)) is not None},
        "whose": {language: whose(rule, language) for language in languages},
        "text": rule.text.model_dump(exclude_none=True) if rule.text else {},
    }


def _when(condition: str, words: Sequence[str], site: Site) -> dict[str | int, bool]:
    """A set. Users stand in it by name, for the trace, and by uid, for slurmctld, where this host knows them."""
    keys: list[str | int] = list(words)
    if condition in ("users", "except_users"):
        keys += [site.uids[name] for name in words if name in site.uids]
    elif condition not in ("queues", "classes"):
        keys = [name.lower() for name in words]  # as Slurm keeps accounts and QOS
    return dict.fromkeys(keys, True)
