"""How far up the ladder jobs with idle GPUs are, by the log of acts."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.usage.held import IDLE, held
from adminkit.usage.steps import STEPS, steps
from adminkit.usage.usage import Answer
from tests.usage.jobs import HOUR, NOW, job, use

#: Job 11 has not used its GPUs for an hour, after it had used them; job 12 uses one of two; job 13 both.
FOUND = held(
    [job(11), job(12), job(13), job(14, gpus=0, kind="shard")],
    [Answer(source="dcgm", at=NOW, uses={
        11: [use(0, quiet=HOUR), use(1, quiet=HOUR)], 12: [use(2, quiet=0), use(3)],
        13: [use(4, quiet=0), use(5, quiet=9)],
    })],
    NOW, 300,
)  # fmt: skip


def act(job_id: Any, did: str, ago: int, held: bool | None = True, what: str = "idle") -> dict[str, Any]:
    return {"what": what, "job": job_id, "did": did, "at": NOW - ago, "held": held}


@pytest.mark.parametrize(
    ("acts", "expected", "why"),
    [
        ([], {"idle": 2}, "nothing was done yet"),
        ([act(11, "warned", 600)], {"idle": 1, "warned": 1}, "one of them"),
        ([act(11, "warned", 900), act(11, "requeue", 60)], {"idle": 1, "requeue": 1}, "the last step"),
        ([act(11, "warned", 2 * HOUR)], {"idle": 2}, "it used its GPUs since"),
        ([act(11, "warned", 600, None), act(11, "cancel", 600, False)], {"idle": 2}, "begun, and refused"),
        ([act(11, "held", 600), act(11, "void", 600)], {"idle": 2}, "what became of an order is no step"),
        ([act(13, "warned", 600), act(14, "warned", 600)], {"idle": 2}, "it uses them; it is not measured"),
        ([act(11, "warned", 600, what="elastic"), act("11", "warned", 600), {"what": "idle"}], {"idle": 2}, "not ours"),
    ],
)
def test_a_job_is_on_the_last_step_since_it_was_idle(
    acts: list[dict[str, Any]], expected: dict[str, int], why: str
) -> None:
    assert steps(FOUND, acts, IDLE) == {step: expected.get(step, 0) for step in STEPS}, why
