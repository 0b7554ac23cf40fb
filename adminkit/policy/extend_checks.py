"""What [extend] says together with the rest of the policy, with the cluster and with the checkpoint plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from adminkit.policy.extend_settings import Extend
from adminkit.policy.model import Policy
from adminkit.policy.problem import Problem
from adminkit.units import show_duration


class SignalLead(NamedTuple):
    """How many seconds before the end the checkpoint plugin signals a job that does not say it, and the line that says
    so.
    """

    seconds: int
    place: str

    @property
    def least(self) -> int:
        """The shortest lead of [extend] beside it, in whole minutes: a round has one to decide before the signal."""
        return -(-(self.seconds + 60) // 60) * 60


def extend_clashes(policy: Policy) -> Iterator[Problem]:
    """Whatever the cluster is."""
    extend, step = policy.extend, policy.extend.step
    if extend.enabled and policy.record != "admin_comment":
        message = f"who may get more time is recorded where users cannot write, and record is {policy.record}"
        yield Problem(("extend.enabled", "record"), message, 'set record = "admin_comment"')
    if step.share is not None and step.share > extend.most - 1 + 1e-9:
        message = f"a step of {step.share:.0%} of the limit is longer than most = {extend.most:g} allows"
        yield Problem(("extend.step", "extend.most"), message, _shorter(extend))
    if step.seconds is not None and extend.most == 1:
        message = f"a step of {show_duration(step.seconds)} is longer than most = 1 allows"
        yield Problem(("extend.step", "extend.most"), message, "set most = 2.0")
    if step.seconds is not None and step.seconds < extend.lead:
        message = f"a step of {step} is over before the next decision, {show_duration(extend.lead)} before the end"
        hint = f'set step = "{show_duration(extend.lead)}" or more, or a shorter lead'
        yield Problem(("extend.step", "extend.lead"), message, hint)
    if step.seconds is not None and extend.budget is not None and step.seconds > extend.budget:
        message = f"a step of {step} is longer than all that a user may get in a month"
        hint = f'set budget = "{show_duration(step.seconds)}", or a shorter step'
        yield Problem(("extend.step", "extend.budget"), message, hint)


def extend_queue_clashes(policy: Policy, queues: Mapping[str, int | None]) -> Iterator[Problem]:
    """A step that no job may get whole: `most` times the longest limit of each queue leaves no room for it.

    `queues` with their maximum limits in seconds; None: none.
    """
    extend, step = policy.extend, policy.extend.step.seconds
    longest = [queues[name] for name in extend.queues or queues if name in queues]
    known = [one for one in longest if one is not None]
    if not extend.enabled or step is None or extend.most == 1 or not known or len(known) < len(longest):
        return
    room = int(max(known) * (extend.most - 1)) // 60 * 60
    if step > room:
        message = f"a step of {show_duration(step)} is longer than most = {extend.most:g} allows for the longest limit"
        places = ("extend.step", "extend.most", "MaxTime of the queues")
        yield Problem(places, message, f'set step = "{show_duration(room)}" or less' if room else "set most = 2.0")


def lead_clashes(policy: Policy, signal: SignalLead | None) -> list[Problem]:
    """A lead that is less than a minute longer than that of the checkpoint plugin: its signal may come before it is
    decided.
    """
    if not policy.extend.enabled or signal is None or policy.extend.lead >= signal.seconds + 60:
        return []
    before = show_duration(signal.seconds)
    message = f"the checkpoint plugin signals jobs {before} before their end, when more time may yet be given"
    right = show_duration(signal.least)
    return [Problem(("extend.lead", signal.place), message, f'set lead = "{right}" or more')]


def _shorter(extend: Extend) -> str:
    """The nearest right lines."""
    share, room = extend.step.share or 0, int((extend.most - 1) * 100 + 1e-9)
    right = f"set most = {1 + share:g}"
    return f'{right}, or step = "{room}%"' if room else right
