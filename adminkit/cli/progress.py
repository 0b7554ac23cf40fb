"""Long work on a terminal gets a bar with its rate and what is left; anywhere else a plain line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from adminkit.quote import clean
from adminkit.render.format import plural
from adminkit.render.say import is_quiet, say

#: Seconds between two plain lines.
PLAIN_EVERY: Final = 10.0

#: Called with what is done, the total (None while unknown) and the jobs, or what else is counted, so far.
Tick = Callable[[float, float | None, int], None]


@contextmanager
def progress(what: str, thing: str = "job") -> Iterator[Tick]:
    """A tick function for `what`, which counts what `thing` names one of; writes to stderr only."""
    what = clean(what)
    if sys.stderr.isatty() and not is_quiet():
        yield from _bar(what, thing)
    else:
        yield from _plain(what, thing)


def _bar(what: str, thing: str) -> Iterator[Tick]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
    )
    started = time.monotonic()
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None, rate="")

        def tick(done: float, total: float | None, jobs: int) -> None:
            rate = jobs / max(time.monotonic() - started, 1e-6)
            bars.update(task, completed=done, total=total, rate=f"{plural(jobs, thing)}, {rate:,.0f}/s")

        yield tick


def _plain(what: str, thing: str) -> Iterator[Tick]:
    """A line each PLAIN_EVERY seconds; where there was one, and nothing failed, another one for how it ended."""
    said = ends = ""
    last = time.monotonic()

    def tick(done: float, total: float | None, jobs: int) -> None:
        nonlocal said, ends, last
        share = f", {done / total:.0%}" if total else ""
        ends = f"{what}: {plural(jobs, thing)}{share}"
        if time.monotonic() - last >= PLAIN_EVERY:
            last, said = time.monotonic(), ends
            say(said)

    yield tick
    if said != ends and said:
        say(ends)
