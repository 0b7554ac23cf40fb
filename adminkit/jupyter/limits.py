"""Limits that a hub proposes to a user: of each profile what is recommended from their own servers of its size.

Asked once every ten minutes for each user, by a program beside the hub. No form waits for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from adminkit.errors import AdminkitError, UsageError
from adminkit.fit.profiles import Profile
from adminkit.fit.request import parse_time
from adminkit.jupyter.programs import Answer, run
from adminkit.quote import quote
from adminkit.recommend.sessions import Size
from adminkit.units import show_duration

#: Seconds that an answer stands, and that a form waits for its first.
FRESH: Final = 600.0
SOON: Final = 0.2
#: Seconds for the program; programs at a time; users whose answers are kept.
TIMEOUT: Final = 60.0
_AT_A_TIME: Final = 2
_MOST_KEPT: Final = 2000

Run = Callable[..., Coroutine[Any, Any, Answer]]
_log: Final = logging.getLogger("adminkit.jupyter")


@dataclass(slots=True)
class _Asked:
    at: float
    sizes: Mapping[str, Size]
    task: asyncio.Task[Mapping[str, int]]


class Limits:
    """The limits of one hub and its trace."""

    def __init__(self, trace: str, run: Run = run) -> None:
        self._trace = trace
        self._run = run
        self._asked: dict[str, _Asked] = {}
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def of(self, user: str, profiles: Iterable[Profile], cluster: str) -> Mapping[str, int]:
        """Limits by profile's key, in seconds; {} where none is recommended, or known yet. `cluster` "": any."""
        sizes = {
            one.key: Size(one.request.queue, one.request.cpus, one.request.gpus, one.request.time_limit)
            for one in profiles
            if one.request.time_limit is not None
        }
        asked = self._asked.get(user)
        if asked is None or asked.sizes != sizes or time.monotonic() - asked.at > FRESH:
            if len(self._asked) >= _MOST_KEPT:
                del self._asked[next(iter(self._asked))]
            self._asked.pop(user, None)
            task = asyncio.create_task(self._ask(user, sizes, cluster))
            asked = self._asked[user] = _Asked(time.monotonic(), sizes, task)
        done, _ = await asyncio.wait({asked.task}, timeout=SOON)
        return asked.task.result() if done else {}

    async def _ask(self, user: str, sizes: Mapping[str, Size], cluster: str) -> Mapping[str, int]:
        given = {
            "trace": self._trace,
            "user": user,
            "cluster": cluster,
            "sizes": {key: asdict(one) for key, one in sizes.items()},
        }
        words = [sys.executable, "-I", "-m", "adminkit.jupyter.limits_of"]
        try:
            async with self._turns:
                answer = await self._run(words, given=json.dumps(given), timeout=TIMEOUT)
            if answer.code:
                raise AdminkitError(answer.complained.strip()[-500:])
            return {key: int(seconds) for key, seconds in json.loads(answer.said).items()}
        except (AdminkitError, ValueError) as error:
            _log.error("couldn't read the limits of %s from the trace: %s", user, error)
            return {}


def with_limit(profile: Profile, seconds: int | None) -> Profile:
    """The profile as it is asked for with that limit; None: its own."""
    return profile if seconds is None else replace(profile, request=replace(profile.request, time_limit=seconds))


def typed_limit(profile: Profile, typed: object) -> int | None:
    """What a user typed, in seconds; None for nothing. UsageError for no limit, or one that is longer than allowed."""
    if typed is None or typed == "":
        return None
    most = profile.request.time_limit
    if most is None:
        raise UsageError(f"{quote(profile.key)} has no time that could be shortened")
    try:
        seconds = parse_time(str(typed)[:50])
    except UsageError as error:
        raise UsageError(f"{error.message}; {error.hint}") from error
    if seconds > most:
        raise UsageError(f"{show_duration(seconds)} is longer than the {show_duration(most)} of this profile")
    return seconds
