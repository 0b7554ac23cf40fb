"""Pictures by matplotlib: one figure for PNG and SVG, one small SVG per panel for pages."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import AdminkitError
from adminkit.messages import message, translated
from adminkit.quote import clean
from adminkit.render.format import LEVELS, UNITS_OF, in_cell, levels, number, percent
from adminkit.render.report import Bars, Boxes, Curves, Heat, Panel, Pictures, Report, Scatter, Series, Trend
from adminkit.render.scatter import draw as draw_scatter
from adminkit.render.trend import draw as draw_trend
from adminkit.units import show_short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours: they differ for every kind of colour vision, and by lightness in grey print.
RAN: Final = "#0072b2"
ASKED: Final = "#d55e00"
INK: Final = "#1f2328"
MUTED: Final = "#646b73"
GRID: Final = "#e3e5e8"
FILL: Final = "#cfe3f1"
PAPER: Final = "#ffffff"

#: How much of RAN each level of a heat map has. On all but the last, INK can be read; on that, PAPER.
OPACITY: Final = (0.07, 0.18, 0.29, 0.41, 0.54, 1.0)
assert len(OPACITY) == LEVELS
#: Moments at which the time axis may be labelled, in seconds.
TICKS: Final = (1, 10, 60, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600, 168 * 3600, 336 * 3600, 720 * 3600)
#: What axes are.
TIME: Final = message("time (logarithmic)")
SHARE: Final = message("share of jobs")
SIGNS: Final = message("(line: median, diamond: mean)")
#: The most characters of a name beside the axes.
LONGEST: Final = 32
_STYLE: Final[Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.parse_math": False,  # a queue may be called $x$
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "svg.fonttype": "none",
    "svg.hashsalt": "adminkit",
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
}


def need_matplotlib() -> None:
    """AdminkitError where pictures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise AdminkitError("charts need matplotlib", "pip install 'adminkit[plots]'") from error


def picture(report: Report, kind: str) -> bytes:
    """Every panel in one picture, as "png" or "svg". AdminkitError where there is nothing to draw."""
    if report.pictures is None:
        raise AdminkitError("there is nothing to draw: no job is left", "the report's header says what was left out")
    pictures = report.pictures
    with _figures():
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        columns = 2 if sum(isinstance(panel, Curves) for panel in pictures.panels) > 1 else 1
        rows = _rows(pictures.panels, columns)
        heights = [max(_height(panel) for panel in row) for row in rows]
        caption = textwrap.wrap(clean(pictures.caption), 128 if columns > 1 else 94)
        head, foot = 0.8, 0.2 + 0.16 * len(caption)
        total = head + sum(heights) + foot
        inside = (0.01, foot / total, 0.98, 1 - (head + foot) / total)
        layout = ConstrainedLayoutEngine(rect=inside, h_pad=0.1, w_pad=0.1)
        figure = Figure(figsize=(9.2 if columns > 1 else 6.8, total), dpi=160, layout=layout)
        grid = figure.add_gridspec(len(rows), columns, height_ratios=heights)
        span = _span(pictures.panels)
        for r, row in enumerate(rows):
            for c, panel in enumerate(row):
                place = grid[r, c] if isinstance(panel, Curves) else grid[r, :]
                _draw(figure.add_subplot(place), panel, span, "en")
        meta = report.meta
        of = [", ".join(meta.clusters), "" if meta.jobs is None else f"{number(meta.jobs)} jobs"]
        source = f"{meta.title}. {', '.join(word for word in of if word)}"
        left = 0.16 / figure.get_figwidth()
        figure.text(left, 1 - 0.18 / total, clean(pictures.title), size=14, weight="bold", va="top")
        figure.text(left, 1 - 0.48 / total, clean(source), size=9, color=MUTED, va="top")
        figure.text(left, 0.12 / total, "\n".join(caption), size=7.5, color=MUTED, va="bottom")
        return _saved(figure, kind)


def panels(pictures: Pictures, language: str = "en") -> list[str]:
    """Each panel as an SVG element of its own, without its title; its colours are the constants above. `language` is
    that of what the drawing itself says."""
    span = _span(pictures.panels)
    drawn = []
    with _figures():
        from matplotlib.figure import Figure

        for panel in pictures.panels:
            figure = Figure(figsize=(4.6, _height(panel)), layout="constrained")
            _draw(figure.subplots(), panel, span, language, titled=False)
            svg = _saved(figure, "svg").decode()
            drawn.append(svg[svg.index("<svg") :])
    return drawn


@contextmanager
def _figures() -> Iterator[None]:
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for what the font lacks
        yield


def _saved(figure: Figure, kind: str) -> bytes:
    out = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None, "Creator": "adminkit"} if kind == "svg" else {"Software": "adminkit"}
    figure.savefig(out, format=kind, metadata=metadata)
    return out.getvalue()


def _rows(panels: Sequence[Panel], columns: int) -> list[list[Panel]]:
    """Curves side by side; every other panel across the whole width."""
    rows: list[list[Panel]] = []
    for panel in panels:
        if isinstance(panel, Curves) and rows and isinstance(rows[-1][0], Curves) and len(rows[-1]) < columns:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    return rows


def _height(panel: Panel) -> float:
    """Inches."""
    if isinstance(panel, Boxes):
        return 1.0 + 0.34 * len(panel.boxes)
    if isinstance(panel, (Series, Trend)):
        return 2.2
    if isinstance(panel, Bars):
        return 0.7 + 0.26 * len(panel.bars)
    if isinstance(panel, Heat):
        return 1.1 + 0.36 * len(panel.rows)
    return 2.75


def _span(panels: Sequence[Panel]) -> tuple[float, float]:
    """The time axis that all panels of curves share, in seconds."""
    curves = [panel for panel in panels if isinstance(panel, Curves)]
    least = min((line.seconds[0] for p in curves for line in p.lines), default=1)
    ends = [line.seconds[-1] for p in curves for line in p.lines] + [at for p in curves for _, at in p.marks]
    return max(least, 1) * 0.9, max([*ends, 10]) * 1.25


def _draw(ax: Axes, panel: Panel, span: tuple[float, float], language: str, titled: bool = True) -> None:
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    ax.tick_params(axis="x", pad=6)
    if isinstance(panel, Curves):
        _curves(ax, panel, span, language)
    elif isinstance(panel, Boxes):
        _boxes(ax, panel, language)
    elif isinstance(panel, Series):
        _series(ax, panel)
    elif isinstance(panel, Heat):
        _heat(ax, panel)
    elif isinstance(panel, Scatter):
        draw_scatter(ax, panel, (RAN, ASKED, INK, MUTED), MUTED, GRID)
        _legend(ax)
    elif isinstance(panel, Trend):
        draw_trend(ax, panel, (RAN, ASKED, INK), MUTED, GRID)
        ax.set_ylabel(translated(UNITS_OF[panel.unit], language), size=8)
        _legend(ax)
    else:
        _bars(ax, panel)
    if titled:
        subtitle = "" if isinstance(panel, Boxes) else panel.subtitle
        above = 16 if isinstance(panel, (Curves, Series, Scatter, Trend)) else 4  # points, for the legend
        style: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
        ax.annotate(clean(subtitle), (0, 1), xytext=(0, above), size=8.5, color=MUTED, **style)
        higher = above + (14 if subtitle else 0)
        ax.annotate(clean(panel.title), (0, 1), xytext=(0, higher), size=10, weight="bold", **style)


def _curves(ax: Axes, panel: Curves, span: tuple[float, float], language: str) -> None:
    """Two staircases and the queue's limits, all named above the axes, where no line can run through the names."""
    ax.set_xscale("log")
    ax.set_xlim(*span)
    for line, colour in zip(panel.lines, (RAN, ASKED), strict=True):
        seconds = [span[0], *line.seconds, span[1]]
        share = [0.0, *line.share, 1.0]
        ax.step(seconds, share, where="post", color=colour, linewidth=1.8, label=line.name)
    for (name, at), dashes in zip(panel.marks, ((1, 1.5), (5, 2)), strict=False):
        label = f"{name} {show_short(at)}"
        ax.axvline(at, color=MUTED, linewidth=1.1, linestyle=(0, dashes), label=label, zorder=1)
    ax.set_xticks(ticks := _ticks(span), [show_short(at) for at in ticks])
    ax.minorticks_off()
    _shares(ax)
    ax.set_xlabel(translated(TIME, language), size=8)
    ax.set_ylabel(translated(SHARE, language), size=8)
    _legend(ax)


def _name(text: str) -> str:
    """A name beside the axes. Trap: one of a thousand characters leaves the axes no room, and nothing is laid out."""
    name = clean(text)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}\u2026"


def _shares(ax: Axes) -> None:
    """A vertical axis of shares, from 0 to 100 %."""
    ax.set_ylim(0, 1.02)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.grid(axis="y", color=GRID, linewidth=0.8)


def _legend(ax: Axes) -> None:
    """The lines' names in a row above the plot."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=4, frameon=False, fontsize=8, handlelength=1.3,
        columnspacing=1.1, handletextpad=0.4, borderpad=0.2,
    )  # fmt: skip


def _series(ax: Axes, panel: Series) -> None:
    """Two lines over the days, the second thinner, so that both are seen where they are one."""
    for (name, shares), colour, width in zip(panel.lines, (RAN, ASKED), (2.0, 1.1), strict=True):
        edges = [panel.days * number / max(len(shares), 1) for number in range(len(shares) + 1)]
        ax.stairs(shares, edges, baseline=None, color=colour, linewidth=width, label=clean(name))
    ax.set_xlim(0, panel.days)
    _shares(ax)
    ax.set_xlabel("days since the steady part began", size=8)
    ax.set_ylabel("in use", size=8)
    _legend(ax)


def _ticks(span: tuple[float, float]) -> list[float]:
    """The TICKS within the axis that are about a ninth of it apart, so that labels do not touch."""
    low, high = map(math.log, span)
    ticks: list[float] = []
    for at in TICKS:
        if span[0] <= at <= span[1] and (not ticks or math.log(at / ticks[-1]) > (high - low) / 9):
            ticks.append(at)
    return ticks


def _boxes(ax: Axes, panel: Boxes, language: str) -> None:
    """Horizontal boxes, the first row on top. The axis ends at 1 or at the greatest p90."""
    stats = [
        {"label": _name(b.name), "whislo": b.p10, "q1": b.p25, "med": b.median, "q3": b.p75, "whishi": b.p90,
         "mean": b.mean, "fliers": []}
        for b in panel.boxes
    ]  # fmt: skip
    ax.bxp(
        stats,
        orientation="horizontal",
        widths=0.55,
        showmeans=True,
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": FILL, "edgecolor": RAN},
        whiskerprops={"color": RAN},
        capprops={"color": RAN},
        medianprops={"color": RAN, "linewidth": 2.2},
        meanprops={"marker": "D", "markerfacecolor": ASKED, "markeredgecolor": PAPER, "markersize": 6},
    )
    ax.invert_yaxis()
    ax.set_xlim(0, max(1.0, *(b.p90 for b in panel.boxes), *(b.mean for b in panel.boxes)) * 1.01)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"{panel.axis} {translated(SIGNS, language)}", size=8)


def _bars(ax: Axes, panel: Bars) -> None:
    """Horizontal bars, the first on top, each with its share and number at its end."""
    names = [_name(bar.name) for bar in panel.bars]
    places = range(len(names))
    ax.barh(places, [bar.share for bar in panel.bars], height=0.68, color=RAN)
    ax.set_yticks(places, names)
    for place, bar in enumerate(panel.bars):
        text = f"{percent(bar.share, 2)}  ({number(bar.jobs)})"
        ax.annotate(text, (bar.share, place), xytext=(4, 0), textcoords="offset points", va="center", size=8, color=INK)
    ax.invert_yaxis()
    ax.set_xlim(0, max(bar.share for bar in panel.bars) * 1.32)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)


def _heat(ax: Axes, panel: Heat) -> None:
    """A tile for each cell with jobs, darker for greater values and only a frame for few jobs, with its value and its
    number of jobs; a dot for none."""
    from matplotlib.patches import Rectangle

    style: Any = {"ha": "center", "va": "center"}
    for y, row in enumerate(levels(panel)):
        for x, level in enumerate(row):
            value = panel.values[y][x]
            if value is None:
                ax.text(x, y, "\u00b7", size=12, color=MUTED, **style)
                continue
            paint: Any = (
                {"ec": GRID, "fill": False} if level is None else {"color": RAN, "alpha": OPACITY[level], "lw": 0}
            )
            ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, **paint))
            ink = PAPER if level == LEVELS - 1 else INK
            ax.text(x, y - 0.14, in_cell(value, panel), size=7.5, color=ink, **style)
            ax.text(x, y + 0.24, number(panel.counts[y][x]), size=5.5, color=ink, **style)
    ax.set_xlim(-0.5, len(panel.columns) - 0.5)
    ax.set_ylim(len(panel.rows) - 0.5, -0.5)
    ax.set_xticks(range(len(panel.columns)), [_name(name) for name in panel.columns], size=7.5)
    ax.set_yticks(range(len(panel.rows)), [_name(name) for name in panel.rows], size=7.5)
    ax.set_xlabel(clean(panel.column_axis), size=8)
    ax.set_ylabel(clean(panel.row_axis), size=8)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
