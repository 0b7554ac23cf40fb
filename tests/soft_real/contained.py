"""Runs on a real Slurm, each in a container to itself. What a run left is kept at once, where all of it is there."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.matrix import engine
from tests.matrix.results import commit
from tests.matrix.rows import ROWS

#: Seconds for a task.
LIMIT: Final = 2400.0
_ROW: Final = next(row for row in ROWS if row.name == "forky")


@dataclass(frozen=True, slots=True)
class Task:
    """`python -m PACKAGE here WORDS`, which leaves `files` in the folder of `--to`."""

    called: str
    words: tuple[str, ...]
    files: tuple[str, ...]


def in_containers(package: str, tasks: Sequence[Task], data: Path, at_once: int) -> int:
    """Those whose files are not in `data` yet. 0 when every task ended well."""
    missing = [task for task in tasks if not all((data / name).exists() for name in task.files)]
    engine.image(_ROW)
    engine.build(_ROW)
    made_by = commit()
    pool = ThreadPoolExecutor(at_once)
    try:
        running = [pool.submit(_contained, package, task, data, made_by) for task in missing]
        ended = [one.result() for one in running]
        return int(not all(ended))
    finally:
        pool.shutdown(cancel_futures=True)  # an interruption leaves the tasks that have begun to end


def _contained(package: str, task: Task, data: Path, made_by: str) -> bool:
    began, short = time.monotonic(), package.rpartition(".")[2]
    folder = f"build/{short}/{task.called}"
    there = engine.folder_of(_ROW) / folder
    shutil.rmtree(there, ignore_errors=True)
    words = [".venv/bin/python", "-m", package, "here", *task.words, "--to", f"/adminkit/{folder}", "--commit", made_by]
    log = engine.folder_of(_ROW).parent / f"{short}-{task.called}.log"
    code = engine.alone(_ROW, words, log, LIMIT)
    good = code == 0 and all((there / name).exists() for name in task.files)
    if good:
        data.mkdir(exist_ok=True)
        for name in task.files:
            (data / name).write_text((there / name).read_text())
    said = f"{task.called}: {'kept' if good else f'exit {code}'} ({time.monotonic() - began:.0f} s)"
    print(said, file=sys.stderr, flush=True)
    return good
