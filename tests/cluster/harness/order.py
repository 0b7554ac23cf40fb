"""In which order the files of this folder run, so that the processes of pytest-xdist end at about the same time."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

#: They wait for the same mix of jobs, in this order.
MIX: Final = ("test_cluster.py", "test_sync.py", "test_sacct_json.py", "test_slurmdbd.py")
#: How long each took, on each release.
_MATRIX: Final = Path(__file__).resolve().parents[2] / "data/matrix.json"
#: Seconds of a file that no matrix has run yet: rather too many, so that it is not the last one.
_UNKNOWN: Final = 120
_LONGEST: Final = 1 << 30


class Files(LoadFileScheduling):  # type: ignore[misc]
    """Every file is one process's; those of MIX are the same one's."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "mix" if file.rpartition("/")[2] in MIX else file


def sort(items: list[pytest.Item]) -> None:
    """Put whole files in their order, the longest first; tests of other folders stay in front."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[int, str, int]:
    name = item.path.name
    if item.path.parent.name != "cluster":
        return -_LONGEST, "", 0
    if name in MIX:
        return -sum(map(seconds, MIX)), "", MIX.index(name)
    return -seconds(name), name, 0


@cache
def seconds(name: str) -> int:
    """What the file took where it was fastest, at least 1."""
    cells = json.loads(_MATRIX.read_text())["cells"].get(name.removeprefix("test_").removesuffix(".py"), {})
    took = [cell["seconds"] for cell in cells.values() if cell["state"] == "passed"]
    return max(1, min(took)) if took else _UNKNOWN
