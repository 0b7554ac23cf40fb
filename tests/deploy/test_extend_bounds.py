"""The longest limit that a job may have by everything but the nodes, from what slurmctld prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.extend_bounds import SlurmBounds
from adminkit.deploy.extend_state import State
from tests.extend.jobs import SETTINGS, opened, run
from tests.extend.site import ACCOUNT, QOS, USER
from tests.fit.rooms import HOUR, NOW, make, node, queue

CONFIG = {
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageEnforce": "associations,limits",
    "PreemptType": "preempt/none",
}
MINE = USER.format(uid=1001)
LIMITS = ACCOUNT + MINE + QOS
OF_QUEUE = MINE.replace("Partition=", "Partition=gq").replace("DefAssoc=Yes", "DefAssoc=No") + "    MaxWallPJ=90\n"


def most(
    limits: str = LIMITS,
    config: dict[str, str] | None = None,
    listed: dict[str, Any] | None = None,
    queues: dict[str, Any] | None = None,
    **settings: Any,
) -> tuple[int | None, str]:
    room = replace(make([node("n1")]), queues=(queue(**(queues or {})), replace(queue(tier=5), name="high")))
    bounds = SlurmBounds(
        Path("/nowhere"),
        room,
        limits,
        {**CONFIG, **(config or {})},
        replace(SETTINGS, **settings),
        State(NOW, "2026-11"),
    )
    bound, why, _ = bounds.most(opened(run(1), **(listed or {})))
    return bound, why


@pytest.mark.parametrize(
    ("given", "expected", "reason"),
    [
        ({}, (72 * HOUR, "limit"), "the queue's maximum"),
        ({"queues": {"max_limit": None}}, (None, ""), "nothing has one"),
        ({"listed": {"queue": "gone"}}, (0, "unknown"), "its queue was removed"),
        ({"listed": {"deadline": NOW + 300 + 1200}}, (HOUR + 1200, "deadline"), "its deadline"),
        ({"limits": LIMITS.replace("    MaxJobs= MaxWallPJ=", "    MaxJobs= MaxWallPJ=90")}, (5400, "limit"),
         "its association's"),
        ({"limits": f"{LIMITS}\n{OF_QUEUE}"}, (5400, "limit"), "its association's for the queue"),
        ({"limits": f"{LIMITS}\n{OF_QUEUE.replace('=gq', '=x')}"}, (72 * HOUR, "limit"), "one for another queue"),
        ({"limits": LIMITS.replace("GrpJobs=N(3)\n    MaxWallPJ=", "GrpJobs=N(3)\n    MaxWallPJ=120")}, (7200, "limit"),
         "its QOS's"),
        ({"limits": LIMITS.replace("GrpTRESMins=cpu=N(39)", "GrpTRESMins=cpu=100(39)")}, (0, "minutes"),
         "its account's minutes"),
        ({"limits": LIMITS.replace("    MaxJobs= MaxWallPJ=", "    MaxJobs= MaxTRESMinsPJ=cpu=60")}, (0, "minutes"),
         "its own"),
        ({"limits": ACCOUNT + QOS}, (0, "unknown"), "an association that is not shown"),
        ({"limits": ACCOUNT + QOS, "config": {"AccountingStorageEnforce": "(null)"}}, (72 * HOUR, "limit"),
         "none is needed here"),
        ({"limits": "nothing", "config": {"AccountingStorageType": "(null)"}}, (72 * HOUR, "limit"), "no accounting"),
        ({"limits": LIMITS + MINE}, (0, "unknown"), "a record that is there twice may be forged"),
        ({"limits": f"{LIMITS}\nQOS=high(2)\n    Preempt=normal\n"}, (0, "kind"), "another QOS preempts its own"),
        ({"limits": f"{LIMITS}\nQOS=high(2)\n    Preempt=normal\n", "preemptible": True}, (72 * HOUR, "limit"),
         "the operator allows it"),
        ({"config": {"PreemptType": "preempt/qos", "PreemptMode": "WITHIN,REQUEUE"}}, (0, "kind"),
         "any job of its own QOS preempts it"),
        ({"config": {"PreemptType": "preempt/qos", "PreemptMode": "GANG,UNKNOWN"}}, (0, "kind"),
         "what Slurm prints of the same beside GANG"),
        ({"config": {"PreemptType": "preempt/qos", "PreemptMode": "WITHIN"}, "preemptible": True}, (72 * HOUR, "limit"),
         "the operator allows it"),
        ({"config": {"PreemptType": "preempt/qos", "PreemptMode": "GANG,REQUEUE"}}, (72 * HOUR, "limit"),
         "no QOS preempts its own"),
        ({"config": {"PreemptType": "preempt/partition_prio", "PreemptMode": "WITHIN"}}, (72 * HOUR, "limit"),
         "only QOS preempt within themselves"),
        ({"limits": f"{LIMITS}    PreemptMode=WITHIN,CANCEL\n"}, (0, "kind"), "jobs of this QOS preempt each other"),
        ({"limits": f"{LIMITS}\nQOS=high(2)\n    PreemptMode=WITHIN\n"}, (72 * HOUR, "limit"), "those of another do"),
        ({"queues": {"preempt_mode": "REQUEUE"}, "config": {"PreemptType": "preempt/partition_prio"}}, (0, "kind"),
         "another queue preempts its own"),
        ({"queues": {"preempt_mode": "REQUEUE"}}, (72 * HOUR, "limit"), "nothing preempts here"),
    ],
)  # fmt: skip
def test_the_tightest_bound_counts(given: dict[str, Any], expected: tuple[int | None, str], reason: str) -> None:
    assert most(**given) == expected, reason


def test_accounts_above_that_have_limits_for_all_below() -> None:
    lab = "ClusterName=alpha Account=lab UserName= Partition= ID={}\n    ParentAccount={}\n    GrpTRES=cpu={}\n"
    limits = ACCOUNT.replace("root(1)", "lab(9)") + lab.format(9, "root(1)", "64(4)") + QOS
    made = SlurmBounds(Path("/nowhere"), make([node("n1")]), limits, CONFIG, SETTINGS, State(NOW, "2026-11"))
    assert made.above() == {"physics": frozenset({"lab"}), "lab": frozenset({"lab"})}
    assert replace(made, limits=limits.replace("64(4)", "N(4)")).above() == {"physics": frozenset(), "lab": frozenset()}
    assert replace(made, config={}).above() == {}, "no accounting"
    assert replace(made, limits=limits + lab.format(9, "x", "")).above() == {}, "a record twice"
