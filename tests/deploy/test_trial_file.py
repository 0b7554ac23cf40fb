"""The file that says what a trial compares: each problem names its line and key; nobody else may have written it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adminkit.deploy.trial_file import Guards, load_plan, refuse_foreign
from adminkit.errors import AdminkitError

RELEASE = (26, 5, 3)
WHOLE = """version = 1
[a]
policy = "policy.toml"
[b]
policy = "policy-b.toml"
tables = "tables-b"
[b.slurm]
PriorityWeightAge = 10000
SchedulerParameters = { bf_window = 5760, bf_continue = true, bf_busy_nodes = false }
[b.queues.gq]
MaxTime = "1-00:00:00"
[guards]
widest_wait = 2
cut = 3
cycle = false
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "trial.toml"
    path.write_text(text)
    return path


def test_sides_have_the_names_of_the_file(tmp_path: Path) -> None:
    assert load_plan(written(tmp_path, WHOLE), RELEASE).names == ("A", "B")
    named = WHOLE.replace("[b]", '[b]\nname = " tuned "')
    assert load_plan(written(tmp_path, named), RELEASE).names == ("A", "tuned")


def test_a_whole_file(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, WHOLE), RELEASE)
    assert (plan.a, plan.b, plan.tables) == tuple(
        tmp_path / one for one in ("policy.toml", "policy-b.toml", "tables-b")
    )
    assert plan.slurm == {"PriorityWeightAge": "10000"}
    assert plan.options == {"bf_window": "5760", "bf_continue": "", "bf_busy_nodes": None}
    assert plan.queues == {"gq": {"MaxTime": "1-00:00:00"}}
    assert plan.guards == Guards(2.0, 1.5, 3, None)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("version = 1", "version = 2", ":1: version: this release of adminkit knows version 1"),
        ("[guards]", "[gards]", "gards: no such key"),
        ('[b]', '[b]\nname = "A"', ":5: b.name: A has the same name"),
        ("[b]", "[b]\nname = 7", ":5: b.name: not a name of 1 to 40 characters"),
        ("[b]", '[b]\nname = "a\\nb"', ":5: b.name: not a name"),
        ("[b]", f'[b]\nname = "{"x" * 41}"', ":5: b.name: not a name"),
        ("tables =", "table =", ":6: b.table: no such key"),
        ("PriorityWeightAge", "PriorityType", ":8: b.slurm.PriorityType: slurmctld takes PriorityType at its start"),
        ("bf_window", "bf_win", ":9: b.slurm.SchedulerParameters"),
        ("{ bf_window = 5760, bf_continue = true, bf_busy_nodes = false }", '"bf_window=1"', ":9: b.slurm"),
        ('"1-00:00:00"', '"soon"', ":11: b.queues.gq.MaxTime"),
        ("MaxTime", "State", ":11: b.queues.gq.State"),
        ("queues.gq]", 'queues."gq State=DOWN"]', "not the name of a queue"),
        ("widest_wait = 2", "widest_wait = 0.5", ":13: guards.widest_wait: 0.5 is not from 1 to 1000"),
        ("widest_wait = 2", "widest_wait = nan", "is not from 1 to 1000"),
        ("cut = 3", "cut = 0.5", ":14: guards.cut: not a whole number"),
        ("cycle = false", "cycle = true", ":15: guards.cycle: not a number"),
        ('"policy-b.toml"', "7", ":5: b.policy: not a path"),
        ('"policy-b.toml"', '"a\\u0000b"', ":5: b.policy: not a path"),
        ("10000", '"1\\nSlurmUser=root"', ":8: b.slurm.PriorityWeightAge"),
    ],
)  # fmt: skip
def test_a_problem_names_its_line_and_key(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        load_plan(written(tmp_path, WHOLE.replace(old, new)), RELEASE)
    assert words in caught.value.message


@pytest.mark.parametrize(
    "text", ["version = 1\n", "version = 1\n[b]\n[b.slurm]\n", "version = 1\n[b.slurm]\nSchedulerParameters = {}\n"]
)
def test_a_file_that_changes_nothing_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(AdminkitError, match="it changes nothing"):
        load_plan(written(tmp_path, text), RELEASE)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_takes_no_file_that_somebody_else_may_write(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    tmp_path.chmod(0o755)
    for mode in (0o664, 0o646):
        path.chmod(mode)
        with pytest.raises(AdminkitError, match="writable by others"):
            refuse_foreign(path)
    path.chmod(0o644)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    os.chown(path, 65534, 65534)
    for one in (path, link):
        with pytest.raises(AdminkitError, match="may have been written by uid 65534"):
            refuse_foreign(one)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is told whose a file is")
def test_a_policy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdminkitError, match=r"couldn't read .*policy-b\.toml: no such file"):
        refuse_foreign(tmp_path / "policy-b.toml")
