"""The class of a run, by how often it waited for files and by its GPUs' use; with the five loaders of docs/io.md."""

from __future__ import annotations

import pytest

from adminkit.findings.io_bound import class_of


@pytest.mark.parametrize(
    ("samples", "only", "full", "gpu", "expected", "why"),
    [
        (100, 91, 0, 0.21, "bound", "a slow file system, short computing"),
        (100, 86, 0, 0.95, "not_bound", "a loader that just keeps up: the GPUs worked"),
        (100, 13, 0, 0.96, "not_bound", "a slow file system, long computing"),
        (100, 0, 90, 0.07, "short_of_cpus", "a fast file system, heavy decoding, few CPUs"),
        (100, 0, 1, 1.0, "not_bound", "a fast file system, computing"),
        (100, 91, 0, None, "may_be_bound", "nothing is known of the GPUs"),
        (100, 86, 0, None, "may_be_bound", "nor here"),
        (100, 0, 90, None, "short_of_cpus", "a job without GPUs"),
        (100, 91, 0, 0.7, "may_be_bound", "GPUs that were idle for a part"),
        (100, 50, 0, 0.5, "bound", "just enough"),
        (100, 49, 0, 0.0, "not_bound", "the GPUs were idle for another reason"),
        (100, 60, 60, 0.0, "bound", "files before CPUs"),
        (11, 11, 0, 0.0, "not_gathered", "too few samples"),
        (12, 12, 0, 0.0, "bound", "a minute"),
        (None, None, None, 0.0, "not_gathered", "no word"),
    ],
)
def test_a_run_has_a_class(
    samples: int | None, only: int | None, full: int | None, gpu: float | None, expected: str, why: str
) -> None:
    assert class_of(samples, only, full, gpu) == expected, why
