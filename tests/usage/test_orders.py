"""Orders to put a job back, as a later round finds them."""

from __future__ import annotations

import pytest

from adminkit.deploy import idle_orders
from adminkit.deploy.idle_orders import REQUEUE, settle, with_requeue
from adminkit.slurm import idle_acts
from adminkit.slurm.elastic_jobs import HELD
from adminkit.slurm.squeue import QueuedJob
from tests.usage.jobs import NOW

UNTIL = NOW + REQUEUE - 300
ORDER = f"el1:gpus=0,until={UNTIL}"
PUT_BACK = f"ck1:at={NOW - 60},heard=1,rq=1,end=more"


@pytest.mark.parametrize(
    ("comment", "reason", "hold", "at", "did", "acts"),
    [
        (f"{ORDER} {PUT_BACK}", HELD, True, NOW, "held", [("comment", PUT_BACK)]),
        (f"{ORDER} {PUT_BACK}", HELD, False, NOW, "released", [("comment", PUT_BACK), ("release", "")]),
        (PUT_BACK, HELD, False, NOW, "released", [("release", "")]),
        (ORDER, HELD, False, NOW, "", []),
        (ORDER, "None", True, NOW, "", []),
        (f"mine {ORDER}", "None", True, UNTIL + 301, "void", [("comment", "mine")]),
        ("el1:gpus=4,until=9", "None", True, NOW, "void", []),
        ("", "None", True, NOW, "void", []),
    ],
    ids=["held", "released", "killed before", "held by others", "open", "no response", "another's", "taken off"],
)  # fmt: skip
def test_what_becomes_of_an_order(
    monkeypatch: pytest.MonkeyPatch,
    comment: str,
    reason: str,
    hold: bool,
    at: int,
    did: str,
    acts: list[tuple[str, str]],
) -> None:
    done: list[tuple[str, str]] = []
    state = "PENDING" if reason == HELD else "RUNNING"
    job = QueuedJob(submit_time=1, job_id=7, state=state, reason=reason, admin_comment=comment)
    monkeypatch.setattr(idle_acts, "now_of", lambda ids: {7: job})
    monkeypatch.setattr(idle_acts, "set_comment", lambda job, text: done.append(("comment", text)))
    monkeypatch.setattr(idle_acts, "release", lambda job: done.append(("release", "")))
    lines = settle({7: UNTIL}, hold, at)
    assert ([line["did"] for line in lines], done) == ([did] if did else [], acts)
    assert idle_orders.settle({}, hold, at) == []


def test_a_job_with_an_order_gets_no_second_one() -> None:
    assert with_requeue("mine", UNTIL) == f"mine {ORDER}"
    assert with_requeue("el1:gpus=4,until=9", UNTIL) is None
