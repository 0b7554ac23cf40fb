"""Values as text, by language; names of jobs made harmless."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import Final

from rich.cells import cell_len, set_cell_size

from adminkit.quote import clean

#: The most characters of a name, in the text and in the subject, and of a subject.
NAME: Final = 48
SUBJECT_NAME: Final = 32
SUBJECT: Final = 120
#: A blank at which no line is broken: 3 h 10 min stays together. In plain text it becomes an ordinary blank.
NO_BREAK: Final = "\u00a0"
#: Columns of the plain text.
WIDTH: Final = 78

_UNITS: Final = {
    "en": {"d": f"{NO_BREAK}d", "h": f"{NO_BREAK}h", "min": f"{NO_BREAK}min", "s": f"{NO_BREAK}s", "gap": NO_BREAK},
    "ja": {"d": "日", "h": "時間", "min": "分", "s": "秒", "gap": ""},
}
_HOURS: Final = {
    "en": {"gpu": ("GPU-hour", "GPU-hours"), "cpu": ("CPU-hour", "CPU-hours"), "and": " and "},
    "ja": {"gpu": ("GPU時間", "GPU時間"), "cpu": ("CPU時間", "CPU時間"), "and": "と"},
}
_DATES: Final = {"en": "{0.day} {1} {0:%H:%M}", "ja": "{0.month}月{0.day}日 {0:%H:%M}"}
_DAYS: Final = {"en": "{0.day} {1}", "ja": "{0.month}月{0.day}日"}
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: Characters that do not begin a line, and that do not end one.
_NOT_FIRST: Final = frozenset("。、，．）」』〕！？・ー％)")
_NOT_LAST: Final = frozenset("(（「『〔")


def duration(seconds: float, language: str) -> str:
    """Two units at most: 45 s, 12 min, 3 h 10 min, 72 h, 5 d 3 h."""
    unit, rest = _UNITS[language], round(seconds)
    if rest < 60:
        return f"{rest}{unit['s']}"
    minutes = round(rest / 60)
    if minutes < 60:
        return f"{minutes}{unit['min']}"
    if minutes < 100 * 60:
        parts = ((minutes // 60, "h"), (minutes % 60, "min"))
    else:
        hours = round(rest / 3600)
        parts = ((hours // 24, "d"), (hours % 24, "h"))
    return unit["gap"].join(f"{value}{unit[name]}" for value, name in parts if value)


def hours(gpu_seconds: float, cpu_seconds: float, language: str) -> str:
    """41 GPU-hours, 3 CPU-hours, or both; 0.5 GPU-hours."""
    word = _HOURS[language]
    both = ((amount(gpu_seconds / 3600), "gpu"), (amount(cpu_seconds / 3600), "cpu"))
    shown = [one for one in both if one[0] != "0"] or both[:1]
    gap = _UNITS[language]["gap"]
    return str(word["and"]).join(f"{value}{gap}{word[name][value != '1']}" for value, name in shown)


def in_hours(seconds: float, language: str) -> str:
    """The sum of many times: 0.4 h, 41 h, 4,668 h."""
    return amount(seconds / 3600) + _UNITS[language]["h"]


def energy(joules: float) -> str:
    """In watt-hours or more: 12 Wh, 3.4 kWh, 1,234 kWh."""
    hours = joules / 3600
    return f"{amount(hours)}{NO_BREAK}Wh" if hours < 999.5 else f"{amount(hours / 1000)}{NO_BREAK}kWh"


def plural(number: int, noun: str) -> str:
    """1 run, 1,234 runs; of English alone."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def amount(value: float) -> str:
    """Two digits, or all before the point: 0.4, 3.5, 41, 1,234."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


def share(value: float) -> str:
    """A share in whole per cent; "0 %" and "100 %" only where it is exactly so."""
    if 0 < value < 0.005:
        return f"<1{NO_BREAK}%"
    if 0.995 <= value < 1:
        return f">99{NO_BREAK}%"
    return f"{100 * value:.0f}{NO_BREAK}%"


def moment(epoch: int, language: str, tz: tzinfo | None) -> str:
    """21 Nov 10:04, in `tz` or the host's own time."""
    when = datetime.fromtimestamp(epoch, tz)
    return _DATES[language].format(when, _MONTHS[when.month - 1])


def day(epoch: int, language: str, tz: tzinfo | None) -> str:
    """21 Nov."""
    when = datetime.fromtimestamp(epoch, tz)
    return _DAYS[language].format(when, _MONTHS[when.month - 1])


def harmless(name: str | None, most: int = NAME) -> str:
    """A name of at most `most` characters, without characters that steer or reorder text; "-" for none."""
    text = " ".join(clean((name or "")[: 4 * most].replace("\n", " ").replace("\t", " ")).split())
    if (name and len(name) > 4 * most) or len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    return text or "-"


def subject_line(text: str) -> str:
    """`text` as one line of a header."""
    return harmless(text.replace(NO_BREAK, " "), SUBJECT)


def pad(text: str, columns: int) -> str:
    """`text` filled up with blanks, or cut with a …, to so many columns of a terminal."""
    if cell_len(text) > columns:
        text = set_cell_size(text, columns - 1) + "…"
    return set_cell_size(text, columns)


def joined(text: str) -> str:
    """Sentences in one line. It keeps the type: jinja2 marks escaped text by one."""
    return type(text)(re.sub(r"[ \n]+", " ", text.strip(" \n")).replace("。 ", "。"))


def fill(text: str, columns: int = WIDTH, indent: str = "") -> str:
    """`text` in lines of at most so many columns, broken at blanks and between East Asian characters."""
    lines, line = [], ""
    for piece in _pieces(joined(text)):
        if line.strip() and cell_len(indent + line + piece.rstrip()) > columns and piece[0] not in _NOT_FIRST:
            lines.append(indent + line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
    return "\n".join([*lines, indent + line.rstrip()] if line.strip() else lines)


def _pieces(text: str) -> list[str]:
    """The pieces that are not broken: a word with the blank after it, a single East Asian character."""
    pieces: list[str] = []
    joined = False  # whether the next character belongs to the piece before it
    for c in text:
        wide_one = cell_len(c) == 2
        if wide_one and not (pieces and pieces[-1][-1] in _NOT_LAST):
            pieces.append(c)
            joined = False
        elif joined or wide_one:
            pieces[-1] += c
            joined = c != " " and not wide_one
        else:
            pieces.append(c)
            joined = c != " "
    return pieces


def filters(language: str, tz: tzinfo | None) -> Mapping[str, Callable[..., str]]:
    """The filters of templates, by name."""
    return {
        "duration": lambda seconds: duration(seconds, language),
        "hours": lambda reserved: hours(reserved.gpu_seconds, reserved.cpu_seconds, language),
        "share": share,
        "energy": energy,
        "in_hours": lambda seconds: in_hours(seconds, language),
        "count": lambda number: f"{number:,}",
        "plural": plural,
        "moment": lambda epoch: moment(epoch, language, tz),
        "day": lambda epoch: day(epoch, language, tz),
        "joined": joined,
        "wrap": fill,
        "pad": pad,
    }
