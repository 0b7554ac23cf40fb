"""QOS and associations, from what sacctmgr prints; a name is never a line of its list."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from adminkit.errors import AdminkitError
from adminkit.slurm import associations
from adminkit.slurm.site import Association, SiteQos
from tests.support.fakes import Programs

ORDER = [True, False, False, True]


def lines(*records: str, number: int = 7) -> str:
    return "".join(f"alpha|{number}|{number}|alpha|{record}\n" for record in records)


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("", [], "none that this user may see"),
        (lines("physics||||parent||normal|"), [Association("physics", qos=frozenset({"normal"}))], "of an account"),
        (
            lines("physics|alice|gq|root|5|2-00:00:00|high,normal|high"),
            [Association("physics", "alice", "gq", "root", 5, 172_800, frozenset({"high", "normal"}), "high")],
            "of a user in a queue",
        ),
        ("physics|alice|||1|||\n", [], "a line without the columns that were drawn"),
        ("alpha|7|8|alpha|physics|alice|||1|||\n", [], "two numbers where one stands twice"),
        ("alpha|7|7|beta|physics|alice|||1|||\n", [], "another cluster"),
        (lines("physics|al ice|||1|||"), [], "a name that Slurm does not have"),
        (lines("physics|alice|||1||"), [], "a cell is missing"),
        (
            lines("physics|x\nalpha|9|9|physics|mallory|||1|||\ny|||1|||"),
            [],
            "a user's name that holds a record in a guessed order",
        ),
    ],
)
def test_associations(text: str, expected: list[Association], why: str) -> None:
    assert associations.parse_associations(text, "alpha", ORDER) == expected, why


def test_the_order_is_drawn_for_each_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    Programs(tmp_path / "bin", monkeypatch).add("sacctmgr", f'echo "$*" >> {asked}')
    assert associations.associations("alpha") == associations.associations("alpha") == []
    first, second = asked.read_text().splitlines()
    assert first != second
    columns = first.partition("format=")[2].split(",")
    assert len(columns) == len(set(columns)) == 64 + 8, "sacctmgr prints equal columns once"


@given(some.text(max_size=60))
def test_no_name_makes_a_record(name: str) -> None:
    """Whoever wrote the name does not know the order, of which there are 2^64: here another one."""
    text = lines("physics|alice|||1|||", f"physics|{name}|||1|||")
    found = associations.parse_associations(text, "alpha", ORDER)
    assert found[0].user == "alice"
    assert len(found) <= 2
    assert all(one.user in ("alice", name or None) for one in found)
    assert associations.parse_associations(text, "alpha", [True, True, False, True]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("normal|0||||||||\n", [SiteQos("normal")]),
        (
            "high|10|01:00:00|DenyOnLimit,NoDecay|normal,low|cpu=4,mem=1.50G|gres/gpu=8|node=2|9|100\n",
            [SiteQos("high", 10, 3600, frozenset({"DenyOnLimit", "NoDecay"}), frozenset({"normal", "low"}),
                     {"cpu": 4, "mem": 1536 << 20}, {"gres/gpu": 8}, {"node": 2}, 9, 100)],
        ),
        ("a b|0||||||||\nfew|0\n", []),
    ],
)  # fmt: skip
def test_qos(text: str, expected: list[SiteQos]) -> None:
    assert associations.parse_qos(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("mem=100", {"mem": 100 << 20}),
        ("mem=2T,cpu=x,=1", {"mem": 2 << 40}),
        ("mem=1e9,node=-1", {}),
        ("mem=999999E", {}),
    ],
)
def test_tres(text: str, expected: dict[str, int]) -> None:
    assert associations.parse_tres(text) == expected


def test_slurmdbd_that_is_away_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Programs(tmp_path / "bin", monkeypatch).add("sacctmgr", "echo 'sacctmgr: error: refused' >&2; exit 1")
    with pytest.raises(AdminkitError, match="refused"):
        associations.qos()
