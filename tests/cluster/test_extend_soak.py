"""A hundred rounds of `adminkit extend` that are killed, while time is given and taken back."""

from __future__ import annotations

import pytest

from tests.cluster.harness.extend import extending
from tests.cluster.harness.extend_kills import killed_at_random
from tests.cluster.harness.listing import Listing

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

KILLS = 100


def test_no_job_has_a_limit_that_nobody_decided(outside: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    with extending() as site:
        monkeypatch.setenv("SLURM_CONF", str(site.cluster.home / "slurm.conf"))
        killed_at_random(site, KILLS, wide=True)
