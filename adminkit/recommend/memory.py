"""The memory to ask for on each node: limits of recommend/, in MiB (stats/peaks.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adminkit.recommend.advice import Advice, walltime
from adminkit.recommend.backtest import Backtest, Given
from adminkit.recommend.backtest import backtest as try_all
from adminkit.recommend.control import Control, control
from adminkit.recommend.menu import Offer
from adminkit.recommend.predict import Rule
from adminkit.sqlite import sqlite3
from adminkit.stats.peaks import latest
from adminkit.stats.runs import Kind, Run

GIB: Final = 1024
#: MiB, ascending: what people type anyway. The last one is more than a node has.
MENU: Final = tuple(
    step * GIB * 2**power // 4 for power in range(16) for step in ((1, 2, 3) if power == 0 else (2, 3))
)  # fmt: skip
#: Share of runs that may need more: half of that of time limits, because a run that is too small for its memory ends
#: at once.
RISK: Final = 0.05


def memory(runs: Iterable[Run], kind: Kind, risk: float, steered: float | None = None) -> Advice:
    """A size for the next job of `kind`, MiB per node. `runs` come by submission.

    `steered` is the site's control's risk for this user; without it only `runs` steer the risk.
    """
    return walltime(runs, kind, Offer(MENU, risk), risk=steered)


def backtest(runs: Iterable[Run], risk: float, given: Given | None = None) -> Backtest:
    """Every method over `runs`, as for time limits: sizes in MiB."""
    return try_all(runs, Offer(MENU, risk), given)


def site_control(
    db: sqlite3.Connection, clusters: Iterable[str], risk: float, *, acting: bool = False, checkpoint_code: int
) -> Control:
    """trace_control, of sizes: the state after the last runs of these clusters whose need is known."""
    lately = (latest(db, cluster, acting=acting, checkpoint_code=checkpoint_code) for cluster in clusters)
    return control(lately, Rule(risk=risk))
