"""docs/backfill.svg and backfill.ja.svg: one job on four nodes, with a limit of 72 h and with one of 1 h.

The numbers are below; where the job goes is worked out from them, as backfill does it. Hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

NODES: Final = 4
#: The time that is drawn.
SPAN: Final = 12
#: What the job needs, and the two limits that it may ask for.
NEEDS: Final = 50  # minutes
LIMITS: Final = (72, 1)


@dataclass(frozen=True, slots=True)
class Bar:
    """A job on `count` nodes from `node` on, which the scheduler plans to hold them from `start` for `hours`."""

    kind: str  # running, next: the first in the queue, yours
    node: int  # from 0
    count: int
    start: float
    hours: float

    @property
    def end(self) -> float:
        return self.start + self.hours


#: What the scheduler has planned before it looks at the job. The first in the queue needs every node.
PLANNED: Final = (Bar("running", 0, 2, 0, 4), Bar("running", 2, 1, 0, 3), Bar("next", 0, NODES, 4, 4))


def placed(limit: float, planned: Sequence[Bar] = PLANNED) -> Bar:
    """The job with this limit: where a node is free soonest for all of it. Where several are, it gets the last."""
    for start in sorted({0.0, *(bar.end for bar in planned)}):
        for node in reversed(range(NODES)):
            there = [bar for bar in planned if bar.node <= node < bar.node + bar.count]
            if all(bar.end <= start or bar.start >= start + limit for bar in there):
                return Bar("yours", node, 1, start, limit)
    raise AssertionError("after the last bar every node is free")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the picture in one language. {…} is filled in."""

    language: str
    title: str
    description: str
    waits: str
    starts: str
    node: str
    time: str
    running: str
    next: str
    yours: str
    gap: str


ENGLISH: Final = Words(
    language="en",
    title="Backfill: a short job with an honest limit starts in the gap",
    description=(
        "Four nodes over {span} hours, twice. Three of them run jobs. The next job in the queue needs all four, and is"
        " planned to start in {gap} hours; until then node {node} is free. A job of {needs} minutes asks for {long}"
        " hours: it does not fit into the gap, and starts after the next job, in {wait} hours. The same job asks for"
        " {short} hour: it starts now, and delays nobody."
    ),
    waits="--time={limit}: a job of {needs} minutes does not fit into the gap and waits {wait} h",
    starts="--time={limit}: the same job fits into the gap and starts now",
    node="node {n}",
    time="hours from now",
    running="running",
    next="next job, needs 4 nodes",
    yours="your job, limit {limit} h",
    gap="gap of {gap} h",
)
JAPANESE: Final = Words(
    language="ja",
    title="バックフィル: 制限時間を実際に合わせた短いジョブは、隙間に入ってすぐに始まります",
    description=(
        "4台のノードの{span}時間分の予定を2通り並べた図です。3台ではジョブが実行中です。"
        "次のジョブは4台すべてを使うため、{gap}時間後に始まる予定で、それまでノード{node}は空いています。"
        "{needs}分で終わるジョブに{long}時間を指定すると、隙間に入らず、次のジョブが終わる{wait}時間後まで待ちます。"
        "同じジョブに{short}時間を指定すると、すぐに始まり、ほかのジョブを遅らせることもありません。"
    ),
    waits="--time={limit}: {needs}分で終わるジョブが隙間に入らず、{wait}時間待ちます",
    starts="--time={limit}: 同じジョブが隙間に入り、すぐに始まります",
    node="ノード{n}",
    time="今からの時間",
    running="実行中",
    next="次のジョブ(4ノード必要)",
    yours="自分のジョブ({limit}時間)",
    gap="{gap}時間の隙間",
)

#: By day and by night.
SCHEMES: Final = {
    "light": {
        "paper": "#ffffff", "ink": "#1f2328", "muted": "#59616a", "grid": "#d8dce1",
        "busy": "#c9ced5", "next": "#9cc9e8", "yours": "#d55e00", "limit": "#f7d3b8",
    },
    "dark": {
        "paper": "#16181c", "ink": "#eceef1", "muted": "#a9b0ba", "grid": "#3a3f47",
        "busy": "#4a515b", "next": "#1f5680", "yours": "#e07b29", "limit": "#64391b",
    },
}  # fmt: skip
_LEFT, _HOUR, _ROW, _WIDTH = 84, 51, 30, 712
_PANEL = 214  # from one title to the next
_STYLE: Final = """\
text { fill: var(--ink); font: 13px system-ui, 'Noto Sans', 'Noto Sans CJK JP', 'Hiragino Sans', Meiryo, sans-serif; }
.head { font-weight: 600; font-size: 15px; }
.small { fill: var(--muted); font-size: 12px; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.paper { fill: var(--paper); }
.grid { stroke: var(--grid); }
.gap { fill: none; stroke: var(--muted); stroke-dasharray: 4 3; }
.running { fill: var(--busy); }
.next { fill: var(--next); }
.limit { fill: var(--limit); }
.yours { fill: var(--yours); }
"""


def description(words: Words) -> str:
    """The picture in words."""
    long, short = (placed(limit) for limit in LIMITS)
    return words.description.format(
        span=SPAN, gap=f"{_gap():g}", node=short.node + 1, long=LIMITS[0], wait=f"{long.start:g}", short=LIMITS[1],
        needs=NEEDS,
    )  # fmt: skip


def picture(words: Words) -> str:
    """The SVG: a panel for each limit, with its title and description for those who cannot see it."""
    height = 2 * _PANEL + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        f' role="img" lang="{words.language}" aria-labelledby="title description">',
        f'<title id="title">{escape(words.title)}</title>',
        f'<desc id="description">{escape(description(words))}</desc>',
        f"<style>\n{_colours('light')}\n@media (prefers-color-scheme: dark) {{ {_colours('dark')} }}\n{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="6"/>',
    ]
    for number, limit in enumerate(LIMITS):
        lines += [f'<g transform="translate(0 {number * _PANEL})">', *_panel(limit, words), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(limit: int, words: Words) -> Iterator[str]:
    """The plan with the job, under its title."""
    job, gap = placed(limit), _gap()
    title = words.starts if job.start == 0 else words.waits
    yield _text(16, 28, title.format(limit=f"{limit:02}:00:00", wait=f"{job.start:g}", needs=NEEDS), "head")
    bottom = _y(NODES)
    for hour in range(0, SPAN + 1, 2):
        yield f'<path class="grid" d="M{_x(hour):g} {_y(0)}V{bottom + 4}"/>'
        yield _text(_x(hour), bottom + 18, str(hour), "small middle")
    yield _text(_x(SPAN), bottom + 36, words.time, "small end")
    for node in range(NODES):
        yield _text(_LEFT - 10, _y(node) + 20, words.node.format(n=node + 1), "small end")
    for bar in PLANNED:
        yield _box(bar.kind, bar.node, bar.count, bar.start, bar.end)
        middle = _y(bar.node) + bar.count * _ROW / 2 + 5
        label = words.next if bar.kind == "next" else words.running
        yield _text((_x(bar.start) + _x(bar.end)) / 2, middle, label, "middle")
    free = placed(gap).node
    yield _box("gap", free, 1, 0, gap)
    if job.start:
        yield _text(_x(gap / 2), _y(free) + 20, words.gap.format(gap=f"{gap:g}"), "small middle")
    yield _box("limit", job.node, 1, job.start, min(job.end, SPAN))
    yield _box("yours", job.node, 1, job.start, job.start + NEEDS / 60)
    beside = job.end if job.end < SPAN else job.start + NEEDS / 60
    more = "" if job.end <= SPAN else " →"
    yield _text(_x(beside) + 8, _y(job.node) + 20, words.yours.format(limit=limit) + more)


def _gap() -> float:
    """Hours until the first in the queue starts."""
    return next(bar.start for bar in PLANNED if bar.kind == "next")


def _colours(scheme: str) -> str:
    return f"svg {{ {' '.join(f'--{name}: {colour};' for name, colour in SCHEMES[scheme].items())} }}"


def _x(hour: float) -> float:
    return _LEFT + hour * _HOUR


def _y(node: int) -> int:
    return 44 + node * _ROW


def _box(kind: str, node: int, count: int, start: float, end: float) -> str:
    width, height = (end - start) * _HOUR - 2, count * _ROW - 4
    return f'<rect class="{kind}" x="{_x(start) + 1:g}" y="{_y(node) + 2}" width="{width:g}" height="{height}" rx="3"/>'


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}">{escape(text)}</text>'
