"""Jobs that waited for files, and jobs of which nobody knows."""

from __future__ import annotations

from typing import Any

from adminkit.job import Job
from tests.support.builders import HOUR, MONDAY, job


def waited(
    number: int,
    *,
    only: int,
    use: float | None,
    full: int = 0,
    samples: int = 100,
    fs: str = "nfs4-home",
    **changes: Any,
) -> Job:
    """A run of an hour on one GPU. `use`: the share of the time that its GPUs were busy, as the plugin for GPUs left
    it; None: it left none.
    """
    start = MONDAY + number * HOUR
    word = f"io1:at={start + 5},to={start + 3000},node=0,n={samples},wait={only},only={only},full={full},fs={fs}"
    if use is not None:
        gpus = changes.get("gpus") or 1
        word += f" gu1:at={start + 30},to={start + 3000},node=0,gpus={gpus},s=3000,busy={round(3000 * use)},used=1"
    given = {"gpus": 1, "elapsed": HOUR, "start_time": start, "end_time": start + HOUR, "admin_comment": word}
    return job(number, **{**given, **changes})


def some_file_waits(hostile: str = "odd") -> list[Job]:
    """Every class, for several users, queues and names; runs without GPUs, without a word, and one that never ran."""
    return [
        *(waited(n, only=91, use=0.21, gpus=4, job_name="train", elapsed=20 * HOUR) for n in range(1, 5)),
        *(waited(n, only=86, use=0.95, job_name="keeps-up") for n in range(5, 8)),
        *(waited(n, only=13, use=0.96, job_name="long", user="bob") for n in range(8, 10)),
        *(waited(n, only=0, full=90, use=0.07, job_name="decode", user="bob", gpus=2) for n in range(10, 13)),
        *(waited(n, only=91, use=None, queue="gq-short", user="eve") for n in range(13, 15)),
        waited(15, only=91, use=None, gpus=0, queue="cpu", user="eve"),
        waited(16, only=91, use=0.2, user=hostile, job_name=hostile),
        waited(17, only=5, use=1.0, user=None),
        waited(18, samples=5, only=5, use=0.0),
        job(19, user="bob"),
        job(20, gpus=None, cpus=None, user="eve"),
        waited(21, only=91, use=0.2, elapsed=0),
    ]
