"""What the report on arrivals says in words."""

from __future__ import annotations

from pathlib import Path

from adminkit.reports.arrivals import SPEC
from adminkit.stats.select import Filter
from tests.support.builders import MONDAY, job, make_trace
from tests.support.reports import query, report_of

ALL = Filter(states=(), min_elapsed=None, checkpoint_code=85)


def test_several_clusters_are_said_to_be_together(tmp_path: Path) -> None:
    jobs = [job(n, submit_time=MONDAY, cluster=name) for n, name in enumerate(("aaic", "other"), 1)]
    for many in (1, 2):
        report = report_of(SPEC, make_trace(tmp_path / f"{many}.db", jobs[:many]), query(ALL))
        assert any("of several clusters together" in note for note in report.meta.notes) == (many == 2)


def test_the_busiest_hour_names_its_time_zone_and_what_is_counted(tmp_path: Path) -> None:
    jobs = [job(n, submit_time=MONDAY, array_job=1) for n in (1, 2)]
    report = report_of(SPEC, make_trace(tmp_path / "t.db", jobs), query(ALL, by="hour"))
    assert report.pictures is not None
    assert report.meta.filters["time zone"] in report.pictures.title
    assert report.pictures.caption.startswith("Submissions are counted")
