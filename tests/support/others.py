"""Other users: a forked child becomes one and runs a function, so that only the trace has to be readable by them.

Needs root; the users are any two that every system has.
"""

from __future__ import annotations

import os
import pickle
import pwd
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from adminkit.errors import AdminkitError

#: For tests of files that belong to different users.
gives_files_away = pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root gives files away")

OWNER = pwd.getpwnam("daemon").pw_uid
READER = pwd.getpwnam("nobody").pw_uid
GROUP = pwd.getpwnam("games").pw_gid
OUTSIDE = pwd.getpwnam("nobody").pw_gid


@dataclass(frozen=True)
class Refused:
    """The message of an AdminkitError in the child."""

    message: str
    hint: str


def as_user(uid: int, gid: int, act: Callable[[], Any]) -> Any:
    """The result of `act`, done by that user; Refused for an AdminkitError. Anything else raises here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        answer: Any
        try:
            become(uid, gid)
            answer = act()
        except AdminkitError as error:
            answer = Refused(error.message, error.hint)
        except BaseException as error:
            answer = RuntimeError(repr(error))
        os.write(writing, pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    found = pickle.loads(answer)
    if isinstance(found, RuntimeError):
        raise found
    return found


def kill_in_the_middle(uid: int, gid: int, act: Callable[[Callable[[], None]], Any]) -> None:
    """Let that user begin `act`, which calls its argument when it is in the middle, and SIGKILL it there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def middle() -> None:
            os.write(writing, b"!")
            signal.pause()

        try:
            become(uid, gid)
            act(middle)
        finally:
            os._exit(1)
    os.close(writing)
    reached = os.read(reading, 1)
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert reached == b"!", "it never got to the middle"


def become(uid: int, gid: int) -> None:
    if uid != os.geteuid():
        os.setgroups([gid])
        os.setgid(gid)
        os.setuid(uid)
