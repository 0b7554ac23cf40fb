"""Tell Slurm's accounting how far a training came. One file that needs nothing but Python: copy it beside a training.

    from progress import Progress
    progress = Progress()
    for batch in batches:
        ...
        progress.step()

The checkpoint plugin names a file in ADMINKIT_PROGRESS; at the end of the job it reads the number there, which counts
only the iterations of this run. Where there is no plugin, or the file cannot be written, nothing happens: a training
never fails by this. In a job of several processes call it in one of them, that of rank 0 on the first node.
"""

from __future__ import annotations

import os
import time

VARIABLE = "ADMINKIT_PROGRESS"
#: Seconds between two writes; the last count before the signal or the end may be so old.
EVERY = 1.0


class Progress:
    """Counts iterations. `path` is the file, by default the plugin's; None writes nothing."""

    def __init__(self, path: str | None = None, every: float = EVERY) -> None:
        self.done = 0
        self._path = path or os.environ.get(VARIABLE)
        self._every = every
        self._next = 0.0

    def step(self, iterations: int = 1) -> None:
        """Count this number of iterations as done."""
        self.done += iterations
        if self._path is not None and time.monotonic() >= self._next:
            self.write()

    def write(self) -> None:
        """Write the count now: before a checkpoint, and at the end. Readers see the old number or the new one."""
        self._next = time.monotonic() + self._every
        if self._path is None:
            return
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(file, f"{self.done:<20}\n".encode(), 0)  # as long as before, so nothing is ever cut off
            finally:
                os.close(file)
        except OSError:
            pass
