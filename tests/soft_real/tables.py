"""Tables of pairs of runs, for pages in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Final

from tests.soft_real.measure import Figure, Interval
from tests.soft_real.runs import Run

#: The heads of figure_row and of made_row.
FIGURE: Final = ["figure, s", "off", "on", "change, s", "95 % interval", "change", "verdict"]
MADE: Final = [
    "seed",
    "pair",
    "soft limits",
    "Slurm",
    "date (UTC)",
    "commit",
    "jobs started by main loop / backfill",
    "guard's rounds",
    "limits raised",
    "largest submission delay",
]


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def figure_row(one: Figure) -> list[str]:
    change = one.change
    so = {-1: "shorter", 0: "no significant change", 1: "**longer**"}[change.sign]
    return [
        one.name,
        f"{fmean(one.off):.1f}",
        f"{fmean(one.on):.1f}",
        f"{change.mean:+.1f}",
        ends(change, 1, 1),
        percent(one),
        so,
    ]


def ends(of: Interval, factor: float, digits: int) -> str:
    return " to ".join(f"{factor * end:+.{digits}f}" for end in (of.mean - of.half, of.mean + of.half))


def percent(one: Figure) -> str:
    return f"{100 * one.change.mean / fmean(one.off):+.0f} %"


def made_row(run: Run) -> list[str]:
    loops = " / ".join(str(sum(row.by == by for row in run.rows)) for by in ("main", "backfill"))
    head = run.head
    return [
        head["seed"],
        str(run.number),
        *(head[name] for name in ("arm", "release", "date", "commit")),
        loops,
        *(head[name] for name in ("rounds of the guard", "raised")),
        head["latest submission"].removesuffix(" behind"),
    ]
