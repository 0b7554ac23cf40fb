"""A search as jobs of Slurm: an array for each round, one after the other, and a last job that has the answer.

Each task is the same program with the same question. It does its share of one round, and whatever earlier rounds have
kept it takes from the folder that all of them share. So a task that is killed and requeued changes nothing, and the
answer is that of one process, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, UsageError
from adminkit.slurm.sbatch import Batch, submit
from adminkit.tune.engine import Shard
from adminkit.tune.race import Round

#: The name of the jobs.
NAME: Final = "adminkit-tune"
_INDEX: Final = "SLURM_ARRAY_TASK_ID"


def shard_of(text: str, environ: Mapping[str, str] = os.environ) -> Shard:
    """ROUND/TASKS of the command line, with the index that Slurm gives a task of an array."""
    number, _, tasks = text.partition("/")
    index = environ.get(_INDEX, "")
    if not all(one.isascii() and one.isdigit() for one in (number, tasks, index)):
        raise UsageError(f"no share of a round: {text}", f"--shard is for the jobs of --slurm, which have {_INDEX}")
    found = Shard(int(number), int(index), int(tasks))
    if found.index >= found.tasks:
        raise UsageError(f"no share of a round: {text}", f"{_INDEX} is {index}, and there are {tasks} tasks")
    return found


def submitted(
    words: Sequence[str], last: Sequence[str], rounds: Sequence[Round], tasks: int, home: Path, keep: Path,
    options: Sequence[str] = (),
) -> list[str]:  # fmt: skip
    """Submit every round, then the answer: the ids of the jobs, that of the answer last.

    `words`: the program with the question; `last`: what only the job with the answer is told. AdminkitError where Slurm
    refuses; what was submitted before is then waiting, and named.
    """
    ids: list[str] = []
    for number in range(len(rounds)):
        shard = [*words, "--shard", f"{number}/{tasks}"]
        ids.append(_next(Batch(NAME, shard, home, keep, tasks, ids[-1] if ids else None, options), ids))
    ids.append(_next(Batch(NAME, [*words, *last], home, keep, None, ids[-1] if ids else None, options), ids))
    return ids


def _next(batch: Batch, before: Sequence[str]) -> str:
    try:
        return submit(batch)
    except AdminkitError as error:
        if not before:
            raise
        hint = f"{error.hint}; jobs that were submitted before: scancel {' '.join(before)}"
        raise AdminkitError(error.message, hint) from error
