"""An answer of `adminkit tune` that shows all it can say: made by hand, with hostile names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from adminkit.render.report import Meta, Report
from adminkit.reports.tune import tune_report
from adminkit.simulate.groups import DECILE
from adminkit.stats.bootstrap import days_drawn
from adminkit.tune.held_out import Part
from adminkit.tune.measured import DRAWS, LATE, Change, Frame
from adminkit.tune.race import Goal, Standing
from adminkit.tune.search import Found, Question
from adminkit.tune.space import Space
from adminkit.tune.typed import typed_of
from adminkit.tune.verdict import Verdict, Word
from tests.support.reports import HOSTILE
from tests.tune import files

DB: Final = "/var/lib/adminkit/trace.db"
_UNITS: Final = {
    "mean_wait": "seconds",
    "p95_wait": "seconds",
    "mean_slowdown": "",
    "utilization": "share",
    LATE: "count",
}
#: A lever takes no hostile name of a queue, as it becomes a line of slurm.conf; a group may have one.
QUEUE: Final = "gq.long"
LEVERS: Final = f"""
"SchedulerParameters.bf_window" = ["4d"]
"points.size_9" = ["3d"]
{json.dumps(f"queue.{QUEUE}.max_limit")} = ["1d"]
"soft_limits.quantile" = [90]
"""


def space() -> Space:
    """Four levers, one of them of a queue with a dot in its name."""
    limits = {**files.SITE.limits, QUEUE: (None, None)}
    return files.space(LEVERS, replace(files.SITE, limits=limits))


def change(
    value: str = "(all)", change: float = -600.0, half: float = 60.0, today: float = 3600.0, *, part: str = "all",
    measure: str = "mean_wait", unit: str | None = None,
) -> Change:  # fmt: skip
    """A change of so many seconds or shares, give or take `half`."""
    low, high = change - half, change + half
    sure = 0.001 if abs(change) > half else 0.5
    return Change(part, value, measure, unit or _UNITS[measure], 400, today, today + change, change, low, high, sure)


def standing(
    choice: tuple[str | int | None, ...], objective: Change, others: Sequence[Change] = (), replicates: int = 20
) -> Standing:
    """A combination with so many replicates."""
    each = tuple(objective.then + number for number in range(replicates))
    return Standing(choice, each, objective, tuple(others))


GROUPS: Final = (
    change("1 GPU", -300.0, part="size"),
    change(HOSTILE, -30.0, part="queue"),
    change("5 of 10", -60.0, part=DECILE),
)
PICK: Final = standing(("4d", "3d", "1d", 90), change(), GROUPS)
HARMFUL: Final = standing(
    (None, "3d", None, 90), change(change=-900.0),
    [
        change("5-8 GPUs", 700.0, part="size"), change(HOSTILE, 600.0, part="queue"),
        change("7 of 10", 500.0, part=DECILE), change("65+ GPUs", 400.0, part="size"),
        change(change=-0.1, half=0.01, today=0.8, measure="utilization"),
        change(change=12.0, half=2.0, today=40.0, measure=LATE),
        change(change=9.0, half=2.0, today=40.0, measure="lost_hours", unit="hours"),
    ],
)  # fmt: skip
WEAK: Final = standing(("4d", None, None, None), change(change=-40.0), [change("1 GPU", -10.0, part="size")])
EARLY: Final = standing((None, None, "1d", None), change(change=-300.0), [change("1 GPU", 90.0, part="size")], 8)
SEEN: Final = (PICK, HARMFUL, WEAK, EARLY)


def question() -> Question:
    """113 days that were searched, and 58 that were held out."""
    searched, held = (
        cast("Part", _Days(Frame((), (), days, 7, days_drawn(days, 7, DRAWS).astype(float)))) for days in (113, 58)
    )
    return Question(space(), Goal(), searched, held)


class _Days:
    """What the report reads of a part."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame


def verdict(word: Word) -> Verdict:
    """What the held-out days say of the pick."""
    objective = change(change=-20.0) if word == "no change" else change(change=-480.0)
    harm = HARMFUL.others if word == "harm" else ()
    return Verdict(word, standing(PICK.choice, objective, harm or GROUPS), harm)


def answer(found: Found, lines: Mapping[str, Sequence[str]] | None = None, *, basis: bool = True) -> Report:
    """The report of a search."""
    worth = "calibration: good: the error of the mean wait is -1.2% (-3.0% to 0.7%)"
    meta = Meta(
        "Search for a better configuration", DB, (None, None), ("aaic",), {}, 400, {}, notes=[HOSTILE], answers=(worth,)
    )
    return tune_report(found, question(), meta, space(), lines or {}, basis=basis)


def recommended(_: Path) -> Report:
    typed = typed_of(space(), PICK.choice, files.POLICY)
    return answer(Found(SEEN, PICK, verdict("better")), typed.by_title())
