"""The states of the hub's jobs: one question for all servers that start or run, at most once a second.

Stock batchspawner asks for each server twice a second, and not at all any more once a job has run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.jupyter.programs import Answer, run
from adminkit.slurm.server_job import GONE, Seen, no_such_job, parse, states

#: Seconds that an answer stands.
FRESH: Final = 1.0
Run = Callable[..., Coroutine[Any, Any, Answer]]


class Jobs:
    """The jobs of one hub. `run` starts squeue as the hub's own user, who has to see the users' jobs."""

    def __init__(self, run: Run = run, fresh: float = FRESH) -> None:
        self._run = run
        self._fresh = fresh
        self._watched: set[str] = set()
        self._answer: dict[str, Seen] = {}
        self._at = -1e9
        self._one = asyncio.Lock()
        self.questions = 0

    async def look(self, job_id: str) -> Seen:
        """The job, as of a second ago at most. AdminkitError where slurmctld is not responding."""
        self._watched.add(job_id)
        async with self._one:
            if job_id not in self._answer or time.monotonic() - self._at >= self._fresh:
                self._answer = await self._ask()
                self._at = time.monotonic()
        return self._answer.get(job_id, GONE)  # forgotten meanwhile

    def forget(self, job_id: str) -> None:
        """No server is this job any more."""
        self._watched.discard(job_id)

    async def _ask(self) -> dict[str, Seen]:
        wanted = sorted(self._watched)
        self.questions += 1
        answer = await self._run(states(wanted))
        if answer.code and not no_such_job(answer.complained):
            raise AdminkitError(f"couldn't run squeue: {answer.complained.strip()}", "scontrol ping")
        found = parse(answer.said)
        return {job_id: found.get(job_id, GONE) for job_id in wanted}
