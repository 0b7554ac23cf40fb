"""CPUs to ask for with each GPU: limits of recommend/, in hundredths of a CPU (stats/cpus_used.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adminkit.recommend.advice import Advice, walltime
from adminkit.recommend.backtest import Backtest, Given
from adminkit.recommend.backtest import backtest as try_all
from adminkit.recommend.control import Control, control
from adminkit.recommend.menu import RISK as OF_LIMITS
from adminkit.recommend.menu import Offer
from adminkit.recommend.predict import Rule
from adminkit.sqlite import sqlite3
from adminkit.stats.cpus_used import PARTS, latest
from adminkit.stats.runs import Kind, Run

#: Whole CPUs, ascending: what people type anyway. The last one is more than a node has.
MENU: Final = tuple(
    cpus * PARTS
    for cpus in (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 192, 256, 384,
                 512, 864)
)  # fmt: skip
#: Share of runs that may keep more CPUs busy: that of time limits, as a run with too few only becomes slower.
RISK: Final = OF_LIMITS


def cpus(runs: Iterable[Run], kind: Kind, risk: float, steered: float | None = None) -> Advice:
    """CPUs for each GPU of the next job of `kind`, in hundredths. `runs` come by submission.

    `steered` is the site's control's risk for this user; without it only `runs` steer the risk.
    """
    return walltime(runs, kind, Offer(MENU, risk), risk=steered)


def backtest(runs: Iterable[Run], risk: float, given: Given | None = None) -> Backtest:
    """Every method over `runs`, as for time limits."""
    return try_all(runs, Offer(MENU, risk), given)


def site_control(db: sqlite3.Connection, clusters: Iterable[str], risk: float, *, checkpoint_code: int) -> Control:
    """trace_control, of CPUs: the state after the last runs of these clusters whose use is known."""
    return control((latest(db, cluster, checkpoint_code=checkpoint_code) for cluster in clusters), Rule(risk=risk))
