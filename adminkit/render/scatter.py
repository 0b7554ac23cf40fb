"""The panel Scatter: how it is drawn by matplotlib and in characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from adminkit.quote import clean
from adminkit.render.format import show
from adminkit.render.report import Dot, Scatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A line's dots beyond its colour, so that a print in grey tells them apart.
_SHAPES: Final = ("o", "s", "^", "D", "v")
#: Names of dots that a picture has room for.
MOST_NAMES: Final = 24


def spans(panel: Scatter) -> tuple[float, float, float, float]:
    """The ends of both axes, with a little room: x, then y. Both begin at 0 where that costs less than half of them."""
    dots = [dot for _, its in panel.lines for dot in its]
    return *_span([dot.x for dot in dots]), *_span([dot.y for dot in dots])


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or abs(high) * 0.08 or 1.0
    return (0.0 if 0 <= low < high / 2 else low - room), high + room


def draw(ax: Axes, panel: Scatter, colours: Sequence[str], muted: str, faint: str) -> None:
    """Dots by line; those on the edge are full, joined and named, as far as there is room."""
    for place, (name, dots) in enumerate(panel.lines):
        colour, shape = colours[place % len(colours)], _SHAPES[place % len(_SHAPES)]
        for full in (False, True):
            some = [dot for dot in dots if dot.edge is full]
            label = clean(name) if full or not any(dot.edge for dot in dots) else None
            face = colour if full else "none"
            ax.scatter(
                [dot.x for dot in some], [dot.y for dot in some], s=26, marker=shape, facecolors=face,
                edgecolors=colour, linewidths=1.1, label=label if some else None, zorder=3, clip_on=False,
            )  # fmt: skip
    edge = _edge(panel)
    ax.plot([dot.x for dot in edge], [dot.y for dot in edge], color=muted, linewidth=1.0, zorder=2)
    for dot in edge[:MOST_NAMES]:
        style: Any = {"textcoords": "offset points", "xytext": (5, 4), "size": 7, "color": muted}
        ax.annotate(clean(dot.name), (dot.x, dot.y), **style)
    left, right, low, high = spans(panel)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    ax.grid(color=faint, linewidth=0.8)
    for axis, unit in zip((ax.xaxis, ax.yaxis), panel.styles, strict=True):
        if unit == "share":
            axis.set_major_formatter(lambda value, _: f"{round(100 * value, 6):g} %")
    ax.set_xlabel(clean(panel.x_axis), size=8)
    ax.set_ylabel(clean(panel.y_axis), size=8)


def _edge(panel: Scatter) -> list[Dot]:
    return sorted((dot for _, dots in panel.lines for dot in dots if dot.edge), key=lambda dot: dot.x)


def paper(panel: Scatter, width: int, height: int, signs: Sequence[str], both: str) -> list[list[str]]:
    """Lines of characters, the highest first: the sign of each line's dots; `both` where two of them meet."""
    grid = [[" "] * width for _ in range(height)]
    left, right, low, high = spans(panel)
    for place, (_, dots) in enumerate(panel.lines):
        sign = signs[place % len(signs)]
        for dot in dots:
            column = round((dot.x - left) / (right - left) * (width - 1))
            row = height - 1 - round((dot.y - low) / (high - low) * (height - 1))
            grid[row][column] = sign if grid[row][column] in (" ", sign) else both
    return grid


def ends(panel: Scatter) -> tuple[str, str, str, str]:
    """What stands at the ends of the axes: left, right, low, high."""
    left, right, low, high = spans(panel)
    x, y = panel.styles
    return show(left, x, None), show(right, x, None), show(low, y, None), show(high, y, None)
