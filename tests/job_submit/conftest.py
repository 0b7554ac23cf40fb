from __future__ import annotations

import pytest

from tests.job_submit.runtime import RELEASES, Lua


@pytest.fixture(scope="session", params=RELEASES)
def lua(request: pytest.FixtureRequest) -> Lua:
    """Every test that takes it runs under each release of Lua."""
    return Lua(request.param)
