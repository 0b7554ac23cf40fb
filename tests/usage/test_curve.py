"""The curve of a run's GPUs in Prometheus' answer, and what is none. tests/web/test_usage.py asks a real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.sections import Usage
from adminkit.usage.curve import PLUGIN, Curve, curves, exporters, parse
from adminkit.usage.prometheus import EXPORTERS
from tests.usage.jobs import NOW

DCGM = EXPORTERS["dcgm"]
#: A run of four minutes, in parts of one.
TIMES = (NOW - 240, 60, 4)


def series(*shares: Any, **labels: str) -> dict[str, Any]:
    """A series with a point at the end of each part whose share is not None."""
    known = {"Hostname": "n1.example.org", "UUID": "GPU-a", "gpu": "0", "hpc_job": "11", **labels}
    points = [[NOW - 240 + 60 * (n + 1), str(share)] for n, share in enumerate(shares) if share is not None]
    return {"metric": known, "values": points}


def answered(*rows: dict[str, Any]) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": rows}})


def read(*rows: dict[str, Any]) -> list[Curve]:
    return parse(answered(*rows), DCGM, 11, {"n1", "n2"}, TIMES)


def test_an_answer_is_read() -> None:
    first, second = read(series(0, 0.5, 1, 1.01, UUID="GPU-b"), series(None, 0.25, None, 0.75))
    assert first == Curve("dcgm", "n1", "GPU-a", NOW - 240, 60, (None, 0.25, None, 0.75)) and first.mean == 0.5
    assert second.values == (0.0, 0.5, 1.0, 1.0), "a share above 1 is a meter's rounding"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "nobody has it"),
        ([series(1, hpc_job="12")], "another job"),
        ([series(1, hpc_job="11.batch")], "no number"),
        ([series(1, Hostname="n3")], "a node that the run did not have: a job of this number on another cluster"),
        ([series(1, Hostname="")], "no node"),
        ([series(1, UUID="", gpu="")], "no GPU"),
        ([series("NaN", "-1", "x", "Inf")], "no share"),
        ([series(1), series(1, instance="n1:9401")], "two exporters of one GPU: which counts?"),
    ],
)
def test_what_is_not_known_of_this_run(rows: list[dict[str, Any]], why: str) -> None:
    assert read(*rows) == [], why


def test_points_before_and_after_the_run_are_not_of_it() -> None:
    row = series(0.1, 0.2, 0.3, 0.4)
    row["values"] += [[NOW - 3600, "1"], [NOW + 3600, "1"]]
    assert read(row)[0].values == (0.1, 0.2, 0.3, 0.4)


@pytest.mark.parametrize(
    "text",
    [
        "", "<html>", "[]", "[" * 100_000, '{"status": "success"}', '{"status": "error", "error": "too many"}',
        '{"status": "success", "data": {"resultType": "vector", "result": []}}',
        '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [["x", 1]]}]}}',
        '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1]]}]}}',
    ],
)  # fmt: skip
def test_what_is_not_an_answer_is_an_error(text: str) -> None:
    with pytest.raises(AdminkitError):
        parse(text, DCGM, 11, {"n1"}, TIMES)


def test_who_is_not_there_is_an_error() -> None:
    with pytest.raises(AdminkitError, match=r"couldn't ask http://127\.0\.0\.1"):
        curves(Usage(prometheus="http://127.0.0.1:9", timeout=1), 11, {"n1"}, NOW - 240, NOW)
    with pytest.raises(AdminkitError, match="prometheus is not set"):
        curves(Usage(), 11, {"n1"}, NOW - 240, NOW)


def test_the_exporters_are_those_of_the_settings_and_the_plugin() -> None:
    assert exporters(Usage(sources=("sampler", "ceems", "dcgm"))) == [EXPORTERS["ceems"], DCGM, PLUGIN]
