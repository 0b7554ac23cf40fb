"""What a policy makes of requests: at once, after its owner typed what the refusal says, in the queue that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.lua.runtime import Decider
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.model import Policy
from adminkit.policy.replay import judge
from adminkit.simulate.asked import Answer, Fate, answer, answers
from adminkit.slurm.site import Site, SiteQueue
from adminkit.stats.replay import Submission
from adminkit.trace.connect import reader
from tests.support.builders import MONDAY, job, make_trace

DAY, H = 86_400, 3600
SITE = Site(
    "aaic",
    (
        SiteQueue("gq", DAY, 3 * DAY, is_default=True, node_gpus=8, node_cpus=40, total_nodes=50),
        SiteQueue("gq-long", DAY, 7 * DAY, node_gpus=8, node_cpus=40, total_nodes=50),
    ),
)


def answered(request: Submission, rules: list[dict[str, Any]], **keys: Any) -> Answer:
    policy = Policy.model_validate({"version": 1, "rules": rules, **keys})
    decide = judge(Decider(policy_text(policy_table(policy, SITE, 0)).encode()).decide, policy, SITE, 0)
    return answer(request, decide, {rule.name: rule for rule in policy.rules})


def asked(**changes: Any) -> Submission:
    usual: dict[str, Any] = {
        "user": "ada", "uid": 1001, "account": "vision", "queue": "gq", "qos": None, "limit_kind": "finite",
        "time_limit": 3 * DAY, "nodes": 1, "cpus": 5, "gpus": 1, "mem": None, "unsure": 0,
    }  # fmt: skip
    return Submission(**{**usual, **changes})


def rule(**keys: Any) -> dict[str, Any]:
    return {"name": f"r-{'-'.join(keys)}", "queues": ["gq"], **keys}


REJECT = {"action": "reject"}


@pytest.mark.parametrize(
    ("rules", "request_", "expected", "why"),
    [
        ([], asked(), Answer(Fate(time_limit=3 * DAY)), "no rule"),
        ([rule(max_limit="1-00:00:00", action="amend")], asked(), Answer(Fate(time_limit=DAY)), "amended"),
        (
            [rule(max_limit="1-00:00:00", **REJECT)],
            asked(),
            Answer(None, Fate(time_limit=DAY), Fate(time_limit=3 * DAY, queue="gq-long")),
            "refused: the limit that the text names, or the queue that takes it",
        ),
        (
            [rule(min_limit="01:00:00", **REJECT), rule(gpus="2-4", **REJECT)],
            asked(time_limit=60),
            Answer(None, Fate(time_limit=H, gpus=2), Fate(time_limit=60, queue="gq-long")),
            "two refusals at once",
        ),
        ([rule(gpus_per_node="8", **REJECT)], asked(nodes=2, gpus=2),
         Answer(None, Fate(time_limit=3 * DAY, gpus=16), Fate(time_limit=3 * DAY, queue="gq-long")), "per node"),
        ([rule(nodes="-2", **REJECT)], asked(nodes=4, gpus=32),
         Answer(None, Fate(3 * DAY, nodes=2, cpus=2, gpus=16), Fate(3 * DAY, queue="gq-long")), "fewer nodes"),
        (
            [{"name": "say", "require_limit": True}],
            asked(limit_kind="unset", time_limit=DAY),
            Answer(None, Fate(time_limit=DAY)),
            "its owner types the limit that the job had",
        ),
        (
            [{"name": "say", "require_limit": True}],
            asked(limit_kind="unset", time_limit=None),
            Answer(None),
            "nothing to type",
        ),
        (
            [rule(max_limit="2-00:00:00", **REJECT), {"name": "tighter", "max_limit": "1-00:00:00", **REJECT}],
            asked(),
            Answer(None, Fate(time_limit=DAY)),
            "two bounds: the one that binds",
        ),
        (
            [rule(cpus_per_gpu=4, **REJECT)],
            asked(cpus=20, gpus=2),
            Answer(None, Fate(3 * DAY, cpus=8), Fate(3 * DAY, queue="gq-long")),
            "as many for each GPU as are allowed",
        ),
        (
            [rule(mem_per_gpu="10G", **REJECT)],
            asked(mem=99 << 30, gpus=2),
            Answer(None, Fate(3 * DAY), Fate(3 * DAY, queue="gq-long")),
            "less memory",
        ),
        (
            [{"name": "a", "max_limit": "1-00:00:00", "queues": ["gq"], **REJECT},
             {"name": "b", "gpus": "4", "queues": ["gq-long"], **REJECT}],
            asked(),
            Answer(None, Fate(time_limit=DAY)),
            "no other queue takes it",
        ),
    ],
)  # fmt: skip
def test_a_request_has_its_answer(
    rules: list[dict[str, Any]], request_: Submission, expected: Answer, why: str
) -> None:
    assert answered(request_, rules) == expected, why


def test_a_queue_that_can_never_take_it_leads_to_the_one_that_can() -> None:
    found = answered(asked(time_limit=5 * DAY), [], routing={"action": "amend"})
    there = Fate(time_limit=5 * DAY, queue="gq-long")
    assert found == Answer(None, there, there)


def test_texts_of_the_policys_own_do_not_matter() -> None:
    own = rule(max_limit="1-00:00:00", **REJECT, text={"en": "No! {value}? Never.", "ja": "{value}"})
    found = answered(asked(), [own], languages=["ja", "en"], help_url="https://hpc.example.org/limits")
    assert found.typed == Fate(time_limit=DAY)


def test_each_job_of_the_trace_is_decided_by_what_it_asked_for(tmp_path: Path) -> None:
    path = make_trace(
        tmp_path / "trace.db", [job(1, time_limit=3 * DAY), job(2, time_limit=H), job(3, state="REQUEUED")]
    )
    policy = Policy.model_validate({"version": 1, "rules": [rule(max_limit="1-00:00:00", **REJECT)]})
    with reader(path) as db:
        found = dict(answers(db, policy, None, "aaic", 85))
    assert found[1, MONDAY + 30].typed == Fate(time_limit=DAY)
    assert found[2, MONDAY + 90].at_once == Fate(time_limit=H)
    assert len(found) == 2, "a run that was put back is no submission of its own"
