"""What the plugin adminkit_gpu_use left in a run's comment: what of it counts, and as what."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from adminkit.trace.gpu_use_word import gpu_use_of
from adminkit.trace.monitored import monitored_gpu, monitored_gpu_memory

START = 1_790_000_000
MIB = 1 << 20


def word(node: int = 0, *, at: int = START + 30, to: int = START + 3630, more: str = "", **values: int) -> str:
    said = {"gpus": 2, "s": 7200, "busy": 1800, "used": 1} | values
    return f"gu1:at={at},to={to},node={node}," + ",".join(f"{key}={value}" for key, value in said.items()) + more


JS1 = (
    "JS1:"
    + base64.b64encode(gzip.compress(json.dumps({"nodes": {"n1": {"gpu_utilization": {"0": 90}}}}).encode())).decode()
)


@pytest.mark.parametrize(
    ("comment", "start", "share", "why"),
    [
        (word(), START, 0.25, "a quarter of the time"),
        (f"ak1:lim=60,src=e {word()} mine", START, 0.25, "between others' words"),
        (f"{word()} {word(1, busy=7200)}", START, 0.625, "two nodes"),
        (f"{word()} {word(busy=0)}", START, 0.25, "the first word of a node"),
        (f"{word(s=0, busy=0)} {word(1)}", START, 0.25, "a node that was not measured is not idle"),
        (word(busy=0, used=0), START, 0.0, "never in use"),
        (word(), START + 31, None, "an earlier run's"),
        (word(), None, None, "a run that did not begin"),
        (word(to=START), START, None, "it ends before it begins"),
        (word(busy=7201), START, None, "more than there was"),
        (word(used=3), START, None, "more GPUs than were measured"),
        (word(more=",last=1"), START, 0.25, "with the last use"),
        (word(more=",new=1"), START, None, "a key of another release"),
        (word().replace("s=7200", "s=" + "9" * 16), START, None, "no number that was measured"),
        (word().replace("gu1", "gu2"), START, None, "another grammar"),
        ("x" + word(), START, None, "inside of another word"),
        ("gu1:at=1", START, None, "cut"),
        (f"{JS1} {word()}", START, 0.9, "Jobstats counts first"),
        (f"JS1:None {word()}", START, 0.25, "Jobstats found nothing"),
        (None, START, None, "no comment"),
    ],
)  # fmt: skip
def test_a_word_counts_for_its_run(comment: str | None, start: int | None, share: float | None, why: str) -> None:
    assert monitored_gpu(comment, start) == share, why


@pytest.mark.parametrize(
    ("comment", "held", "why"),
    [
        (word(more=",mem=100,of=1000"), (100 * MIB, 1000 * MIB), "of both GPUs"),
        (f"{word(more=',mem=100,of=1000')} {word(1, more=',mem=1,of=1000')}", (101 * MIB, 2000 * MIB), "of both nodes"),
        (f"{word(more=',mem=100,of=1000')} {word(1)}", None, "one node does not say"),
        (word(), None, "not known"),
        (word(more=",mem=1001,of=1000"), None, "more than there is"),
    ],
)
def test_memory_is_known_where_all_nodes_say(comment: str, held: tuple[float, float] | None, why: str) -> None:
    assert monitored_gpu_memory(comment, START) == held, why


def test_a_node_says_when_its_gpus_were_in_use_last() -> None:
    (never,), (once,) = gpu_use_of(word(), START), gpu_use_of(word(more=f",last={START + 60}"), START)
    assert (never.last, once.last, once.gpus, once.used) == (None, START + 60, 2, 1)
