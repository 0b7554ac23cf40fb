"""An end for what SQLite does not end.

SQLite looks at the clock between the steps of a SELECT, and one function over long values is one step: LIKE, instr() or
replace() may take hours in it, and hold a thread of the server. No other thread can stop that; so the process ends, and
its unit starts it again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from adminkit.render.say import complain

#: Seconds after a query's limit.
GRACE: Final = 20.0


def _end() -> None:
    complain("a query did not end at its time limit, because one function takes too long: the server is shutting down")
    os._exit(1)  # the thread cannot be joined


class Watch:
    """Calls `end` where what began in one thread has not ended `longest` seconds later."""

    def __init__(self, longest: float, end: Callable[[], None] = _end, every: float = 1.0) -> None:
        self._longest, self._end, self._every = longest, end, every
        self._began: dict[int, float] = {}  # thread -> time.monotonic()

    def start(self) -> None:
        """Trap: before the process has its bound of memory, at which it gets no more threads."""
        threading.Thread(target=self._look, name="watch", daemon=True).start()

    @contextmanager
    def over(self) -> Iterator[None]:
        """What is done in this block by this thread."""
        me = threading.get_ident()
        self._began[me] = time.monotonic()
        try:
            yield
        finally:
            del self._began[me]

    def _look(self) -> None:
        while True:
            time.sleep(self._every)
            now = time.monotonic()
            if any(now - since > self._longest for since in tuple(self._began.values())):
                return self._end()
