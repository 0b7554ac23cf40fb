"""The kinds of rules: what each can do to a job that breaks it, and what may narrow it. decide.lua knows the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Action = Literal["reject", "amend", "warn"]

#: Check -> what it can do, its default first. In the order in which decide.lua looks at them.
ACTIONS: Final[Mapping[str, tuple[Action, ...]]] = {
    "require_limit": ("reject", "warn"),
    "default_limit": ("amend",),
    "min_limit": ("reject", "amend", "warn"),
    "max_limit": ("reject", "amend", "warn"),
    "restartable_above": ("reject", "amend", "warn"),
    "gpus": ("reject", "warn"),
    "gpus_per_node": ("reject", "warn"),
    "gpu_slices": ("reject", "warn"),
    "nodes": ("reject", "warn"),
    "cpus": ("reject", "warn"),
    "batch_only": ("reject", "warn"),
    "require_account": ("reject", "warn"),
    "exclusive": ("reject", "warn"),
    "cpus_per_gpu": ("reject", "warn"),
    "mem_per_gpu": ("reject", "warn"),
}
CHECKS: Final = tuple(ACTIONS)
LIMITS: Final = ("default_limit", "min_limit", "max_limit", "restartable_above")
NUMBERS: Final = ("gpus", "gpus_per_node", "gpu_slices", "nodes", "cpus")
RATIOS: Final = ("cpus_per_gpu", "mem_per_gpu")  # their value is the most: a number, MiB
CONDITIONS: Final = ("queues", "classes", "accounts", "qos", "users", "except_users", "except_accounts")
