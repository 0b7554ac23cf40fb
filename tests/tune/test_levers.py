"""What a lever is on a site: its values, the scenario of a combination, its sentence, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm.run_time import OPTIONS, PARAMETERS
from adminkit.tune.levers import PRIORITY, SCHEDULER
from adminkit.tune.space import space_on
from tests.tune.files import DAY, SITE, H, choice, space, tune

SOFT = '"soft_limits.quantile" = [50, 90]\n"soft_limits.longest" = ["1h", "14d"]\n'
WIDE = '"points.size_2" = ["6h"]\n"points.size_9" = ["6h", "7h"]'


def keys_of(levers: str, *values: Any) -> list[dict[str, Any]]:
    """The keys of each step of a scenario, without those that have their defaults."""
    steps = space(levers).scenario(values).steps
    return [{**step.keys.model_dump(exclude={"name", "kind"}, exclude_unset=True)} for step in steps]


@pytest.mark.parametrize(
    ("lever", "value", "keys", "why"),
    [
        ('"SchedulerParameters.bf_window" = ["4d"]', "4d", {"set": {"bf_window": 4 * DAY}}, "the core has seconds"),
        ('"SchedulerParameters.bf_continue" = [true]', True, {"set": {"bf_continue": 1}}, "a flag is 0 or 1"),
        ('"SchedulerParameters.bf_yield_sleep" = [100000]', 100000, {"set": {"bf_yield_sleep": 100000}}, "micro"),
        ('PriorityWeightJobSize = [5]', 5, {"set": {"priority_weight_job_size": 5}}, "a line of its own"),
        ('"PriorityMaxAge" = ["14d"]', "14d", {"set": {"priority_max_age": 14 * DAY}}, "minutes in slurm.conf"),
        ('"points.size_9" = ["12h"]', "12h", {"sizes": {"9": 12.0}, "classes": {}}, "points by size"),
        ('points.class.multi-node = ["3d"]', "3d", {"sizes": {}, "classes": {"multi-node": 72.0}}, "without quotes"),
        ('"queue.gq.max_limit" = ["1d"]', "1d", {"queue": "gq", "max_limit": DAY}, "a queue's limit"),
        ('"soft_limits.quantile" = [50]', 50, {"quantile": 50}, "a key of policy.toml"),
        ('"extend.most" = [1.5]', 1.5, {"uptake": (0.0,), "most": 1.5}, "nobody types another limit for it"),
    ],
)  # fmt: skip
def test_a_lever_becomes_a_step_of_a_scenario(lever: str, value: Any, keys: dict[str, Any], why: str) -> None:
    assert keys_of(lever, value) == [keys], why


def test_levers_of_one_kind_are_one_step_and_soft_limits_come_last() -> None:
    levers = SOFT + '"points.size_2" = ["1h"]\n"points.size_9" = ["2h"]\n"queue.gq.max_limit" = ["1d"]\n'
    levers += (
        '"queue.gq.default_limit" = ["1h"]\n"extend.most" = [2.0]\n"extend.step" = ["50%"]\nPriorityWeightQOS = [7]'
    )
    made = space(levers).scenario((50, "14d", "1h", "2h", "1d", "1h", 2.0, "50%", 7))
    assert [step.kind.name for step in made.steps] == ["scheduler", "queue", "points", "extend", "soft-limits"]
    dumped = [step.keys.model_dump() for step in made.steps]
    assert (dumped[1]["max_limit"], dumped[1]["default_limit"]) == (DAY, H)
    assert dumped[2]["sizes"] == {"2": 1.0, "9": 2.0}
    assert dumped[3]["step"] == 0.5
    assert (dumped[4]["quantile"], dumped[4]["longest"], made.steps[4].value) == (50, 14 * DAY, 1.0)


def test_a_lever_as_it_is_today_is_in_no_step() -> None:
    one = space(SOFT + '"SchedulerParameters.bf_window" = ["4d"]')
    assert [step.kind.name for step in one.scenario((None, None, "4d")).steps] == ["scheduler"]


@pytest.mark.parametrize(
    ("lever", "values", "why"),
    [
        ('"SchedulerParameters.bf_window" = ["1d", "2d"]', ("2d",), "the site's own"),
        ('"SchedulerParameters.bf_max_job_test" = [500, 9]', (9,), "Slurm's default, where the site says nothing"),
        ('"points.size_9" = ["0h", "6h"]', ("6h",), "no points are what there is today"),
        ('"queue.gq.max_limit" = ["3d", "1d"]', ("1d",), "a queue's longest limit"),
        ('"queue.long.default_limit" = ["3d"]', ("3d",), "a queue without a default limit"),
    ],
)  # fmt: skip
def test_the_value_of_today_is_not_tried_twice(lever: str, values: tuple[Any, ...], why: str) -> None:
    assert space(lever).levers[0].values == values, why


def test_a_lever_that_has_only_the_value_of_today_is_left_out_and_noted() -> None:
    one = space('"SchedulerParameters.bf_window" = ["1d"]\n"points.size_9" = ["6h"]')
    assert [lever.name for lever in one.levers] == ["points.size_9"]
    assert one.notes == (
        "SchedulerParameters.bf_window: one of its values is what it is today; the lever is left out, as no other "
        "value is given",
    )
    with pytest.raises(
        AdminkitError, match=r"no lever of the file can be tried here: SchedulerParameters\.bf_window: "
    ):
        space('"SchedulerParameters.bf_window" = ["1d"]')


@pytest.mark.parametrize(
    ("levers", "values", "why"),
    [
        (SOFT, {"soft_limits__longest": "14d"}, "soft_limits.longest has no effect without soft_limits.quantile"),
        (SOFT, {"soft_limits__longest": "14d", "soft_limits__quantile": 90}, ""),
        (
            '"soft_limits.quantile" = [50]\n"soft_limits.outlived" = [60]',
            {"soft_limits__quantile": 50},
            "soft_limits.outlived and soft_limits.quantile: 50 % of jobs outlive a quantile of 50, so it would never "
            "be used",
        ),
        (
            '"soft_limits.quantile" = [50]\n"soft_limits.outlived" = [60]',
            {"soft_limits__quantile": 50, "soft_limits__outlived": 60},
            "",
        ),
        (
            '"points.size_9" = ["6h"]\nPriorityWeightAge = [0, 7]',
            {"points__size_9": "6h", "PriorityWeightAge": 0},
            "points.size_9 is in hours of age, and with PriorityWeightAge = 0 age weighs nothing",
        ),
        ('"points.size_9" = ["6h"]\nPriorityWeightAge = [0, 7]', {"points__size_9": "6h", "PriorityWeightAge": 7}, ""),
        (
            WIDE,
            {"points__size_2": "6h", "points__size_9": "6h"},
            "points.size_9 gives no more than points.size_2, which such jobs have already",
        ),
        (WIDE, {"points__size_2": "6h", "points__size_9": "7h"}, ""),
        (
            '"queue.gq.max_limit" = ["12h", "1d"]',
            {"queue__gq__max_limit": "12h"},
            "the default limit of gq is above its longest: 1-00:00:00",
        ),
        ('"queue.gq.max_limit" = ["12h", "1d"]', {"queue__gq__max_limit": "1d"}, ""),
        (
            '"SchedulerParameters.bf_max_job_user" = [9]\n"SchedulerParameters.bf_max_job_test" = [8, 20]',
            {"SchedulerParameters__bf_max_job_user": 9, "SchedulerParameters__bf_max_job_test": 8},
            "bf_max_job_user is above bf_max_job_test = 8",
        ),
    ],
)  # fmt: skip
def test_combinations_that_contradict_themselves(levers: str, values: dict[str, Any], why: str) -> None:
    one = space(levers)
    assert one.fits(choice(one, **values)) == why


def test_what_differs_from_today_is_said_in_sentences() -> None:
    levers = (
        SOFT + '"points.size_9" = ["3d"]\n"SchedulerParameters.bf_window" = ["4d"]\n"queue.gq.max_limit" = ["1d"]\n'
    )
    one = space(levers + '"SchedulerParameters.bf_continue" = [true]')
    assert one.words((90, "14d", "3d", "4d", "1d", True)) == [
        "soft_limits.quantile in policy.toml is 90",
        "soft_limits.longest in policy.toml is 14-00:00:00",
        "jobs of 9 GPUs or more are ranked as if they were 72 h older",
        "SchedulerParameters.bf_window is 4-00:00:00 instead of 1-00:00:00",
        "the longest limit of the queue gq is 1-00:00:00 instead of 3-00:00:00",
        "SchedulerParameters.bf_continue is true instead of false",
    ]


@pytest.mark.parametrize(
    ("lever", "site", "message", "hint"),
    [
        ('"queue.gp.max_limit" = ["1d"]', {}, "the site has no queue gp", "did you mean gq?"),
        ('"points.size_9" = ["1d"]', {"settings": {"release": 2511}}, "age weighs nothing on", "set PriorityWeightAge"),
        ('"points.size_9" = ["1d"]', {"priority": True}, "the trace's own priorities", "--priority computed"),
        ("PriorityWeightAge = [9]", {"priority": True}, "the trace's own priorities", "--priority computed"),
        ('"points.size_9" = ["1d"]', {"model": "easy"}, "the easy model does not have it", "--model slurm"),
        ('"SchedulerParameters.bf_window" = ["4d"]', {"model": "fcfs"}, "the fcfs model does not have it", "slurm"),
        ('"points.class.multi-node" = ["1d"]', {"classes": ("cpu",)}, "no job is of the class multi-node", "leave it"),
        ('"soft_limits.quantile" = [50]', {"release": (22, 5, 8)}, "refused on Slurm 22.05", "--force"),
        ('"soft_limits.quantile" = [50]', {"refused": ("no DefaultTime in gq",)}, "here: no DefaultTime", "--force"),
        ('"queue.g q.max_limit" = ["1d"]', {}, "not the name of a queue: g q", "scontrol show partition"),
        ('"queue.q#$(id).max_limit" = ["1d"]', {}, "not the name of a queue: q#$(id)", "scontrol show partition"),
        ('"soft_limits.wide" = [50]', {}, "it has no effect without soft_limits.quantile", "write that lever, too"),
        ('"extend.step" = ["25%"]', {}, "it has no effect without extend.most", "write that lever, too"),
    ],
)  # fmt: skip
def test_what_a_site_or_the_model_lacks_is_refused(lever: str, site: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        space(lever, replace(SITE, **site))
    assert caught.value.message.startswith("t.toml:4: levers.")
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_running_slurmctld_takes_every_parameter_that_is_a_lever() -> None:
    """Else a trial would refuse what was found."""
    assert SCHEDULER.keys() <= OPTIONS.keys()
    assert PRIORITY.keys() <= PARAMETERS.keys()


@pytest.mark.parametrize(
    ("lever", "site", "note"),
    [
        ('"points.size_9" = ["1d"]', {"settings": {"release": 2511}}, "age weighs nothing on this site"),
        ("PriorityWeightAge = [9]", {"priority": True}, "jobs have the trace's own priorities"),
        ('"extend.most" = [2.0]\n"extend.step" = ["25%"]', {"model": "easy"}, "the easy model does not have it"),
        ('"points.class.multi-node" = ["1d"]', {"classes": ("cpu",)}, "no job is of the class multi-node"),
        ('"soft_limits.quantile" = [90]\n"soft_limits.wide" = [5]', {"release": (22, 5, 8)}, "soft limits are refused"),
        ('"soft_limits.quantile" = [90]', {"refused": ("no DefaultTime in gq",)}, "here: no DefaultTime in gq"),
    ],
)  # fmt: skip
def test_a_file_for_any_site_leaves_out_what_this_one_cannot_have(lever: str, site: dict[str, Any], note: str) -> None:
    here = replace(SITE, **site)
    other = '"queue.gq.max_limit" = ["1d"]'
    found = space_on(tune(f"{lever}\n{other}", "any_site = true"), here)
    assert [one.name for one in found.levers] == ["queue.gq.max_limit"]
    assert len(found.notes) == len(lever.splitlines())
    assert " is left out: " in found.notes[0] and note in found.notes[0]
    with pytest.raises(AdminkitError, match=r"no lever of the file can be tried here: .* is left out: "):
        space_on(tune(lever, "any_site = true"), here)


@pytest.mark.parametrize(
    ("lever", "message"),
    [
        ('"queue.gp.max_limit" = ["1d"]', "the site has no queue gp"),
        ('"soft_limits.wide" = [50]', "it has no effect without soft_limits.quantile"),
        ('"points.size_0" = ["1d"]', "points.size_0 says neither"),
    ],
)
def test_a_file_for_any_site_is_refused_for_a_wrong_word(lever: str, message: str) -> None:
    with pytest.raises(AdminkitError, match=message):
        space_on(tune(lever, "any_site = true"), SITE)


def test_what_is_forced_is_not_left_out() -> None:
    found = space_on(tune('"soft_limits.quantile" = [50]', "any_site = true"), replace(SITE, release=(22, 5, 0)), True)
    assert [one.name for one in found.levers] == ["soft_limits.quantile"]
    assert found.notes[0].startswith("soft_limits.quantile is forced: ")


def test_points_are_tried_on_a_site_of_which_nothing_is_known_as_if_only_age_counted() -> None:
    one = space('"points.size_9" = ["1d"]\n"SchedulerParameters.bf_window" = ["4d"]', replace(SITE, settings={}))
    assert one.notes == ("the site does not say how it ranks jobs: points are tried as if age were all that counts",)
    scheduler, points = (step.keys.model_dump() for step in one.scenario(("1d", None)).steps)
    assert scheduler["set"] == {"priority_weight_age": 525_600, "priority_max_age": 365 * DAY}
    assert points["points_per_hour"] == 60
    (alone,) = one.scenario((None, "4d")).steps
    assert alone.keys.model_dump()["set"] == {"bf_window": 4 * DAY}, "only where points are tried"
    assert one.fits(("1d", "4d")) == ""


def test_what_cannot_be_put_in_place_here_can_be_forced_and_is_noted() -> None:
    one = space('"soft_limits.quantile" = [50]', replace(SITE, release=(22, 5, 0)), force=True)
    assert one.notes[0].startswith("soft_limits.quantile is forced: soft limits are refused on Slurm 22.05.0")
    with pytest.raises(AdminkitError, match="the site has no queue gp"):
        space('"queue.gp.max_limit" = ["1d"]', force=True)
