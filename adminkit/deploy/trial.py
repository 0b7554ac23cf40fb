"""A trial of two configurations on slurmctld's host: its calendar, and what was really in place from when.

`Trial` is what reports need. The same file, trial.json, also has what the machine keeps (trial_state.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

from adminkit.deploy.files import SUBFOLDER, read_text
from adminkit.errors import AdminkitError
from adminkit.stats.switchback import BLOCK, MOST_DAYS, Day

#: Below the folder of job_submit.lua.
INNER: Final = f"{SUBFOLDER}/trial"
#: It stays after the trial, for its result.
TRIAL: Final = f"{INNER}/trial.json"
FORMAT: Final = 1
#: In the action log.
WHAT: Final = "trial"
#: Why it ended.
OVER: Final = "its days are over"
STOPPED: Final = "stopped"
KEPT: Final = "stopped, and B was kept"
KEPT_AFTER: Final = "its days are over, and B was kept"
BY_HAND: Final = "changed by hand"
#: Hours of carry-over, at least and at most, seconds.
LEAST_CARRY_OVER: Final = 3600
MOST_CARRY_OVER: Final = 12 * 3600
_MOST_LINES: Final = 200
_HINT: Final = "adminkit trial stop --apply puts A back; its calendar is in acts.jsonl"

#: Which configuration; "": neither was seen to be whole in place.
Side = Literal["a", "b"]
Place = Literal["a", "b", ""]


@dataclass(frozen=True, slots=True)
class Placed:
    """What was in place from `since`, epoch seconds, until the next one. It was read back."""

    since: int
    side: Place


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial. Times are epoch seconds; `days` follow each other, and on a day that is `on` B belongs in place."""

    cluster: str
    made_at: int
    seed: int
    carry_over: int  # seconds at the beginning of each day that do not count
    days: Sequence[Day]
    hoped: float | None = None  # the relative change of the mean wait that it was planned for: -0.2
    names: tuple[str, str] = ("A", "B")
    lines: Sequence[str] = ()  # what B changes, in words
    ended: int | None = None
    why: str = ""
    placed: Sequence[Placed] = ()

    @property
    def begins(self) -> int:
        return self.days[0].since

    @property
    def ends(self) -> int:
        return self.days[-1].until

    @property
    def kept(self) -> bool:
        """Whether B stays in place after its end."""
        return self.why in (KEPT, KEPT_AFTER)

    @property
    def may_be_kept(self) -> bool:
        """Whether B may be put in place although the trial has ended: neither a guard nor somebody's hand ended it."""
        return self.ended is not None and self.why in (OVER, STOPPED)

    def under_way(self, now: int) -> bool:
        """Whether it is running, or still to begin."""
        return self.ended is None and now < self.ends

    def day(self, now: int) -> tuple[int, Day] | None:
        """The number of today, from 1, and its day; None outside the trial."""
        if self.ended is not None:
            return None
        return next(((nth, day) for nth, day in enumerate(self.days, 1) if day.since <= now < day.until), None)

    def side(self, now: int) -> Side:
        """Which configuration the calendar wants now: A before the trial and after it."""
        today = self.day(now)
        return "b" if today is not None and today[1].on else "a"

    def over(self) -> list[Day]:
        """The days that ended before the trial did."""
        return [day for day in self.days if self.ended is None or day.until <= self.ended]


def read_trial(folder: Path) -> Trial | None:
    """The trial that is there, under way or ended; None for none. AdminkitError where its file says nothing sound."""
    path = folder / TRIAL
    text = read_text(path)
    return None if text is None else parse_trial(text, path)


def parse_trial(text: str, path: Path) -> Trial:
    """The text of the file of a trial."""
    return trial_of(table_of(text, path), path)


def table_of(text: str, path: Path) -> dict[str, Any]:
    """What the file has; AdminkitError where this release does not write such a table."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise damaged(path)
    return table


def damaged(path: Path) -> AdminkitError:
    return AdminkitError(f"couldn't read {path}: not a trial as adminkit writes it", _HINT)


def trial_of(table: Mapping[str, Any], path: Path) -> Trial:
    """The part of the file that reports need."""
    try:
        days = [Day(whole(since), whole(until), _switch(on)) for since, until, on in table["days"]]
        names = tuple(map(_words, table["names"]))
        made = Trial(
            _words(table["cluster"]), whole(table["made_at"]), whole(table["seed"]), whole(table["carry_over"]), days,
            _share(table["hoped"]), (names[0], names[1]), [_words(line) for line in table["lines"]],
            None if table["ended"] is None else whole(table["ended"]), _words(table["why"]),
            [Placed(whole(since), _place(side)) for since, side in table["placed"]],
        )  # fmt: skip
        sound = 0 <= made.carry_over <= MOST_CARRY_OVER and _follow(days) and len(made.lines) <= _MOST_LINES
    except (ValueError, TypeError, KeyError, IndexError):
        sound = False
    if not sound:
        raise damaged(path)
    return made


def trial_table(trial: Trial) -> dict[str, Any]:
    """The reverse of `trial_of`."""
    return {
        "format": FORMAT,
        "cluster": trial.cluster,
        "made_at": trial.made_at,
        "seed": trial.seed,
        "carry_over": trial.carry_over,
        "days": [[day.since, day.until, day.on] for day in trial.days],
        "hoped": trial.hoped,
        "names": list(trial.names),
        "lines": list(trial.lines),
        "ended": trial.ended,
        "why": trial.why,
        "placed": [[one.since, one.side] for one in trial.placed],
    }


def _follow(days: Sequence[Day]) -> bool:
    """Whether days are as many as a trial has, none is empty, and each begins where the one before ends."""
    gaps = any(day.until != after.since for day, after in pairwise(days))
    return 0 < len(days) <= MOST_DAYS and len(days) % BLOCK == 0 and not gaps and all(d.since < d.until for d in days)


def whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**53:
        raise ValueError
    return value


def _words(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _share(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not -1 < value < 1:
        raise ValueError
    return float(value)


def _place(value: Any) -> Place:
    if value not in ("a", "b", ""):
        raise ValueError
    found: Place = value
    return found


def _switch(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value
