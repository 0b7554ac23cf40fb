"""The order of the files of unit tests where several processes share them."""

from __future__ import annotations

import pytest

from tests.setup.parts import ROOT, SLOW


def slow_first(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files of SLOW in front: in a process of pytest-xdist only, which takes the next file when it is done."""
    if not hasattr(config, "workerinput"):
        return
    slow = {ROOT / path for path in (ROOT / SLOW).read_text().split()}
    items.sort(key=lambda item: item.path not in slow)
