"""`adminkit trial` on a real slurmctld: both sides whole, hands respected, and A back when nobody looks after it.

Rounds are called with a clock that is ahead, so that a trial's days pass at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.harness.listing import Listing
from tests.cluster.harness.trial import A, B, Trying, trying

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def booted(outside: Listing) -> Iterator[Trying]:
    with trying() as found:
        yield found


@pytest.fixture
def site(booted: Trying, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trying]:
    """With A in place and no trial, before and after."""
    monkeypatch.setenv("SLURM_CONF", str(booted.cluster.home / "slurm.conf"))
    yield booted
    booted.end()


def test_each_side_is_whole_on_its_days(site: Trying) -> None:
    site.start()
    assert site.there() == A, "it has not begun"
    site.to("b")
    site.round()
    assert site.there() == B
    site.round()
    site.to("a")
    site.round()
    assert site.there() == A
    assert [did for did, _ in site.acts()] == ["trial begun", "put", "put"]
    assert [one.side for one in site.whole.trial.placed][-1] == "a"
