"""In which order the files of this folder run, so that two processes of pytest-xdist end at about the same time."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

#: They wait for the same mix of jobs, in this order.
MIX = ("test_cluster.py", "test_sync.py", "test_sacct_json.py")
#: What takes longest begins first; then the others.
FIRST = (*MIX, "test_ckpt.py", "test_policy_points.py", "test_policy_traps.py", "test_feedback.py")


class Files(LoadFileScheduling):  # type: ignore[misc]
    """Every file is one process's; those of MIX are the same one's."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "mix" if file.rpartition("/")[2] in MIX else file


def sort(items: list[pytest.Item]) -> None:
    """Put whole files in their order; tests of other folders stay in front."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    if item.path.parent.name != "cluster":
        return -1
    return FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST)
