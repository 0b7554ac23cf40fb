"""Text <-> base units, the only place in Python that converts.

Times are epoch seconds, durations seconds, sizes bytes.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from adminkit.errors import UsageError, unknown_word

SECOND_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
#: Days by name, counted from today; each begins at midnight.
_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
#: Without the @, numbers of fewer digits are more likely years or lack a unit.
_EPOCH: Final = re.compile(r"@(-?[0-9]{1,11})|([0-9]{9,11})")
_AGO: Final = re.compile(r"([0-9]{1,9})([a-z]+)")
_CIVIL: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)
_PARTS: Final = re.compile(r"([0-9]{1,12})([a-z]+)")
_CLOCK: Final = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")

_WHEN_HINT: Final = "write 2026-01-31, 2026-01-31T12:00, 30d or 12h (counted back from now), today, or epoch seconds"
_DURATION_HINT: Final = "write seconds (90), units (15m, 1h30m, 2d) or a clock (02:00:00, 1-00:00:00)"


def parse_when(text: str, now: int, tz: tzinfo | None = None) -> int:
    """A moment, in epoch seconds. Civil times are in `tz`, None for the host's own; of two equal ones the first.

    UsageError for any other text.
    """
    word = text.strip()
    if match := _EPOCH.fullmatch(word):
        return int(match[1] or match[2])
    low = word.lower()
    if low == "now":
        return now
    if low in _DAYS:
        return midnight(local_time(now, tz).date() + timedelta(days=_DAYS[low]), tz)
    if match := _AGO.fullmatch(low):
        return now - int(match[1]) * _unit(match[2], word)
    if _CIVIL.fullmatch(word):
        try:
            civil = datetime.fromisoformat(word)
            return int(civil.replace(tzinfo=tz).timestamp())
        except (ValueError, OverflowError, OSError) as error:
            raise UsageError(f"not a date: {word}", _WHEN_HINT) from error
    if word.isalpha():
        raise unknown_word("date", low, ("now", *_DAYS))
    raise UsageError(f"not a date: {word}", _WHEN_HINT)


def parse_edge(text: str, now: int, tz: tzinfo | None = None) -> int:
    """parse_when for the edge of a window: "3 days ago" is the full hour of UTC before."""
    at = parse_when(text, now, tz)
    ago = _AGO.fullmatch(text.strip().lower())
    return at - at % 3600 if ago and ago[2] in ("d", "w") else at


class Moment(NamedTuple):
    """The now of a command, epoch seconds; `as_of` is the same where --as-of is given, else None."""

    now: int
    as_of: int | None


def moment(as_of: str | None, clock: float) -> Moment:
    """The now of a command that was typed at `clock`. UsageError for a moment that has not come."""
    if as_of is None:
        return Moment(int(clock), None)
    when = parse_when(as_of, int(clock))
    if when > clock:
        raise UsageError(
            f"--as-of {as_of}: {show_time(when)} has not come yet", f"it is {show_time(int(clock))}; name a time before"
        )
    return Moment(when, when)


def parse_duration(text: str, hint: str = _DURATION_HINT) -> int:
    """A length of time, in seconds: 90, 15m, 1h30m, 02:00:00, 30:00, 1-12, 1-00:00:00.

    Trap: a bare number is seconds here and minutes in sbatch. UsageError for any other text, with this hint: a
    caller that reads bare numbers as minutes, or refuses them, has to say so.
    """
    word = text.strip().lower()
    if word.isascii() and word.isdigit() and len(word) <= 12:
        return int(word)
    pieces = _PARTS.findall(word)
    if pieces and "".join(a + b for a, b in pieces) == word:
        return sum(int(number) * _unit(unit, word) for number, unit in pieces)
    match = _CLOCK.fullmatch(word)
    if match is None:
        raise UsageError(f"not a duration: {text.strip()}", hint)
    days, *clock = match.groups()
    given = [int(part) for part in clock if part is not None]
    if days is None and len(given) == 2:  # MM:SS, as Slurm has it; after a day it is HH:MM
        given.insert(0, 0)
    hours, minutes, seconds = (*given, 0, 0)[:3]
    return int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds


def show_duration(seconds: int) -> str:
    """Seconds as Slurm writes them: 00:01:30, 3-00:00:00."""
    sign = "-" if seconds < 0 else ""
    days, rest = divmod(abs(seconds), 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{sign}{days}-{clock}" if days else sign + clock


def show_short(seconds: float) -> str:
    """Seconds in one unit, for axes and sentences: 45 s, 15 min, 1.5 h, 336 h."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"


def show_time(epoch: int, tz: tzinfo | None = None) -> str:
    """Epoch seconds as 2026-01-31T12:00:00 in `tz`, None for the host's own; parse_when reads it back."""
    try:
        return local_time(epoch, tz).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"@{epoch}"


def parse_share(word: str) -> float:
    """5% or 0.05, as a share from 0 to 10."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,6})?)\s*(%?)", word.strip(), re.ASCII)
    value = float(match[1]) / (100 if match[2] else 1) if match else math.inf
    if value > 10:
        raise UsageError(f"not a share: {word}", "write it as 5% or 0.05")
    return value


def show_bytes(size: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at least one: 512 B, 1.5 GiB."""
    value, units = float(abs(size)), ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    step = 0
    while step < len(units) - 1 and round(value, 1 if step else 0) >= 1024:
        value, step = value / 1024, step + 1
    return ("-" if size < 0 else "") + f"{value:.1f}".removesuffix(".0") + f" {units[step]}"


def show_energy(joules: float) -> str:
    """Joules in watt-hours or the largest unit that leaves a number of at least one: 12 Wh, 3.4 kWh, 1,234 MWh."""
    value, units = joules / 3600, ("Wh", "kWh", "MWh")
    step = 0
    while step < len(units) - 1 and abs(value) >= 999.5:
        value, step = value / 1000, step + 1
    return (
        f"{value:,.0f} {units[step]}" if abs(value) >= 99.5 else f"{value:.1f}".removesuffix(".0") + f" {units[step]}"
    )


def _unit(unit: str, word: str) -> int:
    if unit not in SECOND_UNITS:
        raise UsageError(f"unknown unit of time: {unit} in {word}", "units are s, m (minutes), h, d and w")
    return SECOND_UNITS[unit]


def local_time(epoch: int, tz: tzinfo | None) -> datetime:
    """That moment as a clock in `tz` shows it, None for the host's own."""
    return datetime.fromtimestamp(epoch, tz) if tz else datetime.fromtimestamp(epoch).astimezone()


def midnight(day: date, tz: tzinfo | None) -> int:
    """When that day begins in `tz`, None for the host's own: epoch seconds."""
    return int(datetime(day.year, day.month, day.day, tzinfo=tz).timestamp())
