"""The hub's question for its jobs: how often it is asked, and what no answer is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.jupyter.jobs import Jobs
from adminkit.jupyter.programs import Answer
from adminkit.slurm.server_job import GONE, Seen


class Squeue:
    """Answers as squeue does, and counts."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, argv: list[str], **_: Any) -> Answer:
        self.asked.append(argv[argv.index("-j") + 1])
        await asyncio.sleep(0)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_many_servers_are_one_question() -> None:
    squeue = Squeue(Answer(0, "".join(f"{n}|RUNNING|n1|1|None\n" for n in range(1, 51)), ""))
    jobs = Jobs(squeue, fresh=60)

    async def everybody() -> list[Seen]:
        first = await asyncio.gather(*(jobs.look(str(n)) for n in range(1, 51)))
        return [*first, *await asyncio.gather(*(jobs.look(str(n)) for n in range(1, 51)))]

    found = asyncio.run(everybody())
    assert {one.state for one in found} == {"RUNNING"}
    assert len(found) == 100
    assert len(squeue.asked) <= 2, "one question for the first, one for all others"


def test_a_job_that_is_forgotten_while_somebody_waits_for_the_answer() -> None:
    """The start gave up between the question and the answer; the hub's own look is told that it is gone."""

    async def told() -> Seen:
        going = asyncio.Event()

        async def slow(*_: Any, **__: Any) -> Answer:
            await going.wait()
            return Answer(0, "8|RUNNING|n1|1|None\n", "")

        jobs = Jobs(slow, fresh=0)
        other, look = asyncio.create_task(jobs.look("8")), asyncio.create_task(jobs.look("7"))
        await asyncio.sleep(0)
        jobs.forget("7")
        going.set()
        await other
        return await look

    assert asyncio.run(told()) == GONE


@pytest.mark.parametrize(
    ("answer", "expected", "why"),
    [
        (Answer(0, "", ""), GONE, "slurmctld no longer lists it"),
        (Answer(1, "", "slurm_load_jobs error: Invalid job id specified"), GONE, "it says so of one job alone"),
        (Answer(1, "", "slurm_load_jobs error: Unable to contact slurm controller"), None, "no answer is no end"),
        (Answer(1, "", ""), None, "killed at its time limit"),
    ],
)
def test_a_job_that_is_not_listed(answer: Answer, expected: Seen | None, why: str) -> None:
    jobs = Jobs(Squeue(answer), fresh=0)
    if expected is None:
        with pytest.raises(AdminkitError):
            asyncio.run(jobs.look("7"))
    else:
        assert asyncio.run(jobs.look("7")) == expected, why
