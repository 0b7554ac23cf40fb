"""What limits of QOS and associations hold, by what of them is unused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.fit.limits import by_limits
from adminkit.fit.needs import total_of
from adminkit.fit.request import request
from adminkit.fit.timeline import Need
from adminkit.slurm.assoc_limits import Bound, Held, Holder, parse_held
from tests.fit.rooms import queue

TEXT = (Path(__file__).parents[1] / "data" / "slurm" / "assoc-mgr-22.05.txt").read_text()
CAPS = {"capped": {"MaxTRESPU": {"gres/gpu": Bound(4)}}}
MIB = 1 << 20


def need(cpus: int = 1, gpus: int = 0, minutes: int = 30, mem: int = 0) -> Need:
    return Need(cpus, mem * MIB, gpus, None, minutes * 60)


def held(qos: str | None, uid: int = 5, queue_qos: str | None = None) -> Held:
    return parse_held(TEXT, uid, None, qos, queue_qos, {"physics": "normal", "chemistry": "normal"}, CAPS)


@pytest.mark.parametrize(
    ("qos", "asked", "word", "why", "text"),
    [
        (None, need(), "now", "", ""),
        (None, need(cpus=8), "never", "association", "cpu 7 per job"),
        (None, need(gpus=10), "later", "association", "gres/gpu 30; 21 in use"),
        ("capped", need(gpus=2), "now", "", ""),
        ("capped", need(gpus=3), "later", "qos", "gres/gpu 4 per user; 2 in use"),
        ("capped", need(gpus=4), "never", "qos", "gres/gpu 3 per job"),
        ("capped", need(minutes=61), "never", "qos", "60 minutes"),
        ("capped", need(cpus=7, minutes=60, gpus=1), "now", "", ""),
    ],
)
def test_each_limit_says_no_by_itself(qos: str | None, asked: Need, word: str, why: str, text: str) -> None:
    said = by_limits(held(qos), asked)
    assert (said.word, said.why) == (word, why) and text in said.text, said


def test_a_user_of_whom_slurmctld_knows_nothing_has_slurmdbds_limit() -> None:
    text = "\n".join(line.replace("games(5)", "news(9)") for line in TEXT.splitlines())
    other = parse_held(text, 9, None, "capped", None, {}, CAPS)
    assert other.qos[0].limits["MaxTRESPU"] == {"gres/gpu": Bound(4, 0)}


def test_newer_releases_name_the_user_beside_the_uid() -> None:
    newer = TEXT.replace("\n      5\n", "\n      games(5)\n")
    assert newer != TEXT
    two = parse_held(newer, 5, None, "capped", None, {}, CAPS)
    assert two.qos[0].limits["MaxTRESPU"] == {"gres/gpu": Bound(4, 2)}


def test_what_is_not_known_is_not_now() -> None:
    assert by_limits(Held(problem="no association"), need()).word == "unknown"
    assert by_limits(held(None, uid=77), need()).word == "unknown"
    assert by_limits(Held(enforced=False), need(cpus=99)).word == "now"


def test_the_queues_qos_comes_before_the_jobs() -> None:
    both = held("normal", queue_qos="capped")
    assert [one.name for one in both.qos] == ["QOS capped", "QOS normal"]
    assert by_limits(both, need(gpus=3)).word == "later"


@pytest.mark.parametrize(
    ("qos", "asked", "word", "text", "explained"),
    [
        ("capped", {"nodes": "2", "gpus_per_node": "1"}, "now", "", "two in all"),
        ("capped", {"nodes": "2", "gpus_per_node": "2"}, "never", "gres/gpu 3 per job", "four in all"),
        ("capped", {"nodes": "3", "gpus_per_node": "1"}, "later", "gres/gpu 4 per user; 2 in use", "three more"),
        (None, {"nodes": "2", "cpus": 4}, "never", "cpu 7 per job", "eight in all"),
        (None, {"ntasks": 8}, "never", "cpu 7 per job", "on whatever nodes"),
        (None, {"ntasks": 7}, "now", "", "GPUs are limited, and it asks for none"),
        ("capped", {"ntasks": 2, "gpus_per_node": "1"}, "unknown", "gres/gpu", "on one node or on two"),
        (None, {"exclusive": True}, "unknown", "gres/gpu", "it gets all of the node's"),
    ],
)
def test_limits_count_all_nodes(qos: str | None, asked: dict[str, Any], word: str, text: str, explained: str) -> None:
    total = total_of(request(time="30", **asked), queue(default_mem_cpu=None), False)
    said = by_limits(held(qos), total)
    assert said.word == word and text in said.text, (explained, said)


@pytest.mark.parametrize(
    ("name", "most", "asked", "word"),
    [
        ("MaxTRESPN", {"gres/gpu": 2}, {"nodes": "2", "gpus_per_node": "2"}, "now"),
        ("MaxTRESPN", {"gres/gpu": 1}, {"nodes": "2", "gpus_per_node": "2"}, "never"),
        ("MaxTRESPJ", {"node": 2}, {"nodes": "2"}, "now"),
        ("MaxTRESPJ", {"node": 1}, {"nodes": "2"}, "never"),
        ("MaxTRESPJ", {"node": 1}, {"ntasks": 2}, "unknown"),
        ("MaxTRESPJ", {"license/tool": 1}, {"licences": "tool:2"}, "never"),
        ("MaxTRESPJ", {"license/tool": 2}, {"licences": "tool:2"}, "now"),
    ],
)
def test_a_limit_is_of_the_job_or_of_each_node(
    name: str, most: dict[str, int], asked: dict[str, Any], word: str
) -> None:
    holder = Holder("QOS q", "qos", {name: {what: Bound(many) for what, many in most.items()}})
    said = by_limits(Held(qos=(holder,)), total_of(request(time="30", **asked), queue(), True))
    assert said.word == word, said
