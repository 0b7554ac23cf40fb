"""What slurm.conf itself says, and whether the file of a trial counts in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm.conf_lines import conf_lines, place_of_include

OURS = "adminkit_trial.conf"
NAMES = ("PriorityWeightAge", "SchedulerParameters")


@pytest.mark.parametrize(
    ("text", "found", "why"),
    [
        ("PriorityWeightAge=1\n", {"PriorityWeightAge": "1"}, "a line"),
        ("priorityweightage = 1 # ours\n", {"PriorityWeightAge": "1"}, "of any case, with a comment"),
        ("#PriorityWeightAge=1\n", {}, "a comment"),
        ("PriorityWeightAge=1\nPriorityWeightAge=2\n", {"PriorityWeightAge": "2"}, "the last one counts"),
        ("PriorityWeight\\\nAge=1\n", {"PriorityWeightAge": "1"}, "a line that goes on"),
        ("PriorityWeightQOS=1\n", {}, "another one"),
        ("Include more.conf\n", {"SchedulerParameters": "bf_continue"}, "a file that it includes"),
        (f"Include {OURS}\n", {}, "but not the trial's"),
        ("Include gone.conf\nPriorityWeightAge=1\n", {"PriorityWeightAge": "1"}, "a file that is not there"),
        ("Include slurm.conf\nPriorityWeightAge=1\n", {"PriorityWeightAge": "1"}, "itself"),
    ],
)
def test_the_values_that_it_sets(tmp_path: Path, text: str, found: dict[str, str], why: str) -> None:
    (tmp_path / "slurm.conf").write_text(text)
    (tmp_path / "more.conf").write_text("SchedulerParameters=bf_continue\n")
    (tmp_path / OURS).write_text("PriorityWeightAge=9\n")
    assert conf_lines(tmp_path / "slurm.conf", NAMES, OURS) == found, why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"PriorityWeightAge=1\nInclude {OURS}\n", ""),
        (f"include\t{OURS}\n", ""),
        (f"Include {OURS}\nPriorityWeightQOS=1\n", ""),
        ("PriorityWeightAge=1\n", "does not include"),
        (f"# Include {OURS}\n", "does not include"),
        (f"Include {OURS}\nPRIORITYWEIGHTAGE=1\n", "sets PRIORITYWEIGHTAGE after the line that includes"),
        (f"Include {OURS}\nInclude more.conf\n", "sets SchedulerParameters after the line that includes"),
        (f"Include {OURS}\nInclude more.conf\nInclude {OURS}\n", ""),
    ],
)
def test_whether_the_included_file_counts(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "slurm.conf").write_text(text)
    (tmp_path / "more.conf").write_text("SchedulerParameters=bf_continue\n")
    (tmp_path / OURS).write_text("PriorityWeightAge=9\n")
    found = place_of_include(tmp_path / "slurm.conf", OURS, NAMES)
    assert (words in found) if words else found == ""


def test_without_slurm_conf_nothing_is_known(tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match="couldn't read"):
        conf_lines(tmp_path / "slurm.conf", NAMES, OURS)
