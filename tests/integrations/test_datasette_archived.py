"""adminkit serve shows archived runs and steps, on the pages of tables and of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.integrations.datasette import application
from adminkit.integrations.datasette_gate import Gate
from adminkit.trace.connect import writer
from adminkit.trace.load import StepLoad
from adminkit.trace.months import shown
from adminkit.trace.transaction import transaction
from tests.integrations.test_datasette import Get, asked
from tests.support import archive
from tests.support.builders import MONDAY, job, make_trace
from tests.support.months import DAY

pytest.importorskip("duckdb")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Twelve runs with a step each in three months, two of which are archived."""
    made = make_trace(
        tmp_path / "trace.db",
        [
            job(
                n, submit_time=(at := MONDAY + (-20, 5, 40)[n % 3] * DAY), eligible_time=at, start_time=at,
                end_time=at + 60, elapsed=60, gpus=0, user=f"user{n}",
            )
            for n in range(1, 13)
        ],
    )  # fmt: skip
    with writer(made) as db, transaction(db):
        step = StepLoad(db, ("cluster", "job_id_raw", "submit_time", "step", "state"), "slurmdbd")
        step.put([("aaic", n, MONDAY + (-20, 5, 40)[n % 3] * DAY, "batch", "COMPLETED") for n in range(1, 13)])
    assert [one.runs for one in archive.archive(made, 2)] == [4, 4]
    return made


@pytest.fixture
def get(path: Path) -> Get:
    return asked(Gate(application(path, Config(), time_limit=10)))


def rows(get: Get, address: str) -> list[Any]:
    answer = get(address)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["rows"])


@pytest.mark.parametrize("table", ["job", "step"])
def test_pages_of_a_table_have_what_is_archived_and_follow_each_other(get: Get, table: str) -> None:
    seen, address = [], f"/trace/{table}.json?_size=5&_shape=objects"
    for _ in range(3):
        answer = get(address)
        assert answer.status_code == 200, answer.text
        seen += [row["job_id_raw"] for row in answer.json()["rows"]]
        address = str(answer.json()["next_url"]).removeprefix("http://localhost")
    assert seen == [*range(1, 13)]
    assert [row["job_id_raw"] for row in rows(get, f"/trace/{table}.json?_shape=objects&job_id_raw=6")] == [6]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_run_and_every_step_has_a_page(get: Get, number: int) -> None:
    at = MONDAY + (-20, 5, 40)[number % 3] * DAY
    page = get(f"/trace/job/aaic,{number},{at}")
    assert page.status_code == 200 and f"user{number}" in page.text
    assert get(f"/trace/step/aaic,{number},{at},batch").status_code == 200
    assert get(f"/trace/job/aaic,{number},{at + 1}").status_code == 404
    assert f"/trace/job/aaic,{number},{at}" in get("/trace/job").text


def test_a_page_of_one_job_copies_only_months_that_have_it(
    path: Path, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[tuple[str, str]] = []
    insert = shown.insert

    def counted(db: Any, target: str, table: str, read: Any, one: Any) -> int:
        filled.append((table, one.month))
        return insert(db, target, table, read, one)

    monkeypatch.setattr(shown, "insert", counted)
    assert [row["user"] for row in rows(get, "/trace/job.json?_shape=objects&job_id_raw=6")] == ["user6"]
    assert {*filled} == {("job", "2025-12")}
