"""Values in people's words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Final

from adminkit.messages import Message, in_context, joined, message
from adminkit.quote import clean
from adminkit.render.report import Cell, Field, Heat, Meta, Report, Style
from adminkit.units import show_bytes, show_duration, show_energy, show_short, show_time

NONE: Final = "-"
#: What jobs did in a window, by Meta.moment.
_MOMENTS: Final[Mapping[str, Message]] = {
    "ended": message("ended"),
    "were submitted": message("were submitted"),
    "started": message("started"),
    "ran": in_context("window", "ran"),
}
#: Rules that leave jobs out, and filters, as a header names them.
_RULES: Final[Mapping[str, Message]] = {
    "queue": in_context("filter", "queue"),
    "user": in_context("filter", "user"),
    "account": in_context("filter", "account"),
    "class": in_context("filter", "class"),
    "window": in_context("filter", "window"),
    "source": in_context("filter", "source"),
    "cluster": in_context("filter", "cluster"),
    "clusters": in_context("filter", "clusters"),
    "class unknown": in_context("filter", "class unknown"),
    "state": in_context("filter", "state"),
    "states": in_context("filter", "states"),
    "elapsed": in_context("filter", "elapsed"),
    "elapsed unknown": in_context("filter", "elapsed unknown"),
    "short": in_context("filter", "short"),
    "checkpoint": in_context("filter", "checkpoint"),
    "limit unlimited": in_context("filter", "limit unlimited"),
    "limit partition": in_context("filter", "limit partition"),
    "limit unknown": in_context("filter", "limit unknown"),
    "limit source": in_context("filter", "limit source"),
    "limit reached": in_context("filter", "limit reached"),
    "eligible unknown": in_context("filter", "eligible unknown"),
    "not started": in_context("filter", "not started"),
    "not planned": in_context("filter", "not planned"),
    "not extended": in_context("filter", "not extended"),
    "open": in_context("filter", "open"),
    "no end": in_context("filter", "no end"),
    "requeued": in_context("filter", "requeued"),
    "days": in_context("filter", "days"),
    "time zone": in_context("filter", "time zone"),
    "first letter": in_context("filter", "first letter"),
}


def show(value: Cell, style: Style, tz: tzinfo | None) -> str:
    """One cell for people; a dash for unknown."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return f"{Decimal(value):,f}" if style == "amount" else clean(value)
    match style:
        case "ratio":
            return f"{value:.3f}"
        case "share":
            return percent(value, 2)  # two digits as in the study, so that a few jobs in many are seen
        case "duration":
            return show_duration(round(value))
        case "time":
            return show_time(round(value), tz)
        case "hours":
            return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
        case "bytes":
            return show_bytes(round(value))
        case "energy":
            return show_energy(value)
        case "quantity":
            return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        case "watts":
            return f"{value:,.0f} W" if value >= 100 else f"{value:.1f} W"
        case _:
            return number(value)


#: Steps of colour of a heat map.
LEVELS: Final = 6


def levels(panel: Heat) -> list[list[int | None]]:
    """How dark each cell is, 0 to LEVELS - 1; None for no jobs, or few. Durations go from a minute to the longest or an
    hour, so that seconds look like seconds; other values from the least to the greatest.
    """

    def place(value: float) -> float:
        return math.log(max(value, 60)) if panel.style == "duration" else value

    cells = [list(zip(*row, strict=True)) for row in zip(panel.values, panel.counts, strict=True)]
    known = [place(value) for row in cells for value, jobs in row if value is not None and jobs >= panel.few]
    known += [place(60), place(3600)] if panel.style == "duration" else []
    low, high = min(known, default=0.0), max(known, default=0.0)
    step = (high - low) / LEVELS or 1.0
    return [
        [
            None if value is None or jobs < panel.few else min(int((place(value) - low) / step), LEVELS - 1)
            for value, jobs in row
        ]
        for row in cells
    ]


def in_cell(value: float, panel: Heat) -> str:
    """The value of a cell of a heat map."""
    return show_short(value) if panel.style == "duration" else show(value, panel.style, None)


#: The unit of a Trend -> as its axis has it.
UNITS_OF: Final[Mapping[str, Message]] = {
    "share": message("share"),
    "count": message("count"),
    "hours": message("hours"),
    "ratio": message("ratio"),
}
#: The unit of a row -> how its measured cells are shown.
UNITS: Final[Mapping[str, Style]] = {
    "seconds": "duration",
    "ratio": "ratio",
    "share": "share",
    "count": "hours",
    "hours": "hours",
}


def _style(report: Report, row: Sequence[Cell], place: int) -> Style:
    """The style of one cell."""
    style = report.fields[place].style
    if style != "measured":
        return style
    unit = next(value for field, value in zip(report.fields, row, strict=True) if field.name == "unit")
    return UNITS[str(unit)]


def number(value: float) -> str:
    return f"{value:,}"


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage. One above 0 is never shown as 0 %, one below 1 never as 100 %."""
    step = 10.0**-digits
    value = 100 * share
    if 0 < value < step / 2:
        return f"<{step:.{digits}f} %"
    if 100 - step / 2 <= value < 100:
        return f">{100 - step:.{digits}f} %"
    return f"{value:.{digits}f} %"


def plural(count: int, noun: str, many: str = "") -> str:
    """1 run, 1,234 runs; `many` where it is not the noun with an s."""
    return f"{number(count)} {noun if count == 1 else many or noun + 's'}"


def some(names: Sequence[str], most: int = 6) -> str:
    """The first names of a list, and how many others it has."""
    first, more = joined(", ", names[:most]), len(names) - most
    return message("{names} and {more} more", names=first, more=more) if more > 0 else first


def header(meta: Meta, tz: tzinfo | None) -> list[tuple[str, str]]:
    """The lines above every table: a short name and what it says. A text that is not a Message is others' words."""
    lines = [("answer", answer) for answer in meta.answers]
    lines += [("database", meta.database)] if meta.database else []
    if meta.as_of is not None:
        lines.append(("as of", show_time(meta.as_of, tz)))
    lines.append(("clusters", ", ".join(meta.clusters) or NONE))
    filters = joined("; ", (_rule(name, text) for name, text in meta.filters.items()))
    if meta.jobs is None:
        lines += [("filters", filters)] if filters else []
    else:
        left_out = [_rule(name.replace("_", " "), number(jobs)) for name, jobs in meta.excluded.items()]
        lines[-1:-1] = [("window", _window(meta, tz))]
        lines += [
            ("filters", filters or NONE),
            ("jobs", message("{jobs:,} counted", jobs=meta.jobs)),
            ("left out", joined("; ", left_out) or message("none")),
        ]
    lines += [("note", note) for note in meta.notes]
    return [(name, text if isinstance(text, Message) else clean(text)) for name, text in lines]


def _rule(name: str, text: str) -> Message:
    return joined(" ", (_RULES.get(name, name), text))


def _window(meta: Meta, tz: tzinfo | None) -> Message:
    since, until = (None if at is None else show_time(at, tz) for at in meta.window)
    first, last = (None if at is None else show_time(at, tz) for at in meta.span)
    ends = message("the trace has no finished job")
    if first:
        ends = message("jobs in the trace ended between {first} and {last}", first=first, last=last)
    did = _MOMENTS[meta.moment]
    if since and until:
        return message("{did} from {since} until {until}; {ends}", did=did, since=since, until=until, ends=ends)
    if since:
        return message("{did} since {since}; {ends}", did=did, since=since, ends=ends)
    if until:
        return message("{did} before {until}; {ends}", did=did, until=until, ends=ends)
    return message("all; {ends}", ends=ends)


def _says(field: Field, values: Sequence[Cell]) -> bool:
    """Whether a quiet column is worth its place: a text that differs, a number that is not zero."""
    return len(set(values)) > 1 if field.style == "text" else any(values)


def cells(report: Report, tz: tzinfo | None) -> tuple[list[Field], list[list[str]], list[list[str]]]:
    """The fields that people see, and their rows and totals as text."""
    seen = [
        place
        for place, field in enumerate(report.fields)
        if not field.data and (not field.quiet or _says(field, [row[place] for row in report.rows]))
    ]

    def shown(row: Sequence[Cell]) -> list[str]:
        return [show(row[place], _style(report, row, place), tz) for place in seen]

    return [report.fields[i] for i in seen], [shown(row) for row in report.rows], [shown(row) for row in report.totals]
