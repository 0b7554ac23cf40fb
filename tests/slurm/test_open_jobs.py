"""What squeue says of open jobs."""

from __future__ import annotations

import pytest

from adminkit.slurm.open_jobs import parse


@pytest.mark.parametrize(
    ("lines", "found", "why"),
    [
        ("7 \x1f1700000000 \x1fak1:lim=60,src=e   \x1f", [(7, 1700000000, "ak1:lim=60,src=e")], "padded to its width"),
        ("CLUSTER: alpha\n7\x1f17\x1fx\x1f", [(7, 17, "x")], "-M names the cluster first"),
        ("7\x1f17\x1f      \x1f\n8\x1f17\x1f(null)\x1f\n9\x1f17\x1fN/A\x1f", [], "nothing was written"),
        ("7\x1fUnknown\x1fx\x1f", [], "no time"),
        ("7\x1f17\x1fx\ny\x1f\n8\x1f17\x1fz\x1f", [(8, 17, "z")], "a newline in the text loses that text alone"),
        ("", [], "no job is open"),
    ],
)
def test_a_line_is_a_job(lines: str, found: list[tuple[int, int, str]], why: str) -> None:
    assert parse(lines) == found, why
