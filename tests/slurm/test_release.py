"""Which Slurm this is, from what its own programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm import release
from tests.support.fakes import DATA, Programs


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "bin", monkeypatch)


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("slurm-wlm 22.05.8\n", (22, 5, 8), "Debian's name"),
        ("slurm 24.11.5\n", (24, 11, 5), "SchedMD's name"),
        ("slurm 25.05.0-rc1\n", (25, 5, 0), "a release candidate"),
        ("slurm 26.05\n", (26, 5, 0), "no micro"),
        ("sacct: warning\nslurm 23.02.10\n", (23, 2, 10), "two digits of micro, words before"),
    ],
)
def test_a_release_is_three_numbers(text: str, expected: release.Release, why: str) -> None:
    assert release.parse_release(text) == expected, why


def test_a_release_is_shown_as_slurm_writes_it() -> None:
    assert [release.show_release(r) for r in ((22, 5, 8), (24, 11, 0))] == ["22.05.8", "24.11.0"]


def test_something_that_is_no_release_is_refused() -> None:
    with pytest.raises(AdminkitError, match="no release"):
        release.parse_release("usage: sacct")


def test_scontrol_tells_the_release_where_there_is_no_sacct(programs: Programs) -> None:
    programs.add("scontrol", "echo slurm 23.11.4")
    assert release.release() == (23, 11, 4)


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("sacct-helpformat-22.05", {"JobIDRaw", "TimelimitRaw", "Reserved"}, {"Restarts", "Planned", "StdOut"}),
        ("sacct-helpformat-24.11", {"JobIDRaw", "TimelimitRaw", "Planned", "Restarts", "StdOut"}, {"Reserved"}),
    ],
)
def test_the_fields_are_those_of_this_sacct(programs: Programs, name: str, has: set[str], lacks: set[str]) -> None:
    programs.says("sacct", __helpformat=name)
    fields = release.sacct_fields()
    assert has <= fields
    assert not lacks & fields


def test_a_list_of_fields_without_the_key_is_none() -> None:
    with pytest.raises(AdminkitError, match="does not list JobID"):
        release.parse_fields("Account User\n")


def test_states_this_sacct_refuses_are_not_asked_for(programs: Programs) -> None:
    programs.add(
        "sacct",
        "for state in $(echo $2 | tr , ' '); do case $state in CD|F|TO) ;; *)\n"
        "echo \"sacct: fatal: unrecognized job state value '$state'\" >&2; exit 1;; esac; done\n"
        f"cat {DATA}/sacct-helpformat-22.05.txt",
    )
    assert release.finished_states(("CD", "NEW", "TO", "RV")) == ("CD", "TO")


def test_a_sacct_that_fails_for_another_reason_is_not_taken_for_one_that_knows_no_states(programs: Programs) -> None:
    programs.add("sacct", "echo 'sacct: fatal: Could not establish a configuration source' >&2; exit 1")
    with pytest.raises(AdminkitError, match="configuration source"):
        release.finished_states()


def test_open_and_finished_states_do_not_meet() -> None:
    assert not set(release.OPEN) & set(release.FINISHED)
