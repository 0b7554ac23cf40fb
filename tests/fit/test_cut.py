"""GPUs that are cut into slices, shards and MPS, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adminkit.errors import UsageError
from adminkit.fit.ask import smaller
from adminkit.fit.limits import by_limits
from adminkit.fit.needs import total_of
from adminkit.fit.place import board, by_vectors, take
from adminkit.fit.profiles import Profile
from adminkit.fit.request import Request, parse_share, request
from adminkit.fit.waiting import request_of
from adminkit.jupyter.form import size
from adminkit.messages import translated
from adminkit.slurm.assoc_limits import Bound, Held, Holder
from adminkit.slurm.room import Room, RoomJob, RoomNode, Vector
from tests.fit.rooms import HOUR, MIB, NOW, job, make, node, queue


def cut(taken: Vector, gpus: int, name: str = "n1", **changes: Any) -> RoomNode:
    """Two GPUs of four shards each, `gpus` of which are cut."""
    has = Vector(8, 64_000 * MIB, {"gpu": 2}, {"shard": 8})
    return node(name, taken, **{"has": has, "cut": {"gpu": gpus}, **changes})


def sharded(number: int, shards: int, hours: float = 1, **changes: Any) -> RoomJob:
    each = Vector(1, 500 * MIB, {}, {"shard": shards})
    return replace(job(number, "n1", ends=int(NOW + hours * HOUR), each=each), **changes)


def taken(gpus: int, shares: int, cpus: int = 0) -> Vector:
    return Vector(cpus, cpus * 500 * MIB, {"gpu": gpus}, {"shard": shares})


FREE = make([cut(taken(0, 0), 0)])
TWO = make([cut(taken(1, 2, 1), 1)], sharded(1, 2))
WHOLE = make([cut(taken(1, 4, 1), 0)], job(1, "n1", gpus=1))
#: Three of one GPU until in an hour, two of the other one until in two.
BOTH = make([cut(taken(2, 5, 2), 2)], sharded(1, 3), sharded(2, 2, hours=2))
SAID = make([cut(taken(2, 5, 2), 2, widest={"shard": 2})], sharded(1, 3), sharded(2, 2, hours=2))
#: A whole GPU, and the other one with three of four shards in use.
MIXED = make([cut(taken(2, 7, 2), 1)], job(1, "n1", gpus=1, ends=NOW + 3 * HOUR), sharded(2, 3))

#: (room, what is asked, word, at, why)
CASES = [
    (FREE, {"gpus": "2"}, "now", NOW, "no shard is in use"),
    (FREE, {"gres": "shard:4"}, "now", NOW, "all of one GPU"),
    (FREE, {"gres": "shard:5"}, "never", None, "one job's shards are of one GPU"),
    (FREE, {"gres": "mps:5"}, "never", None, "there is no MPS"),
    (FREE, {"gres": "shard:a100:1"}, "never", None, "nor shards of this type"),
    (TWO, {"gpus": "2"}, "later", NOW + HOUR, "a GPU with two of four shards in use is not free as a whole"),
    (TWO, {"gpus": "1"}, "now", NOW, "the other one is"),
    (TWO, {"gres": "shard:4"}, "now", NOW, "the other GPU is not cut"),
    (WHOLE, {"gres": "shard:4"}, "now", NOW, "the other GPU"),
    (WHOLE, {"gpus": "2"}, "later", NOW + HOUR, "one is taken whole"),
    (BOTH, {"gpus": "1"}, "later", NOW + HOUR, "both are cut, and one job ends"),
    (BOTH, {"gpus": "2"}, "later", NOW + 2 * HOUR, "until the other one ends"),
    (BOTH, {"gres": "shard:1"}, "now", NOW, "three are free"),
    (BOTH, {"gres": "shard:2"}, "now", NOW, "of three on two GPUs one has two at least"),
    (BOTH, {"gres": "shard:3"}, "later", NOW + HOUR, "that one GPU has all three is not sure"),
    (SAID, {"gres": "shard:2"}, "now", NOW, "Slurm says that one has two"),
    (SAID, {"gres": "shard:3"}, "later", NOW + HOUR, "and that none has three"),
    (MIXED, {"gres": "shard:1"}, "now", NOW, "the one that is left"),
    (MIXED, {"gres": "shard:2"}, "later", NOW + HOUR, "the shards of a GPU that is taken whole are nobody's"),
    (MIXED, {"gpus": "1"}, "later", NOW + HOUR, "none is free as a whole until the shards are"),
    (make([cut(taken(1, 4), 1)]), {"gpus": "2"}, "later", None, "shards of a job that nobody shows"),
]  # fmt: skip


@pytest.mark.parametrize(("room", "asked", "word", "at", "why"), CASES, ids=[case[4] for case in CASES])
def test_a_gpu_is_given_whole_or_in_shards(
    room: Room, asked: dict[str, Any], word: str, at: int | None, why: str
) -> None:
    said = by_vectors(board(room), request(**asked))
    assert (said.word, said.at) == (word, at), said


def test_a_job_that_waits_for_shards_has_them_before_the_request() -> None:
    waits = replace(sharded(3, 4), state="PENDING", nodes=(), starts=None, ends=None, reason="Priority")
    one = board(make([cut(taken(1, 4, 1), 0)], job(1, "n1", gpus=1), waits))
    assert by_vectors(one, request(gres="shard:1")).at == NOW + HOUR
    assert by_vectors(one, request(gres="shard:1"), waiting=False).word == "now"
    assert request_of(waits).words().count("--gres=shard:4") == 1


def test_bookings_of_shards_add_up() -> None:
    now = board(FREE)
    for shards in (4, 4):
        after = take(now, Request(share="shard", shares=shards))
        assert after is not None
        now = after
    assert take(now, Request(share="shard", shares=1)) is None
    assert by_vectors(now, Request(gpus=1)).word == "later"


MIG = Vector(64, 385_411 * MIB, {"ampere": 6, "1g.10gb": 28})
HELD = make([node("n1", Vector(0, 0, {"ampere": 6, "1g.10gb": 3}), has=MIG)])


def test_slices_are_of_a_type_of_their_own() -> None:
    assert by_vectors(board(HELD), request(gpus="1g.10gb:25")).word == "now"
    assert by_vectors(board(HELD), request(gpus="1g.10gb:26")).word == "later"
    assert by_vectors(board(HELD), request(gpus="ampere:1")).word == "later"


def test_the_most_that_a_node_has_is_said_of_each_type() -> None:
    mixed = make([node("n1", has=Vector(16, 257_595 * MIB, {"turing": 1, "ampere": 3}))])
    said = by_vectors(board(mixed), request(gpus="ampere:4"))
    assert (said.word, said.why) == ("never", "size")
    most = "16 CPUs, 257595 MiB, 4 GPUs (3 of ampere, 1 of turing)"
    assert said.text == f"no node has that much: the most that any node has is {most}"
    assert translated(said.text, "ja").endswith("GPU 4 (ampere 3, turing 1) です")
    assert by_vectors(board(FREE), request(gres="shard:5")).text.endswith("2 GPUs (2 of gpu, 8 of shard)")


def test_smaller_ones_have_fewer_shards() -> None:
    found = list(smaller(board(MIXED), request(gres="shard:3", time="90")))
    assert found[0] == request(gres="shard:1", time="90")


def test_what_is_typed_is_what_sbatch_gets() -> None:
    one = request(gres="shard:tesla:2", time="30")
    assert "--gres=shard:tesla:2" in one.words() and "--gres shard:tesla:2" in one.line()
    assert size(Profile("a", {}, one)) == "shard:tesla:2, 1 CPU, 30 min"
    twenty = request(gpus="20")
    assert "--gpus=20" in twenty.words() and twenty.line() == "--gpus 20 -c 1"


@pytest.mark.parametrize(
    ("text", "found"),
    [("shard:2", ("shard", 2)), ("mps:50", ("mps", 50)), ("shard:2080ti:1", ("shard:2080ti", 1)), (None, (None, 0))],
)
def test_parts_of_a_gpu_are_read(text: str | None, found: tuple[str | None, int]) -> None:
    assert parse_share(text) == found


@pytest.mark.parametrize("gres", ["gpu:2", "shard", "shard:0", "shard:1,mps:2", "shard:1 "])
def test_what_is_not_judged_is_refused(gres: str) -> None:
    with pytest.raises(UsageError):
        request(gres=gres, gpus="1" if gres.endswith(" ") else None)


def test_limits_count_shards() -> None:
    asked = total_of(request(gres="shard:a100:3", nodes="2"), queue(), True)
    for name, most, word in (("gres/shard", 5, "never"), ("gres/shard:a100", 6, "now"), ("gres/gpu", 1, "now")):
        holder = Holder("qos", "QOS high", {"MaxTRESPJ": {name: Bound(most, 0)}})
        assert by_limits(Held(qos=(holder,)), asked).word == word, name
