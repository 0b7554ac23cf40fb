"""What [idle] says together with the rest of the policy."""

from __future__ import annotations

from collections.abc import Iterator

from adminkit.policy.model import Policy
from adminkit.policy.problem import Problem
from adminkit.units import show_duration


def idle_clashes(policy: Policy) -> Iterator[Problem]:
    """Whatever the cluster is."""
    idle = policy.idle
    if idle.act < idle.warn + idle.notice:
        least = show_duration(idle.warn + idle.notice)
        message = f"act = {show_duration(idle.act)} is sooner than the warning with its notice, {least}"
        yield Problem(("idle.act", "idle.warn", "idle.notice"), message, f'set act = "{least}" or more')
    if idle.enabled and "shrink" in idle.acts and policy.record != "admin_comment":
        message = f"which jobs are elastic is recorded where users cannot write, and record is {policy.record}"
        yield Problem(("idle.acts", "record"), message, 'set record = "admin_comment"')
