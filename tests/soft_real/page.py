"""docs/measured/soft-limits-real.md: what six pairs of runs on a real Slurm showed, and what the simulator says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean, median
from typing import Final

import numpy as np

from tests.matrix.rows import ROOT
from tests.simulate_real.compare import WAIT, WAIT_SECONDS
from tests.soft_real import frontier, prose
from tests.soft_real.compare import REPLAYS, replayed, simulated
from tests.soft_real.drive import LOOK
from tests.soft_real.measure import (
    HEAD,
    Figure,
    Interval,
    Pair,
    among,
    cut,
    figures,
    figures_of_days,
    interval,
    late,
    outlived,
    pairs,
    waits,
)
from tests.soft_real.runs import ARMS, SETTINGS, Run
from tests.soft_real.tables import FIGURE, MADE, ends, figure_row, made_row, percent, table
from tests.soft_real.workloads import SIZES, Day

PAGE: Final = ROOT / "docs/measured/soft-limits-real.md"
#: What the mean wait was wanted to fall by.
WANTED: Final = 0.20


def markdown(runs: Sequence[Run]) -> str:
    """The runs with the settings `open`, then those with `default`, where there are two pairs of them at least."""
    of = {
        name: [pairs(run for run in runs if (run.settings, run.number) == (name, number)) for number in (1, 2)]
        for name in SETTINGS
    }
    found, again = of["open"]
    parts = [
        prose.HEAD,
        *_shown(found, again),
        "## Other settings\n",
        prose.FRONTIER,
        _frontier(),
        prose.LEARNT,
        *_origin(found, again),
    ]
    if len(of["default"][0]) > 1:
        parts += [prose.DEFAULT, *(_deeper(part) for part in (*_shown(*of["default"]), *_origin(*of["default"])))]
    return "\n".join(parts).rstrip("\n") + "\n"


def _shown(found: Sequence[Pair], again: Sequence[Pair]) -> list[str]:
    """From the result to the simulator."""
    shown = figures(found)
    return [
        _verdict(found, shown, again),
        "## Figures\n",
        "Each figure is computed for each run, and the columns show the means over the pairs. The 95 % interval of the"
        f" change uses Student's t over the {len(found)} pairs. A head job is a job that was first in the queue in"
        f" at least one of the two runs: it had the highest priority of all waiting jobs for at least {HEAD} s.\n",
        table(FIGURE, map(figure_row, shown)),
        "## Each pair\n",
        table(_EACH, map(_pair, found)),
        _promises(found),
        _second(found, again),
        "## The simulator\n",
        prose.SIMULATOR,
        _changes(found),
        _distances(found, again),
    ]


def _origin(found: Sequence[Pair], again: Sequence[Pair]) -> list[str]:
    return ["## Runs\n", table(MADE, (made_row(run) for pair in (*found, *again) for run in (pair.off, pair.on)))]


def _deeper(part: str) -> str:
    """With its headings a level lower."""
    return re.sub("^## ", "### ", part, flags=re.MULTILINE)


_EACH: Final = [
    "seed",
    "jobs",
    "with a soft limit",
    "outlived it",
    "head jobs",
    "mean wait, off",
    "mean wait, on",
    *(f"{size}: off / on" for size in SIZES),
    "makespan off / on",
    "killed early",
]


def _verdict(found: Sequence[Pair], shown: Sequence[Figure], again: Sequence[Pair]) -> str:
    """What was wanted, and what came of it; nothing is left out that went the wrong way."""
    every = shown[0]
    lost = sum(len(cut(pair.day, run)) for pair in (*found, *again) for run in (pair.off, pair.on))
    jobs = sum(len(run.rows) for pair in (*found, *again) for run in (pair.off, pair.on))
    over, planned = zip(*(outlived(pair.on) for pair in found), strict=True)
    later = [one for one in shown if one.change.sign > 0]
    reached = "the mean reaches this goal, but its interval does not"
    if every.ratio.mean > -WANTED:
        reached = "**not reached**"
    if every.ratio.mean + every.ratio.half <= -WANTED:
        reached = "reached"
    change, ratio = f"{every.change.mean:+.1f} s ({ends(every.change, 1, 1)})", f"{100 * every.ratio.mean:+.0f} %"
    lines = [
        f"- The mean wait changed by {change}, from {fmean(every.off):.1f} s. Averaged over the pairs, the"
        f" relative change is {ratio} ({ends(every.ratio, 100, 0)})."
        f" The goal was a mean wait that is {100 * WANTED:.0f} % lower: {reached}.",
        f"- Jobs that were killed early or left with a lower limit: {lost} of {jobs} in all runs. The goal was 0.",
        f"- Jobs that outlived their soft limit: {sum(over)} of {sum(planned)}.",
    ]
    if later:
        lines += [
            f"- **Significantly longer:** {one.name}, {one.change.mean:+.1f} s ({ends(one.change, 1, 1)})."
            for one in later
        ]
    else:
        lines.append("- No wait and no makespan became significantly longer.")
    unsure = [one for one in shown if one.name.startswith("mean wait") and one.change.sign == 0]
    lines += [
        f"- No significant change: {one.name}, {one.change.mean:+.1f} s ({ends(one.change, 1, 1)}); longer in"
        f" {sum(b > a for a, b in zip(one.off, one.on, strict=True))} of {len(one.off)} pairs."
        for one in unsure
    ]
    return "## Result\n\n" + "\n".join(lines) + "\n"


def _pair(pair: Pair) -> list[str]:
    over, planned = outlived(pair.on)
    sizes = np.array(pair.sizes)
    both = (pair.off, pair.on)
    return [
        str(pair.day.seed),
        str(len(pair.on.rows)),
        str(planned),
        str(over),
        str(len(pair.heads)),
        *(f"{waits(run).mean():.1f}" for run in both),
        *(" / ".join(f"{waits(run)[sizes == size].mean():.0f}" for run in both) for size in SIZES),
        " / ".join(str(max(row.end for row in run.rows)) for run in both),
        str(sum(len(cut(pair.day, run)) for run in both)),
    ]


def _promises(found: Sequence[Pair]) -> str:
    """The starts that Slurm planned for heads, and when they started."""
    said = []
    for arm, word in zip(ARMS, ("Without soft limits", "With soft limits"), strict=True):
        after = [seconds for pair in found for seconds in late(getattr(pair, arm))]
        if after:
            share = fmean(seconds > 0 for seconds in after)
            said.append(
                f"{word} ({len(after)} head jobs), the median head job started {-median(after):.0f} s earlier than"
                f" planned, and {100 * share:.0f} % of the head jobs started later than planned."
            )
    return (
        f"Every {LOOK} s the test asked Slurm for the planned start of each head job, and recorded the first"
        " planned start of each of these jobs."
        f" {' '.join(said)} If limits are too long, planned starts are so late that they are easy to"
        " keep, so these figures say less than the waits.\n"
    )


def _second(found: Sequence[Pair], again: Sequence[Pair]) -> str:
    """The days that ran twice: how far real runs are apart, and what soft limits do over both pairs."""
    if not again:
        return ""
    first = {pair.day.seed: pair for pair in found}
    said = []
    for arm, word in zip(ARMS, ("without soft limits", "with soft limits"), strict=True):
        runs = [(getattr(pair, arm), getattr(first[pair.day.seed], arm)) for pair in again]
        apart = [abs(float(waits(one).mean() - waits(other).mean())) for one, other in runs]
        most = f" on average and by at most {max(apart):.1f} s" if len(apart) > 1 else ""
        said.append(f"{fmean(apart):.1f} s{most} {word}")
    rows = [
        [one.name, f"{fmean(one.off):.1f}", f"{fmean(one.on):.1f}", f"{one.change.mean:+.1f}", ends(one.change, 1, 1)]
        for one in figures_of_days([*found, *again])
    ]
    ran = f"{len(again)} of the days were" if len(again) > 1 else "One of the days was"
    return "\n".join(
        [
            "## Each day again\n",
            f"{ran} run again, as a second pair in the opposite order. Between two real runs of the same workload, the"
            f" mean wait differs by {', and by '.join(said)}. For a day with two pairs, the figures below use"
            " the mean of both:\n",
            table(["figure, s", "off", "on", "change, s", "95 % interval"], rows),
        ]
    )


def _changes(found: Sequence[Pair]) -> str:
    replays = {(pair.day.seed, run.arm): replayed(run) for pair in found for run in (pair.off, pair.on)}
    rows = []
    for group in ("all jobs", *SIZES, "head jobs"):
        real, replay = [], []
        for pair in found:
            which = among(pair, group)
            real.append(float(waits(pair.on)[which].mean() - waits(pair.off)[which].mean()))
            off, on = (replays[pair.day.seed, arm][:, which].mean() for arm in ARMS)
            replay.append(float(on - off))
        apart = interval([one - other for one, other in zip(replay, real, strict=True)])
        both = (interval(real), interval(replay))
        cells = [cell for one in (*both, apart) for cell in (f"{one.mean:+.1f}", ends(one, 1, 1))]
        rows.append([group, *cells, _sign(*both)])
    heads = ["mean wait of", "real change, s", "95 % interval", "simulated", "95 % interval", "simulated - real"]
    return table([*heads, "95 % interval", "sign"], rows)


def _sign(real: Interval, simulated: Interval) -> str:
    """An effect that real runs do not show has no sign."""
    if not real.sign:
        return "none known"
    return "same" if real.sign * simulated.mean > 0 else "**other**"


def _distances(found: Sequence[Pair], again: Sequence[Pair]) -> str:
    rows = []
    for pair in found:
        for arm in ARMS:
            made = [getattr(one, arm) for one in (pair, *again) if one.day.seed == pair.day.seed]
            rows.append(_distance(pair.day, arm, made))
    inside = sum(row[-1] == "within" for row in rows)
    heads = [
        "seed",
        "soft limits",
        "real, s",
        "simulated",
        "distance",
        "allowed",
        "spread",
        "before any run",
        "verdict",
    ]
    said = f"{inside} of the {len(rows)} rows are within the allowed distance.\n"
    return "\n".join([prose.DISTANCES, table(heads, rows), said])


def _distance(what: Day, arm: str, made: Sequence[Run]) -> list[str]:
    real = [float(waits(run).mean()) for run in made]
    replays = np.concatenate([replayed(run, number).mean(axis=1) for number, run in enumerate(made)])
    distance = abs(float(replays.mean()) - fmean(real))
    may = max(WAIT * fmean(real), WAIT_SECONDS, max(real) - min(real))
    before = simulated(what, [row.soft for row in sorted(made[0].rows, key=lambda row: row.number)], REPLAYS)
    numbers = (replays.mean(), distance, may, replays.std(ddof=1), before.mean())
    cells = [f"{number:.1f}" for number in numbers]
    verdict = "within" if distance <= may else "**outside**"
    return [str(what.seed), arm, " / ".join(f"{one:.1f}" for one in real), *cells, verdict]


def _frontier() -> str:
    rows = []
    for name, shown in frontier.figures(frontier.load()).items():
        cells = [f"{one.change.mean:+.1f} ± {one.change.half:.1f} ({percent(one)})" for one in shown]
        rows.append([name, *cells])
    return table(["soft limits", *(f"{group}, s" for group in frontier.GROUPS)], rows)
