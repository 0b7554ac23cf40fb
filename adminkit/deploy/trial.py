"""The trial of soft limits on slurmctld's host: its calendar in a file, which the guard reads.

On a day off the guard gives no lease and takes the soft limits of pending jobs; the parameter of Slurm's stays. A trial
ends by itself when its days are over: the guard then does what the policy says, and writes the end down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from adminkit import actions
from adminkit.deploy.files import SUBFOLDER, changing, put_file, read_text
from adminkit.errors import AdminkitError
from adminkit.stats.switchback import BLOCK, MOST_DAYS, Day

#: Below the folder of job_submit.lua. It stays after the trial, for its result.
TRIAL: Final = f"{SUBFOLDER}/soft_trial.json"
FORMAT: Final = 1
#: In the action log.
WHAT: Final = "soft-limits trial"
#: Why it ended.
OVER: Final = "its days are over"
STOPPED: Final = "stopped"
#: Hours of carry-over, at least and at most, seconds.
LEAST_CARRY_OVER: Final = 3600
MOST_CARRY_OVER: Final = 12 * 3600
_HINT: Final = "adminkit soft-limits stop --apply removes it; its calendar is in acts.jsonl"


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial. Times are epoch seconds; `days` follow each other."""

    cluster: str
    made_at: int
    seed: int
    carry_over: int  # seconds at the beginning of each day that do not count
    days: Sequence[Day]
    ended: int | None = None
    why: str = ""

    @property
    def begins(self) -> int:
        return self.days[0].since

    @property
    def ends(self) -> int:
        return self.days[-1].until

    def under_way(self, now: int) -> bool:
        """Whether it is running, or still to begin."""
        return self.ended is None and now < self.ends

    def day(self, now: int) -> tuple[int, Day] | None:
        """The number of today, from 1, and its day; None outside the trial."""
        if self.ended is not None:
            return None
        return next(((nth, day) for nth, day in enumerate(self.days, 1) if day.since <= now < day.until), None)

    def is_off(self, now: int) -> bool:
        """Whether nobody is given a soft limit now."""
        today = self.day(now)
        return today is not None and not today[1].on

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
    try:
        table = json.loads(text)
        days = [Day(_whole(since), _whole(until), _switch(on)) for since, until, on in table["days"]]
        ended = table["ended"]
        made = Trial(
            str(table["cluster"]), _whole(table["made_at"]), _whole(table["seed"]), _whole(table["carry_over"]), days,
            None if ended is None else _whole(ended), str(table["why"]),
        )  # fmt: skip
        sound = table["format"] == FORMAT and 0 <= made.carry_over <= MOST_CARRY_OVER and _follow(days)
    except (ValueError, TypeError, KeyError, RecursionError):
        sound = False
    if not sound:
        raise AdminkitError(f"couldn't read {path}: not a trial as adminkit writes it", _HINT)
    return made


def _follow(days: Sequence[Day]) -> bool:
    """Whether days are as many as a trial has, none is empty, and each begins where the one before ends."""
    gaps = any(day.until != after.since for day, after in pairwise(days))
    return 0 < len(days) <= MOST_DAYS and len(days) % BLOCK == 0 and not gaps and all(d.since < d.until for d in days)


def _whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**53:
        raise ValueError
    return value


def _switch(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def refuse_second(folder: Path, now: int) -> None:
    """Raise AdminkitError where a trial is running."""
    there = read_trial(folder)
    if there is not None and there.under_way(now):
        raise AdminkitError("a trial of soft limits is running", "adminkit soft-limits stop --apply ends it")


def begin(folder: Path, trial: Trial, log: Path, group: int | None = None) -> None:
    """Write a trial down, for the guard. AdminkitError where one is running."""
    actions.check(log)
    with changing(folder, group):
        refuse_second(folder, trial.made_at)
        _write(folder, trial, group)
    _record(log, {"did": "trial begun", **_table(trial)})


def stop(folder: Path, now: int, log: Path, group: int | None = None) -> Trial | None:
    """End the running trial; None where there is none. A file that cannot be read is removed."""
    actions.check(log)
    with changing(folder, group):
        try:
            there = read_trial(folder)
        except AdminkitError as error:
            (folder / TRIAL).unlink(missing_ok=True)
            _record(log, {"did": "trial ended", "why": error.message})
            return None
        if there is None or not there.under_way(now):
            return None
        ended = replace(there, ended=now, why=STOPPED)
        _write(folder, ended, group)
    _record(log, {"did": "trial ended", "why": STOPPED})
    return ended


def settle(folder: Path, there: Trial | None, now: int, log: Path, group: int | None = None) -> None:
    """Write down that a trial's days are over; whoever holds `changing` calls it."""
    if there is not None and there.ended is None and now >= there.ends:
        _record(log, {"did": "trial ended", "why": OVER})
        _write(folder, replace(there, ended=there.ends, why=OVER), group)


def _table(trial: Trial) -> dict[str, Any]:
    days = [[day.since, day.until, day.on] for day in trial.days]
    return {"format": FORMAT, **asdict(replace(trial, days=())), "days": days}


def _write(folder: Path, trial: Trial, group: int | None) -> None:
    put_file(folder / TRIAL, json.dumps(_table(trial)) + "\n", group)


def _record(log: Path, more: Mapping[str, Any]) -> None:
    actions.append(log, actions.act(WHAT, None, None, {}, **more))
