"""The last runs of one person, few enough to be looked at for every letter: of an array a sample stands for all."""

from __future__ import annotations

import random
from collections import deque

from adminkit.stats.runs import Run


class Recent:
    """Holds about `most` runs, of each array at most `per_array`, drawn evenly and always the same ones.

    Trap: the first tasks of an array are not a fair sample, as people sort tasks by size.
    """

    def __init__(self, most: int, per_array: int = 16) -> None:
        self._most = most
        self._per_array = per_array
        self._together: deque[list[Run]] = deque()  # a run by itself, or the sample of an array
        self._arrays: dict[int, tuple[list[Run], random.Random, list[int]]] = {}
        self._held = 0

    def add(self, run: Run) -> None:
        """Runs come by submission."""
        if run.array_job is None:
            self._together.append([run])
            self._held += 1
        else:
            self._draw(run, run.array_job)
        while self._held > self._most and len(self._together) > 1:
            gone = self._together.popleft()
            self._held -= len(gone)
            if gone[0].array_job is not None:
                self._arrays.pop(gone[0].array_job, None)

    def runs(self) -> list[Run]:
        """The runs by submission."""
        return sorted((run for few in self._together for run in few), key=lambda run: run.submit_time)

    def _draw(self, run: Run, array: int) -> None:
        """Reservoir sampling: after n tasks each of them is in the sample with the same probability."""
        if array not in self._arrays:
            self._arrays[array] = ([], random.Random(array), [0])
            self._together.append(self._arrays[array][0])
        sample, luck, seen = self._arrays[array]
        seen[0] += 1
        if len(sample) < self._per_array:
            sample.append(run)
            self._held += 1
        elif (place := luck.randrange(seen[0])) < self._per_array:
            sample[place] = run
