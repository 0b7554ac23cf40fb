"""The bonus of waiting jobs, as sprio prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.slurm.bonus import bonuses, parse, set_bonus
from adminkit.slurm.process import Refused
from tests.support.fakes import Programs


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("             7|       325\n             8|         0\n", {7: 325, 8: 0}, "a line for each job"),
        ("7|325\n7|325\n", {7: 325}, "a job of two queues"),
        ("7|-5\n", {7: -5}, "somebody set it below 0"),
        ("7|325|x\nseven|1\n7|\n|5\n", {}, "lines of another shape"),
        ("", {}, "none"),
    ],
)
def test_a_line_is_a_job(text: str, expected: dict[int, int], why: str) -> None:
    assert parse(text) == expected, why


def test_a_user_without_waiting_jobs_has_none(programs: Programs) -> None:
    programs.add("sprio", 'echo "sprio: error: Unable to find jobs matching user/id(s) specified" >&2; exit 1')
    assert bonuses(1000) == {}
    programs.add("sprio", 'echo "sprio: error: Unable to contact slurm controller" >&2; exit 1')
    with pytest.raises(Refused):
        bonuses(1000)


def test_it_is_set_by_scontrol(programs: Programs) -> None:
    programs.add("scontrol", '[ "$*" = "update JobId=7 SiteFactor=0" ]')
    set_bonus(7, 0)
    with pytest.raises(Refused):
        set_bonus(7, 1)
