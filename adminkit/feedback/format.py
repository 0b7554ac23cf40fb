"""Values as text, by language; names of jobs made harmless."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import Final

from rich.cells import cell_len, set_cell_size

from adminkit.messages import catalogue, template, translated
from adminkit.quote import clean

#: The most characters of a name, in the text and in the subject, and of a subject.
NAME: Final = 48
SUBJECT_NAME: Final = 32
SUBJECT: Final = 120
#: A blank at which no line is broken: 3 h 10 min stays together. In plain text it becomes an ordinary blank.
NO_BREAK: Final = "\u00a0"
#: Columns of the plain text.
WIDTH: Final = 78

_DAYS: Final = template("{number}\u00a0d")
_HOURS: Final = template("{number}\u00a0h")
_MINUTES: Final = template("{number}\u00a0min")
_SECONDS: Final = template("{number}\u00a0s")
_TWO_UNITS: Final = template("{first}\u00a0{second}")
_GPU_HOURS: Final = (template("{number}\u00a0GPU-hour"), template("{number}\u00a0GPU-hours"))
_CPU_HOURS: Final = (template("{number}\u00a0CPU-hour"), template("{number}\u00a0CPU-hours"))
_BOTH: Final = template("{first} and {second}")
_MOMENT: Final = template("{day} {time}")
_MONTHS: Final = (
    template("{day} Jan"), template("{day} Feb"), template("{day} Mar"), template("{day} Apr"), template("{day} May"),
    template("{day} Jun"), template("{day} Jul"), template("{day} Aug"), template("{day} Sep"), template("{day} Oct"),
    template("{day} Nov"), template("{day} Dec"),
)  # fmt: skip
#: Characters that do not begin a line, and that do not end one.
_NOT_FIRST: Final = frozenset("。、，．）」』〕！？・ー％)")
_NOT_LAST: Final = frozenset("(（「『〔")


def duration(seconds: float, language: str) -> str:
    """Two units at most: 45 s, 12 min, 3 h 10 min, 72 h, 5 d 3 h."""
    say, rest = catalogue(language).gettext, round(seconds)
    if rest < 60:
        return say(_SECONDS).format(number=rest)
    minutes = round(rest / 60)
    if minutes < 60:
        return say(_MINUTES).format(number=minutes)
    if minutes < 100 * 60:
        parts = ((minutes // 60, _HOURS), (minutes % 60, _MINUTES))
    else:
        hours = round(rest / 3600)
        parts = ((hours // 24, _DAYS), (hours % 24, _HOURS))
    first, *second = [say(unit).format(number=value) for value, unit in parts if value]
    return say(_TWO_UNITS).format(first=first, second=second[0]) if second else first


def hours(gpu_seconds: float, cpu_seconds: float, language: str) -> str:
    """41 GPU-hours, 3 CPU-hours, or both; 0.5 GPU-hours."""
    say = catalogue(language).gettext
    both = ((amount(gpu_seconds / 3600), _GPU_HOURS), (amount(cpu_seconds / 3600), _CPU_HOURS))
    known = [one for one in both if one[0] != "0"] or both[:1]
    first, *second = [say(units[value != "1"]).format(number=value) for value, units in known]
    return say(_BOTH).format(first=first, second=second[0]) if second else first


def in_hours(seconds: float, language: str) -> str:
    """The sum of many times: 0.4 h, 41 h, 4,668 h."""
    return catalogue(language).gettext(_HOURS).format(number=amount(seconds / 3600))


def energy(joules: float) -> str:
    """Write energy in watt-hours or more: 12 Wh, 3.4 kWh, 1,234 kWh."""
    hours = joules / 3600
    return f"{amount(hours)}{NO_BREAK}Wh" if hours < 999.5 else f"{amount(hours / 1000)}{NO_BREAK}kWh"


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
    clock = f"{datetime.fromtimestamp(epoch, tz):%H:%M}"
    return catalogue(language).gettext(_MOMENT).format(day=day(epoch, language, tz), time=clock)


def day(epoch: int, language: str, tz: tzinfo | None) -> str:
    """21 Nov."""
    when = datetime.fromtimestamp(epoch, tz)
    return catalogue(language).gettext(_MONTHS[when.month - 1]).format(day=when.day)


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
    """`text` filled up with blanks, or cut with a …, to `columns` columns of a terminal."""
    if cell_len(text) > columns:
        text = set_cell_size(text, columns - 1) + "…"
    return set_cell_size(text, columns)


def joined(text: str) -> str:
    """Sentences in one line. It keeps the type: jinja2 marks escaped text by one."""
    return type(text)(re.sub(r"[ \n]+", " ", text.strip(" \n")).replace("。 ", "。"))


def fill(text: str, columns: int = WIDTH, indent: str = "") -> str:
    """`text` in lines of at most `columns` columns, broken at blanks and between East Asian characters."""
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
        "translated": lambda text: translated(text, language),
        "moment": lambda epoch: moment(epoch, language, tz),
        "day": lambda epoch: day(epoch, language, tz),
        "joined": joined,
        "wrap": fill,
        "pad": pad,
    }
