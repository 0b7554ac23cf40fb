"""What Prometheus answers, read; and what is none. tests/web/test_usage.py asks a real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.sections import Usage
from adminkit.usage import prometheus
from adminkit.usage.prometheus import EXPORTERS, parse, query_of
from tests.usage.jobs import NOW, job

DCGM = EXPORTERS["dcgm"]
#: Prometheus' numbers of one GPU.
WHOLE = {"first": NOW - 3600, "until": NOW - 30, "last": NOW - 900, "count": 60, "sum": 30.0, "use": 0.0}


def series(numbers: dict[str, Any], **labels: str) -> list[dict[str, Any]]:
    known = {"Hostname": "n1.example.org", "UUID": "GPU-a", "gpu": "0", "hpc_job": "11", **labels}
    return [{"metric": {**known, "adminkit": what}, "value": [NOW, str(value)]} for what, value in numbers.items()]


def answered(*rows: dict[str, Any]) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": rows}})


def test_an_answer_is_read() -> None:
    at, uses = parse(answered(*series(WHOLE)), DCGM, 60)
    (use,) = uses[11]
    assert (at, use.node, use.gpu, use.since, use.until, use.last_used) == (
        NOW, "n1", "GPU-a", NOW - 3600, NOW - 30, NOW - 900,
    )  # fmt: skip
    assert (use.measured, use.busy, use.use, use.quiet) == (3600.0, 1800.0, 0.0, 870)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "nobody"),
        (series(WHOLE, hpc_job="0"), "no job"),
        (series(WHOLE, hpc_job="11.batch"), "no number"),
        (series(WHOLE, hpc_job="99999999999"), "no job's number"),
        (series(WHOLE, Hostname=""), "no node"),
        (series(WHOLE, UUID="", gpu=""), "no GPU"),
        (series({**WHOLE, "count": "NaN"}), "not a number"),
        (series({**WHOLE, "sum": "-1"}), "less than nothing"),
        (series({**WHOLE, "until": "+Inf"}), "no time"),
        (series({key: value for key, value in WHOLE.items() if key != "until"}), "a number is missing"),
        ([*series(WHOLE), *series(WHOLE, instance="n1:9401")], "two exporters of one GPU: which counts?"),
    ],
)
def test_what_cannot_be_read_for_certain_is_not_measured(rows: list[dict[str, Any]], reason: str) -> None:
    _, uses = parse(answered(*rows), DCGM, 60)
    assert {job_id: rows for job_id, rows in uses.items() if job_id == 11} == {}, reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing"),
        ("<html>not found</html>", "another service"),
        ("[]", "no object"),
        ("[" * 100_000, "too deep"),
        ('{"status": "success"}', "no data"),
        ('{"status": "success", "data": {"resultType": "matrix", "result": []}}', "another question's answer"),
        (
            '{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": ["x", 1]}]}}',
            "time",
        ),
        ('{"status": "error", "error": "query timed out"}', "it refused"),
    ],
)
def test_what_is_not_an_answer_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(AdminkitError):
        parse(text, DCGM, 60)


def test_a_service_that_is_away_is_one_line_and_no_measurement() -> None:
    settings = Usage(prometheus="http://127.0.0.1:9", timeout=1)
    answer = prometheus.ask(settings, DCGM, [job()], NOW, 3600)
    assert (answer.uses, len(answer.notes)) == ({}, 1)
    assert "127.0.0.1" in answer.notes[0]


def test_a_query_asks_about_every_job_as_another_may_have_the_same_gpu() -> None:
    for exporter in EXPORTERS.values():
        query = query_of(exporter, 3600, 60, 0.01)
        assert '=~"[1-9][0-9]*"' in query and "OVER" not in query and "JOBS" not in query
