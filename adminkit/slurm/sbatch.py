"""Submits programs as jobs: arrays, one after the other."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.process import Refused, ask
from adminkit.slurm.server_job import job_id_of, submission, why_of

#: Seconds that slurmctld may take.
_TIMEOUT: Final = 60.0
#: What process.py sets for sbatch, and the job would inherit: a civil time means another moment in another zone.
_INHERITED: Final = ("TZ", "LC_ALL")


@dataclass(frozen=True, slots=True)
class Batch:
    """A job that runs `words` in the folder `home`; the output of each task is a file of `logs`.

    `tasks`: of an array, each of which has its index in SLURM_ARRAY_TASK_ID; None: no array. `after`: the id of the job
    that has to succeed before. `options`: sbatch's own, each as it is typed.
    """

    name: str
    words: Sequence[str]
    home: Path
    logs: Path
    tasks: int | None = None
    after: str | None = None
    options: Sequence[str] = ()


def submit(batch: Batch) -> str:
    """The job's id. AdminkitError with what Slurm says where it refuses."""
    log = batch.logs / ("slurm-%A_%a.out" if batch.tasks else "slurm-%j.out")
    options = [
        *batch.options,
        f"--job-name={batch.name}",
        f"--chdir={batch.home}",
        f"--output={log}",
        *([f"--array=0-{batch.tasks - 1}"] if batch.tasks else []),
        *([f"--dependency=afterok:{batch.after}", "--kill-on-invalid-dep=yes"] if batch.after else []),
    ]
    try:
        said = ask(submission(options), _TIMEOUT, typed=script(batch.words))
    except Refused as error:
        raise AdminkitError(
            f"Slurm refuses the job {batch.name}: {why_of(error.output)}",
            "--sbatch=OPTION adds what your site needs: --sbatch=--partition=short --sbatch=--time=30",
        ) from error
    job = job_id_of(said)
    if job is None:
        raise AdminkitError("couldn't read the job's id from what sbatch printed", "run it by hand: sbatch --parsable")
    return job


def on_each_node(words: Sequence[str]) -> list[str]:
    """The words of a Batch that run these in every task of its job; each line of their output has its task's number."""
    return ["srun", "--label", *words]


def script(words: Sequence[str]) -> str:
    """What sbatch runs: the program with these words, in the time zone and the language of this process."""
    lines = ["#!/bin/sh"]
    for name in _INHERITED:
        value = os.environ.get(name)
        lines.append(f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}")
    return "\n".join([*lines, f"exec {shlex.join(words)}", ""])
