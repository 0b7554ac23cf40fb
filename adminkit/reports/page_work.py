"""The parts of the page, made one after the other, or by two threads where a trace has files of months: what takes long
there, DuckDB and numpy, runs beside what the other thread does. Each thread has a connection of its own.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from adminkit import config
from adminkit.owner import is_root_as_owner
from adminkit.sqlite import sqlite3
from adminkit.trace.columns import give_back
from adminkit.trace.months import archived, manifest

T = TypeVar("T")
#: The second thread.
NAME: Final = "adminkit-page"
#: Makes a part of the page from the trace.
Part = Callable[[sqlite3.Connection], T]


def for_two(db: sqlite3.Connection) -> bool:
    """Whether two threads may read this trace, and both would have work.

    Trap: root becomes the owner of a trace, and root again for a moment, with all threads of the process.
    """
    cores = len(os.sched_getaffinity(0))
    if is_root_as_owner() or min(cores, config.load().months.threads) < 2:
        return False
    return bool(manifest.files(db) or archived.files(db))


def made(
    db: sqlite3.Connection,
    another: Callable[[], AbstractContextManager[sqlite3.Connection]],
    parts: Sequence[Part[T]],
    done: Callable[[int], None],
) -> list[T]:
    """What the parts make, in their order: one by one from `db`, or also from `another` connection to the same trace.
    `done` gets how many there are so far. Each thread takes the first part that is left, so the longest come first.
    """
    found: dict[int, T] = {}
    left = deque(enumerate(parts))
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work(trace: sqlite3.Connection) -> None:
        while left and not errors:
            with lock:
                if not left:
                    return
                number, part = left.popleft()
            value = part(trace)
            give_back()
            with lock:
                found[number] = value
                done(len(found))

    def beside() -> None:
        try:
            with another() as trace:
                work(trace)
        except BaseException as error:
            errors.append(error)

    if not for_two(db):
        work(db)
        return [found[number] for number in range(len(parts))]
    thread = threading.Thread(target=beside, name=NAME, daemon=True)  # who interrupts the page does not wait for it
    thread.start()
    try:
        work(db)
    except Exception as error:
        errors.insert(0, error)
    thread.join()
    if errors:
        raise errors[0]
    return [found[number] for number in range(len(parts))]
