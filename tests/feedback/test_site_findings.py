"""The findings of queues and users, at the edges of their limits; and the study's, on the look-alike."""

from __future__ import annotations

from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.feedback.site_findings import QUEUES, of_queues, of_users
from adminkit.findings import (
    bundle,
    default_limit,
    failing,
    flood,
    habit,
    idle_gpus,
    images,
    io_bound,
    memory,
    month,
    over_asked,
)
from adminkit.findings.finding import Finding, Stake
from adminkit.findings.io_bound import BOUND, CLASSES, NOT_BOUND, NOT_GATHERED
from adminkit.job import Job
from adminkit.stats.bundles import Bundler
from adminkit.stats.distribution import distribution
from adminkit.stats.efficiencies import Group, Use, spread_of
from adminkit.stats.failing import Failing, Flood
from adminkit.stats.file_waits import Group as FileGroup
from adminkit.stats.file_waits import Held
from adminkit.stats.images import Image
from adminkit.stats.queue_habits import Part, QueueHabits
from adminkit.stats.select import Filter
from adminkit.stats.users import Change, Month
from adminkit.stats.weeks import Reserved
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.study import made

SOME = Part(100, 9, 1000.0 * HOUR, 400.0 * HOUR)
#: A hundred jobs, all at the maximum and at the default, that use 0.4 of what they reserve.
QUEUE = QueueHabits("aaic", "gq", HOUR, 10 * HOUR, SOME, SOME, SOME)


def said(findings: list[Finding]) -> list[tuple[str, float | None]]:
    return [(one.verdict, one.stake and (one.stake.gpu_seconds or 0) / HOUR) for one in findings]


@pytest.mark.parametrize(
    ("part", "expected", "why"),
    [
        (SOME, [("unused", 600.0)], "uses 0.4"),
        (Part(99, 9, 1000.0 * HOUR, 400.0 * HOUR), [], "too few jobs"),
        (Part(100, 9, 200.0 * HOUR, 99.0 * HOUR), [("unused", 101.0)], "just under a half, enough at stake"),
        (Part(100, 9, 150.0 * HOUR, 60.0 * HOUR), [("fair", 90.0)], "little at stake"),
        (Part(100, 9, 1000.0 * HOUR, 500.0 * HOUR), [("fair", 500.0)], "a half itself"),
        (Part(100, 9, 1000.0 * HOUR, 700.0 * HOUR), [("used", 300.0)], "does well"),
        (Part(100, 9, 0.0, 0.0), [], "nothing was reserved"),
    ],
)
def test_over_asked(part: Part, expected: list[tuple[str, float]], why: str) -> None:
    assert (
        said(over_asked.check(QueueHabits("aaic", "gq", None, None, part, SOME, SOME), over_asked.Limits())) == expected
    ), why


@pytest.mark.parametrize(
    ("most", "part", "expected", "why"),
    [
        (HOUR, SOME, [("habit", 600.0)], "all ask for the maximum"),
        (None, SOME, [], "the maximum is not known"),
        (HOUR, Part(19, 2, 100.0 * HOUR, 10.0 * HOUR), [], "fewer than a fifth"),
        (HOUR, Part(20, 2, 100.0 * HOUR, 10.0 * HOUR), [("habit", 90.0)], "a fifth"),
        (HOUR, Part(20, 2, 100.0 * HOUR, 50.0 * HOUR), [("needed", 50.0)], "they use a half of it"),
    ],
)
def test_habit(most: int | None, part: Part, expected: list[tuple[str, float]], why: str) -> None:
    assert said(habit.check(QueueHabits("aaic", "gq", None, most, SOME, part, SOME), habit.Limits())) == expected, why


@pytest.mark.parametrize(
    ("part", "expected", "why"),
    [
        (SOME, [("fits", 600.0)], "they use 0.4"),
        (Part(100, 9, 1000.0 * HOUR, 249.0 * HOUR), [("long", 751.0)], "less than a quarter"),
        (Part(100, 9, 100.0 * HOUR, 1.0 * HOUR), [("fits", 99.0)], "little at stake"),
        (Part(99, 9, 1000.0 * HOUR, 1.0 * HOUR), [], "too few took it"),
    ],
)
def test_default_limit(part: Part, expected: list[tuple[str, float]], why: str) -> None:
    measure = QueueHabits("aaic", "gq", HOUR, None, SOME, SOME, part)
    assert said(default_limit.check(measure, default_limit.Limits())) == expected, why


def test_a_name_of_a_queue_reaches_a_command_as_one_word() -> None:
    part = Part(100, 9, 1000.0 * HOUR, 1.0 * HOUR)
    measure = QueueHabits("aaic", "$(reboot) x", HOUR, None, SOME, SOME, part)
    (found,) = default_limit.check(measure, default_limit.Limits())
    assert found.command == "adminkit report accuracy --queue '$(reboot) x' --limit-source default"


@pytest.mark.parametrize(
    ("runs", "failed", "memory", "used", "expected", "why"),
    [
        (20, 10, 0, 3600.0, ["failing"], "half of twenty, one GPU-hour"),
        (21, 10, 0, 3600.0, [], "less than half"),
        (9, 9, 0, 9999.0, [], "fewer than ten"),
        (20, 10, 0, 3599.0, [], "nothing lost"),
        (20, 10, 5, 3600.0, ["failing"], "half of them by memory"),
        (20, 10, 6, 3600.0, ["memory"], "most by memory"),
    ],
)
def test_failing(runs: int, failed: int, memory: int, used: float, expected: list[str], why: str) -> None:
    found = failing.check(Failing("aaic", "ada", "x", runs, failed, memory, Reserved(used), 0), failing.Limits())
    assert [one.verdict for one in found] == expected, why
    assert [one.stake for one in found] == [Stake(used)] * len(expected)
    assert all("completed_last" not in one.evidence for one in found), "it never completed"


@pytest.mark.parametrize(
    ("starts", "short", "expected", "why"),
    [
        (1000.0, 50, ["again"], "the least: half of the runs are short"),
        (999.0, 100, [], "seldom started"),
        (1000.0, 49, [], "most runs last"),
    ],
)
def test_images(starts: float, short: int, expected: list[str], why: str) -> None:
    found = images.check(Image("aaic", "docker://x", 100, starts, short, 3, 100 * 60.0), images.Limits())
    assert [one.verdict for one in found] == expected, why
    assert all(one.evidence["elapsed"] == 60 and one.subject.name == "docker://x" for one in found)


def test_an_image_is_started_on_each_node_of_each_run(tmp_path: Path) -> None:
    short = {"container": "x.sif", "state": "FAILED", "end_time": MONDAY + HOUR}
    jobs = [job(n, **short, elapsed=30, nodes=2, user=f"u{n % 3}") for n in range(1, 501)]
    jobs += [job(600, **short, elapsed=601, nodes=1), job(601, **short, elapsed=30, nodes=None, req_nodes=None)]
    jobs += [job(700 + n, **{**short, "container": None}, elapsed=30, nodes=9) for n in range(200)]
    chosen = Filter(since=MONDAY, until=MONDAY + 9 * HOUR, checkpoint_code=85)
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        (found,) = of_queues(db, chosen, MONDAY, ("images",))
    assert found.evidence == {
        "runs": 501, "starts": 1001, "users": 4, "short": 500, "share": 500 / 501, "elapsed": (500 * 30 + 601) / 501,
    }  # fmt: skip


@pytest.mark.parametrize(("most", "expected"), [(499, []), (500, ["flood"])])
def test_flood(most: int, expected: list[str]) -> None:
    found = flood.check(Flood("aaic", "ada", 1, most, most, 5.0 * most), flood.Limits())
    assert [one.verdict for one in found] == expected
    assert all((one.stake, one.evidence["elapsed"]) == (None, 5.0) for one in found)


@pytest.mark.parametrize(
    ("bundles", "hours", "expected", "why"),
    [(5, 10, ["bundle"], "five, ten GPU-hours"), (4, 99, [], "four"), (9, 9, [], "they cost little")],
)
def test_bundle(bundles: int, hours: int, expected: list[str], why: str) -> None:
    found = bundle.check(Bundler("aaic", "ada", 20, bundles, 3600.0 * hours), bundle.Limits())
    assert [one.verdict for one in found] == expected, why
    assert [one.stake for one in found] == [Stake(3600.0 * hours)] * len(expected)


def used(jobs: int, share: float, reserved: float, idle: int = 0, idle_seconds: float = 0.0) -> Group:
    """A user's runs, all alike: their share of GPUs and of memory, and what each reserved."""
    each = use([share] * jobs, [reserved] * jobs)
    return Group(
        "ada", "aaic", jobs, {"gpu": each, "mem": each, "node_mem": each}, idle=idle, idle_seconds=idle_seconds
    )


def use(shares: list[float], reserved: list[float]) -> Use:
    return Use(sum(map(mul, shares, reserved)), sum(reserved), len(shares), spread_of(distribution(np.array(shares))))


@pytest.mark.parametrize(
    ("group", "expected", "why"),
    [
        (used(10, 0.5, 36_000.0, 5, 36_000.0), [("idle", 10.0)], "five runs, ten hours, a tenth"),
        (used(10, 0.5, 36_000.0, 4, 36_000.0), [], "four runs"),
        (used(10, 0.5, 36_000.0, 5, 35_999.0), [], "less than ten hours"),
        (used(10, 0.5, 36_001.0, 5, 36_000.0), [], "less than a tenth"),
        (used(0, 0.5, 0.0), [], "nobody measured"),
    ],
)
def test_idle_gpus(group: Group, expected: list[tuple[str, float]], why: str) -> None:
    assert said(idle_gpus.check(group, idle_gpus.Limits())) == expected, why


def waits(bound: int, held: float, idle: float, *, user: str | None = "ada", others: float = 0.0) -> FileGroup:
    """Runs of a user: so many bound by files, and ten that were not."""
    classes = [Held() for _ in CLASSES]
    classes[BOUND] = Held(bound, bound, held, idle)
    classes[NOT_BOUND] = Held(10, 10, others, 0.0)
    classes[NOT_GATHERED] = Held(99, 99, 1e9, 1e9)
    return FileGroup(user, "aaic", classes)


@pytest.mark.parametrize(
    ("group", "expected", "why"),
    [
        (waits(3, 360_000.0, 36_000.0), [("bound", 10.0)], "three runs, ten hours"),
        (waits(2, 360_000.0, 36_000.0), [], "two runs"),
        (waits(3, 360_000.0, 35_999.0), [], "less than ten hours"),
        (waits(3, 36_000.0, 36_000.0, others=324_001.0), [], "less than a tenth of what was looked at"),
        (waits(3, 360_000.0, 36_000.0, user=None), [], "nobody knows whose"),
        (waits(0, 0.0, 0.0), [], "none was bound"),
    ],
)
def test_io_bound(group: FileGroup, expected: list[tuple[str, float]], why: str) -> None:
    assert said(io_bound.check(group, io_bound.Limits())) == expected, why


@pytest.mark.parametrize(
    ("group", "expected", "why"),
    [
        (used(20, 0.2, 1e17), ["over_asked"], "20 runs that use a fifth"),
        (used(19, 0.2, 1e17), [], "19 runs"),
        (used(20, 0.25, 1e17), [], "a quarter"),
        (used(20, 0.2, 1e15), [], "little is lost"),
        (used(0, 0.2, 0.0), [], "not known"),
    ],
)
def test_memory(group: Group, expected: list[str], why: str) -> None:
    assert [one.verdict for one in memory.check(group, memory.Limits())] == expected, why


def test_memory_names_the_command_that_finds_a_size() -> None:
    asked = use([0.1] * 25, [1e17] * 25)
    (one,) = memory.check(Group("a b", "aaic", 25, {"mem": asked, "node_mem": asked}), memory.Limits())
    assert one.command == "adminkit recommend memory --user 'a b'"


def test_memory_that_one_run_in_five_needs_is_not_over_asked() -> None:
    asked = use([0.1] * 20 + [0.6] * 5, [1e17] * 20 + [1e15] * 5)
    group = Group("ada", "aaic", 25, {"mem": asked, "node_mem": asked})
    assert memory.check(group, memory.Limits()) == []


@pytest.mark.parametrize(
    ("now", "before", "expected", "why"),
    [
        (Month(10, 5.0), (0.1, 0.11, 0.09), ["better"], "0.5 after months of 0.1"),
        (Month(10, 1.0), (0.5, 0.51, 0.49), ["worse"], "0.1 after months of 0.5"),
        (Month(10, 5.0), (0.1, 0.9, 0.3), [], "the months before differ as much"),
        (Month(10, 1.4), (0.1, 0.1001, 0.0999), [], "by 0.04: no news"),
        (Month(10, 5.0), (0.1, 0.1), [], "two months before"),
        (Month(4, 2.0), (0.1, 0.11, 0.09), [], "four jobs"),
    ],
)
def test_month(now: Month, before: tuple[float, ...], expected: list[str], why: str) -> None:
    found = month.check(month.Measure("aaic", "ada", "2026-01", Change(now, before)), month.Limits())
    assert [one.verdict for one in found] == expected, why
    assert all((one.evidence["month"], one.evidence["months"]) == (202601, 3) for one in found)


def test_the_months_before_are_those_of_a_year(tmp_path: Path) -> None:
    """Ten jobs a month of a tenth of their limit, in January of a half; the window is a week."""
    jobs = [
        job(100 * back + n, start_time=MONDAY - back * 31 * 86_400 + n, end_time=MONDAY - back * 31 * 86_400 + n + 60,
            elapsed=2 * HOUR if back == 0 else 1440 + 10 * n + back)
        for back in range(5) for n in range(10)
    ]  # fmt: skip
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        found = of_users(db, Filter(since=MONDAY, until=MONDAY + 7 * 86_400, checkpoint_code=85), ["month"])
        assert [(one.verdict, one.subject.user, one.evidence["months"]) for one in found] == [("better", "ada", 4)]


def runs(number: int, **changes: Any) -> list[Job]:
    start = 1000 * changes.pop("at", 1)
    return [job(start + n, **{"submit_time": MONDAY + n % 60, "job_name": "x", **changes}) for n in range(number)]


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        (runs(20, state="FAILED", elapsed=600), [("failing", "ada", "x")], "20 runs of 600 s, all failed"),
        (runs(20, state="FAILED", elapsed=10), [], "too short to cost an hour"),
        (runs(20, state="CANCELLED", elapsed=600), [], "cancelled by hand"),
        (runs(20, state="OUT_OF_MEMORY", elapsed=5, gpus=64), [("failing", "ada", "x")], "short, but of 64 GPUs"),
        (runs(10, state="FAILED", elapsed=600) + runs(11, at=2), [], "most complete"),
        (runs(10, state="FAILED", elapsed=600, job_name=None), [], "without a name"),
        (runs(500), [("flood", "ada", None)], "500 in one minute"),
        (runs(500, array_job=1), [], "an array"),
        (runs(499) + runs(1, at=2, submit_time=MONDAY + HOUR), [], "one of them an hour later"),
        (runs(250) + runs(250, at=2, user="bob"), [], "two users"),
    ],
)
def test_users(tmp_path: Path, jobs: list[Job], expected: list[tuple[str, str, str | None]], why: str) -> None:
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        found = of_users(db, Filter(checkpoint_code=85))
        assert [(one.kind, one.subject.user, one.subject.name) for one in found] == expected, why


@pytest.fixture(scope="module")
def look_alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory)


def test_the_studys_advice_is_found_on_the_look_alike(look_alike: Path) -> None:
    """gq: 70 % ask for 72 h. gq-short: one hour would do. gq-long: about 60 % end within the 72 h of gq."""
    with reader(look_alike) as db:
        found = {(one.kind, one.subject.queue): one for one in of_queues(db, Filter(checkpoint_code=85), 2**40)}
    assert {kind for kind, _ in found} == set(QUEUES) - {"images", "bad_node"}, (
        "it starts no image, and its nodes are good"
    )
    assert found["habit", "gq"].evidence["share"] == pytest.approx(0.70, abs=0.01)
    assert found["max_limit", "gq-short"].evidence["enough"] == HOUR
    assert found["max_limit", "gq-short"].command == "scontrol update PartitionName=gq-short MaxTime=60"
    long = found["queue_fit", "gq-long"]
    assert (long.subject.name, round(long.evidence["share"], 2)) == ("gq", 0.58)
    assert long.evidence["share_low"] < 0.6 < long.evidence["share_high"]
    assert ("max_limit", "gq-long") not in found, "40 % run for longer than three days"
    assert ("queue_fit", "gq-short") not in found, "there is no shorter one"
