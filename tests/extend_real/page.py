"""docs/measured/extend-real.md: what three runs of each day on a real Slurm showed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tests.extend_real import keys, prose
from tests.extend_real.arms import FIRST
from tests.extend_real.measure import (
    Estimate,
    Three,
    acts,
    behind_extended,
    extra,
    killed,
    late,
    later,
    lost,
    lost_change,
    lost_for,
    mean_wait,
    noise,
    put_back,
    threes,
    wait_change,
    waits,
)
from tests.extend_real.runs import Run
from tests.extend_real.simulated import against, all_days, all_waits
from tests.extend_real.workloads import LOADS, RISKS, SEEDS
from tests.matrix.rows import ROOT

PAGE: Final = ROOT / "docs/measured/extend-real.md"
#: By what part the hours lost at limits were wanted to be lower.
WANTED: Final = 0.8
_HOUR: Final = 3600
_WORDS: Final = {"off": "without", "on": "with", "again": "without, again"}


def markdown(runs: Sequence[Run]) -> str:
    found = threes(runs)
    parts = [prose.HEAD, "## What ran\n", _ran(runs, found)]
    for risk in RISKS:
        days = [one for one in found if one.day.risk == risk]
        if days:
            parts += _shown(risk, days)
    if len(found) == len(RISKS) * len(SEEDS):
        parts += [*_simulated(found), keys.section()]
    parts += [prose.LEARNT, prose.FOUND, prose.LIMITS, "## Runs\n", _disturbed(runs), _table(_MADE, map(_made, runs))]
    return "\n".join(parts).rstrip("\n") + "\n"


def _ran(runs: Sequence[Run], found: Sequence[Three]) -> str:
    whole = {(one.day.risk, one.day.seed) for one in found}
    lines = []
    for risk in RISKS:
        days = [seed for seed in SEEDS if (risk, seed) in whole]
        missing = [seed for seed in SEEDS if (risk, seed) not in whole]
        said = f"- Risk {risk} %: {_days(days)} ran three times" if days else f"- Risk {risk} %: no day ran three times"
        lines.append(f"{said}; **not run: {_days(missing)}**." if missing else f"{said}.")
    loose = len(runs) - len(FIRST) * len(found)
    if loose:
        lines.append(f"- {loose} runs of days that are not whole count nowhere but in the table of runs.")
    return "\n".join(lines) + "\n"


def _days(seeds: Sequence[int]) -> str:
    return f"day{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def _shown(risk: int, found: Sequence[Three]) -> list[str]:
    """One risk."""
    bar = noise(found)
    return [
        f"## Limits at a risk of {risk} %\n",
        _verdict(found, bar),
        _table(_EACH, (_day(one, bar) for one in found)),
        _done(found),
    ]


def _verdict(found: Sequence[Three], bar: int) -> str:
    """What was wanted, and what came of it; nothing is left out that went the wrong way."""
    over = [(one, number) for one in found for number in later(one, bar)]
    heads = sum(len(late(one.on)) for one in found)
    blamed = [
        _blamed(one, number)
        for one in found
        for number, by in late(one.on).items()
        if by > 0 and behind_extended(one, number)
    ]
    wait, same = wait_change(found, "on"), wait_change(found, "again")
    change, allowed = lost_change(found), lost_change(found, allowed=True)
    gone = [sum(float(lost(one.day, getattr(one, arm)).sum()) for one in found) / _HOUR for arm in FIRST]
    reached = "reached" if change.value <= -WANTED else "**not reached**"
    any_ = [sum(by > 0 for one in found for by in late(getattr(one, arm)).values()) for arm in FIRST]
    more = sum(map(extra, found)) / _HOUR
    others = sum(len(one.day.workload.jobs) - len(one.given) for one in found)
    lines = [
        f"- Heads that started later than planned by more than the noise: {f'**{len(over)}**' if over else 'none'} of"
        f" {heads}. The noise is {bar} s, the latest head of the runs without extending."
        f" Later than planned by any time: {any_[1]} with extending, {any_[0]} and {any_[2]} without. Late heads on one"
        " of whose nodes a job ran, at the planned start, beyond the limit that it had asked for:"
        f" {len(blamed)}{' (' + '; '.join(blamed) + ')' if blamed else ''}.",
        f"- GPU hours lost at limits: {gone[1]:.2f} with extending, {gone[0]:.2f} and {gone[2]:.2f} without:"
        f" {_percent(change)}. The goal was {100 * WANTED:.0f} % less: {reached}. Without the jobs that need more than"
        f" their queue allows, which no policy may extend so far, the change is {_percent(allowed)}. Jobs ran"
        f" {more:.2f} GPU hours beyond the limits that they had asked for.",
        *_by_load(found),
        f"- Mean wait of the {others} jobs that got no more time: {mean_wait(found, 'on'):.1f} s with extending;"
        f" {mean_wait(found, 'off'):.1f} s and {mean_wait(found, 'again'):.1f} s without. The change is"
        f" {_seconds(wait)}, {_sign(wait)}; between the two runs without extending it is {_seconds(same)}.",
    ]
    return "\n".join(lines) + f"\n\n{prose.METHOD}"


def _by_load(found: Sequence[Three]) -> list[str]:
    """The work that was lost on days that the nodes could bear, and on those that they could not."""
    parts = {True: [one for one in found if LOADS[one.day.seed] <= 1], False: []}
    parts[False] = [one for one in found if one not in parts[True]]
    if not all(parts.values()):
        return []
    bearable, others = (
        f"{_days([one.day.seed for one in days])}: {_percent(lost_change(days))}" for days in parts.values()
    )
    return [
        "- GPU hours lost at limits on the days on which no more work came than the GPUs can do,"
        f" {bearable}; on the others, {others}. The days were split in this way after they had run."
    ]


def _blamed(one: Three, number: int) -> str:
    """How late a head was in each run, which may be as much without extending."""
    without = " and ".join(f"{late(run)[number]} s" if number in late(run) else "no head" for run in one.without)
    return f"day {one.day.seed}: {late(one.on)[number]} s late, in the runs without extending {without}"


def _percent(of: Estimate) -> str:
    return f"{100 * of.value:+.0f} % ({100 * of.low:+.0f} to {100 * of.high:+.0f} %)"


def _seconds(of: Estimate) -> str:
    return f"{of.value:+.1f} s ({of.low:+.1f} to {of.high:+.1f} s)"


def _sign(of: Estimate) -> str:
    if of.low <= 0 <= of.high:
        return "not significant"
    return "**significantly longer**" if of.low > 0 else "significantly shorter"


_EACH: Final = [
    "day",
    "jobs",
    "needed more than they asked",
    "got more time",
    "ended at the limit: without / with / again",
    "GPU hours lost",
    "put back",
    "GPU hours beyond the asked limits",
    "mean wait, s",
    "heads",
    "latest head, s",
    "heads later than the noise",
]


def _day(one: Three, bar: int) -> list[str]:
    jobs = one.day.workload.jobs
    arms = [getattr(one, arm) for arm in FIRST]

    def three(cells: Iterable[str]) -> str:
        return " / ".join(cells)

    return [
        str(one.day.seed),
        str(len(jobs)),
        str(sum(job.sleep > job.limit for job in jobs)),
        str(len(one.given)),
        three(str(killed(run)) for run in arms),
        three(f"{lost(one.day, run).sum() / _HOUR:.2f}" for run in arms),
        three(str(put_back(run)) for run in arms),
        f"{extra(one) / _HOUR:.2f}",
        three(f"{waits(run).mean():.1f}" for run in arms),
        three(str(len(late(run))) for run in arms),
        three(str(max(late(run).values(), default=0)) for run in arms),
        str(len(later(one, bar))),
    ]


def _done(found: Sequence[Three]) -> str:
    """What the rounds did and why not, as often as it was recorded: a refusal once for each job and reason."""
    hours = lost_for(found)
    rows = [
        [did, why, str(many), f"{hours.get(why, 0) / _HOUR:.2f}" if did == "refused" else ""]
        for (did, why), many in sorted(acts(found).items())
    ]
    if "" in hours:
        rows.append(["no refusal", "", "", f"{hours[''] / _HOUR:.2f}"])
    return f"{prose.DONE}\n{_table(['did', 'why', 'how often', 'GPU hours lost'], rows)}"


_AGAINST: Final = [
    "risk",
    "day",
    "hours lost, real",
    "hours lost, simulated",
    "mean wait of the others, real",
    "mean wait of the others, simulated",
]


def _simulated(found: Sequence[Three]) -> list[str]:
    """The same days in the simulator."""
    rows, lines = [], []
    for risk in RISKS:
        days = [one for one in found if one.day.risk == risk]
        for one in days:
            made = against(one)
            rows.append(
                [
                    f"{risk} %",
                    str(one.day.seed),
                    f"{100 * made.real:+.0f} %",
                    _shares(made.simulated),
                    f"{made.real_wait:+.2f} s",
                    _waited(made.simulated_wait),
                ]
            )
        real, simulated = all_days(days)
        wait, waited = all_waits(days)
        lines += [
            f"- Hours lost on all days at a risk of {risk} %: {100 * real:+.0f} % on the real Slurm,"
            f" {_shares(simulated)} in the simulator. The real figure lies {_inside(real, simulated)} the range.",
            f"- Mean wait of the others on all days at a risk of {risk} %: {wait:+.2f} s on the real Slurm,"
            f" {_waited(waited)} in the simulator. The real figure lies {_inside(wait, waited)} the range.",
        ]
    return [prose.SIMULATED, "\n".join(lines) + "\n", _table(_AGAINST, rows)]


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
        _WORDS[run.arm],
        *(head[name] for name in ("release", "date", "commit")),
        *(head[name] for name in ("rounds", "slowest round")),
        head["latest submission"].removesuffix(" behind"),
        head["longest pause"],
        f"{int(head.get('backfill max µs', 0)) / 1e6:.2f} s",
        f"{max(row.end for row in run.rows)} s",
    ]


def _disturbed(runs: Sequence[Run]) -> str:
    """Whether the host was too busy."""
    pauses = [float(run.head["longest pause"].split()[0]) for run in runs]
    return f"{prose.BUSY} The longest pause was {max(pauses):.1f} s too long.\n"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))
