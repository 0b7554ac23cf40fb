"""$ADMINKIT_SIMULATE names another build of adminkit-simulate, with sanitizers: the tests then run that one."""

from __future__ import annotations

import os

import pytest

from adminkit.simulate import core


@pytest.fixture(autouse=True, scope="session")
def _other_build() -> None:
    if other := os.environ.get("ADMINKIT_SIMULATE"):
        pytest.MonkeyPatch().setattr(core, "simulator_path", lambda: other)
