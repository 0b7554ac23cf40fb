"""Submissions whose outcome the hub does not know: sbatch was not answered in time, or the hub went away meanwhile.

slurmctld may make the job all the same, later. Each submission has a mark in its job's comment; a job with the mark of
one that is lost is looked for, and cancelled as its user.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.jupyter.programs import Answer, run
from adminkit.slurm.seal import draw
from adminkit.slurm.server_job import cancellation, marked, parse_marked

#: Seconds between two looks.
EVERY: Final = 5.0
#: Seconds after which slurmctld takes no submission any more: munge's credentials live for 300.
LONG: Final = 360.0

#: User and server of the hub.
Who = tuple[str, str]
Run = Callable[..., Coroutine[Any, Any, Answer]]
_log: Final = logging.getLogger("adminkit.jupyter")


def new_mark() -> str:
    """What no other submission has."""
    return f"jupyterhub:{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class _Search:
    who: Who
    as_them: Run


class Lost:
    """The lost jobs of one hub. `run` starts squeue as the hub's own user, who has to see the users' jobs."""

    def __init__(self, run: Run = run, every: float = EVERY, now: Callable[[], float] = time.time) -> None:
        self._run, self._every, self._now = run, every, now
        self._open: dict[Who, dict[str, float]] = {}  # mark -> epoch of the submission
        self._searched: dict[str, _Search] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, who: Who) -> str:
        """The mark of a submission that begins."""
        mark = new_mark()
        self._open.setdefault(who, {})[mark] = self._now()
        return mark

    def settle(self, who: Who, mark: str) -> None:
        """Its job is known, or there is none."""
        self._searched.pop(mark, None)
        marks = self._open.get(who, {})
        marks.pop(mark, None)
        if not marks:
            self._open.pop(who, None)

    def marks(self, who: Who) -> dict[str, float]:
        """What has to outlive the hub."""
        return dict(self._open.get(who, {}))

    def take_up(self, who: Who, kept: Any, as_them: Run) -> None:
        """Search what a hub that went away had kept. What this one began itself is not touched."""
        for mark, since in kept.items() if isinstance(kept, Mapping) else ():
            if who not in self._open or mark not in self._open[who]:
                self._open.setdefault(who, {})[mark] = float(since)
                self.search(who, mark, as_them)

    def search(self, who: Who, mark: str, as_them: Run) -> None:
        """From now on. `as_them` runs a program as the user."""
        self._searched[mark] = _Search(who, as_them)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look_again())

    async def _look_again(self) -> None:
        while self._searched:
            try:
                await self._look()
            except AdminkitError as error:
                _log.warning("couldn't look for lost submissions: %s", error)
            await asyncio.sleep(self._every)

    async def _look(self) -> None:
        asked, searched, marks = self._now(), dict(self._searched), draw()
        answer = await self._run(marked(marks), seal=marks.seal)
        if answer.code:
            raise AdminkitError(f"couldn't run squeue: {answer.complained.strip()}")
        found = parse_marked(answer.said, searched, marks)
        for mark, one in searched.items():
            for job_id in found.get((one.who[0], mark), ()):
                if await _cancel(job_id, one):
                    self.settle(one.who, mark)
            if asked - self._open.get(one.who, {}).get(mark, 0.0) > LONG:
                self.settle(one.who, mark)


async def _cancel(job_id: str, one: _Search) -> bool:
    """Whether the job was cancelled. One that cannot be keeps no other search."""
    try:
        told = await one.as_them(cancellation(job_id))
        why = told.complained.strip() if told.code else ""
    except AdminkitError as error:
        why = error.message
    if why:
        _log.warning("couldn't cancel job %s of %s: %s", job_id, one.who[0], why)
    else:
        _log.warning("job %s of %s came after sbatch had been given up: cancelled", job_id, one.who[0])
    return not why
