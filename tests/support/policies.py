"""Policies for tests: the shipped one, a strict one, and any other as a few lines."""

from __future__ import annotations

import tomllib
from datetime import UTC
from typing import Any

from adminkit.installed import data_file
from adminkit.lua.runtime import Decider, LuaVersion
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.load import examine_table
from adminkit.policy.model import Policy
from adminkit.policy.problem import Problem
from adminkit.slurm.site import Site, made_up

LUAS: tuple[LuaVersion, ...] = ("lua51", "lua54")
SHIPPED = data_file("etc", "policy.toml")

#: A policy that refuses or changes many of the jobs of tests.support.builders.
STRICT = """
version = 1
[routing]
action = "amend"
order = ["gq-short", "gq"]
[exempt]
users = ["grace"]
[[rules]]
name = "gq-default"
queues = ["gq"]
default_limit = "01:00:00"
[[rules]]
name = "single-day"
classes = ["single-gpu"]
max_limit = "1-00:00:00"
action = "amend"
[[rules]]
name = "gq-max"
queues = ["gq"]
max_limit = "3-00:00:00"
[[rules]]
name = "gq-middle-one-gpu"
queues = ["gq-middle"]
gpus = 1
except_accounts = ["Vision"]
[[rules]]
name = "long-jobs-restartable"
restartable_above = "2-00:00:00"
action = "warn"
[[rules]]
name = "gq-short-later"
queues = ["gq-short"]
max_limit = "02:00:00"
from = 2027-04-01
users = ["ada", "bob"]
"""


def parsed(text: str) -> tuple[Policy | None, list[Problem]]:
    """A policy from TOML text, and what is wrong with it; dates are UTC."""
    return examine_table(tomllib.loads(text), None, UTC)


def policy(text: str) -> Policy:
    """A policy with which nothing is wrong."""
    found, problems = parsed(text)
    assert found is not None, problems
    assert [one for one in problems if not one.note] == []
    return found


def rules(*lines: str) -> str:
    """TOML of a policy with these rules, each "name: key = value; …"."""
    text = "version = 1\n"
    for line in lines:
        name, _, keys = line.partition(": ")
        text += f'[[rules]]\nname = "{name}"\n' + "".join(f"{key}\n" for key in keys.split("; "))
    return text


def decider(text: str, site: Site | None = None, version: LuaVersion = "lua51") -> Decider:
    found = policy(text)
    return Decider(compiled(found, site).encode(), version=version)


def compiled(found: Policy, site: Site | None = None, made_at: int = 1) -> str:
    site = site or made_up(found.queues(), found.users())
    return policy_text(policy_table(found, site, made_at))


def raw(**changes: Any) -> dict[str, Any]:
    """What TOML would make of a policy with these keys."""
    return {"version": 1, **changes}
