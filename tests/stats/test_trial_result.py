"""The verdicts of groups hold for all of them together."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.stats.student import holm
from adminkit.stats.switchback import calendar
from adminkit.stats.trial_result import Result, trial_result
from adminkit.stats.waits import waits
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR


@pytest.fixture
def result(tmp_path: Path) -> Result:
    """A fortnight; jobs of one GPU wait half as long on B's days, the others as long as ever."""
    days = calendar(range(MONDAY, MONDAY + 15 * DAY, DAY), 7)
    jobs = []
    for nth, day in enumerate(days):
        at = day.since + 12 * HOUR
        for gpus in (1, 4, 16, 100):
            shorter = day.on and gpus == 1
            wait = (600 if shorter else 1200) + 7 * (nth * 5 % 11)
            times = {"eligible_time": at, "start_time": at + wait, "end_time": at + wait + HOUR}
            jobs.append(job(1000 * gpus + nth, gpus=gpus, nodes=1, **times))
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        found = waits(db, "aaic", MONDAY, MONDAY + 14 * DAY, MONDAY + 20 * DAY)
    return trial_result(found, days, [True] * 14, HOUR, 14)


def test_the_p_values_of_groups_are_adjusted_together(result: Result) -> None:
    groups = [row for row in result.rows if row.part != "all" and row.effect is not None]
    assert len(groups) >= 4
    assert [row.p for row in groups] == holm([row.effect.p for row in groups if row.effect is not None])


def test_what_one_group_alone_would_show_several_do_not(result: Result) -> None:
    """2 of 128 flips are 1.6 %: enough for one question, and not for four."""
    (single,) = (row for row in result.rows if row.name == "1 GPU")
    assert single.effect is not None and single.effect.significant and single.effect.p < 0.02
    assert single.p is not None and single.p > 0.05 and not single.significant
    assert result.answer.p == (result.answer.effect.p if result.answer.effect else None), "the answer is not adjusted"
