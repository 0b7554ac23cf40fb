"""What Slurm's programs answer of a server's job."""

from __future__ import annotations

import pytest

from adminkit.slurm.server_job import Seen, job_id_of, parse, why_of


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("7|RUNNING|n1|1790000000|None", Seen("RUNNING", "n1", 1790000000, "None")),
        ("7|PENDING|n/a|N/A|Resources", Seen("PENDING", None, None, "Resources")),
        ("7|PENDING||0|(ReqNodeNotAvail, Unav|x)", Seen("PENDING", None, None, "(ReqNodeNotAvail, Unav|x)")),
        ("slurm_load_jobs error: x", None),
        ("7_2|RUNNING|n1|1|None", None),
        ("7|RUNNING|n1", None),
    ],
)
def test_a_line_of_squeue(line: str, expected: Seen | None) -> None:
    assert parse(line).get("7") == expected


@pytest.mark.parametrize(
    ("state", "waits", "runs"),
    [
        ("PENDING", True, False),
        ("CONFIGURING", True, False),
        ("RUNNING", False, True),
        ("COMPLETING", False, True),
        ("FAILED", False, False),
        ("TIMEOUT", False, False),
        ("gone", False, False),
        ("a state of tomorrow's", False, False),
    ],
)
def test_a_state(state: str, waits: bool, runs: bool) -> None:
    seen = Seen(state, None, None, None)
    assert (seen.waits, seen.runs) == (waits, runs)


@pytest.mark.parametrize(
    ("said", "job_id"),
    [
        ("42\n", "42"),
        ("42;alpha\n", "42"),
        ("adminkit: a shorter limit starts earlier\n42\n", "42"),
        ("", None),
        ("Submitted batch job 42", None),
        ("4 2", None),
    ],
)
def test_the_id_that_sbatch_prints(said: str, job_id: str | None) -> None:
    assert job_id_of(said) == job_id


@pytest.mark.parametrize(
    ("complaint", "why"),
    [
        ("sbatch: error: Batch job submission failed: Invalid qos specification\n",
         "Batch job submission failed: Invalid qos specification"),
        ("sbatch: error: a GPU needs a limit\nsbatch: error: Batch job submission failed: Unspecified error",
         "a GPU needs a limit; Batch job submission failed: Unspecified error"),
        ("", "sbatch did not say why"),
    ],
)  # fmt: skip
def test_why_sbatch_refused(complaint: str, why: str) -> None:
    assert why_of(complaint) == why
