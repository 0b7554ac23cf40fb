"""How long a job that was put back is kept from starting, by what scontrol prints."""

from __future__ import annotations

import pytest

from adminkit.slurm.requeue import RequeueDelay, parse_delay

BY_AUTH, BY_DELAY = "AuthInfo=cred_expire", "SchedulerParameters=requeue_delay"


@pytest.mark.parametrize(
    ("version", "auth", "parameters", "expected", "why"),
    [
        ("22.05.8", "(null)", "(null)", RequeueDelay(121, BY_AUTH, False), "Slurm's default"),
        ("24.11.5", "socket=/run/m,cred_expire=60", "", RequeueDelay(61, BY_AUTH, False), "set"),
        ("25.05.8", "(null)", "requeue_delay=5", RequeueDelay(121, BY_AUTH, False), "a word it does not know yet"),
        ("25.11.0", "(null)", "bf_continue", RequeueDelay(121, BY_AUTH, True), "could be set"),
        ("26.05.5", "cred_expire=60", "bf_continue,requeue_delay=5", RequeueDelay(6, BY_DELAY, True), "counts first"),
        ("26.05.5", "(null)", "requeue_delay=0", RequeueDelay(1, BY_DELAY, True), "none at all"),
        ("26.05.5", "(null)", "requeue_delay=soon", RequeueDelay(121, BY_AUTH, True), "no number"),
        ("(null)", "cred_expire=9", "requeue_delay=5", RequeueDelay(10, BY_AUTH, False), "the release is unknown"),
    ],
)
def test_the_delay(version: str, auth: str, parameters: str, expected: RequeueDelay, why: str) -> None:
    text = f"AuthInfo = {auth}\nSchedulerParameters     = {parameters}\nSLURM_VERSION           = {version}\n"
    assert parse_delay(text) == expected, why
