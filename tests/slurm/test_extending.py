"""What `adminkit extend` asks slurmctld: jobs in two views, what is around nodes by one scontrol, one update."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.slurm import extending, scontrol_show, show_config
from adminkit.slurm.extending import again, is_acting, move_limit, queue, room_around
from adminkit.slurm.room import Vector
from adminkit.slurm.squeue import QueuedJob, name_of
from tests.extend.jobs import RECORD
from tests.extend.site import Site
from tests.support.answered import Answer, Question, answered

NOW, MIB = 1_700_000_000, 1 << 20
Say = Callable[[Callable[[Question], Answer]], None]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    def programs(answer: Callable[[Question], Answer]) -> None:
        show_config.forget()
        answered(tmp_path / "bin", ("squeue", "scontrol"), answer)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    return programs


def test_a_job_in_two_views(say: Say) -> None:
    say(Site(NOW, running=2, near=1, planned=1).answer)
    found = queue(NOW)
    assert [job.job_id for job in found.jobs] == [one.job_id for one in found.listed] == [1, 2, 3]
    assert (found.jobs[0].ends, found.jobs[0].nodes, found.listed[0].admin_comment) == (NOW + 300, ("n0",), RECORD)
    assert (found.jobs[2].nodes, found.jobs[2].starts, found.listed[2].state) == (("n0",), NOW + 3600, "PENDING")


def test_what_is_around_nodes_takes_one_question(say: Say) -> None:
    site = Site(NOW, running=20)
    say(site.answer)
    jobs = queue(NOW)
    site.calls.clear()
    room, limits = room_around(jobs, {"n1"})
    assert site.calls == {"scontrol": 1}
    (node,) = room.nodes
    assert (node.name, node.has, node.taken) == ("n1", Vector(8, 64_000 * MIB, {}), Vector(8, 4000 * MIB, {"gpu": 0}))
    assert (room.queues[0].max_limit, room.memory, room.reserved) == (72 * 3600, True, ())
    assert limits.startswith("Current Association Manager state")


@pytest.mark.parametrize(
    ("lacks", "reason"),
    [
        ("show node n0", "slurmctld died in the middle"),
        ("show reservation", "the last answer is missing"),
        ("show assoc_mgr flags=assoc,qos", "the first one is"),
    ],
)
def test_half_an_answer_is_none(say: Say, lacks: str, reason: str) -> None:
    site = Site(NOW, running=1)

    def answer(asked: Question) -> Answer:
        if not asked.typed:
            return site.answer(asked)
        return Answer("".join("" if line == lacks else site.typed(line) for line in asked.typed.splitlines()))

    say(answer)
    jobs = queue(NOW)
    with pytest.raises(AdminkitError, match="did not answer all"):
        room_around(jobs, {"n0"})


@pytest.mark.parametrize(
    ("echo", "reason"),
    [
        ("scontrol: {}\n", "scontrol that was built with readline prints what it reads"),
        ("scontrol: ", "one that was built without prints only its prompt"),
    ],
)
def test_a_prompt_is_no_answer(say: Say, echo: str, reason: str) -> None:
    site = Site(NOW, running=1)

    def answer(asked: Question) -> Answer:
        if not asked.typed:
            return site.answer(asked)
        said = "".join(f"{echo.format(line)}{site.typed(line)}" for line in asked.typed.splitlines())
        return Answer(f"{said}scontrol: ")

    say(answer)
    room, _ = room_around(queue(NOW), {"n0"})
    assert [node.name for node in room.nodes] == ["n0"], reason


@pytest.mark.parametrize(("names", "expected"), [(2, ["show node n0,n1"]), (700, ["show node"])])
def test_no_line_is_too_long_for_scontrol(say: Say, names: int, expected: list[str]) -> None:
    site, typed = Site(NOW, running=16), list[str]()

    def answer(asked: Question) -> Answer:
        typed.extend(line for line in asked.typed.splitlines() if line.startswith("show node"))
        return site.answer(asked)

    say(answer)
    scontrol_show.around([f"n{number}" for number in range(2)] if names == 2 else [f"longer{n}" for n in range(names)])
    assert typed == expected


@pytest.mark.parametrize(
    ("job", "name", "reason"),
    [
        (QueuedJob(submit_time=1, job_id=7, array_id=7), "7", "a plain job"),
        (QueuedJob(submit_time=1, job_id=9, array_id=7, tasks="3"), "7_3", "a task of an array"),
        (QueuedJob(submit_time=1, job_id=7, array_id=7, tasks="3"), "7_3", "its last task, which has the array's id"),
        (QueuedJob(submit_time=1, job_id=7, array_id=7, tasks="4-6%2"), "7_[4-6]", "the tasks that wait"),
        (QueuedJob(submit_time=1, job_id=7, array_id=7, tasks="4,..."), "7", "a list that was cut"),
    ],
)
def test_what_changes_only_this_job(job: QueuedJob, name: str, reason: str) -> None:
    assert name_of(job) == name, reason


@pytest.mark.parametrize(("by", "said"), [(900, "TimeLimit=+15"), (-60, "TimeLimit=-1")])
def test_a_limit_moves_with_its_word_in_one_update(say: Say, by: int, said: str) -> None:
    calls = []

    def answer(asked: Question) -> Answer:
        calls.append(asked.args)
        return Answer()

    say(answer)
    move_limit(QueuedJob(submit_time=1, job_id=7, array_id=7), by, f"{RECORD} $(x)")
    assert calls == [["update", "JobId=7", said, f"AdminComment={RECORD} $(x)"]]


def test_a_job_that_is_over_is_left_out(say: Say) -> None:
    say(Site(NOW, running=2).answer)
    assert list(again([2, 5])) == [2]


def test_jobs_that_slurmctld_forgot_are_over(say: Say) -> None:
    say(lambda asked: Answer(err="slurm_load_jobs error: Invalid job id specified\n", code=1))
    assert again([5]) == {}


@pytest.mark.parametrize(
    ("said", "others", "expected", "reason"),
    [
        ("Slurmctld(primary) at a is UP\nSlurmctld(backup) at b is UP\n", ("b",), True, "this is the primary"),
        ("Slurmctld(primary) at a is UP\nSlurmctld(backup) at b is UP\n", ("a",), False, "the primary is elsewhere"),
        ("Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n", ("a",), True, "the backup took over"),
        ("Slurmctld(primary) at a is DOWN\nSlurmctld(backup1) at b is DOWN\n", ("a",), None, "none is up"),
        ("", ("a",), None, "no answer"),
    ],
)
def test_whose_slurmctld_is_at_work(
    say: Say, said: str, others: tuple[str, ...], expected: bool | None, reason: str
) -> None:
    say(lambda asked: Answer(said))
    if expected is not None:
        assert is_acting(others) is expected, reason
        return
    with pytest.raises(AdminkitError, match="which slurmctld"):
        is_acting(others)


def test_more_nodes_than_can_be_named_are_all_asked_for(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extending, "_MOST_NAMED", 1)
    asked_for = []
    site = Site(NOW, running=20)

    def answer(asked: Question) -> Answer:
        asked_for.append(asked.typed)
        return site.answer(asked)

    say(answer)
    room, _ = room_around(queue(NOW), {"n0", "n1"})
    assert sorted(node.name for node in room.nodes) == ["n0", "n1"] and "\nshow node\n" in asked_for[-1]
