"""Nodes that sleep: what is said of them, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.errors import UsageError
from adminkit.fit import ask
from adminkit.fit.place import Said, board, by_vectors, take
from adminkit.fit.request import Request, request
from adminkit.fit.verdict import SOURCES, verdict
from adminkit.fit.waiting import explain, waiting
from adminkit.jupyter.form import when
from adminkit.messages import translated
from adminkit.reports.fit import fit_report
from adminkit.slurm.room import Room
from tests.fit.rooms import HOUR, NOW, job, make, node, taken

WAKE, FALL = 600, 30


def asleep(name: str, **changes: Any) -> Any:
    return node(name, **{"power": "asleep", "wakes": WAKE, **changes})


def falling(name: str, **changes: Any) -> Any:
    return node(name, **{"power": "falling", "wakes": WAKE, "falls": FALL, **changes})


FULL = job(1, "n1", gpus=8)
BUSY = node("n1", taken(FULL))

#: (room, what is asked, word, at, why, explained)
CASES = [
    (make([asleep("n1"), asleep("n2")]), {"gpus": "8"}, "now", NOW + WAKE, "wakes", "all of them sleep"),
    (make([node("n1"), asleep("n2")]), {"gpus": "8"}, "now", NOW, "", "one is up"),
    (make([asleep("n1"), node("n2")]), {"gpus": "8"}, "now", NOW, "", "in whatever order"),
    (make([BUSY, asleep("n2")], FULL), {"gpus": "8"}, "now", NOW + WAKE, "wakes", "the one that is up is busy"),
    (make([node("n1"), asleep("n2")]), {"nodes": "2"}, "now", NOW + WAKE, "wakes", "it takes the one that sleeps too"),
    (make([node("n1"), node("n2"), asleep("n3")]), {"nodes": "2"}, "now", NOW, "", "two are up"),
    (make([node("n1"), asleep("n2")]), {"ntasks": 8}, "now", NOW, "", "all its tasks fit where it is up"),
    (make([node("n1"), asleep("n2")]), {"ntasks": 9}, "now", NOW + WAKE, "wakes", "one does not"),
    (make([asleep("n1"), asleep("n2", wakes=60)]), {"nodes": "2"}, "now", NOW + WAKE, "wakes", "the slower one counts"),
    (make([asleep("n1", wakes=None)]), {}, "now", None, "wakes", "how long it takes is not known"),
    (make([asleep("n1", power="waking")]), {}, "now", NOW + WAKE, "wakes", "on its way up"),
    (make([falling("n1")]), {}, "later", NOW + FALL + WAKE, "wakes", "on its way down: nobody is given it"),
    (make([falling("n1", falls=None)]), {}, "later", None, "wakes", "for how long is not known"),
    (make([falling("n1"), asleep("n2")]), {}, "now", NOW + WAKE, "wakes", "another one is down already"),
    (make([BUSY, falling("n2")], FULL), {"gpus": "8"}, "later", NOW + FALL + WAKE, "wakes", "sooner than the busy one"),
    (make([asleep("n1", away="drained", power="")]), {}, "later", None, "drained", "asleep and drained"),
    (make([asleep("n1")]), {"gpus": "9"}, "never", None, "size", "too small, awake or not"),
]  # fmt: skip


@pytest.mark.parametrize(("room", "asked", "word", "at", "why", "explained"), CASES, ids=[case[5] for case in CASES])
def test_a_node_that_sleeps_is_woken(
    room: Room, asked: dict[str, Any], word: str, at: int | None, why: str, explained: str
) -> None:
    said = by_vectors(board(room), request(**asked))
    assert (said.word, said.at, said.why) == (word, at, why), said


def test_a_job_that_waits_is_placed_where_nodes_are_up() -> None:
    room = make([asleep("n1"), node("n2")], job(3, "", "PENDING", gpus=8))
    full = board(room)
    assert by_vectors(full, Request(gpus=8)).why == "wakes", "the one that is up is its"
    assert by_vectors(full, Request(gpus=8)).nodes == ("n1",)


def test_a_booking_is_taken_where_nodes_are_up() -> None:
    after = take(board(make([asleep("n1"), node("n2")])), Request(gpus=8))
    assert after is not None and by_vectors(after, Request(gpus=8)).why == "wakes"


@pytest.mark.parametrize(
    ("asked", "word", "why"),
    [
        ({}, "now", "one that is shown has room"),
        ({"nodes": "2"}, "unknown", "there may be more"),
        ({"gpus": "9"}, "unknown", "there may be larger ones"),
        ({"features": "fast"}, "unknown", "one of them may have it"),
        ({"time": "9999"}, "never", "a limit of the queue holds for them too"),
    ],
)
def test_a_cloud_s_nodes_that_are_not_shown_are_unknown(asked: dict[str, Any], word: str, why: str) -> None:
    said = by_vectors(board(make([node("n1")], total_nodes=9)), request(**asked))
    assert said.word == word and ("8 nodes of the queue are asleep" in said.text) is (word == "unknown"), why


SLEEPS = Said("now", 1600, "wakes", "n1 has room but is powered down: it will be up within 600 s")
FALLS = Said("later", 1630, "wakes", "of the 1 node that is large enough: 1 powering down, to be woken afterwards")
NOT_HAD = Said("never", None, "rule", "allocation failure: Requested node configuration is not available")
UNSEEN = Said("unknown", None, "wakes", "8 nodes of the queue are asleep, and Slurm hides such nodes (PrivateData)")
FREE, UNSAID = Said("now", 1000), Said("unknown", None, "", "not asked")
REFUSED, HELD = Said("never", None, "rule", "no"), Said("later", None, "qos", "the QOS")


@pytest.mark.parametrize(
    ("said", "expected", "why"),
    [
        ((SLEEPS, SLEEPS, FREE, FREE), ("wakes", 1600, "wakes"), "all say so"),
        ((SLEEPS, SLEEPS, FREE, UNSAID), ("wakes", 1600, "wakes"), "Slurm was not asked"),
        ((SLEEPS, SLEEPS, HELD, FREE), ("later", None, "qos"), "a QOS holds it"),
        ((SLEEPS, SLEEPS, FREE, REFUSED), ("never", None, "rule"), "a rule refuses it"),
        ((FALLS, FALLS, FREE, REFUSED), ("later", 1630, "wakes"), "Slurm's test refuses nodes on their way down"),
        ((SLEEPS, SLEEPS, FREE, NOT_HAD), ("later", 1600, "wakes"), "on their way up for a job that is gone"),
        ((FREE, FREE, FREE, NOT_HAD), ("never", None, "rule"), "Slurm knows better where nothing sleeps"),
        ((UNSEEN, UNSEEN, FREE, REFUSED), ("unknown", None, ""), "nor those that are not shown"),
        ((UNSEEN, UNSEEN, FREE, FREE), ("unknown", None, ""), "whether it is woken is not known"),
        ((FALLS, FALLS, FREE, UNSAID), ("later", 1630, "wakes"), "Slurm was not asked"),
    ],
)
def test_the_verdict_is_wakes(said: tuple[Said, ...], expected: tuple[object, ...], why: str) -> None:
    found = verdict(dict(zip(SOURCES, said, strict=True)))
    assert (found.verdict, found.at, found.why) == expected, why


@pytest.mark.parametrize(
    ("room", "asked"),
    [
        (make([asleep("n1")]), {}),
        (make([asleep("n1", wakes=None)]), {}),
        (make([asleep("n1"), asleep("n2")]), {"nodes": "2"}),
        (make([asleep("n1", wakes=None), asleep("n2")]), {"nodes": "2"}),
        (make([falling("n1")]), {}),
    ],
)
def test_each_sentence_has_one_in_japanese_and_the_form_of_the_hub_shows_it(room: Room, asked: dict[str, Any]) -> None:
    said = by_vectors(board(room), request(**asked))
    assert said.text and translated(said.text, "ja") != said.text
    assert said.text in when(said) and translated(said.text, "ja") in translated(when(said), "ja")
    assert said.word == "later" or when(said).startswith("now, once a node is awake")


def test_a_waiting_job_is_judged_with_nodes_that_sleep() -> None:
    mine = job(3, "", "PENDING", gpus=8, cpus=1, time_limit=HOUR)
    found = explain(make([asleep("n1")], mine), mine, lambda _: Said("now"))
    assert (found.answer.start.verdict, found.answer.start.at) == ("wakes", NOW + WAKE)
    report = fit_report([found.answer], {})
    assert report.rows[0][1:3] == ["wakes", NOW + WAKE]
    assert report.meta.notes == ["not every source could be asked: slurmctld has not planned it"]


def test_a_job_whose_nodes_wake_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = job(3, "n1", "CONFIGURING", gpus=8, starts=NOW - 10)
    monkeypatch.setattr(ask, "current", lambda: board(make([asleep("n1", power="waking")], mine, job(4, "n1"))))
    start = waiting(3).answer.start
    assert (start.verdict, start.at) == ("wakes", NOW - 10 + WAKE)
    assert start.text == "it has its nodes, and waits until they are up: n1"
    with pytest.raises(UsageError, match="job 4 is not waiting"):
        waiting(4)
