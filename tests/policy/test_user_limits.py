"""GPUs of a user at a time: what an operator has to type; tests/cluster/test_fit.py types it."""

from __future__ import annotations

import pytest

from adminkit.policy.explain import explain
from adminkit.policy.user_limits import notes, to_type
from adminkit.slurm.queue_qos import HeldGpus, QueueQos
from tests.support.policies import policy

ADD = ["sacctmgr add qos gq-users set MaxTRESPerUser=gres/gpu=4", "scontrol update PartitionName=gq QOS=gq-users"]

MODIFY = "sacctmgr modify qos own set MaxTRESPerUser=gres/gpu=4"

#: what is wanted, the queues' QOS with their limits, what to type, why
CASES: list[tuple[dict[str, int], dict[str, tuple[str | None, int | None]], list[str], str]] = [
    ({}, {"gq": (None, None)}, [], "nothing is wanted"),
    ({"gq": 4}, {"gq": (None, None)}, ADD, "a queue without a QOS"),
    ({"gq": 4}, {"gq": ("own", None)}, [MODIFY], "one without a limit"),
    ({"gq": 4}, {"gq": ("own", 8)}, [MODIFY], "another limit"),
    ({"gq": 4}, {"gq": ("own", 4)}, [], "it is so already"),
    ({"GQ": 4}, {"GQ": (None, None)}, [ADD[0], "scontrol update PartitionName=GQ QOS=gq-users"], "QOS are lower case"),
    ({"g q;x": 1}, {"g q;x": (None, None)}, ["sacctmgr add qos 'g q;x-users' set MaxTRESPerUser=gres/gpu=1",
     "scontrol update PartitionName='g q;x' QOS='g q;x-users'"], "a name is one word to the shell"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "there", "lines", "why"), CASES, ids=[case[3] for case in CASES])
def test_what_to_type(
    wanted: dict[str, int], there: dict[str, tuple[str | None, int | None]], lines: list[str], why: str
) -> None:
    assert to_type(wanted, HeldGpus({name: QueueQos(*one) for name, one in there.items()}, ())) == lines, why


def test_why_slurm_would_hold_nobody_is_said_where_it_matters() -> None:
    there = HeldGpus({"gq": QueueQos("own", 4)}, ("no limits",))
    assert notes({"gq": 4}, there) == ["gpus_per_user: no limits"]
    assert notes({}, there) == []
    assert notes({"gone": 4}, there)[1:] == ["gpus_per_user: no such queue: gone"]


def test_it_is_explained() -> None:
    rows = dict(explain(policy("version = 1\n[gpus_per_user]\ngq = 16\n")))
    assert rows["gpus_per_user"].startswith("A user holds at most 16 GPUs in gq at a time")
