"""What the report on states says is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.job import Job
from adminkit.reports.states import SPEC
from adminkit.stats.select import Filter
from tests.support.builders import job, make_trace
from tests.support.reports import query, report_of

NOBODY = job(1, state="CANCELLED", uid=7)
ITS_USER = job(2, state="CANCELLED", uid=7, cancelled_by=7)


@pytest.mark.parametrize(
    ("jobs", "by_user", "by_others", "cancelled"),
    [
        ([job(1)], 0, 0, 0),
        ([NOBODY], None, None, 1),
        ([NOBODY, ITS_USER], 1, 0, 1),
        ([ITS_USER], 1, 0, 0),
    ],
)
def test_who_cancelled_is_unknown_where_no_run_says_it(
    tmp_path: Path, jobs: list[Job], by_user: int | None, by_others: int | None, cancelled: int
) -> None:
    asked = query(Filter(states=(), min_elapsed=None, checkpoint_code=85))
    found = report_of(SPEC, make_trace(tmp_path / "t.db", jobs), asked)
    for row in found.records():
        ends = (row["cancelled_by_user"], row["cancelled_by_others"], row["cancelled"])
        assert ends == (by_user, by_others, cancelled)
