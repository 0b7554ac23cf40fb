"""What the runs of a group of days showed: a part of docs/measured/extend-real.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tests.extend_real import prose
from tests.extend_real.arms import ARMS, Group, Rule
from tests.extend_real.measure import (
    Estimate,
    Three,
    acts,
    behind_extended,
    extra,
    held_by,
    killed,
    late,
    later,
    lost,
    lost_between,
    lost_change,
    lost_for,
    mean_wait,
    noise,
    put_back,
    wait_between,
    wait_change,
    waits,
)
from tests.extend_real.workloads import LOADS, SEEDS

#: By what part the hours lost at limits were wanted to be lower.
WANTED: Final = 0.8
_HOUR: Final = 3600


_SUMMARY: Final = ["risk, keys, days", "hours lost", "goal", "mean wait of the others", "heads later than the noise"]


def summary(found: Mapping[Group, Sequence[Three]]) -> str:
    """A row for each group."""
    rows = [
        [
            group.title.removeprefix("Limits at a risk of "),
            _percent(lost_change(of)),
            reached(lost_change(of)),
            f"{_seconds(wait_change(of, 'on'))}, {_sign(wait_change(of, 'on'))}",
            f"{sum(len(later(one, noise(of))) for one in of)} of {sum(len(late(one.on)) for one in of)}",
        ]
        for group, of in found.items()
        if of
    ]
    return table(_SUMMARY, rows)


def shown(group: Group, found: Sequence[Three], usual: Sequence[Three]) -> list[str]:
    """One group; of one that has the days of others, the tables stand there. `usual`: days with the default keys."""
    bar = noise(found)
    said = [f"## {group.title}\n", _verdict(found, bar)]
    if group.arm != "on":
        said += _between(found, usual)
    if group.whole:
        return said
    return [
        *said,
        table(_EACH, (_day(one, bar) for one in found)),
        _done(found, ARMS[group.arm]),
    ]


def days(seeds: Sequence[int]) -> str:
    return f"day{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


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
    gone = [sum(float(lost(one.day, one.runs[nth]).sum()) for one in found) / _HOUR for nth in range(3)]
    any_ = [sum(by > 0 for one in found for by in late(one.runs[nth]).values()) for nth in range(3)]
    more = sum(map(extra, found)) / _HOUR
    others = sum(len(one.day.workload.jobs) - len(one.given) for one in found)
    why = "; ".join(_held(one, number) for one, number in over)
    lines = [
        f"- Heads that started later than planned by more than the noise: {f'**{len(over)}**' if over else 'none'} of"
        f" {heads}{f' ({why})' if why else ''}. The noise is {bar} s, the latest head of the runs without extending."
        f" Later than planned by any time: {any_[1]} with extending, {any_[0]} and {any_[2]} without. Late heads on one"
        " of whose nodes a job ran, at the planned start, beyond the limit that it had asked for:"
        f" {len(blamed)}{' (' + '; '.join(blamed) + ')' if blamed else ''}.",
        f"- GPU hours lost at limits: {gone[1]:.2f} with extending, {gone[0]:.2f} and {gone[2]:.2f} without:"
        f" {_percent(change)}. The goal was {100 * WANTED:.0f} % less: {reached(change)}. Without the jobs that need"
        f" more than their queue allows, which no policy may extend so far, the change is {_percent(allowed)}. Jobs ran"
        f" {more:.2f} GPU hours beyond the limits that they had asked for.",
        *_by_load(found),
        f"- Mean wait of the {others} jobs that got no more time: {mean_wait(found, 'on'):.1f} s with extending;"
        f" {mean_wait(found, 'off'):.1f} s and {mean_wait(found, 'again'):.1f} s without. The change is"
        f" {_seconds(wait)}, {_sign(wait)}; between the two runs without extending it is {_seconds(same)}.",
    ]
    return "\n".join(lines) + "\n"


def reached(change: Estimate) -> str:
    """Whether the loss fell by as much as was wanted."""
    if change.value > -WANTED:
        return "**not reached**"
    return "reached" if change.high <= -WANTED else "reached, but not by the whole interval"


def _by_load(found: Sequence[Three]) -> list[str]:
    """The work that was lost on days that the nodes could bear, and on those that they could not."""
    parts = {True: [one for one in found if LOADS[one.day.seed] <= 1], False: []}
    parts[False] = [one for one in found if one not in parts[True]]
    if not all(parts.values()):
        return []
    bearable, others = (
        f"{days([one.day.seed for one in part])}: {_percent(lost_change(part))}" for part in parts.values()
    )
    after = (
        " The days were split in this way after they had run." if all(one.day.seed in SEEDS for one in found) else ""
    )
    return [
        "- GPU hours lost at limits on the days on which no more work came than the GPUs can do,"
        f" {bearable}; on the others, {others}.{after}"
    ]


def _held(one: Three, number: int) -> str:
    """Which jobs the head waited for in the end."""
    jobs = held_by(one, number)
    if not jobs:
        return f"day {one.day.seed}: {late(one.on)[number]} s late; no job had run on its nodes"
    more = sum(given for given, _ in jobs)
    ended = " and ".join(f"{seconds} s" for _, seconds in jobs)
    return (
        f"day {one.day.seed}: {late(one.on)[number]} s late; {len(jobs)} job{'s' * (len(jobs) > 1)} ended on its nodes"
        f" just before it started, {ended} after the limit, and {more or 'none'} of them had got more time"
    )


def _between(found: Sequence[Three], usual: Sequence[Three]) -> list[str]:
    """Against the default keys, on the days that ran with both."""
    ran = {of.day.seed: of for of in usual}
    both = [one for one in found if one.day.seed in ran]
    if not both:
        return []
    pairs = both, [ran[one.day.seed] for one in both]
    fewer, wait = lost_between(*pairs), wait_between(*pairs)
    return [
        f"Compared with the default keys on {days([one.day.seed for one in both])}: GPU hours lost at limits"
        f" {_percent(fewer)}; mean wait of the jobs that got no more time with either keys {_seconds(wait)},"
        f" {_sign(wait)}.\n"
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

    def three(cells: Iterable[str]) -> str:
        return " / ".join(cells)

    return [
        str(one.day.seed),
        str(len(jobs)),
        str(sum(job.sleep > job.limit for job in jobs)),
        str(len(one.given)),
        three(str(killed(run)) for run in one.runs),
        three(f"{lost(one.day, run).sum() / _HOUR:.2f}" for run in one.runs),
        three(str(put_back(run)) for run in one.runs),
        f"{extra(one) / _HOUR:.2f}",
        three(f"{waits(run).mean():.1f}" for run in one.runs),
        three(str(len(late(run))) for run in one.runs),
        three(str(max(late(run).values(), default=0)) for run in one.runs),
        str(len(later(one, bar))),
    ]


def _done(found: Sequence[Three], rule: Rule | None) -> str:
    """What the rounds did and why not, as often as it was recorded: a refusal once for each job and reason."""
    hours = lost_for(found)
    rows = [
        [did, why, str(many), f"{hours.get(why, 0) / _HOUR:.2f}" if did == "refused" else ""]
        for (did, why), many in sorted(acts(found).items())
    ]
    if "" in hours:
        rows.append(["no refusal", "", "", f"{hours[''] / _HOUR:.2f}"])
    return f"{prose.done(rule)}\n{table(['did', 'why', 'how often', 'GPU hours lost'], rows)}"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))
