"""Open jobs with their GPUs, as squeue prints them."""

from __future__ import annotations

import pytest

from adminkit.slurm.elastic_jobs import HELD, OpenJob, _spelled, parse
from adminkit.slurm.seal import Marks

#: Written | and ! below.
MARKS = Marks("\x1fAb-_9zZ0", "x0123456789abcdef")
LINE = (
    "7 |N/A|RUNNING|gq|n1|1|{tres}|N/A|17!|18!|19!|1:00:00|None|games|5|physics|normal|0|2|0:00"
    "|cpu=1,mem=4G,node=1,gres/gpu=1|N/A|N/A|ak1:x  y |{name}|"
)


def read(line: str) -> list[OpenJob]:
    return list(parse(line.replace("|", MARKS.delimiter).replace("!", MARKS.seal), MARKS))


#: what is asked for on each node, GPUs, their type, four of them
GPUS = [
    ("gres:gpu:2", 2, None, "gres:gpu:4"),
    ("gres/gpu:2", 2, None, "gres/gpu:4"),
    ("gpu:2", 2, None, "gpu:4"),
    ("gres:gpu", 1, None, "gres:gpu:4"),
    ("gres/gpu:a100:8", 8, "a100", "gres/gpu:a100:4"),
    ("gres/gpu:2080ti:1", 1, "2080ti", "gres/gpu:2080ti:4"),
    ("gres/gpu:a100", 1, "a100", "gres/gpu:a100:4"),
    ("gres/gpu:3g.20gb:1", 1, "3g.20gb", "gres/gpu:3g.20gb:4"),
    ("gres/gpu:2,gres/shard:1", None, None, ""),
    ("gres/shard:2", None, None, ""),
    ("gres/gpu:99999", None, None, ""),
    ("N/A", None, None, ""),
]


@pytest.mark.parametrize(("tres", "gpus", "kind", "four"), GPUS)
def test_the_gpus_of_a_job(tres: str, gpus: int | None, kind: str | None, four: str) -> None:
    (job,) = read(LINE.format(tres=tres, name="train"))
    assert (job.gpus, job.gpu_type) == (gpus, kind)
    assert gpus is None or _spelled(job.tres, 4) == four


def test_a_line_is_a_job() -> None:
    (job,) = read(LINE.format(tres="gres:gpu:1", name="my train"))
    assert (job.job_id, job.submit_time, job.starts, job.ends, job.time_limit) == (7, 17, 18, 19, 3600)
    assert (job.job_name, job.comment, job.restarts, job.alone) == ("my train", "ak1:x  y", 2, True)
    assert not job.held_for_gpus


#: (a line, how many jobs it is, why)
LINES = [
    (LINE.replace("17!", "17"), 0, "no time that squeue printed"),
    (LINE.replace("7 |", "seven |"), 0, "no id"),
    ("\n|\nmore of a name", 0, "the rest of a name"),
    (LINE.replace("{name}", "a|b|9|N/A|RUNNING|gq|n1|1|gres:gpu:1|N/A|17|18|19|1:00:00"), 1, "a name with our marks"),
]


@pytest.mark.parametrize(("line", "jobs", "why"), LINES, ids=[case[2] for case in LINES])
def test_no_line_of_a_user_is_one(line: str, jobs: int, why: str) -> None:
    assert len(read(line.format(tres="gres:gpu:1", name="train"))) == jobs, why


#: (part of the line, another in its place, whether the job is one by itself, why)
PARTS = [
    ("7 |N/A", "7 |3", False, "a task of an array"),
    ("normal|0|", "normal|7|", False, "a part of a heterogeneous job"),
    ("|N/A|17!", "|gres:gpu:4|17!", False, "--gpus beside --gres"),
    ("7 |N/A", "7 |", True, "no array"),
]


@pytest.mark.parametrize(("part", "other", "alone", "why"), PARTS, ids=[case[3] for case in PARTS])
def test_a_job_is_one_by_itself(part: str, other: str, alone: bool, why: str) -> None:
    (job,) = read(LINE.format(tres="gres:gpu:1", name="train").replace(part, other))
    assert (job.alone, job.gpus) == (alone, 1 if alone else None), why


@pytest.mark.parametrize(
    ("reason", "held"), [("job requeued in held state", True), (HELD, True), ("JobHeldUser", False), ("None", False)]
)
def test_a_job_is_held_for_its_gpus(reason: str, held: bool) -> None:
    line = LINE.format(tres="gres:gpu:1", name="train").replace("RUNNING", "PENDING").replace("|None|", f"|{reason}|")
    assert read(line)[0].held_for_gpus == held
