"""Pictures in the terminal, drawn in characters: in plain ASCII where the terminal is not UTF-8."""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

from adminkit.quote import clean
from adminkit.render.format import in_cell, levels, number, percent
from adminkit.render.report import Bars, Boxes, Curves, Heat, Line, Panel, Pictures, Scatter, Series, Trend
from adminkit.render.scatter import ends
from adminkit.render.scatter import paper as scatter_paper
from adminkit.render.trend import column as trend_column
from adminkit.render.trend import paper as trend_paper
from adminkit.render.trend import ticks as trend_ticks
from adminkit.render.trend import top, value_label
from adminkit.units import show_short

#: Lines of a panel of curves, without its axis.
HEIGHT: Final = 11
#: The fewest columns of a panel of curves beside another.
NARROWEST: Final = 56
_WIDEST: Final = 100
_TICKS: Final = (1, 10, 60, 600, 3600, 4 * 3600, 24 * 3600, 72 * 3600, 168 * 3600, 336 * 3600, 720 * 3600)
_MARGIN: Final = 6  # columns left of the axis
_COLOURS: Final = {"ran": "\x1b[34m", "asked": "\x1b[33m", "bold": "\x1b[1m", "dim": "\x1b[2m"}


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters of a drawing."""

    ran: str
    asked: str
    both: str
    mark: str
    axis: str
    corner: str
    floor: str
    bar: str
    box: str
    whisker: str
    end: str
    median: str
    mean: str
    levels: str  # of a heat map, from the least to the greatest
    empty: str


UNICODE: Final = Signs("●", "○", "◉", "┊", "│", "└", "─", "█", "▒", "─", "│", "┃", "◆", "▁▂▃▅▆█", "·")
ASCII: Final = Signs("#", "o", "@", ":", "|", "+", "-", "#", "=", "-", "|", "H", "*", ".:-=+#", " ")


def plot(pictures: Pictures, width: int, *, colour: bool, ascii_only: bool) -> str:
    """Every panel, at most `width` columns wide, the finding above and how to read it below."""
    pen = _Pen(ASCII if ascii_only else UNICODE, colour)
    curves = [panel for panel in pictures.panels if isinstance(panel, Curves)]
    span = _span(curves)
    abreast = 2 if len(curves) > 1 and width >= 2 * NARROWEST + 3 else 1
    wide = min((width - 3 * (abreast - 1)) // abreast, _WIDEST)
    lines = [pen.paint(_fit(clean(pictures.title), width), "bold"), ""]
    for start in range(0, len(curves), abreast):
        drawn = [_curves(panel, wide, span, pen) for panel in curves[start : start + abreast]]
        lines += ["   ".join(parts).rstrip() for parts in zip(*drawn, strict=True)]
        lines.append("")
    for panel in pictures.panels:
        if not isinstance(panel, Curves):
            lines += [*_other(panel, min(width, _WIDEST), pen), ""]
    if curves:
        signs, (first, second) = pen.signs, (clean(line.name) for line in curves[0].lines)  # of every panel alike
        first, second = f"{pen.paint(signs.ran, 'ran')} {first}", f"{pen.paint(signs.asked, 'asked')} {second}"
        lines.append(f"{first}  {second}  {signs.both} both")
    lines += textwrap.wrap(_caption(pictures.caption, pen.signs), min(width, _WIDEST))
    text = "\n".join(line.rstrip() for line in lines).rstrip() + "\n"
    return text.encode("ascii", "replace").decode() if ascii_only else text


@dataclass(frozen=True, slots=True)
class _Pen:
    signs: Signs
    colour: bool

    def paint(self, text: str, name: str) -> str:
        return f"{_COLOURS[name]}{text}\x1b[0m" if self.colour and text.strip() else text


def _caption(caption: str, signs: Signs) -> str:
    return caption.replace("the line is the median, the diamond the mean", f"{signs.median} median, {signs.mean} mean")


def _fit(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)) + "~"


def _span(curves: Sequence[Curves]) -> tuple[float, float]:
    starts = [line.seconds[0] for panel in curves for line in panel.lines]
    ends = [line.seconds[-1] for panel in curves for line in panel.lines]
    ends += [at for panel in curves for _, at in panel.marks]
    return max(min(starts, default=1), 1), max([*ends, 10]) * 1.1


def _curves(panel: Curves, width: int, span: tuple[float, float], pen: _Pen) -> list[str]:
    """Title, subtitle, HEIGHT lines of drawing, the axis and its labels; each exactly `width` columns."""
    signs = pen.signs
    inner = width - _MARGIN - 1
    low, high = map(math.log, span)

    def column(seconds: float) -> int:
        return round((math.log(max(seconds, 1)) - low) / (high - low) * (inner - 1))

    paper = [[" "] * inner for _ in range(HEIGHT)]
    for _, at in panel.marks:
        for row in paper:
            row[column(at)] = signs.mark
    for line, sign in zip(panel.lines, (signs.ran, signs.asked), strict=True):
        _staircase(paper, line, sign, signs, [math.exp(low + (high - low) * x / (inner - 1)) for x in range(inner)])
    title = pen.paint(set_cell_size(_fit(clean(panel.title), width), width), "bold")
    lines = [title, pen.paint(set_cell_size(_fit(clean(panel.subtitle), width), width), "dim")]
    for y, row in enumerate(paper):
        label = {0: "100 %", HEIGHT // 2: "50 %", HEIGHT - 1: "0 %"}.get(y, "")
        drawn = "".join(_coloured(sign, pen) for sign in row)
        lines.append(f"{label:>{_MARGIN - 1}} {signs.axis}{drawn}")
    lines.append(" " * _MARGIN + signs.corner + signs.floor * inner)
    ticks = [(column(at), show_short(at)) for at in _TICKS if span[0] <= at <= span[1]]
    lines.append(" " * (_MARGIN + 1) + _labels(ticks, inner))
    names = [(column(at), f"{name} {show_short(at)}") for name, at in panel.marks]
    lines.append(pen.paint(" " * (_MARGIN + 1) + _mark_names(names, inner), "dim"))
    return lines


def _staircase(paper: list[list[str]], line: Line, sign: str, signs: Signs, times: Sequence[float]) -> None:
    """Draw a staircase: one sign per column, and signs on all lines between the heights of two columns."""
    before = 0.0
    for x, seconds in enumerate(times):
        place = bisect_right(line.seconds, seconds * 1.0001)
        share = line.share[place - 1] if place else 0.0
        top, bottom = (round((1 - s) * (HEIGHT - 1)) for s in (share, before))
        for y in range(top, max(bottom, top + 1)):
            paper[y][x] = signs.both if paper[y][x] in (signs.ran, signs.both) and sign != signs.ran else sign
        before = share


def _coloured(sign: str, pen: _Pen) -> str:
    if sign == pen.signs.ran:
        return pen.paint(sign, "ran")
    if sign == pen.signs.asked:
        return pen.paint(sign, "asked")
    return pen.paint(sign, "dim") if sign == pen.signs.mark else sign


def _labels(wanted: Sequence[tuple[int, str]], width: int) -> str:
    """One line with each text centred at its column, without those that would touch an earlier one."""
    line = [" "] * width
    free = 0
    for column, text in wanted:
        start = min(max(column - len(text) // 2, 0), width - len(text))
        if start >= free:
            line[start : start + len(text)] = text
            free = start + len(text) + 1
    return "".join(line)


def _mark_names(names: Sequence[tuple[int, str]], width: int) -> str:
    """The names of one or two marks below them: of two the first ends at its mark and the second begins at its own."""
    if len(names) < 2:
        return _labels(names, width)
    (left, first), (right, second) = names
    begin = max(min(right, width - len(second)), 0)
    end = max(min(left + 1, begin - 1), 0)
    return f"{first[-end:] if end else '':>{end}}{' ' * (begin - end)}{second}".ljust(width)[:width]


def _other(panel: Panel, width: int, pen: _Pen) -> list[str]:
    if isinstance(panel, Boxes):
        return _boxes(panel, width, pen)
    if isinstance(panel, Series):
        return _series(panel, width, pen)
    if isinstance(panel, Heat):
        return _heat(panel, width, pen)
    if isinstance(panel, Trend):
        return _trend(panel, width, pen)
    if isinstance(panel, Scatter):
        return _scatter(panel, width, pen)
    assert isinstance(panel, Bars)
    return _bars(panel, width, pen)


def _names(names: Sequence[str], width: int) -> list[str]:
    """Names cleaned and made equally wide, at most a third of the width."""
    cleaned = [clean(name) for name in names]
    wide = min(max(map(cell_len, cleaned)), width // 3)
    return [set_cell_size(_fit(name, wide), wide) for name in cleaned]


def _boxes(panel: Boxes, width: int, pen: _Pen) -> list[str]:
    signs = pen.signs
    names = _names([box.name for box in panel.boxes], width)
    margin = cell_len(names[0]) + 1
    inner = width - margin - 1
    most = max(1.0, *(box.p90 for box in panel.boxes), *(box.mean for box in panel.boxes))
    lines = [pen.paint(_fit(clean(panel.title), width), "bold")]
    for name, box in zip(names, panel.boxes, strict=True):
        p10, p25, median, p75, p90, mean = (
            round(value / most * (inner - 1)) for value in (box.p10, box.p25, box.median, box.p75, box.p90, box.mean)
        )
        row = [" "] * inner
        row[p10 : p90 + 1] = signs.whisker * (p90 - p10 + 1)
        row[p10] = row[p90] = signs.end
        row[p25 : p75 + 1] = signs.box * (p75 - p25 + 1)
        row[median] = signs.median
        row[mean] = signs.mean
        lines.append(f"{name} {''.join(row)}")
    ticks = [(round(share / most * (inner - 1)), f"{share:g}") for share in (0, 0.25, 0.5, 0.75, 1)]
    lines.append(" " * margin + signs.floor * inner)
    lines.append(" " * margin + _labels(ticks, inner) + " ")
    lines.append(" " * margin + panel.axis.center(inner))
    return lines


def _series(panel: Series, width: int, pen: _Pen) -> list[str]:
    """A bar for each line: the mean over the time."""
    means = [(name, sum(shares) / max(len(shares), 1)) for name, shares in panel.lines]
    names = _names([name for name, _ in means], width)
    room = max(width - cell_len(names[0]) - 10, 10)
    lines = [f"{pen.paint(clean(panel.title), 'bold')}  {pen.paint(clean(panel.subtitle), 'dim')}"]
    for name, (_, mean) in zip(names, means, strict=True):
        length = round(min(mean, 1.0) * room)
        lines.append(f"{name} {pen.paint(pen.signs.bar * length, 'ran')}{' ' * (room - length)} {percent(mean):>8}")
    return lines


def _trend(panel: Trend, width: int, pen: _Pen) -> list[str]:
    """Title, HEIGHT lines of drawing, the calendar, the names of the marks and those of the lines."""
    signs = pen.signs
    inner = width - _MARGIN - 1
    used = (signs.ran, signs.asked, signs.mean)
    lines = [f"{pen.paint(clean(panel.title), 'bold')}  {pen.paint(clean(panel.subtitle), 'dim')}"]
    most = top(panel)
    for y, row in enumerate(trend_paper(panel, inner, HEIGHT, used, signs.both, signs.mark)):
        share = {0: 1.0, HEIGHT // 2: 0.5, HEIGHT - 1: 0.0}.get(y)
        label = "" if share is None else value_label(most * share, panel)
        lines.append(f"{label:>{_MARGIN - 1}} {signs.axis}{''.join(_coloured(sign, pen) for sign in row)}")
    lines.append(" " * _MARGIN + signs.corner + signs.floor * inner)
    found = [(trend_column(panel, at, inner), text) for at, text in trend_ticks(panel.edges[0], panel.edges[-1], 8)]
    lines.append(" " * (_MARGIN + 1) + _labels(found, inner))
    if panel.marks:
        names = [(trend_column(panel, at, inner), clean(name)) for name, at in panel.marks]
        lines.append(pen.paint(" " * (_MARGIN + 1) + _labels(sorted(names), inner), "dim"))
    named = [f"{sign} {clean(name)}" for (name, _), sign in zip(panel.lines, used, strict=False)]
    lines.append("  ".join([*named, f"{signs.both} both"][: None if len(named) > 1 else 1]))
    return lines


def _scatter(panel: Scatter, width: int, pen: _Pen) -> list[str]:
    """Title, HEIGHT lines of dots, both ends of each axis, and the names of the lines."""
    signs = pen.signs
    used = (signs.ran, signs.asked, signs.mean)
    left, right, low, high = ends(panel)
    margin = max(len(low), len(high)) + 1
    inner = max(width - margin - 1, 20)
    lines = [f"{pen.paint(clean(panel.title), 'bold')}  {pen.paint(clean(panel.subtitle), 'dim')}"]
    for y, row in enumerate(scatter_paper(panel, inner, HEIGHT, used, signs.both)):
        label = {0: high, HEIGHT - 1: low}.get(y, "")
        lines.append(f"{label:>{margin - 1}} {signs.axis}{''.join(_coloured(sign, pen) for sign in row)}")
    lines.append(" " * margin + signs.corner + signs.floor * inner)
    lines.append(" " * (margin + 1) + left + right.rjust(inner - len(left)))
    lines.append(pen.paint(_fit(f"{' ' * (margin + 1)}{clean(panel.x_axis)}; up: {clean(panel.y_axis)}", width), "dim"))
    lines.append("  ".join(f"{used[k % 3]} {clean(name)}" for k, (name, _) in enumerate(panel.lines)))
    return lines


def _bars(panel: Bars, width: int, pen: _Pen) -> list[str]:
    names = _names([bar.name for bar in panel.bars], width)
    ends = [f"{percent(bar.share, 2):>8}  {number(bar.jobs)}" for bar in panel.bars]
    room = max(width - cell_len(names[0]) - max(map(len, ends)) - 3, 10)
    most = max(bar.share for bar in panel.bars) or 1
    title, subtitle = _fit(clean(panel.title), width), _fit(clean(panel.subtitle), width)
    between = "  " if cell_len(title) + 2 + cell_len(subtitle) <= width else "\n"
    lines = f"{pen.paint(title, 'bold')}{between}{pen.paint(subtitle, 'dim')}".split("\n")
    for name, bar, end in zip(names, panel.bars, ends, strict=True):
        length = max(round(bar.share / most * room), 1 if bar.jobs else 0)
        lines.append(f"{name} {pen.paint(pen.signs.bar * length, 'ran')}{' ' * (room - length)} {end}")
    return lines


def _heat(panel: Heat, width: int, pen: _Pen) -> list[str]:
    """Two lines for each row: the values, each behind a sign of its level, and the numbers of jobs. Columns that do not
    fit follow in a further block, with the rows that have jobs there."""
    names = _names([panel.row_axis, *panel.rows], width)
    room = cell_len(names[0])
    columns = _heat_columns(panel, pen.signs)
    lines = [
        pen.paint(_fit(clean(text), width), name) for text, name in ((panel.title, "bold"), (panel.subtitle, "dim"))
    ]
    while columns:
        block = [columns.pop(0)]
        while columns and room + sum(cell_len(one[0]) for one in [*block, columns[0]]) <= width:
            block.append(columns.pop(0))
        head, *cells = (_fit("".join(parts), width - room) for parts in zip(*block, strict=True))
        lines.append(pen.paint(names[0] + head, "dim"))
        for name, values, counts in zip(names[1:], cells[::2], cells[1::2], strict=True):
            if counts.strip():
                lines += [name + values, pen.paint(" " * room + counts, "dim")]
    return [*lines, pen.paint(_fit(" " * room + "  " + clean(panel.column_axis), width), "dim")]


def _heat_columns(panel: Heat, signs: Signs) -> list[list[str]]:
    """Each column, equally wide throughout: its name, then a value and a number of jobs for each row."""
    dark = levels(panel)
    found = []
    for x, name in enumerate(panel.columns):
        column = [clean(name)]
        for y in range(len(panel.rows)):
            value, level = panel.values[y][x], dark[y][x]
            sign = " " if level is None else signs.levels[level]
            column += (
                [signs.empty, ""] if value is None else [f"{sign} {in_cell(value, panel)}", number(panel.counts[y][x])]
            )
        wide = max(map(cell_len, column)) + 2
        found.append([" " * (wide - cell_len(text)) + text for text in column])
    return found
