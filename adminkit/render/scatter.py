"""The panel Scatter: how it is drawn by matplotlib and in characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.quote import clean
from adminkit.render.format import show
from adminkit.render.report import Dot, Scatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A line's dots beyond its colour, so that a print in grey tells them apart.
_SHAPES: Final = ("o", "s", "^", "D", "v")
#: Names of dots that a picture has room for.
MOST_NAMES: Final = 24
#: The height of a name's letters, the width of one of them, and half the width of a dot, in points.
_SIZE: Final = 7
_WIDTH: Final = 4.6
_DOT: Final = 4.0
#: How far above its dot the baseline of a name may be, in points: the nearest first.
_UPS: Final = (4.0, -9.0, -2.0, 7.0, -12.0, 13.0, -18.0, 20.0, -25.0)

#: Points to the right and upwards.
Place = tuple[float, float]


class Box(NamedTuple):
    """A rectangle, in points."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, other: Box) -> bool:
        """Whether they overlap."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high


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
    left, right, low, high = spans(panel)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    for dot, offset in zip(edge[:MOST_NAMES], _offsets(ax, panel, edge[:MOST_NAMES]), strict=True):
        style: Any = {"textcoords": "offset points", "xytext": offset, "size": _SIZE, "color": muted}
        ax.annotate(clean(dot.name), (dot.x, dot.y), **style)
    ax.grid(color=faint, linewidth=0.8)
    for axis, unit in zip((ax.xaxis, ax.yaxis), panel.styles, strict=True):
        if unit == "share":
            axis.set_major_formatter(lambda value, _: f"{round(100 * value, 6):g} %")
    ax.set_xlabel(clean(panel.x_axis), size=8)
    ax.set_ylabel(clean(panel.y_axis), size=8)


def _edge(panel: Scatter) -> list[Dot]:
    """Each once, also where it is on two lines."""
    return sorted(dict.fromkeys(dot for _, dots in panel.lines for dot in dots if dot.edge), key=lambda dot: dot.x)


def _offsets(ax: Axes, panel: Scatter, named: Sequence[Dot]) -> list[Place]:
    """Where each name stands, in points from its dot."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    inches, part = figure.get_size_inches(), ax.get_position()
    size = 72 * inches[0] * part.width, 72 * inches[1] * part.height
    left, right, low, high = spans(panel)

    def place(dot: Dot) -> Place:
        return (dot.x - left) / (right - left) * size[0], (dot.y - low) / (high - low) * size[1]

    dots = [place(dot) for _, its in panel.lines for dot in its]
    return offsets([(clean(dot.name), place(dot)) for dot in named], dots)


def offsets(names: Sequence[tuple[str, Place]], dots: Sequence[Place]) -> list[Place]:
    """Where each name begins, on its baseline, seen from its own dot: the first place that covers no dot and no other
    name, else the one that covers the fewest. All in points.
    """
    taken = [Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
    found = []
    for name, (x, y) in names:
        wide = _WIDTH * len(name)
        near = [(side, up) for up in _UPS for side in (_DOT + 1, -_DOT - 1 - wide, -wide / 2)]
        boxes = {at: Box(x + at[0], y + at[1] - 1.5, x + at[0] + wide, y + at[1] - 1.5 + _SIZE) for at in near}
        best = min(near, key=lambda at: sum(boxes[at].meets(other) for other in taken))
        taken.append(boxes[best])
        found.append(best)
    return found


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
