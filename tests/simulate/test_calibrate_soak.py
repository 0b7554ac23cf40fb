"""48 sites with known hidden causes: whom calibration trusts, and whether the signs of changes are right then."""

from __future__ import annotations

import pytest

from tests.simulate.signs import signs

SITES = 48


@pytest.mark.soak
def test_under_trust_the_sign_of_a_change_is_right() -> None:
    found = signs(range(SITES), 20, 700)
    print(f"\nverdicts {dict(found.verdicts)}, {len(found.wrong)} of {found.asked} signs wrong")
    print("".join(f"wrong: {line}\n" for line in found.wrong))
    assert set(found.recorded) == {"trust"}
    assert len(found.recorded) == SITES / 4
    assert found.asked >= 50
    assert len(found.wrong) <= 0.05 * found.asked
