"""What to type for a combination, and how to undo it: policy.toml, slurm.conf, commands, the trial's file."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.policy.load import examine_table
from adminkit.tune.policy_edit import edited, meant
from adminkit.tune.typed import Typed, hits, typed_of
from tests.simulate.cases import case
from tests.tune.files import DAY, SITE, H, choice, space

EXAMPLE = (Path(__file__).parents[2] / "etc" / "policy.toml").read_text()
LEVERS = """
"SchedulerParameters.bf_window" = ["4d"]
"SchedulerParameters.bf_continue" = [true]
PriorityWeightAge = [10000]
PriorityMaxAge = ["14d"]
PriorityFavorSmall = [true]
"points.size_9" = ["3d"]
"points.class.multi-gpu" = ["6h"]
"queue.gq.max_limit" = ["1d", "2d"]
"queue.gq.default_limit" = ["4h"]
"queue.long.max_limit" = ["2d"]
"soft_limits.quantile" = [75]
"soft_limits.longest" = ["14d"]
"extend.most" = [1.5]
"extend.step" = ["50%"]
"""


def made(policy: str = EXAMPLE, **values: Any) -> Typed:
    one = space(LEVERS)
    return typed_of(one, choice(one, **values), policy)


def changed(typed: Typed) -> list[str]:
    """The lines of the diff that differ, without its head."""
    return [line for line in typed.diff[2:] if line[:1] in "+-"]


def test_a_window_in_minutes_and_back() -> None:
    typed = made(SchedulerParameters__bf_window="4d")
    assert typed.slurm == ("# the other options of SchedulerParameters stay", "SchedulerParameters=bf_window=5760")
    assert typed.commands == ("scontrol reconfigure",)
    assert typed.undo == (
        "# the other options of SchedulerParameters stay", "SchedulerParameters=bf_window=1440", "scontrol reconfigure",
    )  # fmt: skip
    assert (typed.policy, typed.diff) == (None, ())


def test_a_flag_is_there_or_not() -> None:
    typed = made(SchedulerParameters__bf_continue=True)
    assert typed.slurm[1] == "SchedulerParameters=bf_continue"
    assert typed.undo[0] == "# leave out these options of SchedulerParameters: bf_continue"


def test_parameters_have_lines_of_their_own() -> None:
    typed = made(PriorityWeightAge=10000, PriorityMaxAge="14d", PriorityFavorSmall=True)
    assert typed.slurm == ("PriorityWeightAge=10000", "PriorityMaxAge=14-00:00:00", "PriorityFavorSmall=YES")
    assert typed.undo[:3] == ("PriorityWeightAge=1680", "PriorityMaxAge=7-00:00:00", "PriorityFavorSmall=NO")


def test_limits_of_a_queue_are_updated_and_written() -> None:
    typed = made(queue__gq__max_limit="2d", queue__gq__default_limit="4h", queue__long__max_limit="2d")
    assert typed.slurm[1:] == (
        "PartitionName=gq MaxTime=2-00:00:00 DefaultTime=04:00:00",
        "PartitionName=long MaxTime=2-00:00:00",
    )
    assert typed.commands[0] == "scontrol update PartitionName=gq MaxTime=2-00:00:00 DefaultTime=04:00:00"
    assert typed.undo[-2:] == (
        "scontrol update PartitionName=gq MaxTime=3-00:00:00 DefaultTime=1-00:00:00",
        "scontrol update PartitionName=long MaxTime=UNLIMITED",
    )


def test_a_queue_without_a_default_limit_has_its_longest_one_again() -> None:
    """scontrol cannot take DefaultTime away, and jobs without a limit have MaxTime where there is none."""
    one = space('"queue.gq.default_limit" = ["4h"]', replace(SITE, limits={"gq": (3 * DAY, None)}))
    assert typed_of(one, ("4h",)).undo == (
        "# in the lines of these queues; otherwise their old limits come back when slurmctld restarts",
        "PartitionName=gq DefaultTime=3-00:00:00",
        "scontrol update PartitionName=gq DefaultTime=3-00:00:00",
    )


def test_soft_limits_change_their_lines_of_the_policy_and_keep_the_comments() -> None:
    typed = made(soft_limits__quantile=75, soft_limits__longest="14d")
    assert changed(typed) == [
        "-enabled = false", "+enabled = true", "-quantile = 90", "+quantile = 75",
        '-longest = "01:00:00"', '+longest = "14-00:00:00"',
    ]  # fmt: skip
    assert typed.policy is not None
    assert typed.policy.count("#") == EXAMPLE.count("#")
    assert typed.slurm[1] == "SchedulerParameters=time_min_as_soft_limit"
    assert typed.undo == (
        "adminkit policy install --policy policy.toml --apply",
        "adminkit incentives install --policy policy.toml --apply",
        "# leave out these options of SchedulerParameters: time_min_as_soft_limit",
        "scontrol reconfigure",
    )


def test_a_slurm_that_plans_by_need_already_gets_no_option_for_it() -> None:
    one = space(LEVERS, replace(SITE, settings={**SITE.settings, "time_min_as_soft_limit": 1}))
    assert typed_of(one, choice(one, soft_limits__quantile=75), EXAMPLE).slurm == ()


def test_points_raise_the_cap_and_the_table_is_installed_too() -> None:
    one = space(LEVERS)
    values: dict[str, Any] = {"points__size_9": "3d", "points__class__multi-gpu": "6h"}
    typed = typed_of(one, choice(one, **values), EXAMPLE)
    assert [line for line in changed(typed) if line.startswith("+")] == [
        "+multi_gpu_hours = 6.0    # for every job with several GPUs on one node",
        "+cap_hours = 78.0         # the most that any job gets",
        "+size_hours = { 9 = 72.0 }          # for example { 9 = 8.0, 65 = 12.0 }",
    ]
    assert typed.commands == (
        "adminkit policy install --policy policy-b.toml --apply",
        "adminkit incentives install --policy policy-b.toml --apply",
    )
    assert 'tables = "tables-b"' in typed.trial


def test_points_by_cpus_cannot_be_written_and_that_is_said() -> None:
    one = space('"points.size_9" = ["3d"]', replace(SITE, unit="CPU"))
    typed = typed_of(one, ("3d",), EXAMPLE)
    assert typed.policy is None
    assert typed.notes == ("policy.toml gives points by GPUs, not by CPUs: these points cannot be put in place",)


def test_more_time_has_its_section() -> None:
    typed = made(extend__most=1.5, extend__step="50%")
    assert [line for line in changed(typed) if line.startswith("+")] == [
        "+enabled = true", '+step = "50%"', "+most = 1.5",
    ]  # fmt: skip


def test_the_trials_file_says_the_same() -> None:
    typed = made(
        SchedulerParameters__bf_window="4d",
        SchedulerParameters__bf_continue=True,
        PriorityWeightAge=10000,
        PriorityFavorSmall=True,
        soft_limits__quantile=75,
        queue__gq__max_limit="1d",
    )
    assert tomllib.loads(typed.trial) == {
        "version": 1,
        "a": {},
        "b": {
            "policy": "policy-b.toml",
            "tables": "tables-b",
            "slurm": {
                "PriorityWeightAge": 10000,
                "PriorityFavorSmall": "YES",
                "SchedulerParameters": {"bf_window": 5760, "bf_continue": True, "time_min_as_soft_limit": True},
            },
            "queues": {"gq": {"MaxTime": "1-00:00:00"}},
        },
    }


def test_a_queues_name_that_slurm_would_not_take_is_refused() -> None:
    """It would become a line of slurm.conf and a command."""
    name = 'g q"; reboot'
    with pytest.raises(AdminkitError, match="not the name of a queue"):
        space(f"'queue.{name}.max_limit' = [\"1d\"]", replace(SITE, limits={name: (None, None)}))


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("[s]\nk = 1 # one\n", "[s]\nk = 2 # one\n", "the comment stays"),
        ("[s]\n  k=1\n", "[s]\n  k=2\n", "and the blanks"),
        ("[s]\n# k = 1\nj = 3\n\n[t]\nk = 5\n", "[s]\n# k = 1\nj = 3\nk = 2\n\n[t]\nk = 5\n", "behind the other keys"),
        ("[s]\nkk = 1\n", "[s]\nkk = 1\nk = 2\n", "another key"),
        ("[t]\nk = 1\n", "[t]\nk = 1\n\n[s]\nk = 2\n", "a new section"),
        ("a = 1", "a = 1\n\n[s]\nk = 2\n", "no line end"),
        ("[ s ] # it\nk = \"#\"\n", "[ s ] # it\nk = 2\n", "a mark within a text"),
        ("[s]\nk = { 9 = 1 } # sizes\n", "[s]\nk = 2 # sizes\n", "an inline table"),
    ],
)  # fmt: skip
def test_one_line_is_edited(text: str, expected: str, why: str) -> None:
    assert edited(text, "s", "k", 2) == expected, why
    assert tomllib.loads(expected) == meant(tomllib.loads(text), {"s": {"k": 2}}), why


@pytest.mark.parametrize(
    "text",
    [
        "version = 1\nsoft_limits.enabled = false\n",
        "version = 1\nsoft_limits = { enabled = false }\n",
        'version = 1\n[soft_limits]\nqueues = [\n  "gq",\n]\n"enabled" = false\n',
        'version = 1\nhelp_url = """\n[soft_limits]\nenabled = false\n"""\n',
    ],
)
def test_a_policy_that_is_written_in_another_way_is_refused_not_damaged(text: str) -> None:
    with pytest.raises(AdminkitError, match=r"\[soft_limits\] cannot be edited line by line"):
        made(text, soft_limits__quantile=75)


def test_a_policy_that_would_not_be_valid_is_refused() -> None:
    text = 'version = 1\n[extend]\nlead = "00:10:00"\nmost = 99.0\n'
    with pytest.raises(AdminkitError, match="would not be valid"):
        made(text, extend__step="50%")


def test_every_single_value_gives_a_policy_that_loads() -> None:
    one = space(LEVERS)
    for place, lever in enumerate(one.levers):
        for value in lever.values:
            of_it = tuple(value if at == place else None for at in range(len(one.levers)))
            typed = typed_of(one, of_it, EXAMPLE)
            if typed.policy is not None:
                assert examine_table(tomllib.loads(typed.policy))[1] == [], lever.name
            assert typed.undo, lever.name


def test_whom_a_longest_limit_would_have_hit() -> None:
    one = space('"queue.gq.max_limit" = ["1h"]')
    jobs = case([0, 1, 2, 3], [2 * H, 3 * H, H, 9 * H], [9 * H, 9 * H, 2 * H, 9 * H], [1] * 4, users=[0, 0, 1, 2],
                queues=[1, 1, 1, 2], names=("gq", "long"))  # fmt: skip
    assert hits(one, ("1h",), jobs) == ["gq: 2 jobs of 1 users ran longer than 01:00:00 (user0); 3 jobs asked for more"]
