"""Submissions whose outcome is not known: how long they are looked for, and whose job is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.jupyter.lost import LONG, Lost
from adminkit.jupyter.programs import Answer
from adminkit.slurm.seal import Marks
from adminkit.slurm.server_job import marked, may_have_come, parse_marked

ADA = ("ada", "")
AWAY = Answer(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")


MARKS = Marks("\x1fdelim", "xseal")


def delimiter_of(words: list[str]) -> str:
    return words[words.index("-O") + 1].split(",")[0].partition(":0")[2]


def listed(jobs: str, marks: Marks) -> str:
    """What squeue says of these jobs, a line `id|user|comment` each. A line break in a comment is written \\n."""
    lines = (line.split("|", 2) for line in jobs.splitlines())
    said = (
        "".join(f"{cell}{marks.delimiter}" for cell in (line[0], f"1700000000{marks.seal}", *line[1:]))
        for line in lines
        if len(line) == 3
    )
    return "".join(f"{line}\n" for line in said).replace("\\n", "\n")


class Site:
    """squeue, scancel and a clock."""

    def __init__(self, *answers: Answer | str) -> None:
        self.answers = list(answers)
        self.cancelled: list[list[str]] = []
        self.stuck: set[str] = set()  # jobs whose scancel hangs
        self.now = 1000.0
        self.step = 1.0
        self.lost = Lost(self.squeue, every=0, now=lambda: self.now)

    async def squeue(self, words: list[str], seal: str = "", **_: Any) -> Answer:
        """An answer `id|user|comment` is a job of slurmctld's, with its seal."""
        self.now += self.step
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if found == "hangs":
            raise AdminkitError("no response within 10 s")
        if isinstance(found, Answer):
            return found
        return Answer(0, listed(found.format(mark=self.mark), Marks(delimiter_of(words), seal)), "")

    async def as_them(self, words: list[str], **_: Any) -> Answer:
        self.cancelled.append(words)
        if words[-1] in self.stuck:
            raise AdminkitError("couldn't run scancel: no response within 10 s")
        return Answer(0, "", "")

    def run(self, act: Callable[[], Awaitable[None]] | None = None) -> None:
        async def whole() -> None:
            self.mark = self.lost.begin(ADA)
            self.lost.search(ADA, self.mark, self.as_them)
            while self.lost.marks(ADA):
                await asyncio.sleep(0)

        asyncio.run(asyncio.wait_for(whole(), 30))


def test_a_job_that_comes_later_is_cancelled_as_its_user() -> None:
    site = Site("hangs", AWAY, "", "7|ada|jupyterhub:other\n8|ada|our {mark} words\n")
    site.run()
    assert site.cancelled == [["scancel", "8"]]


def test_the_search_ends_when_slurmctld_answered_after_the_credential_had_ended() -> None:
    site = Site("")
    site.step = LONG / 4
    site.run()
    assert site.cancelled == []
    assert site.now >= 1000 + LONG


def test_no_answer_ends_no_search() -> None:
    site = Site(*["hangs"] * 50, "9|ada|{mark}\n")
    site.step = LONG
    site.run()
    assert site.cancelled == [["scancel", "9"]], "fifty times no word, long after"


@pytest.mark.parametrize(
    "line", ["9|bob|{mark}\n", "9_1|ada|{mark}\n", "9; id|ada|{mark}\n", "-9|ada|{mark}\n", "{mark}\n"]
)
def test_what_is_no_job_of_that_user_is_not_cancelled(line: str) -> None:
    site = Site(line)
    site.step = LONG
    site.run()
    assert site.cancelled == []


def test_what_a_hub_kept_is_taken_up_once() -> None:
    site = Site("5|ada|jupyterhub:ab\n")

    async def restarted() -> None:
        site.mark = ""
        for kept in ({"jupyterhub:ab": 1.0}, {"jupyterhub:ab": 1.0}, None, "nonsense"):
            site.lost.take_up(ADA, kept, site.as_them)
        while site.lost.marks(ADA):
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(restarted(), 30))
    assert site.cancelled == [["scancel", "5"]]


def test_marks_differ_and_are_kept_until_they_are_settled() -> None:
    lost = Lost()
    one, two = lost.begin(ADA), lost.begin(ADA)
    assert set(lost.marks(ADA)) == {one, two}
    lost.settle(ADA, one)
    assert set(lost.marks(ADA)) == {two}
    lost.settle(ADA, two)
    assert lost.marks(ADA) == {}


@pytest.mark.parametrize(
    ("complaint", "expected"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", True),
        ("sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received", True),
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", False),
        ("sbatch: error: your rule: no\nsbatch: error: Batch job submission failed: Access denied", False),
    ],
)
def test_only_where_no_answer_came_a_job_may(complaint: str, expected: bool) -> None:
    assert may_have_come(complaint) is expected


#: (what squeue says, the jobs of ada that have her mark, why)
MARKED: list[tuple[str, list[str], str]] = [
    (listed("1|ada|m\n3|ada|x m|y m\n", MARKS), ["1", "3"], "a comment may have anything around the mark"),
    (listed("2|ada|a|m b\n4|bob|\n", MARKS), [], "no word of the comment is the mark"),
    (listed("4|bob|x\\n7|ada|m\n", MARKS), [], "a line break, and a line in the shape of the answer without marks"),
    (
        listed(f"4|bob|x\\n7{MARKS.delimiter}1700000000{MARKS.delimiter}ada{MARKS.delimiter}m\n", MARKS),
        [],
        "with the delimiter, which every user can read among squeue's arguments",
    ),
    (listed(f"4|bob{MARKS.delimiter}ada|m\n", MARKS), [], "cells that were moved are not another user's"),
    ("1|ada|m\n", [], "a line that has no mark of this answer"),
    ("", [], "no job at all"),
]


@pytest.mark.parametrize(("said", "jobs", "why"), MARKED, ids=[why for _, _, why in MARKED])
def test_a_comment_is_what_its_user_typed(said: str, jobs: list[str], why: str) -> None:
    assert parse_marked(said, {"m"}, MARKS).get(("ada", "m"), []) == jobs, why
    assert marked(MARKS)[-1].endswith(f"Comment:0{MARKS.delimiter}"), "what a user typed comes last"


def test_one_job_that_cannot_be_cancelled_does_not_keep_others() -> None:
    site = Site("8|ada|{mark}\n9|ada|{mark}\n")
    site.stuck = {"8"}
    site.run()
    assert site.cancelled == [["scancel", "8"], ["scancel", "9"]]
