"""What tuning gives on the days that it does not see; docs/measured/tune-simulated.md is made of the results.

python -m tests.bench.tune_table run [TRACE …] [--evaluations N]    on all cores
python -m tests.bench.tune_table page

The same number of evaluations gives the same table on any machine; only the seconds differ.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.demo import generate
from adminkit.policy.soft_settings import SoftLimits
from adminkit.recommend.menu import Offer
from adminkit.simulate.answer import Effort
from adminkit.simulate.change import Sources
from adminkit.simulate.machine import request
from adminkit.simulate.subject import Wanted, subject
from adminkit.simulate.today import keys_of, today
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from adminkit.tune.candidates import Choice
from adminkit.tune.engine import Engine
from adminkit.tune.held_out import LEAST_DAYS
from adminkit.tune.race import SEEDS, Goal, Standing, rounds_of, standing_of
from adminkit.tune.search import Question, question, search
from adminkit.tune.settings import tune_of
from adminkit.tune.space import Space, space_of
from adminkit.units import show_duration
from tests.bench.soft_traces import CODE, DAY, TRACES

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build/bench/soft"
RESULTS: Final = ROOT / "tests/data/tune_simulated.json"
PAGE: Final = ROOT / "docs/measured/tune-simulated.md"
#: Processors of each trace's pool, and the file of its database.
POOLS: Final = {
    "look-alike-200": (200, "look-alike"), "look-alike-256": (256, "look-alike"), "kth": (100, "kth"),
    "ricc": (8192, "ricc"), "bursts": (128, "bursts"),
}  # fmt: skip
#: Days of a trace, at most: a longer one would not be searched in the time.
MOST_DAYS: Final = {"ricc": 92}
#: What a search may set; a value that is adminkit's own default is there as well.
LEVERS: Final[dict[str, Any]] = {
    "soft_limits.quantile": [50, 75, 90],
    "soft_limits.longest": ["01:00:00", "04:00:00", "1-00:00:00", "30-00:00:00"],
    "soft_limits.outlived": [20, 40, 100],
    "soft_limits.wide": [0, 25, 50, 100],
}
GOAL: Final = Goal(keeps=("utilization", "lost_hours"))
#: Of each search.
EVALUATIONS: Final = 400
_HEAD: Final = """# What tuning gives on days that it has not seen, by simulation

<!-- Made by `python -m tests.bench.tune_table` from tests/data/tune_simulated.json; do not edit. -->

`adminkit tune` searched the settings of soft limits on the first two thirds of each trace's days, in the model `easy`,
and looked at the last third once. The table shows the mean wait in that last third: with Slurm's own defaults (no soft
limits), with adminkit's defaults (`[soft_limits]` turned on, all settings as they are), and with the pick of the
search. The constraints are that no size of jobs, no queue and no tenth of the users waits longer, and that neither use
nor hours lost at limits get worse. Changes are relative to Slurm's defaults, with the 95 % interval: the wider of that
of 20 paired replicates and that of whole days. *waits longer* names what becomes worse where all groups are judged
together. A model of one pool has neither weights nor bf_ parameters, so nothing but soft limits can be set in it.

"""


@dataclass(frozen=True)
class Line:
    """One trace. Changes of the mean wait: share of that of Slurm's defaults, and the ends of the interval."""

    trace: str
    jobs: int
    days: int
    evaluations: int
    seconds: float
    today: float  # seconds
    default: tuple[float, float, float]
    default_harm: Sequence[str]
    pick: Sequence[str]
    tuned: tuple[float, float, float] | None
    tuned_harm: Sequence[str]
    verdict: str


@contextmanager
def opened(name: str) -> Iterator[Sources]:
    """What scenarios may look at, in the model easy."""
    procs, file = POOLS[name]
    cluster = generate.CLUSTER if file == "look-alike" else file
    db = FOLDER / f"{file}.db"
    with reader(db) as trace:
        (first,) = trace.execute("SELECT min(submit_time) FROM job").fetchone()
        until = first + MOST_DAYS[name] * DAY if name in MOST_DAYS else None
        chosen = Filter(clusters=(cluster,), until=until, checkpoint_code=CODE)
        found = subject(trace, chosen, Wanted("easy", procs=procs))
        case = today(found.jobs, request(found.model, found.jobs, found.machine), ())
        yield Sources(case, Path(), Offer(), trace, cluster, None, CODE, keys_of(found.jobs))


def line(name: str, evaluations: int) -> Line:
    """Search one trace."""
    with opened(name) as sources:
        begin, effort = time.monotonic(), Effort(1, keep=FOLDER / "tune")
        raw = {"version": 1, "levers": LEVERS}
        space = space_of(tune_of(raw, "levers", ""), sources)
        asked = question(sources, space, GOAL, force=True)
        found = search(asked, effort, rounds_of(evaluations))
        default = _held(asked, space, effort)
        submit = sources.case.column("submit")
        tuned = None if found.verdict is None else found.verdict.standing
        return Line(
            name,
            sources.case.count,
            int(submit.max() - submit.min()) // DAY,
            evaluations,
            round(time.monotonic() - begin, 1),
            default.objective.today,
            _change(default),
            _harm(default),
            [] if tuned is None else space.words(tuned.choice),
            None if tuned is None else _change(tuned),
            [] if tuned is None else _harm(tuned),
            "no pick" if found.verdict is None else found.verdict.word,
        )


def _held(asked: Question, space: Space, effort: Effort) -> Standing:
    """adminkit's defaults in the days that were held out."""
    usual = {"soft_limits.quantile": SoftLimits().quantile}
    choice: Choice = tuple(usual.get(lever.name) for lever in space.levers)
    engine = Engine(space, effort, asked.held, 1, first=SEEDS[-1])
    outcomes = engine.evaluate(0, [(choice, 0)], SEEDS[-1])[0]
    return standing_of(choice, outcomes, GOAL, asked.held.frame)


def _change(one: Standing) -> tuple[float, float, float]:
    whole = one.objective
    return whole.change / whole.today, float(whole.low) / whole.today, float(whole.high) / whole.today


def _harm(one: Standing) -> list[str]:
    return [f"{each.part} {each.value}" for each in one.clearly_broken]


def page(lines: Sequence[Line]) -> str:
    """The whole page."""
    head = ("trace", "jobs", "days", "held out", "mean wait", "adminkit's defaults", "waits longer", "tuned",
            "waits longer", "tune says", "pick")  # fmt: skip
    rows = [head, ("---",) * len(head)]
    rows += [
        (
            one.trace,
            f"{one.jobs:,}",
            str(one.days),
            str(one.days - one.days * 2 // 3),
            show_duration(round(one.today)),
            _shown(one.default),
            "; ".join(one.default_harm) or "nobody",
            "-" if one.tuned is None else _shown(one.tuned),
            "-" if one.tuned is None else "; ".join(one.tuned_harm) or "nobody",
            one.verdict,
            "; ".join(one.pick) or "-",
        )
        for one in lines
    ]
    kept = sum(one.verdict == "better" for one in lines)
    text = [f"| {' | '.join(row)} |" for row in rows]
    effort = ", ".join(f"{one.trace} {one.evaluations} in {one.seconds:.0f} s" for one in lines)
    after = f"\nTuning is recommended on {kept} of {len(lines)} traces. Evaluations of each search: {effort}.\n"
    forced = [one.trace for one in lines if one.days < 3 * LEAST_DAYS]
    if forced:
        after += f"A month cannot be held out of {', '.join(forced)}: that search was forced, and shows little.\n"
    short = [name for name in MOST_DAYS if name in {one.trace for one in lines}]
    after += "".join(f"The first {MOST_DAYS[name]} days of {name} were taken.\n" for name in short)
    return _HEAD + "\n".join(text) + "\n" + after


def _shown(change: tuple[float, float, float]) -> str:
    mean, low, high = (100 * one for one in change)
    return f"{mean:+.0f} % ({low:+.0f} to {high:+.0f} %)"


def read() -> list[Line]:
    """The results that are kept."""
    raw = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    raw = [{key: value for key, value in one.items() if key != "held_days"} for one in raw]
    return [Line(**{**one, "default": tuple(one["default"]), "tuned": one["tuned"] and tuple(one["tuned"])})
            for one in raw]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.tune_table", description=__doc__)
    parser.add_argument("act", choices=("run", "page"))
    parser.add_argument("traces", nargs="*", metavar="TRACE", help=f"default: {' '.join(POOLS)}")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    asked = parser.parse_args(argv)
    lines = {one.trace: one for one in read()}
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in (asked.traces or POOLS) if asked.act == "run" else ():
        if not (FOLDER / f"{POOLS[name][1]}.db").exists() and TRACES[name](FOLDER) is None:
            print(f"not run: no trace for {name} under $ADMINKIT_TRACES", flush=True)
            continue
        lines[name] = line(name, asked.evaluations)
        ordered = [lines[each] for each in POOLS if each in lines]
        RESULTS.write_text(json.dumps([asdict(each) for each in ordered], indent=1) + "\n")
        print(f"{name}: {lines[name].verdict}", flush=True)
    PAGE.write_text(page([lines[each] for each in POOLS if each in lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
