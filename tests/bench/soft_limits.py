"""What soft limits do to waits, by simulation; docs/measured/soft-limits-simulated.md is made of the results.

python -m tests.bench.soft_limits run [TRACE …] [--only CANDIDATE …] [--replicates N]   some hours for all
python -m tests.bench.soft_limits page
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adminkit.policy.soft_settings import SoftLimits
from adminkit.recommend.needs import QUANTILES, Cautions
from adminkit.simulate.case import Case, with_columns, with_site
from adminkit.simulate.core import NONE, Schedule, simulate
from adminkit.simulate.held import held, wide_jobs
from adminkit.simulate.luck import Luck, shake
from adminkit.simulate.metrics import bounded_slowdown
from adminkit.stats.student import difference
from tests.bench import soft_page
from tests.bench.soft_traces import DAY, HOUR, SCHEDULER, TRACES, Column, Trace, traces

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build/bench/soft"
RESULTS = ROOT / "tests/data/soft_limits.json"
LEAST, GAP = 600, 1800
MENU = np.array([600, 1800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY, 14 * DAY])


@dataclass(frozen=True)
class Candidate:
    """`plan` of each job, seconds, NONE for none; `wide` as in policy.toml; credits are hours in the queue's order.

    `beside`: the plan of those that wait while a wide job does, on nodes that it may use; None: their limit.
    `scheduler`: SchedulerParameters of the model slurm; no other model has such a candidate.
    """

    plan: Callable[[Trace], Column]
    wide: int = 0
    beside: Callable[[Trace], Column] | None = None
    wide_credit: int = 0  # of the widest jobs: those above the last edge of the sizes
    short_credit: int = 0  # of jobs that are planned with an hour at most
    floor: bool = True  # whether `least` and `gap` hold
    scheduler: Mapping[str, int] = field(default_factory=dict)


def quantile(percent: int, named: bool = False, **cautions: Any) -> Callable[[Trace], Column]:
    """The table of needs, as policy.toml takes it."""
    rule, place = Cautions(percent, **cautions), QUANTILES.index(percent)

    def plan(trace: Trace) -> Column:
        rows = (trace.known.named if named else trace.known.seconds).tolist()
        chosen = [
            None if row[0] == NONE else rule.row(row, shares)
            for row, shares in zip(rows, trace.known.outlived.tolist(), strict=True)
        ]
        return np.array([NONE if row is None else row[place] for row in chosen], np.int64)

    return plan


def on_menu(trace: Trace) -> Column:
    """The 75 % quantile, rounded up to a menu of limits."""
    need = trace.known.seconds[:, 1]
    return np.where(need == NONE, NONE, MENU[np.minimum(np.searchsorted(MENU, need), len(MENU) - 1)])


def nothing(trace: Trace) -> Column:
    return np.full(trace.case.count, NONE, np.int64)


def exact(trace: Trace) -> Column:
    return trace.case.facts["needs"]


def reserving(hours: int) -> Mapping[str, int]:
    """Reservations only for jobs whose points are worth so many hours of age."""
    points = SCHEDULER["priority_weight_age"] * hours * HOUR // SCHEDULER["priority_max_age"]
    return {"bf_min_prio_reserve": points}


#: The settings of policy.toml, as they are when they are turned on.
USUAL = SoftLimits()
DEFAULT = "the default"
CANDIDATES: Mapping[str, Candidate] = {
    "q50": Candidate(quantile(50)),
    "q75": Candidate(quantile(75)),
    "q90": Candidate(quantile(90)),
    "last two": Candidate(lambda trace: trace.known.last_two),
    "q75, menu": Candidate(on_menu),
    "q75, only by name": Candidate(quantile(75, named=True)),
    "q75, outlived 40": Candidate(quantile(75, outlived=0.4)),
    "q75, longest 4 h": Candidate(quantile(75, longest=4 * HOUR)),
    "q75, longest 1 h": Candidate(quantile(75, longest=HOUR)),
    "q90, longest 1 h": Candidate(quantile(90, longest=HOUR)),
    "q75, wide 25": Candidate(quantile(75), wide=25),
    "q75, wide 50": Candidate(quantile(75), wide=50),
    "q75, longest 4 h, wide 50": Candidate(quantile(75, longest=4 * HOUR), wide=50),
    "q75, longest 1 h, wide 25": Candidate(quantile(75, longest=HOUR), wide=25),
    "q75, longest 1 h, wide 100": Candidate(quantile(75, longest=HOUR), wide=100),
    "q50, beside wide 25 q90": Candidate(quantile(50), 25, quantile(90)),
    "q75, beside wide 25 q90": Candidate(quantile(75), 25, quantile(90)),
    "q50, beside wide 50 q90": Candidate(quantile(50), 50, quantile(90)),
    "q75, beside wide 50 q90": Candidate(quantile(75), 50, quantile(90)),
    "q75, beside wide 100 q90": Candidate(quantile(75), 100, quantile(90)),
    "q75, beside wide 50 q90, longest 1 h": Candidate(quantile(75), 50, quantile(90, longest=HOUR)),
    "q75, beside wide 100 q90, longest 1 h": Candidate(quantile(75), 100, quantile(90, longest=HOUR)),
    DEFAULT: Candidate(quantile(USUAL.quantile, longest=USUAL.longest, outlived=USUAL.outlived / 100), wide=USUAL.wide),
    "q75, wide jobs +72 h": Candidate(quantile(75), wide_credit=72),
    "q90, wide jobs +72 h": Candidate(quantile(90), wide_credit=72),
    "q75, longest 1 h, short jobs +12 h": Candidate(quantile(75, longest=HOUR), short_credit=12),
    "the default, short jobs +12 h": Candidate(
        quantile(USUAL.quantile, longest=USUAL.longest, outlived=USUAL.outlived / 100), USUAL.wide, None, 0, 12
    ),
    "limits as asked, wide jobs +72 h": Candidate(nothing, wide_credit=72),
    "limits as asked, bf_window 1 day": Candidate(nothing, scheduler={"bf_window": DAY}),
    "q75, bf_window 1 day": Candidate(quantile(75), scheduler={"bf_window": DAY}),
    "q75, bf_window 4 days": Candidate(quantile(75), scheduler={"bf_window": 4 * DAY}),
    "limits as asked, reserve after 24 h": Candidate(nothing, scheduler=reserving(24)),
    "q75, reserve after 24 h": Candidate(quantile(75), scheduler=reserving(24)),
    "q75, wide jobs +72 h, reserve after 72 h": Candidate(quantile(75), wide_credit=72, scheduler=reserving(72)),
    "exact need": Candidate(exact, floor=False),
}


def planned(candidate: Candidate, trace: Trace) -> Column:
    """What each job is planned with, in whole minutes; NONE for its limit."""
    return _floored(candidate.plan(trace), trace, candidate.floor)


def _floored(plan: Column, trace: Trace, floor: bool) -> Column:
    """`plan` by `least` and `gap`, or just below the limit where there is no `floor`."""
    limit = trace.case.column("limit")
    known = plan != NONE
    if not floor:
        return np.where(known & (plan < limit), plan, NONE)
    minutes = np.maximum(-(-plan // 60) * 60, LEAST)
    return np.where(known & (minutes + GAP <= limit), minutes, NONE)


def outcome(candidate: Candidate, trace: Trace, case: Case, plan: Column) -> tuple[Schedule, Column]:
    """The schedule of a shaken case, and the moment from which each job counts as waiting."""
    came = case.column("submit") - HOUR * (
        candidate.wide_credit * (trace.size > trace.edges[-1])
        + candidate.short_credit * ((plan != NONE) & (plan <= HOUR))
    )
    case = _credited(case, came)
    if candidate.scheduler:
        case = with_site(case, settings={**case.request.settings, **candidate.scheduler})
    if case.request.model == "slurm" and (plan != NONE).any():
        case = with_site(case, settings={**case.request.settings, "time_min_as_soft_limit": 1})

    def with_plan(column: Column) -> Case:
        return with_columns(case, plan=column)

    if candidate.wide:
        beside = NONE if candidate.beside is None else _floored(candidate.beside(trace), trace, candidate.floor)
        plan = held(with_plan, plan, wide_jobs(case, candidate.wide), beside=beside)
    return simulate(with_plan(plan).request), came


def _credited(case: Case, came: Column) -> Case:
    """Jobs in the order of `came`: by priority in the pool, by points of age on the site."""
    credit = case.column("submit") - came
    if not credit.any():
        return case
    if case.request.model == "slurm":
        settings = case.request.settings
        points = settings["priority_weight_age"] * credit // settings["priority_max_age"]
        return with_columns(case, site_factor=points)
    order = np.lexsort((case.column("id"), came))
    rank = np.empty(case.count, np.int64)
    rank[order] = np.arange(case.count, 0, -1)
    settings = {**case.request.settings, "order": 2}
    return with_site(with_columns(case, priority=rank), settings=settings)


def was_head(schedule: Schedule, case: Case, came: Column) -> Column:
    """Which jobs were first of the queue when they started, after they had waited."""
    order = np.lexsort((case.column("id"), came))
    place = schedule.order[order]
    before = np.concatenate([[NONE], np.maximum.accumulate(place)[:-1]])
    first = np.zeros(case.count, bool)
    first[order] = (place > before) & (place != NONE)
    return first & (schedule.start > case.column("submit"))


def figures(trace: Trace, case: Case, schedule: Schedule, head: Column) -> dict[str, float]:
    """Waits in hours. `promised` counts the jobs that were promised a start, in this schedule;
    `late` is the share of them that started after it, and `slip` by how much later they started, in the mean."""
    submit, ran = case.column("submit"), schedule.start != NONE
    wait = (schedule.start - submit) / HOUR
    slow = bounded_slowdown(submit[ran], schedule.start[ran], schedule.end[ran])
    found = {"wait": wait[ran].mean(), "slowdown": slow.mean(), "p95": np.quantile(wait[ran], 0.95)}
    found["head"] = wait[ran & head].mean()
    if schedule.promised is not None and (schedule.promised != NONE).any():
        apart = (schedule.start - schedule.promised)[schedule.promised != NONE] / HOUR
        found |= {"promised": len(apart), "late": (apart > 0).mean(), "slip": apart.mean()}
    for name, inside in sizes(trace):
        if (ran & inside).any():
            found[f"wait {name}"] = wait[ran & inside].mean()
            found[f"p95 {name}"] = np.quantile(wait[ran & inside], 0.95)
    return {name: float(value) for name, value in found.items()}


def sizes(trace: Trace) -> Iterator[tuple[str, Column]]:
    """The classes of size by the edges of the trace."""
    low = 1
    for edge in (*trace.edges, None):
        inside = (trace.size >= low) & (trace.size <= edge if edge else True)
        yield (f"{low}" if edge == low else f"{low}-{edge}" if edge else f"{low}+"), inside
        low = (edge or 0) + 1


def measure(trace: Trace, names: Sequence[str], replicates: int) -> dict[str, Any]:
    """Each candidate beside the same seed without soft limits."""
    names = [name for name in names if trace.case.request.model == "slurm" or not CANDIDATES[name].scheduler]
    plans = {name: planned(CANDIDATES[name], trace) for name in names}
    pairs: dict[str, list[tuple[dict[str, float], dict[str, float]]]] = {name: [] for name in names}
    for seed in range(1, replicates + 1):
        case = _promising(shake(trace.case, Luck(seed)))
        before = simulate(case.request)
        first = was_head(before, case, case.column("submit"))
        for name in names:
            after, came = outcome(CANDIDATES[name], trace, case, plans[name])
            head = first | was_head(after, case, came)
            pairs[name].append((figures(trace, case, before, head), figures(trace, case, after, head)))
        print(f"{trace.name}: {seed} of {replicates}", file=sys.stderr, flush=True)
    run = trace.case.facts["needs"]
    return {
        "what": trace.what,
        "jobs": trace.case.count,
        "replicates": replicates,
        "sizes": {name: int(inside.sum()) for name, inside in sizes(trace)},
        "candidates": {
            name: {
                "soft": round(float((plans[name] != NONE).mean()), 4),
                "outlived": round(float((run > plans[name])[plans[name] != NONE].mean()), 4)
                if (plans[name] != NONE).any()
                else None,
                "figures": {key: _compared(several, key) for key in several[0][0]},
            }
            for name, several in pairs.items()
        },
    }


def _promising(case: Case) -> Case:
    """The same, with what jobs were promised."""
    return with_site(case, settings={**case.request.settings, "promises": 1})


def _compared(pairs: Sequence[tuple[dict[str, float], dict[str, float]]], key: str) -> list[float]:
    """Today's mean, and the mean of the paired differences with its 95 % interval."""
    found = difference([after[key] - before[key] for before, after in pairs])
    assert found is not None, "an interval needs two replicates"
    today = float(np.mean([before[key] for before, _ in pairs]))
    return [round(value, 4) for value in (today, found.mean, found.low, found.high)]


def yardsticks(trace: Trace) -> dict[str, float]:
    """Mean bounded slowdown of KTH, not shaken: EASY, and EASY with the shortest first by the mean of the last two."""
    case, plan = trace.case, trace.known.last_two
    told = with_columns(case, plan=np.where((plan != NONE) & (plan < case.column("limit")), np.maximum(plan, 1), NONE))
    runs = {"easy": case, "easy, last two": told, "easy-sjbf, last two": with_site(told, model="easy-sjbf")}
    return {name: round(_slowdown(one), 2) for name, one in runs.items()}


def _slowdown(case: Case) -> float:
    made = simulate(case.request)
    ran = made.start != NONE
    return float(bounded_slowdown(case.column("submit")[ran], made.start[ran], made.end[ran]).mean())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soft_limits")
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("traces", nargs="*", choices=[*TRACES, []])
    parser.add_argument("--only", nargs="+", choices=CANDIDATES, default=[*CANDIDATES])
    parser.add_argument("--replicates", type=int)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    args = parser.parse_args(argv)
    if args.what == "run":
        args.folder.mkdir(parents=True, exist_ok=True)
        for trace in traces(args.folder, args.traces or [*TRACES]):
            began = time.monotonic()
            found = measure(trace, args.only, args.replicates or trace.replicates)
            if trace.name == "kth":
                found["yardsticks"] = yardsticks(trace)
            _keep(trace.name, {"commit": _commit(), **found})
            print(f"{trace.name}: {time.monotonic() - began:.0f} s", flush=True)
    soft_page.PAGE.write_text(soft_page.page(_results()))
    soft_page.GUIDE.write_text(soft_page.guide(soft_page.GUIDE.read_text(), _results()))
    return 0


def _results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"traces": {}}


def _keep(name: str, found: Mapping[str, Any]) -> None:
    """Beside the other traces, in the order of TRACES, and beside other candidates of the same jobs."""
    there = _results()["traces"]
    there[name] = merged(there.get(name), found)
    kept = {one: there[one] for one in TRACES if one in there}
    RESULTS.write_text(json.dumps({"traces": kept}, indent=1) + "\n")


def merged(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The candidates of both, in their order; the new one where both have one. Whose replicates or commit are not those
    of the trace says so."""
    if old is None or old["jobs"] != new["jobs"] or set(new["candidates"]) >= set(old["candidates"]):
        return new
    own = {name: new[name] for name in ("replicates", "commit")}
    rows = {**old["candidates"], **{name: {**row, **own} for name, row in new["candidates"].items()}}
    return {**old, "candidates": {name: rows[name] for name in CANDIDATES if name in rows}}


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
