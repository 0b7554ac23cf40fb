"""What sprio says of fair share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.slurm import fair_share
from adminkit.slurm.fair_share import Share, parse_fair_shares
from tests.support.fakes import Programs


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("2|gq|0.1666667|16667|5|0|0|1000|0|0||0\n", {(2, "gq"): Share(0.1666667, 16667, 1005)}, "a job"),
        (
            "3|gq|1.0000000|100|0|0|0|7|0|0||0\n3|gq-short|1.0000000|100|0|0|0|8|0|0||0",
            {(3, "gq"): Share(1.0, 100, 7), (3, "gq-short"): Share(1.0, 100, 8)},
            "a job of two queues",
        ),
        (" 2| gq |  0.5000000|   0|1|2|3|4|5|6|cpu=7,mem=8|-9\n", {(2, "gq"): Share(0.5, 0, 45)}, "every part, nice"),
        ("Unable to find jobs matching user/id(s) specified\n", {}, "nothing waits"),
        ("2|gq|nan|0|5|0|0|1|0|0||0\n2|gq|0.5|1\n|gq|0.5|1|5|0|0|1|0|0||0\n", {}, "lines of another shape"),
    ],
)
def test_each_job_has_a_share_in_each_queue(text: str, expected: dict[tuple[int, str], Share], why: str) -> None:
    assert parse_fair_shares(text) == expected, why


@given(st.text())
def test_any_text_is_read_or_passed_over(text: str) -> None:
    for (job, queue), share in parse_fair_shares(text).items():
        assert job >= 0 and queue and 0 <= share.factor < 2 and share.points >= 0


@given(st.from_regex(fair_share._LINE, fullmatch=True))
def test_a_line_of_this_shape_is_read(line: str) -> None:
    assert len(parse_fair_shares(line)) == 1


def test_slurm_is_asked_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    programs.add("sprio", """[ "$1 $2" = "-h -o" ] && printf '7|gq|0.2500000|250|0|0|0|0|0|0||0\\n'""")
    assert fair_share.fair_shares() == {(7, "gq"): Share(0.25, 250, 0)}
