"""The file of `adminkit tune`: what it means, and what is said of a mistake."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.tune.here import Here
from adminkit.tune.settings import Constraints, load_tune, tune_of
from adminkit.tune.space import space_on
from tests.tune.files import SITE, tune

BF = '"SchedulerParameters.bf_window" = ["4d"]'


def test_the_example_loads_and_suits_a_site() -> None:
    found = load_tune(Path(__file__).parents[2] / "etc" / "tune.toml")
    assert (found.objective, found.held_out, found.constraints) == ("mean_wait", Fraction(1, 3), Constraints())
    assert len(space_on(found, SITE).levers) == 8


@pytest.mark.parametrize(
    ("here", "levers", "why"),
    [
        (Here(), 8, "a site of which only the jobs are known"),
        (replace(SITE, settings={"release": 2511}), 6, "age weighs nothing: no points"),
        (replace(SITE, release=(22, 5, 8)), 4, "too old for soft limits"),
        (replace(SITE, refused=("EnforcePartLimits is NO",)), 4, "slurmctld is against soft limits"),
        (replace(SITE, model="easy"), 4, "only soft limits are left"),
    ],
)
def test_the_example_runs_on_any_site(here: Here, levers: int, why: str) -> None:
    found = load_tune(Path(__file__).parents[2] / "etc" / "tune.toml")
    one = space_on(found, here)
    assert len(one.levers) == levers, why
    assert len([note for note in one.notes if " is left out: " in note]) == 8 - levers, why


def test_the_lines_of_the_example_that_are_comments_are_levers_too() -> None:
    path = Path(__file__).parents[2] / "etc" / "tune.toml"
    text = path.read_text().replace('# "', '"')
    found = tune_of(tomllib.loads(text), "tune.toml", text)
    assert len(space_on(found, SITE).levers) == 17


def test_what_is_left_out_has_its_default() -> None:
    found = tune(BF)
    assert (found.objective, found.held_out) == ("mean_wait", Fraction(1, 3))
    assert found.constraints.groups == ("size", "queue", "users")


@pytest.mark.parametrize(("written", "share"), [('"1/4"', Fraction(1, 4)), ("0.5", Fraction(1, 2))])
def test_a_share_of_the_days(written: str, share: Fraction) -> None:
    assert tune(BF, f"held_out = {written}").held_out == share


@pytest.mark.parametrize(
    ("lever", "message", "hint"),
    [
        ('"SchedulerParameters.bf_widow" = ["4d"]', "no such option of SchedulerParameters: bf_widow", "bf_window?"),
        ('"PriorityWeightAg" = [1]', "no such lever: PriorityWeightAg", "did you mean PriorityWeightAge?"),
        ('"soft_limits.quantil" = [50]', "no such key of [soft_limits]: quantil", "did you mean quantile?"),
        ('"extend.mots" = [2.0]', "no such key of [extend]: mots", "did you mean most?"),
        ('"queue.gq.max_limits" = ["1d"]', "no such limit of a queue: max_limits", "did you mean max_limit?"),
        ('"queue.max_limit" = ["1d"]', "it names no queue", "queue.NAME.max_limit"),
        ('"points.class.multinode" = ["1d"]', "no such class of jobs: multinode", "did you mean multi-node?"),
        ('"points.size" = ["1d"]', "points.size says neither a size nor a class", "points.size_9"),
        ('"points.size_0" = ["1d"]', "points.size_0 says neither", "points.size_9"),
        ('"PriorityWeightFairshare" = [1]', "the model does not have shares of accounts", "docs/simulate-slurm.md"),
        ('"SchedulerParameters.bf_busy_nodes" = [true]', "the model does not have a choice among", "docs/"),
        ('"SchedulerParameters.bf_window" = []', "an empty list", "at least one value"),
        ('"SchedulerParameters.bf_window" = [4]', "minutes or seconds?", ""),
        ('"SchedulerParameters.bf_window" = ["90s"]', "Slurm keeps it in whole minutes", ""),
        ('"SchedulerParameters.bf_window" = ["40d"]', "Slurm takes 00:01:00 to 30-00:00:00", ""),
        ('"SchedulerParameters.bf_window" = ["4d", "96h"]', "one value appears twice", ""),
        ('"SchedulerParameters.bf_max_job_test" = [0]', "Slurm takes 1 to 1000000", ""),
        ('"SchedulerParameters.bf_max_job_test" = [true]', "a whole number belongs here", ""),
        ('"SchedulerParameters.bf_continue" = [1]', "true or false belongs here", ""),
        ('"SchedulerParameters.bf_window" = [[1]]', "a number, a text, true or false belongs here", ""),
        ('"soft_limits.quantile" = [80]', "50, 75 or 90", ""),
        ('"soft_limits.wide" = [101]', "less than or equal to 100", ""),
        ('"points.size_9" = ["1000d"]', "no more than 10,000 hours", ""),
        ('"points.size_9" = [12]', "minutes or seconds?", ""),
        ('"queue.gq.max_limit" = ["90s"]', "in whole minutes", ""),
    ],
)  # fmt: skip
def test_a_mistake_in_a_lever_is_named_with_its_line(lever: str, message: str, hint: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        tune(lever)
    assert caught.value.message.startswith("t.toml:4: levers.")
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ('objectiv = "mean_wait"', "t.toml:2: objectiv: no such key", "did you mean objective?"),
        ('objective = "mean_weight"', "t.toml:2: objective: no such word: mean_weight", "did you mean mean_wait?"),
        ('held_out = "3/4"', "t.toml:2: held_out: '3/4': a tenth to two thirds", ""),
        ('held_out = "1/0"', "t.toml:2: held_out: '1/0': a share of the days", ""),
        ("[constraints]\nutilisation = true", "t.toml:3: constraints.utilisation: no such key", "utilization?"),
        ('[constraints]\ngroups = ["sizes"]', "constraints.groups[1]: no such word: sizes", "size?"),
        ('[constraints]\ngroups = ["size", "size"]', "one word appears twice", ""),
        ("[constraints]\njobs = 1", "constraints.jobs: 1: should be greater than or equal to 2", ""),
    ],
)  # fmt: skip
def test_a_mistake_elsewhere_is_named_with_its_line(line: str, message: str, hint: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        tune(BF, line)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_file_without_levers_or_with_too_many_is_refused() -> None:
    with pytest.raises(AdminkitError, match="no lever"):
        tune("")
    with pytest.raises(AdminkitError, match="33 levers; at most 32"):
        tune("\n".join(f'"points.size_{size}" = ["1h"]' for size in range(2, 35)))
    with pytest.raises(AdminkitError, match="33 values; at most 32"):
        tune(f"PriorityWeightAge = {list(range(33))}")
    with pytest.raises(AdminkitError, match="knows version 1"):
        tune_of({"version": 2, "levers": {}}, "t.toml", "version = 2")
