"""What slurmstepd measured of the steps of running jobs: `sstat`. Only root, SlurmUser and a job's owner may ask.

Trap: the external step has no processes of the job, and its numbers say nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from adminkit.slurm.process import ask

_STEP: Final = re.compile(r"(\d{1,10})\.(\d+|batch|extern|interactive)")
_GPU_SHARE: Final = re.compile(r"(?:^|,)gres/gpuutil=(\d{1,9})(?=,|$)")


def peaks(job_ids: Collection[int]) -> dict[int, int]:
    """The highest gres/gpuutil of any step by job, percent. A job with a step that was not measured is left out.

    AdminkitError where sstat cannot be asked.
    """
    words = ["sstat", "-a", "-P", "-n", "-j", ",".join(map(str, sorted(job_ids))), "-o", "JobID,TRESUsageInMax"]
    return parse(ask(words))


def parse(text: str) -> dict[int, int]:
    """sstat's lines: 4711.batch|cpu=00:00:01,gres/gpuutil=0,mem=4K."""
    found: dict[int, int | None] = {}
    for job, peak in _steps(text):
        before = found.get(job, 0)
        found[job] = None if before is None or peak is None else max(before, peak)
    return {job: peak for job, peak in found.items() if peak is not None}


def _steps(text: str) -> Iterator[tuple[int, int | None]]:
    for line in text.splitlines():
        step, _, tres = line.partition("|")
        name = _STEP.fullmatch(step)
        if name is not None and name[2] != "extern":
            share = _GPU_SHARE.search(tres)
            yield int(name[1]), None if share is None else int(share[1])
