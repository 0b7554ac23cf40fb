"""The bars of trials made of real days; trial_proof.py makes them and writes their page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stats.trial_proof import FILES, LENGTHS, SAME, Site, null, powers, site, wilson
from tests.stats.trial_proof_page import PAGE

#: How far the power may be from what the plan said, as a share.
POINTS = 0.05


@pytest.fixture(scope="module", params=FILES)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    found = site(request.param, tmp_path_factory.mktemp("days"))
    if found is None:
        pytest.skip(f"not run: no {FILES[request.param][0]} under $ADMINKIT_TRACES")
    yield found


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("days", LENGTHS)
def test_no_change_is_rarely_called_better_and_the_interval_holds_it(real: Site, days: int) -> None:
    found = null(real, days)
    print(found)
    assert found.better <= 0.05 * found.trials
    assert 0.93 <= found.held / found.trials <= 0.97
    assert all(wilson(count, found.trials)[0] <= 0.05 for count in (found.different, found.sizes))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_an_effect_is_shown_as_often_as_the_plan_says(real: Site) -> None:
    found = list(powers(real))
    print(*found, sep="\n")
    for one in found:
        assert one.held / one.measured >= 0.93
        if one.history == SAME:
            assert one.held / one.measured <= 0.97
            assert abs(one.shown / one.trials - one.planned) <= POINTS
    assert any(one.history == SAME for one in found)


@pytest.mark.parametrize(("hits", "trials", "low", "high"), [(0, 400, 0, 0.0095), (20, 400, 0.0326, 0.0759)])
def test_the_interval_of_a_share(hits: int, trials: int, low: float, high: float) -> None:
    assert list(wilson(hits, trials)) == pytest.approx([low, high], abs=1e-4)


def test_the_page_has_a_row_for_each_trace_and_length() -> None:
    text = PAGE.read_text()
    for name in FILES:
        for days in LENGTHS:
            assert f"\n| {name} | {days} | 400 |" in text
