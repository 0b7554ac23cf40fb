"""Jobs of a file in the Standard Workload Format, as columns for the simulator."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[np.int64]]


def public(name: str) -> Path | None:
    """The file of this name under $ADMINKIT_TRACES."""
    return next(iter(sorted(Path(os.environ.get("ADMINKIT_TRACES") or "/nonexistent").rglob(name))), None)


def read_jobs(path: Path) -> tuple[int, Columns]:
    """Processors of the machine, and id, submit, run, limit and procs of its jobs."""
    with gzip.open(path, "rt", errors="replace") as lines:
        text = [line.split() for line in lines]
    procs = next(int(words[2]) for words in text if words[:2] == [";", "MaxProcs:"])
    jobs = np.array([[float(word) for word in words[:9]] for words in text if words and words[0][0] != ";"]).astype(
        "i8"
    )
    number, submit, _, run, allocated, _, _, asked, limit = jobs.T
    return procs, {
        "id": number,
        "submit": submit,
        "run": run,
        "limit": np.where(limit > 0, limit, run).clip(-1),
        "procs": np.where(asked > 0, asked, allocated),
    }


def average_bounded_slowdown(jobs: Columns, start: NDArray[np.int64], end: NDArray[np.int64]) -> float:
    """AVEbsld of the jobs that ran: tau is 10 s."""
    ran = start >= 0
    flow, run = (end - jobs["submit"])[ran], (end - start)[ran]
    return float(np.maximum(flow / np.maximum(run, 10), 1).mean())
