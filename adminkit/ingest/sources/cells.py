"""From a table's cell to a value of the trace: units, times, limits, states. Every cell may be hostile.

A converter takes the text of a cell, which is not one of the words for "unknown", and returns a value in base units,
None for unknown. It raises Bad with the reason for any other text, and never guesses.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, TypeVar

from adminkit.errors import UsageError

Value = str | int | float | None
Convert = Callable[[str], Value]
Number = TypeVar("Number", int, float)

#: unit -> seconds, bytes, joules
SECONDS: Final = {
    "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400,
}  # fmt: skip
BYTES: Final = {"bytes": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGTP", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
JOULES: Final = {"J": 1, "kJ": 1000, "MJ": 1_000_000, "Wh": 3600, "kWh": 3_600_000}
COUNTS: Final = {"count": 1, "thousands": 1000}
#: Fractions of CPUs: traces of containers count parts of one.
PARTS: Final = {"hundredths": 100, "thousandths": 1000}
#: Between the cells that are joined into one: no cell of a table holds it but to deceive.
JOINED: Final = "\x1f"
#: Bits of a number that stands for a joined key: what JavaScript and SWF readers keep exactly.
KEY_BITS: Final = 52
#: A duration as Slurm writes it: 90, 01:30, 00:01:30, 1-00:00:00
CLOCK: Final = "clock"
#: Times as numbers: unit -> how many make a second.
EPOCHS: Final = {"epoch": 1, "epoch_ms": 1000, "epoch_us": 1_000_000, "epoch_ns": 1_000_000_000}
ISO: Final = "iso"

#: Slurm's words for a job's state.
STATES: Final = frozenset(
    """BOOT_FAIL CANCELLED COMPLETED COMPLETING CONFIGURING DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PENDING PREEMPTED
    REQUEUED RESIZING REVOKED RUNNING SUSPENDED TIMEOUT""".split()
)

#: The state of a federated job's sibling, where another cluster runs the job: it was not submitted here.
REVOKED: Final = "REVOKED"
#: The largest value. SQLite's integers end at 2^63, so the sum of a few values fits.
MOST: Final = 2**60
#: Epoch seconds: the end of the year 9999.
LATEST: Final = 253_402_300_800
#: Cells repeat: how many results a converter remembers, and the longest text (characters) whose result it does.
MEMORY: Final = 1 << 16
SHORT: Final = 64

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
_CLOCK: Final = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,9}):([0-9]{1,2})(?:\.[0-9]{1,9})?", re.ASCII)
_CANCELLED: Final = re.compile(r"CANCELLED by ([0-9]{1,10})", re.ASCII)
_UNLIMITED: Final = ("UNLIMITED", "INFINITE", "4294967295")
_PARTITION: Final = ("PARTITION_LIMIT", "4294967294")
_DAY: Final = 86_400
_BEGIN: Final = datetime(1970, 1, 1).toordinal()


class Bad(Exception):
    """A cell without a valid value; the text is the reason."""


def remembered(convert: Convert) -> Convert:
    """`convert` with a memory of at most MEMORY results."""
    known: dict[str, Value] = {}

    def ask(text: str) -> Value:
        try:
            return known[text]
        except KeyError:
            value = convert(text)
            if len(known) >= MEMORY:
                known.clear()
            if len(text) <= SHORT:
                known[text] = value
            return value

    return ask


def shown(text: str) -> str:
    """A cell as a reason quotes it: at most 40 characters, and none that acts on a terminal."""
    clean = "".join(c if c.isprintable() else "·" for c in text[:41])
    return repr(clean if len(text) <= 40 else clean[:39] + "…")


def number(text: str) -> float | int:
    """A decimal number; whole ones as an int."""
    word = text.strip()
    if not _NUMBER.fullmatch(word):
        raise Bad(f"{shown(text)} is not a number")
    if word.isdigit():
        return int(word)
    value = float(word)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def whole(factor: float = 1, negative: bool = False) -> Convert:
    """A whole number of things, given in units of `factor`."""

    def convert(text: str) -> int:
        value = _bounded(number(text) * factor, text, negative)
        if value != int(value):
            raise Bad(f"{shown(text)} is not a whole number")
        return int(value)

    return remembered(convert)


def _whole_number(text: str) -> int:
    value = _bounded(number(text), text)
    if value != int(value):
        raise Bad(f"{shown(text)} is not a whole number")
    return int(value)


def parts(of_one: int) -> Convert:
    """CPUs, given in parts of one: a part of a CPU takes a whole one, as Slurm hands them out."""

    def convert(text: str) -> int:
        return math.ceil(_bounded(number(text), text) / of_one)

    return remembered(convert)


def key(text: str) -> int:
    """The number of a run whose key is made of the cells in `text`, JOINED between them. One number stays as it is;
    of several cells it is a hash, the same in every import.
    """
    if JOINED not in text:
        return _whole_number(text)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest) >> (64 - KEY_BITS)


def amount(factor: float) -> Convert:
    """Seconds, bytes or joules, given in units of `factor`; a fraction is cut off."""

    def convert(text: str) -> int:
        value = _bounded(number(text) * factor, text)
        # 4.1 hours are 14759.999999999998 of a float's seconds.
        return value if isinstance(value, int) else int(value + 1e-6)

    return remembered(convert)


def total(each: Sequence[Convert]) -> Convert:
    """The sum of what is JOINED, read by `each` in turn."""

    def convert(text: str) -> Value:
        found = [one(part) for one, part in zip(each, text.split(JOINED), strict=True)]
        return sum(value for value in found if isinstance(value, int | float))

    return convert


def real(factor: float) -> Convert:
    """Like `amount`, with the fraction."""

    def convert(text: str) -> float:
        return float(_bounded(number(text) * factor, text))

    return remembered(convert)


def clock(text: str) -> int:
    """Seconds, from 90, 01:30, 00:01:30 or 1-00:00:00."""
    word = text.strip()
    if word.isascii() and word.isdigit():
        return _bounded(int(word[:20]), text)
    match = _CLOCK.fullmatch(word)
    if not match:
        raise Bad(f"{shown(text)} is not a duration such as 1-02:30:00")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return _bounded(((days * 24 + hours) * 60 + minutes) * 60 + seconds, text)


def limit(inner: Convert) -> Convert:
    """A limit in seconds, or one of limit_kind's words if it has no number. 0 is unknown."""

    def convert(text: str) -> Value:
        word = text.strip().upper().removesuffix(".0")
        if word in _UNLIMITED:
            return "unlimited"
        if word in _PARTITION:
            return "partition"
        return inner(text) or None

    return remembered(convert)


def state(words: Mapping[str, str]) -> Convert:
    """A state of Slurm: translated by `words` (theirs -> Slurm's), or as it is. CANCELLED by 1000 is kept whole."""
    lower = {theirs.lower(): ours for theirs, ours in words.items()}

    def convert(text: str) -> str:
        word = text.strip()
        found = words.get(word) or lower.get(word.lower()) or (word.upper() if word.upper() in STATES else None)
        if found is None and _CANCELLED.fullmatch(word):
            found = word
        if found is None:
            raise Bad(f"{shown(text)} is not a state of Slurm, and the map's [states] does not translate it")
        return found

    return remembered(convert)


def cancelled_by(text: str) -> tuple[str, int | None]:
    """(state, uid of who cancelled the job or None), from what `state` returned."""
    match = _CANCELLED.fullmatch(text)
    return ("CANCELLED", int(match.group(1))) if match else (text, None)


def one_of(words: Collection[str]) -> Convert:
    """One of these words."""

    def convert(text: str) -> str:
        if text not in words:
            raise Bad(f"{shown(text)} is not one of {', '.join(words)}")
        return text

    return convert


class Text:
    """Names; `joined` cells have a _ between them. `replaced` counts invalid bytes, which became U+FFFD."""

    def __init__(self, prefix: str = "", joined: bool = False) -> None:
        self.prefix, self.joined, self.replaced = prefix, joined, 0

    def __call__(self, text: str) -> str:
        if "\0" in text:
            raise Bad("a NUL byte")
        if not text.isascii():
            clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
            self.replaced += sum(a != b for a, b in zip(text, clean, strict=True))
            text = clean
        return self.prefix + (text.replace(JOINED, "_") if self.joined else text)


class Time:
    """Moments. `ambiguous` counts local times in an hour that occurs twice: the first of the two is taken, and `later`
    is the second one, until somebody takes it away.

    `form` is ISO, one of EPOCHS, or a pattern of strptime. `zone` is for times that name no zone. `zero`: when
    second 0 of numbers was, epoch seconds, where the caller judges whether a 0 is a time; else a 0 is unknown.
    """

    def __init__(self, form: str, zone: tzinfo | None, zero: int | None = None) -> None:
        self.form, self.zone, self.zero, self.ambiguous = form, zone, zero, 0
        self.later: int | None = None
        self._days: dict[int, int | None] = {}  # day -> seconds east of UTC, None where they change on that day
        self._parse = self._pattern if "%" in form else datetime.fromisoformat

    def __call__(self, text: str) -> int | None:
        per_second = EPOCHS.get(self.form)
        if per_second:
            value = number(text)
            seconds = (self.zero or 0) + (value // per_second if isinstance(value, int) else int(value / per_second))
        else:
            try:
                seconds = self._civil(self._parse(text.strip()[: SHORT + 1]))
            except (ValueError, OverflowError) as error:
                raise Bad(f"{shown(text)} is not a time ({self.form})") from error
        if not 0 <= seconds < LATEST:
            raise Bad(f"{shown(text)} is before 1970 or after 9999")
        return int(seconds) if per_second and self.zero is not None else int(seconds) or None

    def _pattern(self, text: str) -> datetime:
        return _strptime(text, self.form)

    def _civil(self, when: datetime) -> int:
        if when.tzinfo is not None:
            return int((when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1))
        if self.zone is None:
            raise UsageError(
                "the times are dates without a time zone",
                'say which clock wrote them: zone = "UTC" in the map, or --timezone',
            )
        day = when.toordinal()
        try:
            east = self._days[day]
        except KeyError:
            east = self._days[day] = self._east(when)
        if east is None:
            return self._changing(when)
        clock = when.hour * 3600 + when.minute * 60 + when.second
        return (day - _BEGIN) * _DAY + clock - east

    def _east(self, when: datetime) -> int | None:
        """Seconds east of UTC on that day; None where they are not the same all day."""
        midnight = datetime(when.year, when.month, when.day, tzinfo=self.zone)
        offsets = {
            moment.replace(fold=fold).utcoffset()
            for quarter in range(-4, 101)
            for fold in (0, 1)
            for moment in [midnight + timedelta(minutes=15 * quarter)]
        }
        (offset,) = offsets if len(offsets) == 1 else (None,)
        return None if offset is None else int(offset.total_seconds())

    def _changing(self, when: datetime) -> int:
        first, second = (int(when.replace(tzinfo=self.zone, fold=fold).timestamp()) for fold in (0, 1))
        if second < first:
            raise Bad(f"there is no {when:%Y-%m-%d %H:%M:%S} in {self.zone}: the clock was put forward")
        if second > first:
            self.ambiguous, self.later = self.ambiguous + 1, second
        return first


@lru_cache(maxsize=MEMORY)
def _strptime(text: str, form: str) -> datetime:
    return datetime.strptime(text, form)


def _bounded(value: Number, text: str, negative: bool = False) -> Number:
    if value < 0 and not negative:
        raise Bad(f"{shown(text)} is below 0")
    if abs(value) > MOST:
        raise Bad(f"{shown(text)} is too large")
    return value
