"""What the simulator says of a day before any run: today's settings, and a scenario, by the history before the day."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit import config
from adminkit.cli.main import main
from adminkit.recommend.menu import Offer
from adminkit.simulate.change import Sources
from adminkit.simulate.core import simulate
from adminkit.simulate.luck import Luck, shake
from adminkit.simulate.machine import request
from adminkit.simulate.outcome import side
from adminkit.simulate.scenario import Scenario, prepare
from adminkit.simulate.subject import Wanted, subject
from adminkit.simulate.today import keys_of, today
from adminkit.slurm.site_file import load_site
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.soft_real.history import CLUSTER
from tests.tune_real.records import DATA, SITE, ahead, history
from tests.tune_real.workloads import day

Numbers = NDArray[np.float64]

#: When the days begin: two hours after a midnight, at which the table of needs is made.
NOW: Final = 1_790_000_600 // 86_400 * 86_400 + 7200
REPLICATES: Final = 8
_CODE: Final = config.load().checkpoint.code
#: The most that a submission is moved, seconds.
_MOVED: Final = 1


def imported(text: str, trace: Path) -> None:
    """These runs in a trace."""
    file = trace.with_suffix(".txt")
    file.write_text(text)
    words = ["import", str(file), "--db", str(trace), "--cluster", CLUSTER, "--trusted", "--apply"]
    assert main(words) == 0, words


@contextmanager
def sources_in(runs: str, since: int) -> Iterator[Sources]:
    """The jobs of a trace of these runs that ended after `since`, on the site of the records."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.db"
        imported(runs, trace)
        chosen = Filter((CLUSTER,), since, states=("COMPLETED",), min_elapsed=None, checkpoint_code=_CODE)
        with reader(trace) as db:
            taken = subject(db, chosen, Wanted(site=load_site(DATA / SITE)))
            case = today(taken.jobs, request(taken.model, taken.jobs, taken.machine), taken.machine.site.queues)
            site = taken.machine.site
            yield Sources(case, Path(folder), Offer(), db, CLUSTER, site, _CODE, keys_of(taken.jobs))


def waits(seed: int, scenario: Scenario) -> tuple[Numbers, Numbers]:
    """The waits of a day's jobs by their numbers, today's and the scenario's: a row for each replicate."""
    with sources_in(history(NOW) + ahead(day(seed), NOW), NOW) as sources:
        [given] = prepare([scenario], sources)
        order = np.argsort(sources.case.column("id"))
        made: tuple[list[Numbers], list[Numbers]] = [], []
        for number in range(REPLICATES):
            luck = Luck(number)
            before = shake(sources.case, luck, _MOVED * (number > 0))
            for place, case in enumerate((before, scenario.apply(before, given, luck))):
                found = side(case, simulate(case.request), before.count)
                assert found.ran.all(), f"{(~found.ran).sum()} jobs of day {seed} did not run"
                made[place].append(found.wait[order].astype(float))
    return np.array(made[0]), np.array(made[1])
