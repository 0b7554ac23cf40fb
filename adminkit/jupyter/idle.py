"""Whether a server is idle, its user is warned, its pages save, or it ends. Told the time; it has no clock of its own.

It runs in the environment of the user's server, so it needs nothing but Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

#: idle: nothing is said. warn: pages say when it ends. save: they are asked to save, and are waited for.
Phase = Literal["idle", "warn", "save", "end"]

#: The variables of a server's environment, in seconds.
IDLE: Final = "ADMINKIT_IDLE"
WARN: Final = "ADMINKIT_WARN"
#: The least that a warning stands, seconds.
LEAST: Final = 10
#: Seconds that pages are waited for once they are asked to save. Trap: a browser wakes a hidden page once a minute.
SAVE: Final = 90.0
#: Seconds without a look after which the process stood still (a suspended job), and so did what warned the user.
STILL: Final = 60.0
#: Pages that are counted. One server has few; a script that invents names gets no further.
_PAGES: Final = 100


def variables(idle: int | None, warn: int | None) -> dict[str, str]:
    """What the spawner puts into a server's environment; nothing where idle servers stay."""
    return {} if idle is None or warn is None else {IDLE: str(idle), WARN: str(warn)}


def settings(env: Mapping[str, str]) -> tuple[int, int] | None:
    """Seconds of idleness after which a server ends, and of the warning before; None: it stays."""
    found = [env.get(name, "") for name in (IDLE, WARN)]
    if not all(text.isascii() and text.isdigit() and len(text) < 10 for text in found):
        return None
    idle, warn = map(int, found)
    return (idle, warn) if idle > warn >= LEAST else None


@dataclass(slots=True)
class Watch:
    """One server. Times are seconds of one clock that never goes back."""

    idle: float
    warn: float
    active: float  # when something ran last, or the user said to keep it
    _warned: float | None = None
    _asked: float | None = None  # when pages were asked to save
    _looked: float | None = None
    _pages: dict[str, float] = field(default_factory=dict)
    _saved: set[str] = field(default_factory=set)

    def look(self, now: float, quiet: float | None) -> Phase:
        """`quiet`: for how many seconds no kernel and no terminal has done anything; None: something runs."""
        stood_still = self._looked is not None and now - self._looked > STILL
        self._looked = now
        self.active = now if quiet is None else max(self.active, now - quiet)
        if now - self.active < self.idle - self.warn:
            self._forget_warning()
            return "idle"
        if stood_still:
            self._forget_warning()
        if self._warned is None:
            self._warned = now
        if now - self._warned < self.warn:
            return "warn"
        if self._asked is None:
            self._asked = now
        waited_for = {page for page, seen in self._pages.items() if self._asked - seen <= SAVE}
        return "end" if waited_for <= self._saved or now - self._asked >= SAVE else "save"

    def left(self, now: float) -> float:
        """Seconds until the warning is over."""
        return 0.0 if self._warned is None else max(0.0, self._warned + self.warn - now)

    def page(self, name: str, now: float) -> None:
        """A page of the user's is open."""
        if name in self._pages or len(self._pages) < _PAGES:
            self._pages[name] = now

    def saved(self, name: str) -> None:
        """That page has saved since it was asked to."""
        if self._asked is not None:
            self._saved.add(name)

    def keep(self, now: float) -> None:
        """The user wants it to stay: as if something had run."""
        self.active = now
        self._forget_warning()

    def _forget_warning(self) -> None:
        self._warned = self._asked = None
        self._saved.clear()
