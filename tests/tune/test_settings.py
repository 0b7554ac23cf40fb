"""The file of a search: what is read, and what is refused with its line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.tune.levers import shown
from adminkit.tune.settings import load_tune

ROOT = Path(__file__).resolve().parents[2]

HEAD = "version = 1\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "tune.toml"
    path.write_text(text)
    return path


def test_the_example_can_be_read() -> None:
    asked = load_tune(ROOT / "etc/tune.toml")
    assert asked.objective == "mean_wait"
    assert asked.held_out == Fraction(1, 3)
    assert {lever.family for lever in asked.levers} == {"slurm", "points", "soft_limits"}


@pytest.mark.parametrize(
    ("line", "meanings", "words", "why"),
    [
        ('SchedulerParameters.bf_window = ["1d", "2-00:00:00"]', (86400, 172800), "1-00:00:00", "seconds in the core"),
        ('"SchedulerParameters.bf_window" = ["1d"]', (86400,), "1-00:00:00", "the name in quotes"),
        ("SchedulerParameters.bf_max_job_test = [100, 500]", (100, 500), "100", "a count"),
        ("SchedulerParameters.bf_continue = [true]", (1,), "true", "a word without a value"),
        ("PriorityWeightAge = [0, 1000]", (0, 1000), "0", "0 is a value"),
        ('PriorityMaxAge = ["7d"]', (604800,), "7-00:00:00", "a duration"),
        ('points.size_9 = ["12h", "3d"]', (12.0, 72.0), "12 h", "hours of age"),
        ('points.class.multi-node = ["0s"]', (0.0,), "0 h", "a class"),
        ('queue.gq.max_limit = ["1d"]', (86400,), "1-00:00:00", "a limit"),
        ('"queue.a.b.max_limit" = ["1d"]', (86400,), "1-00:00:00", "a queue with a dot in its name"),
        ("soft_limits.quantile = [50, 75]", (50, 75), "50", "as in policy.toml"),
        ('extend.step = ["25%"]', ("25%",), "25%", "as in policy.toml"),
    ],
)
def test_a_lever_means_what_its_setting_means(
    line: str, meanings: tuple[object, ...], words: str, why: str, tmp_path: Path
) -> None:
    (lever,) = load_tune(write(tmp_path, f"{HEAD}[levers]\n{line}\n")).levers
    assert lever.meanings == meanings, why
    assert shown(lever, lever.values[0]) == words


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("version = 2\n[levers]\n", ":1: version: this release of adminkit knows version 1", "version = 1"),
        (HEAD, "is missing", "give it one"),
        (f"{HEAD}[levers]\n", "no lever", "write"),
        (f"{HEAD}objectiv = 'x'\n[levers]\nPriorityWeightAge=[1]", "no such key", "objective"),
        (f"{HEAD}objective = 'mean_wate'\n[levers]\nPriorityWeightAge=[1]", "mean_wate", "mean_wait"),
        (f"{HEAD}held_out = '2'\n[levers]\nPriorityWeightAge=[1]", "a twentieth to a half", "docs/tune.md"),
        (f"{HEAD}held_out = '1/0'\n[levers]\nPriorityWeightAge=[1]", "a share of the days", "docs/tune.md"),
        (f"{HEAD}[levers]\nPriorityWeightAg = [1]", "PriorityWeightAg", "PriorityWeightAge"),
        (f"{HEAD}[levers]\nSchedulerParameters.bf_windo = ['1d']", "bf_windo", "bf_window"),
        (f"{HEAD}[levers]\nPriorityWeightAge = 1000", "a list of values", "write"),
        (f"{HEAD}[levers]\nPriorityWeightAge = []", "a list of values", "write"),
        (f"{HEAD}[levers]\nPriorityWeightAge = [1, 1]", "appears twice", "leave"),
        (f"{HEAD}[levers]\nPriorityWeightAge = [-1]", "0 or more", "docs/tune.md"),
        (f"{HEAD}[levers]\nPriorityWeightAge = [true]", "a whole number", "docs/tune.md"),
        (f"{HEAD}[levers]\nSchedulerParameters.bf_window = ['90s']", "whole minutes", "docs/tune.md"),
        (f"{HEAD}[levers]\nsoft_limits.quantile = [80]", "50, 75 or 90", "docs/tune.md"),
        (f"{HEAD}[levers]\nsoft_limits.quantil = [90]", "quantil", "quantile"),
        (f"{HEAD}[levers]\nextend.most = [0.5]", "", "docs/tune.md"),
        (f"{HEAD}[levers]\nqueue.gq.max = ['1d']", "max", "max_limit"),
        (f"{HEAD}[levers]\npoints.wide = ['1d']", "neither a size nor a class", "points.size_9"),
        (f"{HEAD}[levers]\npoints.size_0 = ['1d']", "neither a size nor a class", "points.size_9"),
        (f"{HEAD}[levers]\npoints.class.huge = ['1d']", "huge", "multi-node"),
        (f"{HEAD}[levers]\npoints.size_9 = ['5000d']", "10,000 hours", "docs/tune.md"),
        (f"{HEAD}[constraints]\ngroups = ['sizes']\n[levers]\nPriorityWeightAge=[1]", "sizes", "size"),
    ],
)
def test_what_is_wrong_is_named_with_the_nearest_right_word(text: str, said: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(AdminkitError) as failed:
        load_tune(write(tmp_path, text))
    assert said in failed.value.message
    assert hint in (failed.value.hint or "")


def test_more_levers_or_values_than_can_be_searched_are_refused(tmp_path: Path) -> None:
    many = "\n".join(f"points.size_{n} = ['1h']" for n in range(1, 34))
    with pytest.raises(AdminkitError, match="33 levers"):
        load_tune(write(tmp_path, f"{HEAD}[levers]\n{many}\n"))
    with pytest.raises(AdminkitError, match="65 values"):
        load_tune(write(tmp_path, f"{HEAD}[levers]\nPriorityWeightAge = {list(range(65))}\n"))
