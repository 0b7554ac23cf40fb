"""Which stretches of time to ask a source for, and how wide. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

HOUR: Final = 3600
DAY: Final = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Window:
    """[since, until), epoch seconds."""

    since: int
    until: int

    @property
    def width(self) -> int:
        return self.until - self.since


@dataclass(slots=True)
class Width:
    """How wide the next window is: from an hour, doubling towards a budget of rows, halving after an error."""

    budget: int
    seconds: int = HOUR
    least: int = 60
    most: int = 32 * DAY

    def grew(self, window: Window, rows: int) -> None:
        """An answer came. Twice as wide where the budget allows it, narrower where it went over."""
        if rows > self.budget:
            self.seconds = max(self.least, window.width * self.budget // rows)
        elif window.width == self.seconds and rows * 2 <= self.budget:
            self.seconds = min(self.most, self.seconds * 2)

    def shrank(self, window: Window) -> None:
        """No answer came."""
        self.seconds = max(self.least, window.width // 2)


def covered(windows: Iterable[tuple[int, int]]) -> list[Window]:
    """The union of windows, as few stretches as possible, in order."""
    union: list[Window] = []
    for since, until in sorted(windows):
        if union and since <= union[-1].until:
            union[-1] = Window(union[-1].since, max(until, union[-1].until))
        else:
            union.append(Window(since, until))
    return union


def gaps(windows: Iterable[tuple[int, int]], since: int, until: int) -> list[Window]:
    """What of [since, until) no window covers."""
    missing, at = [], since
    for stretch in covered(windows):
        if stretch.since > at:
            missing.append(Window(at, min(stretch.since, until)))
        at = max(at, stretch.until)
        if at >= until:
            break
    if at < until:
        missing.append(Window(at, until))
    return [gap for gap in missing if gap.width > 0]


def to_ask(
    settled: Sequence[tuple[int, int]], provisional: Sequence[tuple[int, int]], first: int, now: int, overlap: int
) -> list[Window]:
    """The stretches a run has to ask for: every gap since `first`, what is provisional, and the last `overlap` seconds.

    Adjoining ones are joined; the last one ends at `now`.
    """
    # Every row that reached slurmdbd late by less than the overlap is found by the next run.
    known = [(since, min(until, now)) for since, until in settled]
    frontier = max((until for _, until in (*settled, *provisional)), default=first)
    again = [(since, until) for since, until in provisional if until > first]
    again.append((max(first, min(frontier, now) - overlap), now))
    again += [(gap.since, gap.until) for gap in gaps([*known, *provisional], first, now)]
    return covered((max(since, first), until) for since, until in again if until > max(since, first))


def cut(stretch: Window, at: int, width: Width) -> Window:
    """The next window of `stretch`, from `at` on."""
    return Window(at, min(stretch.until, at + width.seconds))
