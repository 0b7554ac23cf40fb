"""slurmctld's own metrics, of which the dashboard shows some: the captures against the real ones."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.machine import release

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(release() < (25, 11), reason="slurmctld has metrics of its own from 25.11 on"),
]
CAPTURES = Path(__file__).parents[1] / "data/slurm_metrics"


def shape(text: str) -> set[str]:
    """Names with their types, and names with their labels."""
    types = re.findall(r"^# TYPE (.+)$", text, re.MULTILINE)
    return {*types, *(re.sub(r'="[^"]*"', "", name) for name in re.findall(r"^(slurm\S+) ", text, re.MULTILINE))}


def test_slurmctld_has_the_metrics_that_were_captured(outside: Listing) -> None:
    with private_slurm(nodes=1, MetricsType="metrics/openmetrics") as cluster:
        port = re.search(r"^SlurmctldPort=(\d+)", (cluster.home / "slurm.conf").read_text(), re.MULTILINE)
        assert port is not None
        for capture in sorted(CAPTURES.iterdir()):
            with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/metrics/{capture.name}", timeout=30) as answer:
                found = shape(answer.read().decode())
            assert shape(capture.read_text()) - found == set(), capture.name
