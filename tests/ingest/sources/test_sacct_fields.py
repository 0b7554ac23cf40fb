"""From sacct's fields to the trace's columns."""

from __future__ import annotations

from dataclasses import fields

import pytest

from adminkit.ingest.sources.sacct_fields import (
    FREE_FIELDS,
    JOB_FIELDS,
    KINDS_OF_FIELDS,
    OTHER_FIELDS,
    STEP_FIELDS,
    columns_for,
    field_name,
    fields_of,
    job_values,
    step_values,
)
from adminkit.ingest.spec import KINDS
from adminkit.job import Job, Step
from adminkit.slurm.release import Release, parse_fields
from tests.support.fakes import DATA

_RAN = "CASE WHEN ?2 IS NOT NULL AND ?3 IS NOT ?2 THEN CASE WHEN ?1 <> 0 THEN ?1 END END"
_PER_CPU = "CASE ?2 WHEN 'c' THEN ?1 * ?3 WHEN 'n' THEN ?1 * NULL ELSE ?1 END"


@pytest.mark.parametrize(
    ("typed", "name"),
    [("jobid", "JobID"), ("TIMELIMITRAW", "TimelimitRaw"), (" User ", "User"), ("queue", None)],
)
def test_a_field_is_known_in_any_case(typed: str, name: str | None) -> None:
    assert field_name(typed) == name


def test_every_kind_named_is_one_of_the_helpers() -> None:
    assert {kind.rstrip("!^") for kind in KINDS_OF_FIELDS.values()} <= set(KINDS)


def test_no_field_is_listed_twice() -> None:
    names = [*KINDS_OF_FIELDS, *FREE_FIELDS, *OTHER_FIELDS]
    assert len(names) == len({name.lower() for name in names})


@pytest.mark.parametrize(("release", "capture"), [((22, 5, 8), "22.05"), ((24, 11, 5), "24.11"), ((26, 5, 5), "26.05")])
def test_the_fields_of_a_release_are_those_its_sacct_lists(release: Release, capture: str) -> None:
    assert fields_of(release) == parse_fields((DATA / f"sacct-helpformat-{capture}.txt").read_text())


def test_what_sync_asks_for_fills_all_of_a_job_that_one_row_can_say() -> None:
    filled = set(job_values(columns_for(JOB_FIELDS), "?99"))
    from_elsewhere = {
        "source", "audited",  # who tells it, what an audit makes of it
        "seen_open",  # the snapshot
        "fingerprint",  # adminkit-ingest
        "cpu_time", "max_rss", "disk_read", "disk_write",  # its steps
    }  # fmt: skip
    assert {f.name for f in fields(Job)} - filled == from_elsewhere


def test_what_sync_asks_for_fills_a_step() -> None:
    assert {f.name for f in fields(Step)} - set(step_values(columns_for(STEP_FIELDS), "?99")) == {
        "source",
        "fingerprint",
    }


def test_a_field_named_twice_counts_once() -> None:
    assert [c.kind for c in columns_for(["State", "State"])] == ["state", "skip"]


@pytest.mark.parametrize(
    ("names", "column", "sql", "why"),
    [
        (["Timelimit", "TimelimitRaw"], "time_limit", "coalesce(?3, ?1)", "minutes before the clock"),
        (["NCPUS", "Start", "End"], "cpus", _RAN, "a run that never started got none"),
        (["ReqMem", "ReqCPUS"], "req_mem", _PER_CPU, "until 21.08"),
    ],
)  # fmt: skip
def test_columns_that_combine_fields(names: list[str], column: str, sql: str, why: str) -> None:
    assert job_values(columns_for(names), "?99")[column] == sql, why
