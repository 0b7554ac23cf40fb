"""Gaps, against the slow way to find them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from adminkit.stats import waste_gaps
from adminkit.stats.waste_gaps import gaps, waiting
from adminkit.stats.waste_given import Given
from adminkit.stats.waste_room import Node, room
from adminkit.stats.waste_runs import Held
from tests.support.first_fit import Run, first_fits

UNTIL = 6000


def held(runs: list[Run]) -> Held:
    def column(*values: float) -> np.ndarray:
        return np.array(values, np.float64)

    return Held(
        start_time=column(*(one.start for one in runs)),
        end_time=column(*(one.end for one in runs)),
        eligible_time=column(*(one.eligible for one in runs)),
        elapsed=column(*(one.elapsed for one in runs)),
        req_limit=column(*(one.limit for one in runs)),
        size=column(*(len(one.places) for one in runs)),
        gpu=column(*(one.gpus for one in runs)),
        cpu=column(*(one.cpus for one in runs)),
        mem=column(*(0 for _ in runs)),
        for_queue=np.ones(len(runs)),
        job_id_raw=column(*(one.number for one in runs)),
        submit_time=column(*(one.eligible for one in runs)),
        queue=np.array([one.queue for one in runs]),
        many=np.array([len(one.places) for one in runs]),
        places=np.array([place for one in runs for place in one.places]),
    )


def some_site(random: Random) -> tuple[list[Run], list[Node]]:
    """Up to sixty runs on up to three nodes, in steps of twenty seconds, so that moments coincide; many are alike."""
    nodes = [
        Node([(0, UNTIL, random.choice((0, 4, 8)), random.choice((8, 40)), None)], random.choice(((), ((900, 1300),))),
             frozenset()) for _ in range(random.randint(1, 3))
    ]  # fmt: skip
    runs = []
    for number in range(random.randint(2, 60)):
        eligible = 20 * random.randint(1, 100) if random.random() < 0.6 else 200
        wait = random.choice((0, 40, 60, 300, 900, 2000))
        elapsed = 20 * random.choice((1, 3, 4, 6, 20, 60))
        places = tuple(random.sample(range(len(nodes)), random.choice((1, 1, 1, len(nodes)))))
        runs.append(
            Run(number, eligible, eligible + wait, elapsed, random.choice((60, 200, 1200, 3000)),
                random.choice((0, 1, 1, 2, 3, 0.5)) * len(places), random.choice((1, 2, 5)) * len(places),
                random.choice((0, 1)), places)
        )  # fmt: skip
    return runs, nodes


@pytest.mark.parametrize(("block", "looks"), [(1 << 13, 100), (3, 100), (1 << 13, 5)])
def test_gaps_are_those_that_the_page_defines(monkeypatch: pytest.MonkeyPatch, block: int, looks: int) -> None:
    monkeypatch.setattr(waste_gaps, "BLOCK", block)
    monkeypatch.setattr("adminkit.stats.waste_search.LOOKS", looks)
    monkeypatch.setattr("tests.support.first_fit.LOOKS", looks)
    fitted = 0
    for seed in range(150):
        runs, nodes = some_site(Random(seed))
        of_queue = [np.ones(len(nodes), np.bool_), np.arange(len(nodes)) < 1]
        columns = held(runs)
        free = room(columns, nodes, (0, UNTIL))
        found = gaps(columns, waiting(columns, 0, UNTIL, gpus=True), free, of_queue, Given())
        expected = first_fits(runs, nodes, of_queue, UNTIL)
        assert [runs[one].number for one in found.tolist()] == expected, f"seed {seed}"
        fitted += len(expected)
    assert fitted > 60
