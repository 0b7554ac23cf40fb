"""What a running slurmctld takes, in which form, from which release on."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm.run_time import (
    OF_QUEUE,
    OPTIONS,
    PARAMETERS,
    RESTART,
    SCHEDULER,
    check_option,
    check_parameter,
    check_queue,
    merged,
    same,
)

NEW = (26, 5, 3)


@pytest.mark.parametrize(
    ("name", "value", "line", "why"),
    [
        ("PriorityWeightAge", 20_000, "20000", "a number"),
        ("PriorityWeightAge", "020", "20", "as text"),
        ("PriorityMaxAge", "7-0", "7-0", "a time"),
        ("PriorityMaxAge", 90, "90", "in minutes"),
        ("PriorityFavorSmall", True, "YES", "a switch"),
        ("PriorityFavorSmall", "no", "NO", "as Slurm has it"),
        ("OverTimeLimit", "unlimited", None, "no number"),
        ("PriorityWeightAge", True, None, "no number"),
        ("PriorityWeightAge", 1.5, None, "no whole number"),
        ("PriorityWeightAge", -1, None, "below zero"),
        ("PriorityWeightAge", 2**32, None, "more than slurmctld keeps"),
        ("PriorityWeightAge", "1\nSlurmUser=root", None, "a second line"),
        ("PriorityWeightAge", "1 # ", None, "a comment"),
        ("PriorityMaxAge", "1-0\n", "1-0", "a line end behind it is cut off"),
        ("PriorityMaxAge", "1-0\nX=1", None, "a second line"),
        ("PriorityMaxAge", "1-0-0", None, "no time"),
        ("PriorityMaxAge", ["1"], None, "a list"),
        ("KillWait", "30\\", None, "a line that goes on"),
        ("KillWait", 65_533, "65533", "all that 16 bits keep"),
        ("KillWait", 65_536, None, "with it in slurm.conf no program of Slurm starts"),
        ("CompleteWait", 70_000, None, "likewise"),
        ("OverTimeLimit", 70_000, None, "likewise"),
        ("PriorityDecayHalfLife", 0, None, "likewise, without PriorityUsageResetPeriod"),
        ("PriorityDecayHalfLife", "0-00:00:00", None, "the same, written in another way"),
        ("PriorityDecayHalfLife", "99999999-0", None, "its seconds overflow"),
        ("PriorityMaxAge", "24855-0", "24855-0", "the longest time"),
        ("PriorityMaxAge", 24_855 * 1440 + 1, None, "longer, in minutes"),
    ],
)
def test_a_value_has_the_form_of_its_parameter_and_nothing_else(
    name: str, value: object, line: str | None, why: str
) -> None:
    if line is None:
        with pytest.raises(AdminkitError, match=f"{name}: "):
            check_parameter(name, value)
    else:
        assert check_parameter(name, value).value == line, why


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SelectType", "at its start only"),
        ("PriorityType", "at its start only"),
        ("PriorityWeigthAge", "no such parameter that a running slurmctld takes"),
        ("Epilog", "no such parameter that a running slurmctld takes"),
        ("PriorityWeightAge\nX", "no such parameter that a running slurmctld takes"),
    ],
)
def test_what_it_does_not_take_is_refused_with_the_reason(name: str, words: str) -> None:
    with pytest.raises(AdminkitError, match=words):
        check_parameter(name, 1)


def test_an_option_that_the_release_lacks_is_refused() -> None:
    """slurmctld would print it and ignore it."""
    assert check_option("time_min_as_soft_limit", True, (23, 11, 0)).value == "yes"
    with pytest.raises(AdminkitError, match=r"an option of Slurm 23\.11"):
        check_option("time_min_as_soft_limit", True, (23, 2, 7))
    for bad in ("bf_windows", "no_backup_scheduling", "bf_window=1,x"):
        with pytest.raises(AdminkitError):
            check_option(bad, 1, NEW)
    with pytest.raises(AdminkitError, match="is not true or false"):
        check_option("bf_continue", 1, NEW)


@pytest.mark.parametrize("queue", ["gq limit", "gq\n", "", "gq;x", "a" * 65, "gq,other"])
def test_the_name_of_a_queue_is_one_word(queue: str) -> None:
    with pytest.raises(AdminkitError, match="not the name of a queue"):
        check_queue(queue, "MaxTime", "1-0")


@pytest.mark.parametrize(
    ("name", "one", "other", "alike"),
    [
        ("PriorityMaxAge", "7-0", "7-00:00:00", True),
        ("PriorityMaxAge", "1440", "1-00:00:00", True),
        ("PriorityMaxAge", "1440", "1-00:00:01", False),
        ("KillWait", "30", "30 sec", True),
        ("OverTimeLimit", "5", "5 min", True),
        ("PriorityFavorSmall", "NO", "No", True),
        ("MaxTime", "UNLIMITED", "INFINITE", True),
        ("MaxTime", "UNLIMITED", "1-0", False),
        ("PriorityWeightAge", "10", "10", True),
        (SCHEDULER, "bf_window=1,bf_continue", "bf_continue,bf_window=1", True),
        (SCHEDULER, "bf_window=1", "bf_window=1,bf_continue", False),
    ],
)
def test_two_ways_to_write_a_value_are_one(name: str, one: str, other: str, alike: bool) -> None:
    assert same(name, one, other) is alike


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("bf_continue,bf_window=1440", {"bf_window": "5760"}, "bf_continue,bf_window=5760"),
        ("bf_continue,bf_window=1440", {"bf_continue": None, "bf_interval": "30"}, "bf_window=1440,bf_interval=30"),
        ("bf_window=1,bf_window=2", {"bf_continue": ""}, "bf_window=1,bf_continue"),
        (None, {"bf_window": "1"}, "bf_window=1"),
        ("bf_continue", {"bf_continue": None}, ""),
    ],
)
def test_options_are_merged_one_by_one(before: str | None, changes: dict[str, str | None], after: str) -> None:
    assert merged(before, changes) == after


def test_no_parameter_is_both_taken_and_refused() -> None:
    assert not RESTART & {*PARAMETERS, *OPTIONS, *OF_QUEUE}


@pytest.mark.skipif(not shutil.which("man") or not shutil.which("slurmctld"), reason="no manual of Slurm here")
def test_the_manual_asks_no_restart_for_any_of_them() -> None:
    """slurm.conf(5) says below each parameter where a restart is needed."""
    done = subprocess.run(["man", "-P", "cat", "slurm.conf"], capture_output=True, text=True, check=False)
    if not done.stdout:
        pytest.skip("the manual page is not installed")
    name, needs = "", set()
    lines = done.stdout.splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"^ {7,14}([A-Za-z_]+)(?:=\S+)?\s*$", line)
        name = found[1] if found else name
        if re.search(r"restart\s+of\s+slurmctld", " ".join("".join(lines[number : number + 2]).split())):
            needs.add(name)
    assert len(needs) > 10
    assert not needs & {*PARAMETERS, *OPTIONS, *OF_QUEUE}
    assert needs - RESTART <= {"AccountingStorageEnforce", "SlurmctldHost"}
