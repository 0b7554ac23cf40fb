"""A process that is killed between two calls to the file system."""

from __future__ import annotations

import os
from collections.abc import Callable

CALLS = ("rename", "fsync", "fchmod", "fchown", "open", "fdopen", "unlink")


def crash_at(number: int, act: Callable[[], object]) -> bool:
    """Do `act` in a process of its own that dies just before its `number`th call to the file system.

    Whether it came that far.
    """
    child = os.fork()
    if child == 0:
        left = number
        for name in CALLS:
            real = getattr(os, name)

            def dying(*args: object, _real: Callable[..., object] = real, **words: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    os._exit(77)
                return _real(*args, **words)

            setattr(os, name, dying)
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77
