"""What squeue says of one user's open jobs."""

from __future__ import annotations

import pytest

from adminkit.slurm.own_queue import Queued, parse
from adminkit.slurm.seal import Marks

#: Written | and ! below.
MARKS = Marks("\x1fAb-_9zZ0", "x0123456789abcdef")


def line(job: str = "7", name: str = "train", **cells: str) -> str:
    given = {
        "state": "PD", "queue": "gq", "limit": "1-00:00:00", "used": "0:00", "submit": "1700000000!", "start": "N/A",
        "nodes": "1-2", "cpus": "8", "reason": "Priority", **cells,
    }  # fmt: skip
    return "".join(f"{cell:<40}|" for cell in (job, *given.values(), name))


def read(text: str) -> list[Queued]:
    return parse(text.replace("|", MARKS.delimiter).replace("!", MARKS.seal), MARKS)


FIRST = Queued("7", "PD", "gq", 86_400, 0, 1_700_000_000, None, 1, 8, "Priority", "train")


@pytest.mark.parametrize(
    ("text", "found", "why"),
    [
        (line(), [FIRST], "a record"),
        (f"CLUSTER: alpha\n{line()}\n{line('8_[3-9%2]')}\n", ["7", "8_[3-9%2]"], "-M names the cluster first"),
        (f"{line(name='two' + chr(10) + 'lines')}\n{line('8')}\n", ["7", "8"], "a newline in a name"),
        (line(submit="1700000000"), [], "a time that squeue did not print"),
        (line()[:-60], [], "half a record"),
        (line(state="RV"), [], "a federation's sibling that another cluster took"),
        ("", [], "no job"),
    ],
)
def test_a_record_is_a_job(text: str, found: list[object], why: str) -> None:
    jobs = read(text)
    assert jobs == found or [one.job_id for one in jobs] == found, why


@pytest.mark.parametrize(
    ("limit", "seconds"), [("UNLIMITED", None), ("INVALID", None), ("30:00", 1800), ("1:00:00", 3600)]
)
def test_limits_are_as_slurm_writes_them(limit: str, seconds: int | None) -> None:
    assert read(line(limit=limit))[0].time_limit == seconds


@pytest.mark.parametrize(("job", "tasks"), [("7", 1), ("8_[3-9%2]", 7), ("8_[1,3,5,7,11,20-29,40", None)])
def test_waiting_tasks_of_an_array_count_each(job: str, tasks: int | None) -> None:
    assert read(line(job))[0].tasks == tasks


def test_what_is_unknown_is_none() -> None:
    (one,) = read(line(reason="(null)", queue="N/A", start="1700000900!", cpus="x"))
    assert (one.reason, one.queue, one.start_time, one.cpus) == (None, None, 1_700_000_900, None)
