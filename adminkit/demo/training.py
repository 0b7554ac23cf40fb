"""One user's training in the story's weeks of March: on whole nodes, with 1, 2, 4 or 8 GPUs, and iterations written.

All of it is invented: a batch of all GPUs together, images that one node cannot read any faster than four GPUs learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from adminkit.demo.nodes import GPUS_PER_NODE
from adminkit.job import Job
from adminkit.trace.plugin_words import PROGRESS

NAME: Final = "resnet_whole.sh"
#: Its user, by how busy they are.
RANK: Final = 1


class Kind(NamedTuple):
    """The runs with one number of GPUs."""

    runs: int
    pace: float  # seconds an iteration
    busy: float  # share of each GPU


KINDS: Final[Mapping[int, Kind]] = {
    1: Kind(4, 0.412, 0.97),
    2: Kind(5, 0.221, 0.91),
    4: Kind(8, 0.128, 0.79),
    8: Kind(14, 0.126, 0.40),
}


def runs(shape: Job, rng: Random) -> Iterator[tuple[Job, int]]:
    """Each run's job, with its iterations, and its elapsed time; `shape` is a job of one GPU."""
    cpus = (shape.cpus or 0) * GPUS_PER_NODE
    for gpus, kind in KINDS.items():
        whole = replace(
            shape, req_gpus=gpus, gpus=gpus, req_cpus=cpus, cpus=cpus, req_mem=(shape.mem or 0) * gpus,
            mem=(shape.mem or 0) * gpus, job_name=NAME,
        )  # fmt: skip
        for _ in range(kind.runs):
            iterations = rng.randrange(30_000, 60_000, 1000)
            comment = f"{PROGRESS.prefix}:it={iterations}"
            yield replace(whole, admin_comment=comment), round(iterations * kind.pace * rng.gauss(1, 0.012))
