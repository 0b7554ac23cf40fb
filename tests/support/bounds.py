"""A bound for every test, so that none hangs for ever. It measures nothing: a test that comes to it is broken.

Where a test comes to its bound, the stacks of all threads are printed and the test fails. One that cannot be failed
(it waits in C, or for a child in its cleaning up) has GRACE more; then the stacks are printed and the process ends:
under pytest-xdist another takes its place, and the test is named as the one that ended it.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

#: Seconds for a test with its fixtures, by the marker it carries; the first that fits.
BOUNDS = {"soak": 4 * 3600, "web": 600, "cluster": 1200, "": 300}
GRACE = 120.0

#: Trap: pytest takes file descriptor 2 for itself while a test runs.
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(bound(item)))


def bound(item: pytest.Item) -> float:
    return next(seconds for mark, seconds in BOUNDS.items() if not mark or item.get_closest_marker(mark))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Start faulthandler's thread, the last resort, which watches until the test has cleaned up."""
    _watch(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Trap: where a test fails, pytest's own plugin takes the watch away."""
    _watch(item)


def _watch(item: pytest.Item) -> None:
    marker = item.get_closest_marker("timeout")
    if marker is not None:
        faulthandler.dump_traceback_later(marker.args[0] + GRACE, exit=True, file=item.config.stash[_STDERR])


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """pytest-timeout's timer, whose own way to print stacks is lost in a process of pytest-xdist."""

    def over(number: int, frame: FrameType | None) -> None:
        stderr = item.config.stash[_STDERR]
        os.write(stderr, f"\n{item.nodeid} has not ended within {settings.timeout:g} s\n".encode())
        faulthandler.dump_traceback(file=stderr, all_threads=True)
        pytest.fail(f"no end within {settings.timeout:g} s", pytrace=True)

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout)
    return True


def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return True
