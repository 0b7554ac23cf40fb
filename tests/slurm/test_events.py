"""What happened to nodes, from what sacctmgr prints; a reason is never a record."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from adminkit.slurm.events import NodeEvent, node_events, parse_events
from adminkit.slurm.seal import Marks
from tests.support.fakes import Programs

MARKS = Marks("", "x0123456789abcdef")
SEAL = MARKS.seal
DRAIN = NodeEvent("n2", 100, None, "DRAIN", "disk", "root", 0)


def line(node: str = "n2", start: str = f"100{SEAL}", end: str = "Unknown", rest: str = "DRAIN|root(0)|disk") -> str:
    return f"alpha|{node}|{start}|{end}|{rest}\n"


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("", [], "nothing happened"),
        (line(), [DRAIN], "one that lasts"),
        (line(end=f"160{SEAL}"), [NodeEvent("n2", 100, 160, "DRAIN", "disk", "root", 0)], "one that is over"),
        (
            line(rest="DRAIN|root(0)|a|b State=IDLE\n1|n3|2") + line("n3"),
            [NodeEvent("n2", 100, None, "DRAIN", "a|b State=IDLE\n1|n3|2", "root", 0),
             NodeEvent("n3", 100, None, "DRAIN", "disk", "root", 0)],
            "bars and newlines in a reason",
        ),
        (
            line(rest="DRAIN|root(0)|x\nalpha|n9|50|60|DOWN|root(0)|y"),
            [NodeEvent("n2", 100, None, "DRAIN", "x\nalpha|n9|50|60|DOWN|root(0)|y", "root", 0)],
            "a record in a reason, without the seal",
        ),
        (
            line(rest="DRAIN|root(0)|x\nalpha|n9|50x0000000000000000|Unknown|DOWN|root(0)|y"),
            [NodeEvent("n2", 100, None, "DRAIN", "x\nalpha|n9|50x0000000000000000|Unknown|DOWN|root(0)|y", "root", 0)],
            "with another seal",
        ),
        (line(start="100"), [], "a time without its seal"),
        (line(node=""), [], "of the cluster, not of a node"),
        (line().replace("alpha", "beta"), [], "another cluster"),
        (line(rest="DOWN*|1234(1234)|"), [NodeEvent("n2", 100, None, "DOWN*", None, "1234", 1234)], "no reason"),
        (line(rest="DOWN||"), [NodeEvent("n2", 100, None, "DOWN", None, None, None)], "nobody"),
    ],
)  # fmt: skip
def test_events(text: str, expected: list[NodeEvent], why: str) -> None:
    assert parse_events(text, "alpha", MARKS) == expected, why


@given(some.lists(some.text(max_size=40), max_size=4))
def test_every_reason_comes_back_whole_and_makes_no_event(reasons: list[str]) -> None:
    text = "".join(line(f"n{n}", rest=f"DRAIN|root(0)|{reason}") for n, reason in enumerate(reasons))
    found = parse_events(text, "alpha", MARKS)
    assert [(event.node, event.reason or "") for event in found] == [(f"n{n}", one) for n, one in enumerate(reasons)]


def test_the_question_is_of_one_cluster_and_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("sacctmgr", 'echo "alpha|n1|7${SLURM_TIME_FORMAT#%s}|Unknown|DOWN|root(0)|$*"')
    (event,) = node_events("alpha", 86_400)
    assert (event.node, event.start_time) == ("n1", 7)
    assert event.reason is not None
    assert "Event=Node cluster=alpha start=1970-01-02T00:00:00 format=Cluster,NodeName,Start%40,End%40" in event.reason
