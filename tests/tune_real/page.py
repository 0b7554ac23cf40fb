"""docs/measured/tune-real.md: what a pick of `adminkit tune` did on twelve days of a real Slurm."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

import numpy as np

from tests.matrix.rows import ROOT
from tests.soft_real.measure import Figure, Interval, Pair, figures, outlived, waits
from tests.soft_real.runs import ARMS, Run
from tests.soft_real.tables import FIGURE, ends, figure_row, percent, table
from tests.soft_real.workloads import SIZES
from tests.tune_real import prose, tuning
from tests.tune_real.measure import (
    GROUPS,
    PROMPT,
    Waits,
    beside,
    by_randomisation,
    cut_jobs,
    delay,
    kept,
    recorded,
    simulated,
)

PAGE: Final = ROOT / "docs/measured/tune-real.md"
#: What the mean wait was wanted to fall by.
WANTED: Final = 0.20
_FIGURE: Final = [{"off": "defaults", "on": "pick"}.get(word, word) for word in FIGURE]


def markdown() -> str:
    """The whole page, of what is kept."""
    found, said = kept(), simulated()
    shown = figures(found)
    parts = [
        prose.head(len(found)),
        "## Result\n",
        _verdict(found, shown, said),
        "## What adminkit tune said\n",
        prose.TUNED + tuning.told(),
        "## Figures\n",
        prose.FIGURES,
        table(_FIGURE, map(figure_row, shown)),
        "## Each day\n",
        prose.EACH,
        table(_EACH, map(_pair, found)),
        "## The simulator\n",
        prose.SIMULATOR,
        _beside(found, said),
        _each_beside(found, said),
        "## Runs\n",
        table(_MADE, map(_made, [*recorded(), *(run for pair in found for run in (pair.off, pair.on))])),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _verdict(found: Sequence[Pair], shown: Sequence[Figure], said: Waits) -> str:
    """What was wanted, and what came of it; nothing is left out that went the wrong way."""
    every, lost = shown[0], cut_jobs(found)
    chance = by_randomisation(found)
    lines = [
        f"The mean wait changed by {every.change.mean:+.1f} s ({ends(every.change, 1, 1)}), from"
        f" {fmean(every.off):.1f} s to {fmean(every.on):.1f} s ({percent(every)}). Averaged over the days, the relative"
        f" change is {100 * every.ratio.mean:+.0f} % ({ends(every.ratio, 100, 0)}). It fell on"
        f" {sum(b < a for a, b in zip(every.off, every.on, strict=True))} of {len(found)} days.",
        "By the randomisation test of `adminkit trial`, the mean wait of a day changed by "
        + ("an unknown share." if chance is None else f"{_share(chance.change)} ({_bounds(chance.low, chance.high)})."),
        f"The goal was a mean wait that is {100 * WANTED:.0f} % lower, with its interval below zero: {goal(every)}.",
        _sizes(shown),
        f"Jobs that were killed early or left with a lower limit: {lost.jobs} of {lost.of} in all runs. The goal was"
        " 0.",
        f"The simulator had said {_share(_ratio(said, found))} for the mean wait of the same days.",
    ]
    lines += _prompt(found)
    worse = [one for one in shown if one.change.sign > 0]
    lines += [
        f"**Significantly longer:** {one.name}, {one.change.mean:+.1f} s ({ends(one.change, 1, 1)})." for one in worse
    ]
    return "".join(f"- {line}\n" for line in lines)


def _prompt(found: Sequence[Pair]) -> list[str]:
    """The same without the days on which the host was too busy to submit in time."""
    prompt = [pair for pair in found if delay(pair) <= PROMPT]
    if len(prompt) == len(found) or len(prompt) < 2:
        return []
    every = figures(prompt)[0]
    return [
        f"On {len(found) - len(prompt)} days, submissions of one of the runs were more than {PROMPT:g} s late, as the"
        f" host was busy with other things. On the {len(prompt)} other days, the mean wait changed by"
        f" {every.change.mean:+.1f} s ({ends(every.change, 1, 1)}), which is {percent(every)}."
    ]


def goal(every: Figure) -> str:
    """Whether the mean wait fell as far as was wanted, and by more than noise."""
    if every.change.mean / fmean(every.off) > -WANTED:
        return "**not reached**"
    return "reached" if every.change.sign < 0 else "the mean reaches it, but its interval does not"


def _sizes(shown: Sequence[Figure]) -> str:
    longer = [one.name for one in shown if one.name.startswith("mean wait, ") and one.change.sign > 0]
    came = f"**not reached** ({', '.join(longer)})" if longer else "reached"
    return f"The mean wait of no size of jobs was to be longer beyond its interval: {came}."


def _share(ratio: float) -> str:
    return f"{100 * ratio:+.0f} %"


def _bounds(low: float, high: float) -> str:
    return f"{_share(low)} to {_share(high)}" if np.isfinite(high) else f"{_share(low)} or more"


def _ratio(said: Waits, found: Sequence[Pair]) -> float:
    off, on = (sum(said[pair.day.seed, arm, GROUPS[0]] for pair in found) for arm in ARMS)
    return on / off - 1


_EACH: Final = [
    "seed",
    "first",
    "mean wait, defaults",
    "pick",
    "change",
    *(f"{size}: defaults / pick" for size in SIZES),
    "makespan",
    "with a soft limit",
    "outlived it",
]


def _pair(pair: Pair) -> list[str]:
    both, sizes = (pair.off, pair.on), np.array(pair.sizes)
    off, on = (float(waits(run).mean()) for run in both)
    over, planned = outlived(pair.on)
    return [
        str(pair.day.seed),
        "defaults" if pair.off.head["date"] <= pair.on.head["date"] else "pick",
        f"{off:.1f}",
        f"{on:.1f}",
        _share(on / off - 1),
        *(" / ".join(f"{waits(run)[sizes == size].mean():.0f}" for run in both) for size in SIZES),
        " / ".join(str(max(row.end for row in run.rows)) for run in both),
        str(planned),
        str(over),
    ]


def _beside(found: Sequence[Pair], said: Waits) -> str:
    heads = [
        "mean wait of",
        "real change, s",
        "95 % interval",
        "change",
        "simulated",
        "95 % interval",
        "change",
        "sign",
    ]
    rows = []
    for real, made in beside(found, said):
        cells = [cell for one in (real, made) for cell in (_change(one.change), ends(one.change, 1, 1), percent(one))]
        rows.append([real.name, *cells, _sign(real.change, made.change)])
    return table(heads, rows)


def _change(of: Interval) -> str:
    return f"{of.mean:+.1f}"


def _sign(real: Interval, made: Interval) -> str:
    """An effect that real runs do not show has no sign."""
    if not real.sign:
        return "none known"
    return "same" if real.sign * made.mean > 0 else "**other**"


def _each_beside(found: Sequence[Pair], said: Waits) -> str:
    rows = []
    for pair in found:
        real = [float(waits(run).mean()) for run in (pair.off, pair.on)]
        made = [said[pair.day.seed, arm, GROUPS[0]] for arm in ARMS]
        changes = [_share(on / off - 1) for off, on in (real, made)]
        rows.append([str(pair.day.seed), *(f"{one:.1f}" for one in (*real, *made)), *changes])
    heads = ["seed", "real: defaults, s", "pick", "simulated: defaults", "pick", "real change", "simulated change"]
    return table(heads, rows)


_MADE: Final = [
    "seed",
    "side",
    "Slurm",
    "date (UTC)",
    "commit",
    "jobs started by main loop / backfill",
    "guard's rounds",
    "limits raised",
    "largest submission delay",
    "mean main / backfill cycle, ms",
]


def _made(run: Run) -> list[str]:
    head = run.head
    return [
        head["seed"],
        {"off": "defaults", "on": "pick"}[run.arm],
        *(head[name] for name in ("release", "date", "commit")),
        " / ".join(str(sum(row.by == by for row in run.rows)) for by in ("main", "backfill")),
        *(head[name] for name in ("rounds of the guard", "raised")),
        head["latest submission"].removesuffix(" behind"),
        " / ".join(f"{int(head[f'{loop} mean µs']) / 1000:.1f}" for loop in ("main", "backfill")),
    ]
