"""What docs/measured/extend-real.md says of other keys of [extend], from what the simulator made of them."""

from __future__ import annotations

from typing import Final

from tests.extend_real.simulated import REPLICATES
from tests.extend_real.variants import VARIANTS, Outcome, Range, floor, kept
from tests.extend_real.workloads import RISKS

HEAD: Final = f"""\
## Other keys, in the simulator

The simulator ran the six days with other values of `most`, `step`, `lead` and `times`, {REPLICATES} times each, with
the same submissions in every row (`python -m tests.extend_real variants`). *Fit the queue* counts only jobs that need
no more than their queue allows. *Others* are the jobs that got no more time in the row, so they differ between rows.
Changes are against no extending, and ranges hold 95 % of the replicates.
"""
LEARNT: Final = """\
- At a risk of 30 %, `most` 3 saves enough in the mean, -81 %, but the range begins at -77 %. With `most` 4 and a lead
  of 40 s, the whole range is beyond the goal, and the change of the mean wait of the others is twice as large as in
  the row that ran. A `most` above 3 changes nothing there, with 8 raises or with 40.
- At a risk of 10 %, no row reaches the goal, and `most` hardly matters. A lead of 40 s saves most. It saves 85 % of
  what is lost by jobs that fit their queue, so a part of what is lost to planned jobs can be saved by another key; what
  is lost by jobs that need more than their queue allows cannot.
- A larger `step` saves no more, and a shorter lead saves less.
- These are eleven sets of keys on the same six days, so the best one looks better than it is. Two sets therefore ran on
  the real Slurm, on these days and on new ones: `most` 3, and `most` 3 with a lead of 40 s.
"""
_COLUMNS: Final = (
    "risk",
    "keys",
    "hours lost",
    "hours lost, jobs that fit the queue",
    "GPU hours lost",
    "GPU hours given",
    "mean wait of the others",
    "mean wait of all jobs",
)


def section() -> str:
    """The table, and the bound that no rule passes."""
    found = kept()
    rows = [_row(risk, name, found[risk, name]) for risk in RISKS for name in VARIANTS]
    table = "".join(f"| {' | '.join(line)} |\n" for line in (_COLUMNS, ["---"] * len(_COLUMNS), *rows))
    bounds = "\n".join(
        f"- At a risk of {risk} %, {100 * (1 + floor(risk)):.0f} % of the GPU hours that are lost without extending are"
        f" those of jobs that need more than their queue allows. No rule saves these: the most is"
        f" {100 * floor(risk):.0f} %."
        for risk in RISKS
    )
    return f"{HEAD}\n{table}\n{bounds}\n{LEARNT}"


def _row(risk: int, name: str, of: Outcome) -> list[str]:
    return [
        f"{risk} %",
        name,
        _share(of.lost),
        _share(of.fit),
        f"{of.left:.2f}",
        f"{of.given:.2f}",
        _wait(of.others),
        _wait(of.everybody),
    ]


def _share(of: Range) -> str:
    return "{:+.0f} % ({:+.0f} to {:+.0f} %)".format(*(100 * one for one in of))


def _wait(of: Range) -> str:
    return "{:+.2f} s ({:+.2f} to {:+.2f} s)".format(*of)
