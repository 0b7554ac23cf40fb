"""docs/measured/extend-real.md: what three runs of each day on a real Slurm showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.extend_real import keys, prose
from tests.extend_real.arms import FIRST, GROUPS, WORDS, Group
from tests.extend_real.measure import Three, group
from tests.extend_real.runs import Run
from tests.extend_real.simulated import against, all_days, all_waits
from tests.extend_real.verdict import days, shown, summary, table
from tests.extend_real.workloads import NEW, SEEDS
from tests.matrix.rows import ROOT

#: How far beyond its range a day may lie, as a share.
_ALLOWED: Final = 0.05
PAGE: Final = ROOT / "docs/measured/extend-real.md"


def markdown(runs: Sequence[Run]) -> str:
    found = {one: group(runs, one) for one in GROUPS}
    found = {one: of for one, of in found.items() if not one.whole or len(of) == len(one.seeds)}
    parts = [prose.HEAD, "## What ran\n", _ran(runs, found), summary(found), prose.METHOD]
    for one, of in found.items():
        if of:
            usual = [day for name, days_ in found.items() if (name.risk, name.arm) == (one.risk, "on") for day in days_]
            parts += shown(one, of, usual)
    if all(len(of) == len(one.seeds) for one, of in found.items() if one.seeds == SEEDS and one.arm == "on"):
        parts += [*_simulated(found), keys.section()]
    parts += [prose.LEARNT, prose.FOUND, prose.LIMITS, "## Runs\n", _disturbed(runs), table(_MADE, map(_made, runs))]
    return "\n".join(parts).rstrip("\n") + "\n"


def _ran(runs: Sequence[Run], found: Mapping[Group, Sequence[Three]]) -> str:
    lines = []
    for one, of in found.items():
        if one.whole:
            continue
        ran = [three.day.seed for three in of]
        missing = [seed for seed in one.seeds if seed not in ran]
        named = f"Risk {one.risk} %, {WORDS[one.arm].partition(', ')[2]}" if one.arm != "on" else f"Risk {one.risk} %"
        said = f"- {named}: {days(ran)} ran three times" if ran else f"- {named}: no day ran three times"
        lines.append(f"{said}; **not run: {days(missing)}**." if missing else f"{said}.")
    loose = len(runs) - len({id(run) for of in found.values() for three in of for run in three.runs})
    if loose:
        lines.append(f"- {loose} runs of days that are not whole count nowhere but in the table of runs.")
    return "\n".join(lines) + "\n"


_AGAINST: Final = [
    "risk",
    "keys",
    "day",
    "hours lost, real",
    "hours lost, simulated",
    "mean wait of the others, real",
    "mean wait of the others, simulated",
]


def _simulated(found: Mapping[Group, Sequence[Three]]) -> list[str]:
    """The same days in the simulator."""
    rows, lines, beyond = [], [], []
    for group_, of in found.items():
        if not of:
            continue
        for one in [] if group_.whole else of:
            made = against(one)
            if made.beyond > _ALLOWED:
                named = f"day {one.day.seed} ({group_.risk} %, {_keys(group_)})"
                beyond.append(f"{named} by {100 * made.beyond:.0f} points")
            rows.append(
                [
                    f"{group_.risk} %",
                    _keys(group_),
                    str(one.day.seed),
                    f"{100 * made.real:+.0f} %",
                    _shares(made.simulated),
                    f"{made.real_wait:+.2f} s",
                    _waited(made.simulated_wait),
                ]
            )
        real, simulated = all_days(of)
        wait, waited = all_waits(of)
        lines += [
            f"- {group_.title}. Hours lost: {100 * real:+.0f} % on the real Slurm, {_shares(simulated)} in the"
            f" simulator. The real figure lies {_inside(real, simulated)} the range. Mean wait of the others:"
            f" {wait:+.2f} s on the real Slurm, {_waited(waited)} in the simulator. The real figure lies"
            f" {_inside(wait, waited)} the range.",
        ]
    lines.append(
        f"- The real hours lost of {len(beyond)} of {len(rows)} days and keys lie more than"
        f" {100 * _ALLOWED:.0f} percentage points beyond the range of the day: {'; '.join(beyond) or 'none'}."
    )
    return [prose.SIMULATED, "\n".join(lines) + "\n", table(_AGAINST, rows)]


def _keys(group_: Group) -> str:
    return WORDS[group_.arm].partition(", ")[2] or "the defaults"


def _inside(real: float, simulated: tuple[float, float, float]) -> str:
    return "inside" if simulated[1] <= real <= simulated[2] else "**outside**"


def _waited(of: tuple[float, float, float]) -> str:
    return "{:+.2f} s ({:+.2f} to {:+.2f} s)".format(*of)


def _shares(of: tuple[float, float, float]) -> str:
    return "{:+.0f} % ({:+.0f} to {:+.0f} %)".format(*(100 * one for one in of))


_MADE: Final = [
    "day",
    "risk",
    "extending",
    "Slurm",
    "date (UTC)",
    "commit",
    "rounds",
    "slowest round",
    "latest submission",
    "longest pause",
    "backfill, slowest",
    "makespan",
]


def _made(run: Run) -> list[str]:
    head = run.head
    return [
        head["seed"],
        f"{head['risk']} %",
        WORDS[run.arm],
        *(head[name] for name in ("release", "date", "commit")),
        *(head[name] for name in ("rounds", "slowest round")),
        head["latest submission"].removesuffix(" behind"),
        head["longest pause"],
        f"{int(head.get('backfill max µs', 0)) / 1e6:.2f} s",
        f"{max(row.end for row in run.rows)} s",
    ]


def _disturbed(runs: Sequence[Run]) -> str:
    """Whether the host was too busy."""
    pauses: dict[bool, list[float]] = {False: [], True: []}
    for run in runs:
        pauses[run.seed in NEW or run.arm not in FIRST].append(float(run.head["longest pause"].split()[0]))
    whose = {False: "in the first runs", True: "in these"}
    longest = [f"{max(found):.1f} s {whose[late]}" for late, found in pauses.items() if found]
    return f"{prose.BUSY}The longest pause was too long by {' and by '.join(longest)}.\n"
